//! Integers of 4 bits as floats, by a table of their values in a register: one instruction instead of a mask, a
//! subtraction and a conversion.

use super::{Emitter, Result, Ty, Value};
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, PrimKind},
};

/// The bits of a nibble.
const NIBBLE: i64 = 15;

impl Emitter<'_, '_> {
    /// Converts vectors of the lowest 4 bits of integers, less a constant, to float32, if the target has tables.
    pub(super) fn float_of_nibble(&mut self, integers: &PrimExpr, to: DType) -> Result<Option<Value>> {
        let is_vector = to.element() == DType::FLOAT32 && !to.is_scalar();
        let (Some((bits, zero)), Ok((arch, target))) = (nibbles(integers).filter(|_| is_vector), self.kernel.arch())
        else {
            return Ok(None);
        };
        if !target.masks {
            return Ok(None);
        }
        let values = (0..=NIBBLE).map(|bits| i64::from(((bits - zero) as f32).to_bits()));
        let values = Value::vector(values, Ty::I32);
        let table = self.f.convert("bitcast", &values, Ty::FLOAT.with_lanes(values.ty.lanes));
        let bits = self.eval(bits)?;
        Ok(Some(self.per_register([&bits], bits.ty.lanes, table.ty.lanes, &mut |s, [bits]| {
            arch.look_up(&mut s.builder(target), &table, &bits)
        })))
    }
}

/// Returns the 32-bit integers whose lowest 4 bits a vector has, and the constant that is subtracted from them.
fn nibbles(integers: &PrimExpr) -> Option<(&PrimExpr, i64)> {
    let (masked, zero) = match integers.kind() {
        PrimKind::Binary(BinaryOp::Sub, masked, zero) => (masked, splat(zero)?),
        _ => (integers, 0),
    };
    let masked = match masked.kind() {
        PrimKind::Cast(masked) => masked,
        _ => masked,
    };
    let [bits, mask] = &masked.as_intrin("bitwise_and")?.args[..] else { return None };
    let fits = bits.dtype().is_integer() && bits.dtype().bits == 32 && zero.unsigned_abs() <= 1 << 16;
    (fits && splat(mask)? == NIBBLE).then_some((bits, zero))
}

fn splat(e: &PrimExpr) -> Option<i64> {
    match e.kind() {
        PrimKind::Broadcast(value) => value.as_int(),
        _ => e.as_int(),
    }
}
