//! Reductions of columns, by rows of threads.

use super::{check, check_kernel, f32, int, lowered_with, noalias, plan, plan_error};
use crate::{Options, plan_text};
use hammock_interp::samples::{buffer, function, sblock};
use hammock_ir::{
    DType, PrimExpr,
    prim::Var,
    tir::{PrimFunc, Stmt},
};
use hammock_target::{Gpu, Target};

/// Sums the columns of a matrix, from an initial value on.
fn column_sums(k: PrimExpr, n: PrimExpr) -> PrimFunc {
    let (a, b) =
        (buffer("A", &[k.clone(), n.clone()], DType::FLOAT32), buffer("B", std::slice::from_ref(&n), DType::FLOAT32));
    let stage = sblock("sum", &[('S', n), ('R', k)], |v| {
        let at = vec![v[0].clone()];
        let add = PrimExpr::load(&b, at.clone()) + PrimExpr::load(&a, vec![v[1].clone(), v[0].clone()]);
        (Some(Stmt::store(&b, at.clone(), f32(2.0))), Stmt::store(&b, at, add))
    });
    noalias(function(&[&a, &b], &[], vec![stage]))
}

#[test]
fn rows_of_threads_share_columns() {
    let n = Var::int64("n");
    let ragged = column_sums(int(100), int(33));
    assert_eq!(plan(&ragged), "column_reduction: v0 by 33 block, v1 by 28, v1 by 7 unrolled, v1 thread, v0 thread\n");
    check(&ragged, &[&[100, 33], &[33]]);
    let dynamic = column_sums(int(100), n.expr());
    assert_eq!(plan(&dynamic), "column_reduction: v0 by 128 block, v1 by 16, v1 by 4 unrolled, v1 thread, v0 thread\n");
    for n in [0, 1, 33, 130] {
        check(&dynamic, &[&[100, n], &[n]]);
    }
    let aligned = column_sums(int(50), int(256));
    assert_eq!(plan(&aligned), "column_reduction: v0 by 32 block, v1 by 32, v1 by 8 unrolled, v1 thread, v0 thread\n");
    check(&aligned, &[&[50, 256], &[256]]);
}

#[test]
fn no_columns_are_not_launched() {
    let none = column_sums(int(100), int(0));
    assert_eq!(lowered_with(&none, None).device.len(), 0);
    check(&none, &[&[100, 0], &[0]]);
}

#[test]
fn a_dynamic_number_of_rows_is_split() {
    let k = Var::int64("k");
    let columns = column_sums(k.expr(), int(3));
    assert_eq!(plan(&columns).lines().count(), 2);
    for k in [0, 1, 100, 4500] {
        check(&columns, &[&[k, 3], &[3]]);
    }
}

#[test]
fn strict_order_neither_splits_nor_shares_reductions() {
    let columns = column_sums(Var::int64("k").expr(), int(3));
    let target = Target::baseline();
    let options = Options { gpu: Some(&Gpu::DEFAULT), strict_order: true, ..Options::new(&target) };
    let text = plan_text(&columns, options).unwrap();
    let plans: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(plans, ["thread_per_result: v0 grid 256, v1"]);
}

/// Results are in groups of threads within a warp, in groups of warps, and in rows of all threads.
#[test]
fn threads_of_other_results_are_between() {
    let columns = column_sums(int(100), int(192));
    for groups in [
        "v0 by 8 block, v0 by 4 thread, v1 by 8",
        "v0 by 64 block, v0 by 32 thread, v1 by 8",
        "v0 by 6 block, v1 by 16",
    ] {
        let plan = format!("column_reduction: {groups}, v1 thread, v0 thread");
        check_kernel(&columns, &lowered_with(&columns, Some(&plan)), &[&[100, 192], &[192]]);
    }
    let plan = "column_reduction: v0 by 12 block, v0 by 6 thread, v1 by 8, v1 thread, v0 thread";
    assert_eq!(plan_error(&columns, plan), "8 threads of 96 reduce a result together");
    let plan = "column_reduction: v0 by 8 block, v1 by 16, v1 by 8 thread, v0 thread, v1 thread";
    assert_eq!(plan_error(&columns, plan), "threads that reduce one result together are in adjacent loops");
}
