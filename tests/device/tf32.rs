//! Contractions and convolutions of float32 on tensor cores, rounded to tf32.

use crate::{
    emulated::emulated,
    listed::{Listed, compare_all, listed},
    run::{compiled, first_difference, for_device, parse},
};
use hammock_compiler::Options;
use hammock_runtime::Tensor;

/// Multiples of 1/16 between -2 and 2 are tf32 as they are: sums differ in their order alone.
const TOLERANCE: f64 = 2e-5;

const F32: &str = "float32";

const CASES: &[Listed] = &[
    listed("R.matmul(p0, p1)", &[(F32, &[&[64], &[32]]), (F32, &[&[32], &[64]])]),
    listed("R.nn.relu(R.matmul(p0, p1))", &[(F32, &[&[33], &[20]]), (F32, &[&[20], &[50]])]),
    listed("R.matmul(p0, R.permute_dims(p1))", &[(F32, &[&[40], &[36]]), (F32, &[&[70], &[36]])]),
    listed("R.matmul(R.permute_dims(p0), p1)", &[(F32, &[&[36], &[40]]), (F32, &[&[36], &[70]])]),
    listed("R.matmul(p0, p1)", &[(F32, &[&[0, 1, 100], &[24]]), (F32, &[&[24], &[16]])]),
    listed("R.matmul(p0, p1)", &[(F32, &[&[3], &[17], &[0, 1, 9]]), (F32, &[&[3], &[0, 1, 9], &[12]])]),
    listed("R.nn.conv2d(p0, p1)", &[(F32, &[&[1], &[16], &[12], &[20]]), (F32, &[&[24], &[16], &[3], &[3]])]),
    listed(
        "R.nn.conv2d(p0, p1, data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        &[(F32, &[&[1], &[10], &[18], &[16]]), (F32, &[&[3], &[3], &[16], &[24]])],
    ),
];

fn with_tf32() -> Options {
    Options { allow_tf32: true, ..for_device(2) }
}

#[test]
fn contractions_of_tf32_match_the_cpu() {
    emulated("tf32::contractions_of_tf32_match_the_cpu", || compare_all(CASES, with_tf32, TOLERANCE));
}

/// Products of matrices of one value each are 16 times its product, rounded before.
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
