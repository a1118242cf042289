//! Reductions, statistics, scans.

use crate::{
    run::{Attrs, run, run_static, run1},
    values::*,
};
use hammock_ir::{AttrValue, DType, Tensor};

/// The elements of `x` that are reduced to each element of the result.
fn groups(x: &Tensor, axes: &[usize], keep: bool) -> (Vec<i64>, Vec<Vec<f64>>) {
    let shape = x.shape();
    let kept: Vec<usize> = (0..shape.len()).filter(|a| !axes.contains(a)).collect();
    let outer: Vec<i64> = kept.iter().map(|a| shape[*a]).collect();
    let mut all = vec![Vec::new(); outer.iter().product::<i64>() as usize];
    for i in indices(shape) {
        let at = kept.iter().fold(0, |p, a| p * shape[*a] as usize + i[*a]);
        all[at].push(view(x).at(&i));
    }
    let result =
        if keep { (0..shape.len()).map(|a| if axes.contains(&a) { 1 } else { shape[a] }).collect() } else { outer };
    (result, all)
}

fn check(op: &str, x: &Tensor, f: impl Fn(&[f64]) -> f64) {
    let all: Vec<usize> = (0..x.shape().len()).collect();
    let choices: [(AttrValue, Vec<usize>); 4] = [
        (AttrValue::None, all),
        (vec![1i64].into(), vec![1]),
        (vec![-1i64, 0].into(), vec![0, 2]),
        (Vec::<i64>::new().into(), vec![]),
    ];
    for (axis, axes) in choices {
        for keep in [false, true] {
            let attrs: Attrs = &[("axis", axis.clone()), ("keepdims", keep.into())];
            let (shape, groups) = groups(x, &axes, keep);
            let result = run1(op, &[x.into()], attrs);
            let strides = indices(&shape);
            assert_close(&result, &shape, 1e-5, |i| f(&groups[strides.iter().position(|s| s == i).unwrap()]));
        }
    }
}

fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

fn variance(v: &[f64]) -> f64 {
    v.iter().map(|x| (x - mean(v)).powi(2)).sum::<f64>() / v.len() as f64
}

#[test]
fn folds_over_axes() {
    let x = noise(&[2, 3, 4], 1);
    check("sum", &x, |v| v.iter().sum());
    check("prod", &x, |v| v.iter().product());
    check("max", &x, |v| v.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    check("min", &x, |v| v.iter().copied().fold(f64::INFINITY, f64::min));
    check("mean", &x, mean);
    check("variance", &x, variance);
    check("std", &x, |v| variance(v).sqrt());
}

/// Wherever it is.
#[test]
fn extremes_propagate_nan() {
    for dtype in [DType::FLOAT32, DType::FLOAT64, DType::FLOAT16, DType::BFLOAT16] {
        for at in 0..5 {
            let mut values = [3f32, -1.0, f32::INFINITY, f32::NEG_INFINITY, 2.0, 4.0, 5.0, 6.0, 7.0, 8.0];
            values[at] = f32::NAN;
            let x = convert(&tensor(&[2, 5], &values), dtype);
            for (op, other) in [("max", 8.0), ("min", 4.0)] {
                let y = elements(&run1(op, &[(&x).into()], &[("axis", vec![1i64].into())]));
                assert!(y[0].is_nan() && y[1] == other, "{op} of {dtype}, NaN at {at}: {y:?}");
                assert!(elements(&run1(op, &[(&x).into()], &[]))[0].is_nan());
            }
        }
    }
}

#[test]
fn folds_of_other_dtypes() {
    let n = tensor(&[4], &[7i32, -2, 3, 1]);
    let fold = |op, t: &Tensor| elements(&run1(op, &[t.into()], &[]))[0];
    assert_eq!(
        [fold("sum", &n), fold("prod", &n), fold("max", &n), fold("min", &n), fold("mean", &n)],
        [9., -42., 7., -2., 2.]
    );
    let b = tensor(&[3], &[true, false, true]);
    assert_eq!([fold("sum", &b), fold("prod", &b), fold("max", &b), fold("min", &b)], [1., 0., 1., 0.]);
    let large = convert(&tensor(&[4096], &[100f32; 4096]), DType::FLOAT16);
    assert_eq!(fold("mean", &large), 100.0);
}

#[test]
fn folds_of_nothing_are_identities() {
    let x = noise(&[2, 0], 1);
    let fold = |op| run_static(op, &[(&x).into()], &[("axis", vec![1i64].into())]).remove(0);
    assert_exact(&fold("sum"), &[2], |_| 0.0);
    assert_exact(&fold("prod"), &[2], |_| 1.0);
    assert_exact(&fold("max"), &[2], |_| f64::NEG_INFINITY);
}

#[test]
fn positions_of_extremes() {
    let x = tensor(
        &[3, 4],
        &[1f32, 3., 3., 2., -1., f32::NAN, 5., f32::NAN, f32::NEG_INFINITY, f32::NEG_INFINITY, -3., -3.],
    );
    let along = |op, axis: AttrValue| elements(&run1(op, &[(&x).into()], &[("axis", axis)]));
    assert_eq!(along("argmax", 1i64.into()), [1., 1., 2.]);
    assert_eq!(along("argmin", (-1i64).into()), [0., 1., 0.]);
    assert_eq!(along("argmax", 0i64.into()), [0., 1., 1., 1.]);
    assert_eq!(along("argmax", AttrValue::None), [5.]);
    let kept = run1("argmax", &[(&x).into()], &[("axis", 1i64.into()), ("keepdims", true.into())]);
    assert_eq!(kept.shape(), [3, 1]);
    assert_eq!(kept.dtype(), DType::INT64);
    let low = tensor(&[2], &[i32::MIN, i32::MIN]);
    assert_eq!(elements(&run1("argmax", &[(&low).into()], &[])), [0.]);
}

#[test]
fn medians() {
    let x = tensor(&[2, 5], &[5f32, 1., 4., 2., 3., 9., 9., 7., 8., f32::NAN]);
    let both = run("median", &[(&x).into()], &[("axis", vec![1i64].into())]);
    assert_eq!(elements(&both[0]), [3., 9.]);
    assert_eq!(elements(&both[1]), [4., 0.]);
    let kept = run("median", &[(&x).into()], &[("axis", vec![0i64].into()), ("keepdims", true.into())]);
    assert_eq!(kept[0].shape(), [1, 5]);
    assert_eq!(elements(&kept[0])[..4], [5., 1., 4., 2.]);
    let even = vector(&[4., 1., 3., 2.]);
    assert_eq!(elements(&run1("median", &[(&even).into()], &[])), [2.]);
    assert_eq!(elements(&run1("median", &[(&x).into()], &[])), [5.]);
}

#[test]
fn sizes() {
    assert_eq!(elements(&run1("size", &[noise(&[2, 3, 4], 1).into()], &[])), [24.]);
    assert_eq!(elements(&run1("size", &[noise(&[], 1).into()], &[])), [1.]);
}

#[test]
fn running_sums_and_products() {
    let x = noise(&[2, 3, 4], 2);
    for exclusive in [false, true] {
        let attrs: Attrs = &[("axis", (-2i64).into()), ("exclusive", exclusive.into())];
        let upto = |i: &[usize]| i[1] + usize::from(!exclusive);
        let at = |i: &[usize], k: usize| view(&x).at(&[i[0], k, i[2]]);
        let sums = run1("cumsum", &[(&x).into()], attrs);
        assert_close(&sums, &[2, 3, 4], 1e-6, |i| (0..upto(i)).map(|k| at(i, k)).sum());
        let products = run1("cumprod", &[(&x).into()], attrs);
        assert_close(&products, &[2, 3, 4], 1e-6, |i| (0..upto(i)).map(|k| at(i, k)).product());
    }
    let flat = run1("cumsum", &[(&x).into()], &[("dtype", DType::FLOAT64.into())]);
    assert_eq!(flat.dtype(), DType::FLOAT64);
    assert_close(&flat, &[24], 1e-6, |i| elements(&x)[..=i[0]].iter().sum());
    let bools = tensor(&[3], &[false, true, false]);
    let count = run1("cumsum", &[(&bools).into()], &[("dtype", DType::INT32.into())]);
    assert_eq!(elements(&count), [0., 1., 1.]);
}

/// Adjacent lines are scanned together, in groups if there are many: each is summed separately, in order.
#[test]
fn running_sums_along_outer_axes() {
    let shapes: [(&[i64], i64); 7] = [
        (&[1, 17], 0),
        (&[17, 1], 0),
        (&[130, 2], -2),
        (&[3, 530], 0),
        (&[2, 17, 3], 1),
        (&[3, 2, 9, 1], 1),
        (&[2, 3, 5, 130], -3),
    ];
    for (shape, axis) in shapes {
        let a = axis.rem_euclid(shape.len() as i64) as usize;
        for (x, dtype) in [
            (noise(shape, 3), DType::FLOAT32),
            (convert(&noise(shape, 4), DType::FLOAT16), DType::FLOAT16),
            (convert(&counting(shape), DType::INT32), DType::INT32),
        ] {
            let values = view(&x);
            for exclusive in [false, true] {
                let attrs: Attrs = &[("axis", axis.into()), ("exclusive", exclusive.into())];
                let sums = run1("cumsum", &[(&x).into()], attrs);
                assert_eq!(sums.dtype(), dtype);
                let tolerance = if dtype == DType::FLOAT16 { 1e-3 } else { 1e-5 };
                assert_close(&sums, shape, tolerance, |i| {
                    let before = 0..i[a] + usize::from(!exclusive);
                    before.map(|k| values.at(&[&i[..a], &[k], &i[a + 1..]].concat())).sum()
                });
            }
        }
    }
    let none = run1("cumsum", &[noise(&[0, 20], 1).into()], &[("axis", 0i64.into())]);
    assert_eq!(none.shape(), [0, 20]);
    let thin = run1("cumprod", &[noise(&[3, 0, 2], 1).into()], &[("axis", 0i64.into())]);
    assert_eq!(thin.shape(), [3, 0, 2]);
}

#[test]
fn sampling_by_running_sums() {
    let prob = tensor(&[2, 3], &[0.25f32, 0.25, 0.5, 0.5, 0.0, 0.5]);
    let uniform = tensor(&[5, 1], &[0.1f32, 0.25, 0.99, 0.5, 1.0]);
    let rows = tensor(&[5, 1], &[0i64, 0, 0, 1, 7]);
    let result = run1("multinomial_from_uniform", &[(&prob).into(), (&uniform).into(), (&rows).into()], &[]);
    assert_eq!(result.shape(), [5, 1]);
    assert_eq!(elements(&result), [0., 1., 2., 2., 2.]);
}

/// Formats without an infinity start from their finite bounds.
#[test]
fn extremes_of_floats_of_eight_bits() {
    for dtype in [DType::FLOAT8_E4M3FN, DType::FLOAT8_E5M2] {
        let x =
            run1("astype", &[tensor(&[2, 3], &[-3f32, -1., -2., -8., -4., -16.]).into()], &[("dtype", dtype.into())]);
        assert_eq!(elements(&run1("argmax", &[(&x).into()], &[("axis", 1i64.into())])), [1., 1.]);
        assert_eq!(elements(&run1("argmin", &[(&x).into()], &[("axis", 1i64.into())])), [0., 2.]);
        let largest = run1("max", &[(&x).into()], &[("axis", vec![1i64].into())]);
        assert_eq!(elements(&run1("astype", &[largest.into()], &[("dtype", DType::FLOAT32.into())])), [-1., -4.]);
    }
}
