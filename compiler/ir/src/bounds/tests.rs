use super::*;
use crate::tir::{Block, Param, Stmt};

fn int(v: i64) -> PrimExpr {
    PrimExpr::int64(v)
}

fn func(buffers: &[&Buffer]) -> PrimFunc {
    let params = buffers.iter().map(|b| Param::buffer((*b).clone())).collect();
    let body = Block::root(Vec::new(), Stmt::nop()).into();
    PrimFunc { params, ret_ty: None, body, attrs: Default::default(), s_tir: true, span: Default::default() }
}

fn buffer(shape: &[PrimExpr]) -> Buffer {
    Buffer::new("A", shape.to_vec(), DType::FLOAT32)
}

fn a_loop(var: &Var, min: PrimExpr, extent: PrimExpr) -> Loop {
    let kind = crate::tir::ForKind::Serial;
    Loop { var: var.clone(), min, extent, step: None, kind, annotations: Default::default(), body: Stmt::nop() }
}

/// The scope inside loops over these extents, in a function of one buffer.
fn inside(shape: &[PrimExpr], loops: &[(&Var, PrimExpr)]) -> Scope {
    let mut scope = Scope::of(&func(&[&buffer(shape)]));
    loops
        .iter()
        .for_each(|(var, extent)| scope.enter_loop(&a_loop(var, PrimExpr::int(0, var.dtype()), extent.clone())));
    scope
}

#[test]
fn loops_bound_their_variables() {
    let (i, j) = (Var::int64("i"), Var::int64("j"));
    let scope = inside(&[int(8), int(8)], &[(&i, int(8)), (&j, int(4))]);
    assert!(scope.is_inside(&i.expr(), &int(8)));
    assert!(!scope.is_inside(&(i.expr() + int(1)), &int(8)));
    assert!(!scope.is_inside(&(i.expr() - int(1)), &int(8)));
    assert!(scope.is_inside(&(j.expr() * int(2) + int(1)), &int(8)));
    assert!(scope.is_inside(&(int(7) - i.expr()), &int(8)));
}

#[test]
fn symbolic_sizes_and_narrow_variables() {
    let (n, m) = (Var::new("n", DType::INT32), Var::new("m", DType::INT32));
    let (i, j) = (Var::new("i", DType::INT32), Var::new("j", DType::INT32));
    let scope = inside(&[n.expr(), m.expr()], &[(&i, n.expr()), (&j, m.expr())]);
    assert!(scope.is_inside(&i.expr(), &n.expr()));
    assert!(!scope.is_inside(&i.expr(), &m.expr()));
    let flat = i.expr() * m.expr() + j.expr();
    assert!(scope.is_inside(&flat.clone().floordiv(m.expr()), &n.expr()));
    assert!(scope.is_inside(&flat.floormod(m.expr()), &m.expr()));
    assert!(scope.is_inside(&(n.expr() - PrimExpr::int32(1)), &n.expr()), "inside of a loop over it");
}

#[test]
fn quotients_and_remainders_of_fused_symbolic_loops() {
    let [a, b, c, f] = ["a", "b", "c", "f"].map(Var::int64);
    let all = a.expr() * b.expr() * c.expr();
    let scope = inside(&[a.expr(), b.expr(), c.expr()], &[(&f, all)]);
    let rows = f.expr().floordiv(c.expr());
    assert!(scope.is_inside(&rows.clone().floordiv(b.expr()).floormod(a.expr()), &a.expr()));
    assert!(scope.is_inside(&rows.floormod(b.expr()), &b.expr()));
    let scope = inside(&[a.expr()], &[(&f, a.expr() * int(2))]);
    assert!(scope.is_inside(&f.expr().floordiv(int(2)), &a.expr()));
    assert!(!scope.is_inside(&(f.expr() + int(1)).floordiv(int(2)), &a.expr()));
}

#[test]
fn the_last_of_a_symbolic_size() {
    let [n, i] = ["n", "i"].map(Var::int64);
    let scope = inside(&[n.expr()], &[(&i, n.expr().min(int(1)))]);
    let start = (n.expr() - int(1)).max(int(0)).min(n.expr());
    assert!(scope.is_inside(&(start.clone() + i.expr()), &n.expr()));
    assert!(!scope.is_inside(&(start + i.expr() + int(1)), &n.expr()));
    assert!(scope.is_inside(&(n.expr() - int(1)), &n.expr()), "inside of a loop over some of it");
}

#[test]
fn what_overflows_proves_nothing() {
    let (i, s) = (Var::int64("i"), Var::int64("s"));
    let scope = inside(&[int(8)], &[(&i, int(8))]);
    let huge = int(1 << 62);
    assert!(!scope.is_inside(&(i.expr() * &huge).floordiv(huge.clone()), &int(8)));
    assert!(!scope.is_inside(&(s.expr() * int(2)).floordiv(int(2)).max(int(0)).min(int(7)), &int(8)));
    assert!(scope.is_inside(&s.expr().max(int(0)).min(int(7)), &int(8)));
    let wrapped = s.expr() + &huge;
    let mut guarded = scope.clone();
    guarded.assume(&wrapped.clone().ge(int(0)).and(wrapped.clone().lt(int(8))));
    assert!(!guarded.is_inside(&wrapped, &int(8)), "a comparison of what wraps");
    let squared = int(1 << 40) * int(1 << 40);
    assert!(!scope.is_inside(&squared.floordiv(int(1 << 40)), &int(8)), "constants overflow, too");
    let unsigned = Var::new("u", DType::UINT64);
    assert!(!scope.is_inside(&unsigned.expr().cast(DType::INT64).min(int(7)), &int(8)));
}

#[test]
fn conditions_bound_what_they_compare() {
    let (i, n) = (Var::int64("i"), Var::int64("n"));
    let mut scope = inside(&[n.expr()], &[(&i, n.expr() + int(2))]);
    let before = i.expr() - int(1);
    assert!(!scope.is_inside(&before, &n.expr()));
    scope.assume(&i.expr().ge(int(1)).and(before.clone().lt(n.expr())));
    assert!(scope.is_inside(&before, &n.expr()));
    let load = PrimExpr::load(&buffer(&[n.expr()]), vec![int(0)]).cast(DType::INT64);
    scope.assume(&load.clone().ge(int(0)));
    scope.assume_not(&load.clone().ge(n.expr()));
    assert!(scope.is_inside(&load, &n.expr()));
}

#[test]
fn loops_over_what_is_read_do_not_relate_to_it() {
    let (i, counts) = (Var::int64("i"), Buffer::new("N", vec![int(1)], DType::INT32));
    let count = PrimExpr::load(&counts, vec![int(0)]);
    let scope = inside(&[int(8)], &[(&i, count.clone().cast(DType::INT64))]);
    assert!(!scope.is_inside(&i.expr(), &count), "it may change while the loop runs");
    assert!(!scope.is_inside(&i.expr(), &int(8)));
}

#[test]
fn axes_are_their_bindings() {
    let (i, v) = (Var::int64("i"), Var::int64("v"));
    let mut scope = inside(&[int(8)], &[(&i, int(16))]);
    let axis =
        |binding| BlockAxis { var: v.clone(), dom: (int(0), int(8)), kind: crate::prim::IterKind::Spatial, binding };
    assert!(!scope.clone().enter_axis(&axis(i.expr())));
    assert!(scope.enter_axis(&axis(i.expr().floordiv(int(2)))));
    assert!(scope.is_inside(&v.expr(), &int(8)));
    assert!(scope.is_inside(&(v.expr() * int(2)), &int(16)));
}

#[test]
fn what_certainly_leaves() {
    let (i, j, n) = (Var::int64("i"), Var::int64("j"), Var::int64("n"));
    let scope = inside(&[n.expr()], &[(&i, n.expr()), (&j, int(4))]);
    let out_of_bounds_value =
        |index: &PrimExpr, extent: &PrimExpr| scope.out_of_bounds_value(index, extent).map(|e| e.to_string());
    assert_eq!(out_of_bounds_value(&(i.expr() + int(1)), &n.expr()), Some("n".into()));
    assert_eq!(out_of_bounds_value(&(j.expr() - int(1)), &int(4)), Some("T.int64(-1)".into()));
    assert_eq!(out_of_bounds_value(&(i.expr() * int(4) + j.expr()), &(n.expr() * int(4))), None);
    assert_eq!(out_of_bounds_value(&i.expr(), &int(8)), None, "only for some sizes");
    assert_eq!(out_of_bounds_value(&(i.expr() * &j.expr()), &int(8)), None);
    let triangle = {
        let mut scope = inside(&[int(8)], &[(&i, int(8))]);
        scope.enter_loop(&a_loop(&j, int(0), i.expr()));
        scope
    };
    assert_eq!(triangle.out_of_bounds_value(&(i.expr() - j.expr() - int(1)), &int(8)).map(|e| e.to_string()), None);
}
