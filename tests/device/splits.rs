//! Reductions that are split between the blocks of a GPU, and reductions of columns: with sizes that the number of parts
//! divides or does not, and dynamic ones, of which some are 0 or 1.

use crate::{
    emulated::emulated,
    listed::{Listed, compare_all, listed, special},
    run::for_device,
};

const F32: &str = "float32";
/// Sizes of a dynamic dimension.
const SIZES: &[i64] = &[0, 1, 97, 20_003];
const LENGTHS: &[i64] = &[0, 1, 2000];

const CASES: &[Listed] = &[
    listed("R.sum(p0)", &[(F32, &[&[128], &[256]])]),
    listed("R.mean(p0)", &[(F32, &[&[40_009]])]),
    listed("R.sum(p0)", &[(F32, &[SIZES])]),
    listed("R.sum(p0)", &[("int32", &[SIZES])]),
    listed("R.prod(p0)", &[(F32, &[SIZES])]),
    special("R.max(p0)", &[(F32, &[SIZES])]),
    special("R.min(p0, axis=1)", &[(F32, &[&[3], &[33_001]])]),
    listed("R.max(p0, axis=0)", &[("int32", &[&[12_000], &[3]])]),
    listed("R.sum(p0, axis=0)", &[(F32, &[&[8192], &[33]])]),
    listed("R.sum(p0, axis=0)", &[(F32, &[&[4099], &[40]])]),
    listed("R.sum(p0, axis=0)", &[(F32, &[SIZES, &[3]])]),
    listed("R.sum(p0, axis=0)", &[("float16", &[&[300], &[130]])]),
    listed("R.sum(p0, axis=0)", &[(F32, &[&[0, 40, 700], &[0, 1, 150]])]),
    listed("R.mean(p0, axis=[0, 2, 3])", &[(F32, &[&[16], &[3], &[50], &[50]])]),
    listed("R.variance(p0, axis=[0, 2, 3])", &[(F32, &[&[0, 1, 9], &[4], &[16], &[18]])]),
    listed("R.argmax(p0)", &[(F32, &[&[40_003]])]),
    special("R.argmax(p0, axis=1)", &[(F32, &[&[2], &[40_960]])]),
    special("R.argmin(p0, axis=1)", &[(F32, &[&[2], &[1, 97, 20_003]])]),
    special("R.argmax(p0, axis=0)", &[(F32, &[&[1, 2000, 9000], &[3]])]),
    listed("R.argmin(p0, axis=1)", &[("int32", &[&[5], &[700]])]),
    listed("R.matmul(p0, p1)", &[(F32, &[&[1], &[4096]]), (F32, &[&[4096], &[40]])]),
    listed("R.matmul(p0, p1)", &[(F32, &[&[3], LENGTHS]), (F32, &[LENGTHS, &[9]])]),
    listed("R.matmul(p0, R.permute_dims(p1))", &[(F32, &[&[1], &[33_000]]), (F32, &[&[5], &[33_000]])]),
    listed("R.matmul(p0, p1)", &[(F32, &[&[16], &[8192]]), (F32, &[&[8192], &[24]])]),
    listed("R.nn.relu(R.matmul(p0, p1))", &[("float16", &[&[16], &[4096]]), ("float16", &[&[4096], &[16]])]),
];

/// The device adds up in another order.
const TOLERANCE: f64 = 1e-3;

#[test]
fn split_reductions_match_the_cpu() {
    emulated("splits::split_reductions_match_the_cpu", || compare_all(CASES, || for_device(2), TOLERANCE));
}
