//! Calls in lists, with shapes that a rule or transform is for: on the device, their results are those of the CPU.

use crate::{
    draw::{Dim, Draw, Values},
    run::{compiled, first_difference, parse},
};
use hammock_compiler::Options;

/// Dtype and shape of an argument; dimensions of several sizes are dynamic, and run with each.
pub type Param = (&'static str, &'static [&'static [i64]]);

/// A call.
pub struct Listed {
    pub call: &'static str,
    pub params: &'static [Param],
    /// Values of floating-point arguments.
    pub values: Values,
}

/// A call with values that have exact products.
pub const fn listed(call: &'static str, params: &'static [Param]) -> Listed {
    Listed { call, params, values: Values::Between(-2, 2) }
}

/// A call with infinities and NaN among the values.
pub const fn special(call: &'static str, params: &'static [Param]) -> Listed {
    Listed { call, params, values: Values::Special }
}

/// Compares all calls with the CPU, compiled for the device with options.
pub fn compare_all(cases: &[Listed], options: impl Fn() -> Options, tolerance: f64) {
    for case in cases {
        let sizes = case.params.iter().flat_map(|(_, shape)| shape.iter()).map(|dim| dim.len()).max();
        for number in 0..sizes.unwrap_or(1) {
            let compared = case.compare(number, options(), tolerance);
            compared.unwrap_or_else(|why| panic!("{} {:?} size {number}: {why}", case.call, case.params));
        }
    }
}

impl Listed {
    /// Compares the device with the CPU, for sizes of this number.
    fn compare(&self, number: usize, options: Options, tolerance: f64) -> Result<(), String> {
        let mut draw = Draw::new(number as u64);
        let mut dynamic: Vec<(&'static [i64], Dim)> = Vec::new();
        for (dtype, shape) in self.params {
            let dims: Vec<Dim> = shape.iter().map(|sizes| dim(sizes, number, &mut draw, &mut dynamic)).collect();
            let is_float = dtype.starts_with("float");
            draw.param(dtype, &dims, if is_float { self.values } else { Values::Between(-50, 50) });
        }
        let result = draw.bind_any(self.call.to_owned());
        draw.result(result);
        let case = draw.case();
        let (source, module) = parse(&case.text)?;
        let wanted = compiled(&source, &module, Options::default(), &case.args)?;
        let found = compiled(&source, &module, options, &case.args)?;
        first_difference(&wanted, &found, tolerance)
    }
}

/// Returns a dimension: of one size, or dynamic. Dimensions of the same sizes are the same.
fn dim(sizes: &'static [i64], number: usize, draw: &mut Draw, dynamic: &mut Vec<(&'static [i64], Dim)>) -> Dim {
    if let [size] = sizes {
        return Dim::known(*size);
    }
    if let Some((_, known)) = dynamic.iter().find(|(of, _)| *of == sizes) {
        return known.clone();
    }
    let dim = draw.dynamic(sizes[number % sizes.len()]);
    dynamic.push((sizes, dim.clone()));
    dim
}
