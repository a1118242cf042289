//! Dot products of packed groups (dot4, dot2), accumulated per lane.

use super::{Emitter, Result, Ty, Unsupported, Value};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, flat::Dot},
};

impl Emitter<'_, '_> {
    /// Loads the packed group that starts at an element.
    pub(super) fn load_packed(&mut self, element: &PrimExpr) -> Result<Value> {
        let PrimKind::Load(buffer, indices, None) = element.kind() else {
            return Err(Unsupported::Form("a word of what is not in memory"));
        };
        let at = self.address_of(buffer, indices)?;
        Ok(self.f.load(Ty::I32, &at, 1))
    }

    /// Adds the dot products of two vectors of packed groups to a sum, lane by lane.
    pub(super) fn dot(&mut self, dot: Dot, args: &[PrimExpr]) -> Result<Value> {
        let [a, b, sum] = args else { return Err(Unsupported::Form("a dot product of other than three operands")) };
        let values = [self.eval(a)?, self.eval(b)?, self.eval(sum)?];
        let is_broadcast = matches!(b.kind(), PrimKind::Broadcast(_));
        let (arch, target) = self.kernel.arch()?;
        let (lanes, full) = (values[2].ty.lanes, (target.vector_bytes / 4) as u16);
        Ok(self.per_register(values.each_ref(), lanes, full, &mut |s, [a, b, sum]| match dot {
            Dot::Bfloat16 => arch.dot_bfloat16(&mut s.builder(target), [&a, &b], &sum),
            Dot::Bytes(signed) => arch.dot_int8(&mut s.builder(target), signed, is_broadcast, [&a, &b], &sum),
        }))
    }
}
