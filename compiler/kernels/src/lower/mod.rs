//! From any valid TIR function to flat code.

mod blocks;
pub mod exact;
mod flatten;
mod free;
mod fresh;
mod legalize;
mod selects;
mod threads;
mod tidy;
mod traps;
mod unroll;
mod vectorize;
mod widen;

use crate::{
    FlatKernel, Target,
    error::{KernelError, Reason},
    plan,
    signature::{self, Interface},
};
use hammock_ir::{
    Name, PrimExpr,
    prim::Var,
    tir::{Buffer, PrimFunc, Stmt, StmtKind},
};

/// Lowers a function to a kernel: flat code with explicit vectors.
///
/// # Errors
/// When the function is not valid TIR, or works on GPU threads that work together.
pub fn lower(func: &PrimFunc, target: &Target) -> Result<FlatKernel, KernelError> {
    let name: Name = func.attrs.get("global_symbol").and_then(|v| v.as_str()).unwrap_or("(private)").into();
    flat_kernel(func, &name, target).map_err(|reason| KernelError { function: name, span: func.span, reason })
}

fn flat_kernel(func: &PrimFunc, name: &Name, target: &Target) -> Result<FlatKernel, Reason> {
    let mut interface = signature::interface(func);
    let body = flat_blocks(func, &interface, target)?;
    let sizes: Vec<Var> = interface.sizes().collect();
    let body = tidy::tidy(blocks::remove_blocks(body), &sizes);
    let body = tidy::tidy(vectorize::vectorize(unroll::unroll(body)), &sizes);
    let body = legalize::legalize(body, &mut interface.params, &sizes, target)?;
    let func = PrimFunc {
        params: interface.params,
        ret_ty: None,
        body,
        attrs: func.attrs.clone(),
        s_tir: false,
        span: func.span,
    };
    free::check_variables(&func)?;
    Ok(FlatKernel { name: name.clone(), func, signature: interface.signature })
}

/// The body with its blocks, all buffers flat.
fn flat_blocks(func: &PrimFunc, interface: &Interface, target: &Target) -> Result<Stmt, Reason> {
    let mut body = func.body.clone();
    threads::serialize_threads(&mut body)?;
    exact::mark(func, &mut body);
    traps::check(func, &mut body);
    selects::guard(&mut body);
    widen::widen(&mut body);
    plan::schedule(&mut body, target);
    store_result(&mut body, interface.result.as_ref());
    let buffers: Vec<Buffer> = func.buffers().chain(&interface.result).cloned().collect();
    let handles = func.params.iter().filter(|p| p.buffer.is_none() && p.var.dtype().is_handle());
    let handles: Vec<Var> = handles.map(|p| p.var.clone()).collect();
    flatten::flatten(body, &buffers, &handles, interface.values.clone())
}

/// A kernel returns a status; what the function returns goes where the caller wants it.
fn store_result(stmt: &mut Stmt, result: Option<&Buffer>) {
    stmt.each_child_mut(&mut |s| store_result(s, result));
    if let StmtKind::Return(value) = &stmt.kind {
        let store = result.map(|b| Stmt::store(b, vec![PrimExpr::int64(0)], value.clone().cast(b.dtype)));
        let done = Stmt::new(StmtKind::Return(PrimExpr::int32(0)));
        *stmt = Stmt::seq(store.into_iter().chain([done])).at(stmt.span);
    }
}

#[cfg(test)]
mod tests;
