//! Operations of the table-driven exponentials.

use super::{Emitter, Result, Ty, Value};
use hammock_ir::prim::flat::{EXP2_STEPS, exp2_step};

impl Emitter<'_, '_> {
    /// `a * 2^floor(n)`.
    pub(super) fn scaled(&mut self, a: &Value, n: &Value) -> Result<Value> {
        let (arch, target) = self.kernel.arch()?;
        let full = target.lanes(a.ty.bits() as u8);
        Ok(self.per_register([a, n], a.ty.lanes, full, &mut |s, [a, n]| arch.scale(&mut s.builder(target), &a, &n)))
    }

    /// Clamps the magnitude of the first operand to that of the second, with the sign of the first.
    pub(super) fn within(&mut self, x: &Value, bound: &Value) -> Result<Value> {
        let (arch, target) = self.kernel.arch()?;
        let full = target.lanes(x.ty.bits() as u8);
        Ok(self.per_register([x, bound], x.ty.lanes, full, &mut |s, [x, bound]| {
            arch.clamp_magnitude(&mut s.builder(target), &x, &bound)
        }))
    }

    /// Looks up `2^(k / 16)` by the lowest bits of integers, in a table in a register.
    pub(super) fn power_of_step(&mut self, k: &Value) -> Result<Value> {
        let bits = (0..EXP2_STEPS).map(|k| i64::from((exp2_step(k) as f32).to_bits()));
        let bits = Value::vector(bits, Ty::I32);
        let table = self.f.convert("bitcast", &bits, Ty::FLOAT.with_lanes(bits.ty.lanes));
        let (arch, target) = self.kernel.arch()?;
        Ok(self.per_register([k], k.ty.lanes, table.ty.lanes, &mut |s, [k]| {
            arch.look_up(&mut s.builder(target), &table, &k)
        }))
    }
}
