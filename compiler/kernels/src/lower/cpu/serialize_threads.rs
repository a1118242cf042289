//! Runs code for GPU threads on one thread: thread axes become serial loops.

use crate::error::Reason;
use hammock_ir::{
    Attrs, DType, Name, PrimExpr,
    prim::{
        PrimCall, PrimCallee, PrimKind, Substitution, Var,
        intrinsics::{self, Effect},
    },
    tir::{AttrNode, ForKind, Loop, Stmt, StmtKind},
};

/// Turns thread axes into serial loops.
///
/// # Errors
/// When threads cooperate: they synchronize or exchange values.
pub fn serialize_threads(stmt: &mut Stmt) -> Result<(), Reason> {
    match stmt.kind {
        StmtKind::For(ref mut l) if matches!(l.kind, ForKind::ThreadBinding(_)) => l.kind = ForKind::Serial,
        StmtKind::Attr { node: AttrNode::Thread(ref iter), ref value, ref mut body, .. } => {
            let var = Var::int64(iter.var.name().clone());
            let mut body = std::mem::replace(&mut **body, Stmt::nop());
            let wide = var.expr().cast(iter.var.dtype());
            body.substitute(&Substitution::from_iter([(iter.var.clone(), wide)]));
            let (min, extent) = (PrimExpr::int64(0), value.clone().cast(DType::INT64));
            let l = Loop { var, min, extent, step: None, kind: ForKind::Serial, annotations: Attrs::new(), body };
            stmt.kind = StmtKind::For(Box::new(l));
        }
        _ => {}
    }
    let mut failed = None;
    stmt.each_expr(&mut |e| failed = failed.take().or_else(|| cooperation(e)));
    stmt.each_child_mut(&mut |s| {
        if let Err(reason) = serialize_threads(s) {
            failed.get_or_insert(reason);
        }
    });
    failed.map_or(Ok(()), Err)
}

/// Returns the first intrinsic that needs several threads at once.
fn cooperation(e: &PrimExpr) -> Option<Reason> {
    let mut found: Option<Name> = None;
    e.walk(&mut |x| {
        if let PrimKind::Call(PrimCall { callee: PrimCallee::Intrin(name), .. }) = x.kind()
            && (intrinsics::effect(name) == Effect::Cooperates || ["ptx.", "cuda."].iter().any(|p| name.starts_with(p)))
        {
            found.get_or_insert(name.clone());
        }
    });
    found.map(Reason::GpuOnly)
}
