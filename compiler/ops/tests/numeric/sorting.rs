//! Sorting and searching.

use crate::{
    run::{Attrs, run, run_static, run1},
    values::*,
};
use hammock_ir::{DType, Tensor};
use hammock_runtime::Element;
use std::cmp::Ordering;

/// Numbers with repetitions, NaN among them.
fn rough(shape: &[i64], seed: u64) -> Tensor {
    let values: Vec<f32> =
        elements(&noise(shape, seed)).iter().map(|v| if *v > 3.5 { f32::NAN } else { v.round() as f32 }).collect();
    tensor(shape, &values)
}

fn order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The positions of a line's elements in order.
fn positions(line: &[f64], descending: bool) -> Vec<usize> {
    let mut all: Vec<usize> = (0..line.len()).collect();
    all.sort_by(|a, b| if descending { order(line[*b], line[*a]) } else { order(line[*a], line[*b]) });
    all
}

#[test]
fn sorts_lines_of_any_length() {
    for n in [0i64, 1, 2, 3, 5, 8, 17, 33, 127, 128, 300] {
        let x = rough(&[2, n], n as u64 + 1);
        for descending in [false, true] {
            let attrs: Attrs = &[("axis", 1i64.into()), ("descending", descending.into())];
            let (sorted, at) = (run1("sort", &[(&x).into()], attrs), run1("argsort", &[(&x).into()], attrs));
            assert_eq!(at.dtype(), DType::INT32);
            for row in 0..2 {
                let line: Vec<f64> = (0..n as usize).map(|k| view(&x).at(&[row, k])).collect();
                let expected = positions(&line, descending);
                for (k, p) in expected.iter().enumerate() {
                    assert_eq!(view(&at).at(&[row, k]) as usize, *p, "length {n}");
                    assert_eq!(order(view(&sorted).at(&[row, k]), line[*p]), Ordering::Equal);
                }
            }
        }
    }
}

#[test]
fn sorts_along_other_axes_and_dtypes() {
    let x = tensor(&[3, 2], &[3i64, 1, 1, 2, 2, 3]);
    assert_eq!(elements(&run1("sort", &[(&x).into()], &[("axis", 0i64.into())])), [1., 1., 2., 2., 3., 3.]);
    let at = run1("argsort", &[(&x).into()], &[("axis", 0i64.into()), ("dtype", DType::INT64.into())]);
    assert_eq!(elements(&at), [1., 0., 2., 1., 0., 2.]);
    assert_eq!(at.dtype(), DType::INT64);
}

/// Long lines use radix sort: elements of every magnitude, negative ones, and zeros of both signs, which are equal.
#[test]
fn sorts_long_lines_of_every_dtype() {
    let numbers = |n: i64| n * 7919 % 4001 - 2000;
    let (one, two, four) =
        ((0..250).map(|n| numbers(n) as i8), (0..250).map(|n| numbers(n) as u16), (0..250).map(numbers));
    let floats = || (0..250).map(|n| if n % 5 == 0 { -0.0 } else { (numbers(n) / 7) as f64 * 1e-3 });
    let tensors = [
        vector_of(&one.collect::<Vec<_>>()),
        vector_of(&two.collect::<Vec<_>>()),
        vector_of(&four.map(|n| n * 3_000_000_000).collect::<Vec<_>>()),
        vector_of(&(0..250).map(|n| numbers(n) as i32 * 1_000_000).collect::<Vec<_>>()),
        vector_of(&(0..250).map(|n| numbers(n) > 0).collect::<Vec<_>>()),
        vector_of(&floats().collect::<Vec<f64>>()),
        vector_of(&floats().map(|v| if v == 0.006 { f32::NAN } else { v as f32 }).collect::<Vec<f32>>()),
    ];
    for x in tensors {
        for descending in [false, true] {
            let at = run1("argsort", &[(&x).into()], &[("descending", descending.into())]);
            let sorted = run1("sort", &[(&x).into()], &[("descending", descending.into())]);
            let expected = positions(&elements(&x), descending);
            assert_eq!(elements(&at), expected.iter().map(|p| *p as f64).collect::<Vec<_>>(), "{}", x.dtype());
            for (found, p) in elements(&sorted).iter().zip(&expected) {
                assert_eq!(found.to_bits(), elements(&x)[*p].to_bits(), "{}", x.dtype());
            }
        }
    }
}

fn vector_of<T: Element>(values: &[T]) -> Tensor {
    tensor(&[values.len() as i64], values)
}

#[test]
fn finds_the_largest() {
    for (n, k, axis) in
        [(10i64, 3i64, 0), (10, 10, 0), (66, 64, 0), (66, 65, 0), (7, 0, 0), (70, 1, 0), (150, 5, 1), (77, 40, 1)]
    {
        let shape = if axis == 0 { [n, 2] } else { [2, n] };
        let x = rough(&shape, k as u64 + 3);
        let place = |at: usize, column: usize| if axis == 0 { [at, column] } else { [column, at] };
        for largest in [true, false] {
            let attrs: Attrs = &[("k", k.into()), ("axis", axis.into()), ("largest", largest.into())];
            let result = run("topk", &[(&x).into()], attrs);
            let count = if k < 1 { n } else { k };
            for column in 0..2 {
                let line: Vec<f64> = (0..n as usize).map(|r| view(&x).at(&place(r, column))).collect();
                for (rank, p) in positions(&line, largest).iter().take(count as usize).enumerate() {
                    let i = place(rank, column);
                    assert_eq!(view(&result[1]).at(&i) as usize, *p, "{n} {k}");
                    assert_eq!(order(view(&result[0]).at(&i), line[*p]), Ordering::Equal);
                }
            }
        }
    }
    let x = vector(&[1., 3., 2.]);
    let only = run1(
        "topk",
        &[(&x).into()],
        &[("k", 2i64.into()), ("ret_type", "indices".into()), ("dtype", DType::INT64.into())],
    );
    assert_eq!(elements(&only), [1., 2.]);
    let only = run1("topk", &[(&x).into()], &[("k", 2i64.into()), ("ret_type", "values".into())]);
    assert_eq!(elements(&only), [3., 2.]);
}

#[test]
fn counts_boundaries() {
    let x = tensor(&[2, 3], &[0.5f32, 1.0, 1.5, 3.0, -1.0, f32::NAN]);
    let boundaries = vector(&[1., 2., 3.]);
    let count = |right: bool| {
        let result = run1("bucketize", &[(&x).into(), (&boundaries).into()], &[("right", right.into())]);
        assert_eq!(result.dtype(), DType::INT64);
        elements(&result)
    };
    assert_eq!(count(false), [0., 0., 1., 2., 0., 3.]);
    assert_eq!(count(true), [0., 1., 1., 3., 0., 3.]);
    let none = run_static("bucketize", &[(&x).into(), vector(&[]).into()], &[("out_int32", true.into())]);
    assert_eq!(none[0].dtype(), DType::INT32);
    assert_exact(&none[0], &[2, 3], |_| 0.0);
}
