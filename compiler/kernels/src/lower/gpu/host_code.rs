//! What the host function of a kernel can compute: functions of sizes and scalars, but nothing in device memory.

use crate::Reason;
use hammock_ir::{
    PrimExpr,
    prim::{PrimCallee, PrimKind, PrimType, check, intrinsics},
    tir::{ForKind, PrimFunc, Stmt, StmtKind},
};

/// Rejects functions that only the host can run.
///
/// # Errors
/// When the function returns a value, or calls a function.
pub fn reject_host_only(func: &PrimFunc, body: &Stmt) -> Result<(), Reason> {
    if matches!(&func.ret_ty, Some(PrimType::Scalar(dtype)) if !dtype.is_void()) {
        let help = "a kernel for a GPU stores its results in tensors";
        return Err(Reason::HostOnly { what: "a function that returns a value".to_owned(), help });
    }
    let mut found = None;
    body.walk(&mut |stmt| stmt.each_expr(&mut |e| e.walk(&mut |e| found = found.take().or_else(|| call(e)))));
    match found {
        None => Ok(()),
        Some(what) => Err(Reason::HostOnly { what, help: "call it outside of the kernel" }),
    }
}

/// Describes a call of a function.
fn call(e: &PrimExpr) -> Option<String> {
    let PrimKind::Call(call) = e.kind() else { return None };
    if !call.runs_function() {
        return None;
    }
    let callee = match &call.callee {
        PrimCallee::Global(name) => name.to_string(),
        PrimCallee::Intrin(name) => {
            call.args.first().and_then(PrimExpr::as_str).map_or_else(|| name.to_string(), str::to_owned)
        }
    };
    Some(format!("the call of `{callee}`"))
}

/// Returns true if the host can evaluate an expression: it reads no memory, and computes with integers and addresses.
/// Checks may convert sizes to floats.
pub fn is_host_value(e: &PrimExpr) -> bool {
    !e.any(&mut |e| match e.kind() {
        PrimKind::Load(..) | PrimKind::Reduce(_) => true,
        PrimKind::Call(call) => match &call.callee {
            PrimCallee::Intrin(name) => {
                let is_known = call.is_pure() || intrinsics::effect(name) == intrinsics::Effect::Address;
                !check::is_check(e) && (!is_known || e.dtype().is_floating())
            }
            PrimCallee::Global(_) => true,
        },
        _ => false,
    })
}

/// Returns true if a loop over blocks or threads is in a statement.
pub fn has_thread_loops(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.walk(&mut |s| {
        found |= matches!(&s.kind, StmtKind::For(l) if matches!(l.kind, ForKind::ThreadBinding(_)));
    });
    found
}
