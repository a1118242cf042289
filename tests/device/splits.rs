//! Reductions that are split between the blocks of a GPU, and reductions of columns, against the CPU: with sizes that the
//! number of parts divides or does not, and dynamic ones, of which some are 0 or 1.

use crate::{
    draw::{Dim, Draw, Values},
    emulated::emulated,
    run::{compiled, first_difference, for_device, parse},
};
use hammock_compiler::Options;

/// A call with the dtypes and shapes of its arguments; dimensions of several sizes are dynamic.
struct Split {
    call: &'static str,
    params: &'static [(&'static str, &'static [&'static [i64]])],
    values: Values,
}

const fn split(call: &'static str, params: &'static [(&'static str, &'static [&'static [i64]])]) -> Split {
    Split { call, params, values: Values::Between(-2, 2) }
}

const fn special(call: &'static str, params: &'static [(&'static str, &'static [&'static [i64]])]) -> Split {
    Split { call, params, values: Values::Special }
}

const F32: &str = "float32";
/// Sizes of a dynamic dimension.
const SIZES: &[i64] = &[0, 1, 97, 20_003];
const LENGTHS: &[i64] = &[0, 1, 2000];

const CASES: &[Split] = &[
    split("R.sum(p0)", &[(F32, &[&[128], &[256]])]),
    split("R.mean(p0)", &[(F32, &[&[20_011]])]),
    split("R.sum(p0)", &[(F32, &[SIZES])]),
    split("R.sum(p0)", &[("int32", &[SIZES])]),
    split("R.prod(p0)", &[(F32, &[SIZES])]),
    special("R.max(p0)", &[(F32, &[SIZES])]),
    special("R.min(p0, axis=1)", &[(F32, &[&[3], &[17_001]])]),
    split("R.max(p0, axis=0)", &[("int32", &[&[9000], &[3]])]),
    split("R.sum(p0, axis=0)", &[(F32, &[&[8192], &[33]])]),
    split("R.sum(p0, axis=0)", &[(F32, &[&[4099], &[40]])]),
    split("R.sum(p0, axis=0)", &[(F32, &[SIZES, &[3]])]),
    split("R.sum(p0, axis=0)", &[("float16", &[&[300], &[130]])]),
    split("R.sum(p0, axis=0)", &[(F32, &[&[0, 40, 700], &[0, 1, 150]])]),
    split("R.mean(p0, axis=[0, 2, 3])", &[(F32, &[&[16], &[3], &[20], &[20]])]),
    split("R.variance(p0, axis=[0, 2, 3])", &[(F32, &[&[0, 1, 9], &[4], &[16], &[18]])]),
    split("R.argmax(p0)", &[(F32, &[&[20_003]])]),
    special("R.argmax(p0, axis=1)", &[(F32, &[&[2], &[20_480]])]),
    special("R.argmin(p0, axis=1)", &[(F32, &[&[2], &[1, 97, 20_003]])]),
    special("R.argmax(p0, axis=0)", &[(F32, &[&[1, 2000, 9000], &[3]])]),
    split("R.argmin(p0, axis=1)", &[("int32", &[&[5], &[700]])]),
    split("R.matmul(p0, p1)", &[(F32, &[&[1], &[4096]]), (F32, &[&[4096], &[40]])]),
    split("R.matmul(p0, p1)", &[(F32, &[&[3], LENGTHS]), (F32, &[LENGTHS, &[9]])]),
    split("R.matmul(p0, R.permute_dims(p1))", &[(F32, &[&[1], &[9000]]), (F32, &[&[5], &[9000]])]),
    split("R.matmul(p0, p1)", &[(F32, &[&[16], &[2048]]), (F32, &[&[2048], &[24]])]),
    split("R.nn.relu(R.matmul(p0, p1))", &[("float16", &[&[16], &[4096]]), ("float16", &[&[4096], &[16]])]),
];

/// The device adds up in another order.
const TOLERANCE: f64 = 1e-3;

#[test]
fn split_reductions_match_the_cpu() {
    emulated("splits::split_reductions_match_the_cpu", || {
        for case in CASES {
            let sizes = case.params.iter().flat_map(|(_, shape)| shape.iter()).map(|dim| dim.len()).max();
            for number in 0..sizes.unwrap_or(1) {
                case.compare(number)
                    .unwrap_or_else(|why| panic!("{} {:?} size {number}: {why}", case.call, case.params));
            }
        }
    });
}

impl Split {
    /// Compares the device with the CPU, for sizes of this number.
    fn compare(&self, number: usize) -> Result<(), String> {
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
        let found = compiled(&source, &module, for_device(2), &case.args)?;
        first_difference(&wanted, &found, TOLERANCE)
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
