//! Thread axes as loops: `T.launch_thread` becomes a loop that is bound to the axis, as `T.thread_binding` is.
//!
//! So everything that knows loops knows the range of a thread's index. Loops that only the scheduling language has
//! (`vthread`) become unrolled loops.

use hammock_ir::{
    Attrs, DType, Name, PrimExpr,
    prim::{Substitution, Var},
    tir::{AttrNode, ForKind, Loop, Stmt, StmtKind},
};

/// Turns the thread axes in a body into loops.
pub fn bind_loops(stmt: &mut Stmt) {
    match &mut stmt.kind {
        StmtKind::Attr { node: AttrNode::Thread(iter), value, body, .. } => {
            let var = Var::int64(iter.var.name().clone());
            let mut body = std::mem::replace(&mut **body, Stmt::nop());
            let wide = var.expr().cast(iter.var.dtype());
            body.substitute(&Substitution::from_iter([(iter.var.clone(), wide)]));
            let (min, extent) = (PrimExpr::int64(0), value.clone().cast(DType::INT64));
            let kind = kind_of(&iter.thread);
            let l = Loop { var, min, extent, step: None, kind, annotations: Attrs::new(), body };
            stmt.kind = StmtKind::For(Box::new(l));
        }
        StmtKind::For(l) => {
            if let ForKind::ThreadBinding(thread) = &l.kind {
                l.kind = kind_of(thread);
            }
        }
        _ => {}
    }
    stmt.each_child_mut(&mut bind_loops);
}

/// Returns how a loop over a thread axis runs.
fn kind_of(thread: &Name) -> ForKind {
    if thread.starts_with("vthread") { ForKind::Unrolled } else { ForKind::ThreadBinding(thread.clone()) }
}
