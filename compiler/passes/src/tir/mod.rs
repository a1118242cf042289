//! Passes over TIR: each transforms the loops of every kernel separately.
//!
//! Compiling a module needs none of them: `hammock-kernels` takes kernels as they are and lowers them itself. They
//! are for inspecting kernels, and for pipelines written for TVM. Names begin with the dialect, like TVM's:
//! `tirx.UnrollLoop`, `s_tir.LowerInitBlock`.

mod index_bounds;

pub mod annotate_irregular_loop;
pub mod bind_target;
pub mod canonicalize_loop;
pub mod common_subexpr_elim;
pub mod compact_buffer_allocation;
pub mod convert_blocks_to_opaque;
pub mod flatten_buffer;
pub mod force_narrow_index_to_int32;
pub mod hoist_if_then_else;
pub mod lower_init_block;
pub mod lower_match_buffer;
pub mod lower_opaque_block;
pub mod narrow_data_type;
pub mod plan_and_update_buffer_allocation_location;
pub mod remove_no_op;
pub mod rewrite_unsafe_select;
pub mod skip_assert;
pub mod specialize_prim_func_based_on_call_site;
pub mod stmt_simplify;
pub mod unroll_loop;
pub mod vectorize_loop;

use crate::Pass;
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Function as Global, Module, Name, PrimExpr, Span, equal,
    prim::{BinaryOp, PrimKind},
    tir::{Buffer, PrimFunc, Stmt, StmtKind},
};

/// Runs `f` on each kernel of a module.
pub fn each_kernel(
    module: &mut Module,
    mut f: impl FnMut(&Name, &mut PrimFunc) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    module.functions.iter_mut().try_for_each(|(name, function)| match function {
        Global::Tir(kernel) => f(name, kernel),
        _ => Ok(()),
    })
}

/// Rewrites every statement, inner ones first.
pub fn map(stmt: Stmt, f: &mut dyn FnMut(Stmt) -> Stmt) -> Stmt {
    let mut stmt = stmt;
    stmt.each_child_mut(&mut |child| *child = map(take(child), f));
    f(stmt)
}

/// Takes a statement out to rewrite it.
pub fn take(stmt: &mut Stmt) -> Stmt {
    std::mem::replace(stmt, Stmt::nop())
}

/// Returns the error for a kernel that a pass does not support.
pub fn misplaced(pass: &Pass, kernel: &Name, why: &str, help: &str, span: Span) -> Diagnostic {
    let message = format!("pass `{}` cannot change kernel `{kernel}`: {why}", pass.name);
    Diagnostic::error(codes::NOT_LOWERABLE, message).label(span, "").help(help)
}

/// Checks that a kernel has no blocks.
///
/// # Errors
/// If the kernel has blocks; names the passes to run first.
pub fn has_no_blocks(pass: &Pass, name: &Name, kernel: &PrimFunc) -> Result<(), Diagnostic> {
    let mut block = None;
    kernel.body.walk(&mut |stmt| {
        if matches!(stmt.kind, StmtKind::Block(_)) {
            block.get_or_insert(stmt.span);
        }
    });
    let help = "run passes `s_tir.ConvertBlocksToOpaque` and `s_tir.LowerOpaqueBlock` first";
    block.map_or(Ok(()), |span| Err(misplaced(pass, name, "it has blocks", help, span)))
}

/// Returns the span of the first block with a `T.init()`.
pub fn block_with_init(body: &Stmt) -> Option<Span> {
    let mut found = None;
    body.walk(&mut |stmt| {
        if matches!(&stmt.kind, StmtKind::Block(block) if block.init.is_some()) {
            found.get_or_insert(stmt.span);
        }
    });
    found
}

/// Returns true if evaluating an expression may have side effects.
pub fn has_effects(e: &PrimExpr) -> bool {
    e.any(&mut |e| match e.kind() {
        PrimKind::Call(call) => !call.is_pure(),
        _ => false,
    })
}

/// Returns true if the operation itself is an integer division whose divisor may be zero.
pub fn may_divide_by_zero(e: &PrimExpr) -> bool {
    match e.kind() {
        PrimKind::Binary(BinaryOp::Div | BinaryOp::Mod | BinaryOp::FloorDiv | BinaryOp::FloorMod, _, by) => {
            !by.dtype().is_floating() && by.as_int().is_none_or(|by| by == 0)
        }
        _ => false,
    }
}

/// Returns true if a value is the unmasked load of the element at these indices.
pub fn is_element(buffer: &Buffer, indices: &[PrimExpr], mask: Option<&PrimExpr>, value: &PrimExpr) -> bool {
    match value.kind() {
        PrimKind::Load(from, at, None) => {
            from == buffer && mask.is_none() && equal::dims(at, indices) && !has_effects(value)
        }
        _ => false,
    }
}
