//! Sorting and searching.

use crate::{
    run::{Attrs, run, run_static, run1},
    values::*,
};
use half::f16;
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
    for n in [0i64, 1, 2, 3, 5, 8, 16, 17, 33, 127, 128, 208, 209] {
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
    // Many lines of a few elements are sorted in vector lanes.
    for (shape, axis) in [([30i64, 6], 1usize), ([6, 30], 0), ([8, 16], 1), ([2, 17], 0)] {
        let (x, (n, step)) = (rough(&shape, 3), if axis == 1 { (shape[1], 1) } else { (shape[0], shape[1]) });
        for descending in [false, true] {
            let attrs: Attrs = &[("axis", (axis as i64).into()), ("descending", descending.into())];
            let [sorted, at] = ["sort", "argsort"].map(|op| elements(&run1(op, &[(&x).into()], attrs)));
            for line in 0..shape[1 - axis] {
                let index = |j: i64| (if axis == 1 { line * n + j } else { line + j * step }) as usize;
                let values: Vec<f64> = (0..n).map(|j| elements(&x)[index(j)]).collect();
                for (j, p) in positions(&values, descending).into_iter().enumerate() {
                    assert_eq!(at[index(j as i64)] as usize, p, "{shape:?} along {axis}");
                    assert_eq!(order(sorted[index(j as i64)], values[p]), Ordering::Equal);
                }
            }
        }
    }
}

/// Elements of every magnitude, negative ones, and zeros of both signs, which are equal. Rank sort is for short lines.
#[test]
fn sorts_short_lines_of_every_dtype() {
    check_sorted_lines(50);
}

/// Radix sort is for long lines, and for those of dynamic length.
#[test]
fn sorts_long_lines_of_every_dtype() {
    check_sorted_lines(350);
}

fn check_sorted_lines(length: i64) {
    let numbers = |n: i64| n * 7919 % 4001 - 2000;
    let (one, two, four) =
        ((0..length).map(|n| numbers(n) as i8), (0..length).map(|n| numbers(n) as u16), (0..length).map(numbers));
    let floats = || (0..length).map(|n| if n % 5 == 0 { -0.0 } else { (numbers(n) / 7) as f64 * 1e-3 });
    let tensors = [
        vector_of(&one.collect::<Vec<_>>()),
        vector_of(&two.collect::<Vec<_>>()),
        vector_of(&(0..length).map(|n| numbers(n) as i16).collect::<Vec<_>>()),
        vector_of(&four.map(|n| n * 3_000_000_000).collect::<Vec<_>>()),
        vector_of(&(0..length).map(|n| numbers(n) as i32 * 1_000_000).collect::<Vec<_>>()),
        vector_of(&(0..length).map(|n| numbers(n) > 0).collect::<Vec<_>>()),
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
    for (n, k, axis) in [
        (10i64, 3i64, 0),
        (10, 10, 0),
        (66, 64, 0),
        (66, 65, 0),
        (7, 0, 0),
        (70, 1, 0),
        (150, 5, 1),
        (77, 40, 1),
        (108, 86, 0),
        (40, 10, 1),
    ] {
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

/// The top `k` of each line along an axis, and their positions.
fn check_top(x: &Tensor, k: i64, axis: usize, largest: bool) {
    let attrs: Attrs = &[("k", k.into()), ("axis", (axis as i64).into()), ("largest", largest.into())];
    let result = run("topk", &[x.into()], attrs);
    let shape = x.shape();
    let sizes = |range: &[i64]| range.iter().product::<i64>() as usize;
    let (outer, length, inner) = (sizes(&shape[..axis]), shape[axis] as usize, sizes(&shape[axis + 1..]));
    let (all, values, places) = (elements(x), elements(&result[0]), elements(&result[1]));
    for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
        let line: Vec<f64> = (0..length).map(|j| all[(o * length + j) * inner + i]).collect();
        for (rank, p) in positions(&line, largest).into_iter().take(k as usize).enumerate() {
            let at = (o * k as usize + rank) * inner + i;
            let place = places[at] as usize;
            assert_eq!(place, p, "{} {shape:?} along {axis}: rank {rank} of {k}, largest {largest}", x.dtype());
            assert_eq!(order(values[at], line[p]), Ordering::Equal);
        }
    }
}

/// The best elements of a long line are selected by a reservoir, which is sorted several times if many elements are not
/// worse than the first bound, and at the end of the line if its length is its size.
#[test]
fn selects_from_long_lines() {
    for (n, k) in [(1100i64, 65i64), (3000, 40), (3000, 41), (3000, 64), (2000, 300), (1424, 100), (4096, 1000)] {
        check_top(&rough(&[2, n], n as u64), k, 1, true);
        check_top(&rough(&[2, n], n as u64), k, 1, false);
    }
    for (n, k) in [(256i64, 4i64), (300, 30), (600, 10), (1000, 33)] {
        check_top(&rough(&[2, n], n as u64), k, 1, true);
        check_top(&rough(&[n, 1], n as u64), k, 0, false);
    }
}

/// The same of lines that are ordered, or whose elements are often equal or special, and of other dtypes.
#[test]
fn selects_from_long_regular_lines() {
    let (n, k) = (3003i64, 100);
    let ascending: Vec<f32> = (0..n).map(|j| j as f32).collect();
    for line in [ascending.clone(), ascending.iter().rev().copied().collect(), vec![2.0; n as usize]] {
        for largest in [true, false] {
            check_top(&tensor(&[n], &line), k, 0, largest);
            check_top(&tensor(&[n], &line), 50, 0, largest);
        }
    }
    // The elements of a group are equal, so many elements of the line are not worse than the bound.
    for (k, groups) in [(100, 400), (40, 160), (20, 80), (5, 64)] {
        let periodic: Vec<f32> = (0..n).map(|j| (j % groups) as f32).collect();
        check_top(&tensor(&[n], &periodic), k, 0, true);
        check_top(&tensor(&[n], &periodic), k, 0, false);
        check_top(&tensor(&[n], &ascending), k, 0, true);
    }
    let with_infinities: Vec<f32> = (0..n)
        .map(|j| [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0, j as f32][(j * 7 % 6) as usize])
        .collect();
    check_top(&tensor(&[n], &with_infinities), 900, 0, true);
    check_top(&tensor(&[n], &with_infinities), 900, 0, false);
    check_top(&tensor(&[n], &with_infinities), 8, 0, true);
    check_top(&tensor(&[n], &with_infinities), 300, 0, false);
    let numbers = |j: i64| j * 7919 % 4001 - 2000;
    check_top(&tensor(&[n], &(0..n).map(|j| numbers(j) as i8).collect::<Vec<_>>()), k, 0, true);
    check_top(&tensor(&[n], &(0..n).map(|j| numbers(j) * 3_000_000_000).collect::<Vec<_>>()), k, 0, false);
    check_top(&tensor(&[n], &(0..n).map(|j| numbers(j) as f64 / 7.0).collect::<Vec<_>>()), k, 0, true);
    check_top(&tensor(&[n, 2], &(0..2 * n).map(|j| numbers(j) as i32).collect::<Vec<_>>()), k, 0, true);
}

/// A small `k` along another axis than the last, or of many short lines, is selected in vector lanes.
#[test]
fn selects_in_lanes() {
    for shape in [[3i64, 20, 16], [2, 33, 19], [1, 5, 40], [20, 3, 8]] {
        let x = rough(&shape, 5);
        for (axis, k) in [(1, 1i64), (1, 3), (0, 1), (2, 4), (2, 8)] {
            check_top(&x, k, axis, false);
            check_top(&x, k, axis, true);
        }
    }
    let numbers = |j: i64| j * 7919 % 41 - 20;
    check_top(&tensor(&[30, 18], &(0..540).map(|j| numbers(j) as i8).collect::<Vec<_>>()), 7, 0, true);
    check_top(&tensor(&[30, 18], &(0..540).map(numbers).collect::<Vec<_>>()), 7, 1, true);
    check_top(&tensor(&[30, 18], &(0..540).map(|j| numbers(j) as u16).collect::<Vec<_>>()), 30, 0, false);
    check_top(&tensor(&[30, 18], &(0..540).map(|j| numbers(j) as f64 / 7.0).collect::<Vec<_>>()), 5, 0, true);
    let short = (0..540).map(|j| f16::from_f32(if j % 11 == 0 { f32::NAN } else { numbers(j) as f32 / 4.0 }));
    check_top(&tensor(&[30, 18], &short.collect::<Vec<_>>()), 5, 0, true);
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
