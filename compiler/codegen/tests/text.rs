//! The LLVM IR written for small kernels, before LLVM sees it.

use hammock_codegen::llvm::{Host, ir_text};
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::Var,
    tir::{Buffer, ForKind, Param, PrimFunc, Stmt, StmtKind},
};
use hammock_kernels::lower;
use hammock_target::Target;
use std::path::Path;

fn snapshot(name: &str, params: Vec<Param>, body: Stmt) {
    let attrs = Attrs::new().with("global_symbol", name).with("tirx.noalias", true);
    let func = PrimFunc { params, ret_ty: None, body, attrs, s_tir: false, span: Default::default() };
    let flat = lower(&func, &Target::avx512()).unwrap();
    let text = ir_text(&[flat], &Target::avx512(), Host::Hammock).unwrap();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots/codegen_llvm"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn vectors_and_their_loops() {
    let n = Var::int64("n");
    let (x, y) = (
        Buffer::new("x", vec![n.expr() * 16i64], DType::FLOAT32),
        Buffer::new("y", vec![n.expr() * 16i64], DType::FLOAT32),
    );
    let (i, j) = (Var::int64("i"), Var::int64("j"));
    let at = vec![i.expr() * 16i64 + j.expr()];
    let relu = PrimExpr::load(&x, at.clone()).max(PrimExpr::float(0.0, DType::FLOAT32));
    let lanes = Stmt::for_kind(j, PrimExpr::int64(16), ForKind::Vectorized, Stmt::store(&y, at, relu));
    let params = vec![Param::buffer(x), Param::buffer(y), Param::scalar(n.clone())];
    snapshot("relu", params, Stmt::serial(i, n.expr(), lanes));
}

#[test]
fn partial_vectors() {
    let (x, y) = (
        Buffer::new("x", vec![PrimExpr::int64(15)], DType::FLOAT32),
        Buffer::new("y", vec![PrimExpr::int64(15)], DType::FLOAT32),
    );
    let j = Var::int64("j");
    let twice = PrimExpr::load(&x, vec![j.expr()]) * PrimExpr::float(2.0, DType::FLOAT32);
    let body =
        Stmt::for_kind(j.clone(), PrimExpr::int64(15), ForKind::Vectorized, Stmt::store(&y, vec![j.expr()], twice));
    snapshot("part", vec![Param::buffer(x), Param::buffer(y)], body);
}

#[test]
fn parallel_loops_asserts_and_workspaces() {
    let n = Var::int64("n");
    let x = Buffer::new("x", vec![n.expr()], DType::INT32);
    let work = Buffer::new("work", vec![n.expr()], DType::INT32);
    let i = Var::int64("i");
    let value = PrimExpr::load(&x, vec![i.expr()]);
    let positive = value.clone().gt(PrimExpr::int32(0));
    let check = Stmt::new(StmtKind::Assert(positive, "ValueError".into(), vec!["not positive".into()]));
    let copy = Stmt::store(&work, vec![i.expr()], value);
    let body = Stmt::for_kind(i, n.expr(), ForKind::Parallel, Stmt::seq([check, copy]));
    let alloc = Stmt::new(StmtKind::Alloc(work, Attrs::new()));
    snapshot("checked", vec![Param::buffer(x)], Stmt::seq([alloc, body]));
}

#[test]
fn iterations_share_allocations() {
    let n = Var::int64("n");
    let work = Buffer::new("work", vec![n.expr()], DType::INT32);
    let (i, x) = (Var::int64("i"), Buffer::new("x", vec![n.expr()], DType::INT32));
    let own = Stmt::store(&work, vec![PrimExpr::int64(0)], PrimExpr::load(&x, vec![i.expr()]));
    let back = Stmt::store(&x, vec![i.expr()], PrimExpr::load(&work, vec![PrimExpr::int64(0)]));
    let alloc = Stmt::new(StmtKind::Alloc(work, Attrs::new()));
    let params = vec![Param::buffer(x)];
    snapshot("iterations", params, Stmt::serial(i, n.expr(), Stmt::seq([alloc, own, back])));
}

#[test]
fn conditions_are_frozen() {
    let (work, out) = (
        Buffer::scoped("work", vec![PrimExpr::int64(4)], DType::INT32, "local"),
        Buffer::new("out", vec![PrimExpr::int64(4)], DType::INT32),
    );
    let unwritten = PrimExpr::load(&work, vec![PrimExpr::int64(1)]);
    let named = Var::new("named", DType::INT32);
    let bind = Stmt::new(StmtKind::Bind(named.clone(), unwritten.clone()));
    let store = Stmt::store(&out, vec![PrimExpr::int64(0)], named.expr());
    let choice = Stmt::new(StmtKind::If(unwritten.gt(PrimExpr::int32(3)), Box::new(store), None));
    let body = Stmt::seq([Stmt::new(StmtKind::Alloc(work, Attrs::new())), bind, choice]);
    let attrs = Attrs::new().with("global_symbol", "f");
    let params = vec![Param::buffer(out)];
    let func = PrimFunc { params, ret_ty: None, body, attrs, s_tir: false, span: Default::default() };
    let flat = lower(&func, &Target::avx512()).unwrap();
    let text = ir_text(&[flat], &Target::avx512(), Host::Hammock).unwrap();
    assert_eq!(text.matches("freeze").count(), 2, "the condition and what has a name\n{text}");
}
