//! What is only moved is moved as bits.
//!
//! Narrow floats are computed with in float32, and bools as single bits. A value that is stored as it was loaded, or one of
//! several such, needs neither: it goes through registers as an unsigned integer of its size in memory.

use hammock_ir::{
    DType, PrimExpr,
    prim::PrimKind,
    tir::{Buffer, Stmt, StmtKind},
};

/// Moves bits in all statements that only move values.
pub fn move_bits(stmt: &mut Stmt) {
    stmt.each_child_mut(&mut move_bits);
    let StmtKind::Store { buffer, value, .. } = &mut stmt.kind else { return };
    if let Some((to, bits)) = bits_of(buffer).zip(moved(value, buffer.dtype)) {
        (*buffer, *value) = (to, bits);
    }
}

/// A buffer as what it has in memory, if that is not what is computed with.
fn bits_of(buffer: &Buffer) -> Option<Buffer> {
    let dtype = buffer.dtype;
    let narrow = dtype.is_floating() && (8..32).contains(&dtype.bits);
    let bits = if dtype.is_bool() { 8 } else { dtype.bits };
    (narrow || dtype.is_bool()).then(|| buffer.change(|b| b.dtype = DType::uint(bits).with_lanes(dtype.lanes)))
}

/// The bits of a value that is loaded, or chosen among such, from memory of a dtype.
fn moved(value: &PrimExpr, dtype: DType) -> Option<PrimExpr> {
    match value.kind() {
        PrimKind::Load(buffer, indices, mask) if buffer.dtype == dtype => {
            Some(PrimExpr::load_masked(&bits_of(buffer)?, indices.clone(), mask.clone()))
        }
        PrimKind::Select(condition, a, b) => Some(condition.clone().select(moved(a, dtype)?, moved(b, dtype)?)),
        PrimKind::Call(call) if value.as_intrin("if_then_else").is_some() => match call.args.as_slice() {
            [condition, a, b] => Some(condition.clone().if_then_else(moved(a, dtype)?, moved(b, dtype)?)),
            _ => None,
        },
        _ => None,
    }
}
