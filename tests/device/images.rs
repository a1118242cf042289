//! Convolutions of small images, whose rows and columns are one axis.

use crate::{
    emulated::emulated,
    listed::{Listed, compare_all, listed},
    run::for_device,
};

const F32: &str = "float32";
const F16: &str = "float16";
const NHWC: &str = "R.nn.conv2d(p0, p1, data_layout=\"NHWC\", kernel_layout=\"HWIO\")";

const CASES: &[Listed] = &[
    listed("R.nn.conv2d(p0, p1)", &[(F32, &[&[1], &[16], &[9], &[9]]), (F32, &[&[16], &[16], &[3], &[3]])]),
    listed(
        "R.nn.relu(R.add(R.nn.conv2d(p0, p1, padding=[1, 1]), p2))",
        &[(F32, &[&[2], &[8], &[14], &[14]]), (F32, &[&[16], &[8], &[3], &[3]]), (F32, &[&[2], &[16], &[14], &[14]])],
    ),
    listed(
        "R.nn.conv2d(p0, p1, strides=[2, 2])",
        &[(F32, &[&[1], &[8], &[15], &[13]]), (F32, &[&[9], &[8], &[3], &[3]])],
    ),
    listed(NHWC, &[(F16, &[&[3], &[9], &[9], &[16]]), (F16, &[&[3], &[3], &[16], &[16]])]),
    listed(NHWC, &[(F16, &[&[0, 1, 3], &[9], &[8], &[24]]), (F16, &[&[3], &[3], &[24], &[16]])]),
    listed("R.nn.conv2d(p0, p1)", &[(F16, &[&[1], &[16], &[10], &[11]]), (F16, &[&[16], &[16], &[3], &[3]])]),
];

/// Of results in float16.
const TOLERANCE: f64 = 1e-3;

#[test]
fn small_images_match_the_cpu() {
    emulated("images::small_images_match_the_cpu", || compare_all(CASES, || for_device(2), TOLERANCE));
}
