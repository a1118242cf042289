//! Contractions and convolutions of float32 on tensor cores, rounded to tf32.

use crate::{
    draw::{Dim, Draw, Values},
    emulated::emulated,
    run::{compiled, first_difference, for_device, parse},
};
use hammock_compiler::Options;
use hammock_runtime::Tensor;

/// Multiples of 1/16 between -2 and 2 are tf32 as they are: sums differ in their order alone.
const TOLERANCE: f64 = 2e-5;

/// Calls with the shapes of their arguments, of which negative sizes are dynamic.
const CASES: &[(&str, &[&[i64]])] = &[
    ("R.matmul(p0, p1)", &[&[64, 32], &[32, 64]]),
    ("R.nn.relu(R.matmul(p0, p1))", &[&[33, 20], &[20, 50]]),
    ("R.matmul(p0, R.permute_dims(p1))", &[&[40, 36], &[70, 36]]),
    ("R.matmul(R.permute_dims(p0), p1)", &[&[36, 40], &[36, 70]]),
    ("R.matmul(p0, p1)", &[&[-100, 24], &[24, 16]]),
    ("R.matmul(p0, p1)", &[&[-1, 24], &[24, 16]]),
    ("R.matmul(p0, p1)", &[&[0, 24], &[24, 16]]),
    ("R.matmul(p0, p1)", &[&[3, 17, 9], &[3, 9, 12]]),
    ("R.nn.conv2d(p0, p1)", &[&[1, 16, 12, 20], &[24, 16, 3, 3]]),
    ("R.nn.conv2d(p0, p1, data_layout=\"NHWC\", kernel_layout=\"HWIO\")", &[&[1, 10, 18, 16], &[3, 3, 16, 24]]),
];

fn with_tf32() -> Options {
    Options { allow_tf32: true, ..for_device(2) }
}

#[test]
fn contractions_of_tf32_match_the_cpu() {
    emulated("tf32::contractions_of_tf32_match_the_cpu", || {
        for (number, (call, shapes)) in CASES.iter().enumerate() {
            compare(number as u64, call, shapes).unwrap_or_else(|why| panic!("{call} {shapes:?}: {why}"));
        }
    });
}

fn compare(seed: u64, call: &str, shapes: &[&[i64]]) -> Result<(), String> {
    let mut draw = Draw::new(seed);
    for shape in shapes {
        let mut dim = |size: i64| if size < 0 { draw.dynamic(-size) } else { Dim::known(size) };
        let dims: Vec<Dim> = shape.iter().map(|size| dim(*size)).collect();
        draw.param("float32", &dims, Values::Between(-2, 2));
    }
    let result = draw.bind_any(call.to_owned());
    draw.result(result);
    let case = draw.case();
    let (source, module) = parse(&case.text)?;
    let wanted = compiled(&source, &module, Options::default(), &case.args)?;
    let found = compiled(&source, &module, with_tf32(), &case.args)?;
    first_difference(&wanted, &found, TOLERANCE)
}

/// A product of matrices of one value each has `count` times the products of these values, rounded as said.
#[test]
fn operands_are_rounded_to_the_nearest_tf32() {
    emulated("tf32::operands_are_rounded_to_the_nearest_tf32", || {
        const TEXT: &str = "from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n@I.ir_module\nclass Module:\n    \
                            @R.function\n    def main(x: R.Tensor((16, 16), \"float32\"), y: R.Tensor((16, 16), \"float32\")):\n        \
                            with R.dataflow():\n            z = R.matmul(x, y)\n            R.output(z)\n        return z\n";
        let (source, module) = parse(TEXT).unwrap();
        // Half of the distance of tf32 numbers at one.
        let half = f32::EPSILON * 4096.0;
        for (value, rounded) in
            [(1.0 + half, 1.0 + 2.0 * half), (1.0 + 0.99 * half, 1.0), (-1.0 - half, -1.0 - 2.0 * half)]
        {
            let args = [value, 1.0].map(|value| Tensor::from_slice(&[16, 16], &[value; 256]).unwrap());
            let product = |value: f32| Tensor::from_slice(&[16, 16], &[16.0 * value; 256]).unwrap();
            let found = compiled(&source, &module, with_tf32(), &args).unwrap();
            first_difference(&[product(rounded).into()], &found[..1], 0.0).unwrap();
            let exact = compiled(&source, &module, for_device(2), &args).unwrap();
            first_difference(&[product(value).into()], &exact[..1], 1e-7).unwrap();
        }
    });
}
