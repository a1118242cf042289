//! Copies narrow floats and bools as bits where nothing is computed with them.
//!
//! Arithmetic on narrow floats is in float32, and on bools in single bits. A value that is stored as it was loaded, or
//! selected among such values, needs no conversion: it stays an unsigned integer of its size in memory.

use hammock_ir::{
    DType, PrimExpr,
    prim::PrimKind,
    tir::{Buffer, Stmt, StmtKind},
};

/// Copies bits in all statements that only copy values.
pub fn bitcast_copies(stmt: &mut Stmt) {
    stmt.each_child_mut(&mut bitcast_copies);
    let StmtKind::Store { buffer, value, .. } = &mut stmt.kind else { return };
    if let Some((to, bits)) = bits_buffer(buffer).zip(copied_bits(value, buffer.dtype)) {
        (*buffer, *value) = (to, bits);
    }
}

/// Returns a buffer as unsigned integers, if arithmetic on its dtype needs a conversion.
fn bits_buffer(buffer: &Buffer) -> Option<Buffer> {
    let dtype = buffer.dtype;
    let narrow = dtype.is_floating() && (8..32).contains(&dtype.bits);
    let bits = if dtype.is_bool() { 8 } else { dtype.bits };
    (narrow || dtype.is_bool()).then(|| buffer.change(|b| b.dtype = DType::uint(bits).with_lanes(dtype.lanes)))
}

/// Returns the bits of a value that is loaded from memory of a dtype, or selected among such loads.
fn copied_bits(value: &PrimExpr, dtype: DType) -> Option<PrimExpr> {
    match value.kind() {
        PrimKind::Load(buffer, indices, mask) if buffer.dtype == dtype => {
            Some(PrimExpr::load_masked(&bits_buffer(buffer)?, indices.clone(), mask.clone()))
        }
        PrimKind::Select(condition, a, b) => {
            Some(condition.clone().select(copied_bits(a, dtype)?, copied_bits(b, dtype)?))
        }
        PrimKind::Call(call) if value.as_intrin("if_then_else").is_some() => match call.args.as_slice() {
            [condition, a, b] => Some(condition.clone().if_then_else(copied_bits(a, dtype)?, copied_bits(b, dtype)?)),
            _ => None,
        },
        _ => None,
    }
}
