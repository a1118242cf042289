//! Operators that move elements: shapes, joins, repetition, layouts.

use crate::{
    run::{Arg, run, run_static, run1},
    values::*,
};
use hammock_ir::{
    AttrValue, DType, PrimExpr,
    prim::{IndexMap, Var},
};
use std::sync::Arc;

#[test]
fn axes_move() {
    let x = noise(&[2, 3, 4], 1);
    let reversed = run1("permute_dims", &[(&x).into()], &[]);
    assert_exact(&reversed, &[4, 3, 2], |i| view(&x).at(&[i[2], i[1], i[0]]));
    let rolled = run1("permute_dims", &[(&x).into()], &[("axes", vec![-1i64, 0, 1].into())]);
    assert_exact(&rolled, &[4, 2, 3], |i| view(&x).at(&[i[1], i[2], i[0]]));
    let wide = run1("expand_dims", &[(&x).into()], &[("axis", vec![0i64, -2].into())]);
    assert_exact(&wide, &[1, 2, 3, 1, 4], |i| view(&x).at(&[i[1], i[2], i[4]]));
    let y = noise(&[1, 3, 1], 2);
    assert_exact(&run_static("squeeze", &[(&y).into()], &[])[0], &[3], |i| view(&y).at(&[0, i[0], 0]));
    let some = run1("squeeze", &[(&y).into()], &[("axis", vec![-1i64].into())]);
    assert_exact(&some, &[1, 3], |i| view(&y).at(&[0, i[1], 0]));
}

#[test]
fn shapes_change() {
    let x = counting(&[2, 3, 4]);
    let order = |t: &hammock_ir::Tensor| elements(t) == elements(&x);
    for shape in [vec![24], vec![4, 6], vec![2, 12], vec![1, 24, 1], vec![3, 2, 2, 2]] {
        let result = run1("reshape", &[(&x).into(), Arg::Shape(shape.clone())], &[]);
        assert!(order(&result), "{shape:?}");
        assert_eq!(result.shape(), shape);
    }
    assert_eq!(run1("flatten", &[(&x).into()], &[]).shape(), [24]);
    assert_eq!(elements(&run1("reshape", &[counting(&[]).into(), Arg::Shape(vec![1])], &[])), [0.]);
    let y = noise(&[3, 1], 1);
    let wide = run1("broadcast_to", &[(&y).into(), Arg::Shape(vec![2, 3, 4])], &[]);
    assert_exact(&wide, &[2, 3, 4], |i| view(&y).at(&[i[1], 0]));
}

#[test]
fn sums_undo_broadcasting() {
    let x = noise(&[2, 3, 4], 3);
    let sum = |i: &[usize]| indices(&[2, 4]).iter().map(|p| view(&x).at(&[p[0], i[0], p[1]])).sum::<f64>();
    let to = run1("collapse_sum_to", &[(&x).into(), Arg::Shape(vec![3, 1])], &[]);
    assert_close(&to, &[3, 1], 1e-6, sum);
    let like = run1("collapse_sum_like", &[(&x).into(), noise(&[3, 1], 1).into()], &[]);
    assert_close(&like, &[3, 1], 1e-6, sum);
    let same = run1("collapse_sum_to", &[(&x).into(), Arg::Shape(vec![2, 3, 4])], &[]);
    assert_exact(&same, &[2, 3, 4], |i| view(&x).at(i));
}

#[test]
fn tensors_join_and_part() {
    let (x, y, z) = (noise(&[2, 3], 4), noise(&[2, 1], 5), noise(&[2, 4], 6));
    let list = Arg::List(vec![(&x).into(), (&y).into(), (&z).into(), (&x).into()]);
    let joined = run1("concat", &[list], &[("axis", (-1i64).into())]);
    assert_exact(&joined, &[2, 11], |i| match i[1] {
        k @ 0..3 => view(&x).at(&[i[0], k]),
        3 => view(&y).at(&[i[0], 0]),
        k @ 4..8 => view(&z).at(&[i[0], k - 4]),
        k => view(&x).at(&[i[0], k - 8]),
    });
    let (a, b) = (noise(&[2, 3], 7), noise(&[2, 3], 8));
    for axis in 0..3usize {
        let stacked = run1("stack", &[Arg::List(vec![(&a).into(), (&b).into()])], &[("axis", (axis as i64).into())]);
        let mut shape = vec![2, 3];
        shape.insert(axis, 2);
        assert_exact(&stacked, &shape, |i| {
            let mut own = i.to_vec();
            view(if own.remove(axis) == 0 { &a } else { &b }).at(&own)
        });
    }
}

#[test]
fn sections_cover_the_axis() {
    let x = noise(&[2, 7], 9);
    let split = |how: AttrValue| run("split", &[(&x).into()], &[("indices_or_sections", how), ("axis", 1i64.into())]);
    let widths = |parts: &[hammock_ir::Tensor]| parts.iter().map(|p| p.shape()[1]).collect::<Vec<_>>();
    let thirds = split(3i64.into());
    assert_eq!(widths(&thirds), [3, 3, 1]);
    assert_exact(&thirds[1], &[2, 3], |i| view(&x).at(&[i[0], i[1] + 3]));
    let parts = split(vec![2i64, 5, 100].into());
    assert_eq!(widths(&parts), [2, 3, 2, 0]);
    assert_exact(&parts[2], &[2, 2], |i| view(&x).at(&[i[0], i[1] + 5]));
}

#[test]
fn elements_repeat_and_turn() {
    let x = noise(&[2, 3], 10);
    let rows = run1("repeat", &[(&x).into()], &[("repeats", 2i64.into()), ("axis", 0i64.into())]);
    assert_exact(&rows, &[4, 3], |i| view(&x).at(&[i[0] / 2, i[1]]));
    let flat = run1("repeat", &[(&x).into()], &[("repeats", 2i64.into())]);
    assert_exact(&flat, &[12], |i| elements(&x)[i[0] / 2]);
    let tiled = run1("tile", &[(&x).into()], &[("repeats", vec![2i64, 1, 3].into())]);
    assert_exact(&tiled, &[2, 2, 9], |i| view(&x).at(&[i[1], i[2] % 3]));
    let short = run1("tile", &[(&x).into()], &[("repeats", vec![2i64].into())]);
    assert_exact(&short, &[2, 6], |i| view(&x).at(&[i[0], i[1] % 3]));
    let flipped = run1("flip", &[(&x).into()], &[("axis", 1i64.into())]);
    assert_exact(&flipped, &[2, 3], |i| view(&x).at(&[i[0], 2 - i[1]]));
    let y = counting(&[4, 2]);
    let lengths = ints(&[3, 4]);
    let turned = run1(
        "reverse_sequence",
        &[(&y).into(), (&lengths).into()],
        &[("seq_axis", 0i64.into()), ("batch_axis", 1i64.into())],
    );
    assert_eq!(elements(&turned), [4., 7., 2., 5., 0., 3., 6., 1.]);
}

/// An index map over `ndim` indices.
fn map(ndim: usize, f: impl Fn(&[PrimExpr]) -> Vec<PrimExpr>) -> AttrValue {
    let params: Vec<Var> = (0..ndim).map(|i| Var::int64(format!("i{i}"))).collect();
    let results = f(&params.iter().map(Var::expr).collect::<Vec<_>>());
    AttrValue::IndexMap(Arc::new(IndexMap { params, results, inverse: None }))
}

#[test]
fn layouts_split_join_and_pad() {
    let x = noise(&[2, 8], 11);
    let split = map(2, |i| vec![i[0].clone(), i[1].clone().floordiv(4i64), i[1].clone().floormod(4i64)]);
    let result = run_static("layout_transform", &[(&x).into()], &[("index_map", split.clone())]).remove(0);
    assert_exact(&result, &[2, 2, 4], |i| view(&x).at(&[i[0], i[1] * 4 + i[2]]));
    let join = map(3, |i| vec![i[1].clone() * 4i64 + i[2].clone(), i[0].clone()]);
    let y = noise(&[3, 2, 4], 12);
    let result = run_static("layout_transform", &[(&y).into()], &[("index_map", join)]).remove(0);
    assert_exact(&result, &[8, 3], |i| view(&y).at(&[i[1], i[0] / 4, i[0] % 4]));
    let z = noise(&[2, 6], 13);
    let pad = AttrValue::Expr(PrimExpr::float(-1.0, DType::FLOAT32));
    let result = run_static("layout_transform", &[(&z).into()], &[("index_map", split), ("pad_value", pad)]).remove(0);
    assert_exact(&result, &[2, 2, 4], |i| {
        let at = i[1] * 4 + i[2];
        if at < 6 { view(&z).at(&[i[0], at]) } else { -1.0 }
    });
}

/// Groups are whole, also where no element lands in the last ones of them.
#[test]
fn layouts_have_room_for_whole_groups() {
    let x = noise(&[14], 14);
    let split = map(1, |i| vec![i[0].clone().floordiv(16i64), i[0].clone().floormod(16i64)]);
    let result = run_static("layout_transform", &[(&x).into()], &[("index_map", split)]).remove(0);
    assert_exact(&result, &[1, 16], |i| if i[1] < 14 { view(&x).at(&[i[1]]) } else { 0.0 });
    let y = noise(&[3, 5], 15);
    let split = map(2, |i| vec![i[1].clone().floormod(8i64), i[0].clone()]);
    let result = run_static("layout_transform", &[(&y).into()], &[("index_map", split)]).remove(0);
    assert_exact(&result, &[8, 3], |i| if i[0] < 5 { view(&y).at(&[i[1], i[0]]) } else { 0.0 });
}
