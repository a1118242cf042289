//! AVX-512 instructions of the table-driven exponentials.

use super::{Emitter, Ty, Value};
use hammock_ir::prim::flat::{EXP2_STEPS, exp2_step};

impl Emitter<'_, '_> {
    /// `a * 2^floor(n)` (`vscalef`).
    pub(super) fn scaled(&mut self, a: &Value, n: &Value) -> Value {
        let full = 512 / a.ty.bits();
        self.per_register([a, n], a.ty.lanes, full, &mut |s, [a, n]| s.rounded_masked("scalef", &[&a, &n]))
    }

    /// Clamps the magnitude of the first operand to that of the second, with the sign of the first (`vrange`).
    pub(super) fn within(&mut self, x: &Value, bound: &Value) -> Value {
        // The smaller magnitude, with the sign of the first.
        let how = Value::int(0b0010, Ty::I32);
        self.per_register([x, bound], x.ty.lanes, 16, &mut |s, [x, bound]| {
            s.rounded_masked("range", &[&x, &bound, &how])
        })
    }

    /// Looks up `2^(k / 16)` by the lowest bits of integers, in a table in a register.
    pub(super) fn power_of_step(&mut self, k: &Value) -> Value {
        let bits = (0..EXP2_STEPS).map(|k| i64::from((exp2_step(k) as f32).to_bits()));
        let bits = Value::vector(bits, Ty::I32);
        let table = self.f.convert("bitcast", &bits, Ty::FLOAT.with_lanes(bits.ty.lanes));
        self.per_register([k], k.ty.lanes, table.ty.lanes, &mut |s, [k]| {
            let lanes = usize::from(k.ty.lanes);
            let k = s.f.shuffle(&k, &Value::poison(k.ty), (0..table.ty.lanes.into()).map(|lane| lane % lanes));
            s.call_x86("avx512.permvar.sf.512", table.ty, &[&table, &k])
        })
    }

    /// Emits a float instruction with all lanes active, in the current rounding mode.
    fn rounded_masked(&mut self, name: &str, args: &[&Value]) -> Value {
        let ty = args[0].ty;
        let bits = ty.lanes * ty.bits();
        let (rest, all, current) =
            (Value::poison(ty), Value::int(-1, Ty::int(ty.lanes.max(8))), Value::int(4, Ty::I32));
        let suffix = if ty.bits() == 32 { "ps" } else { "pd" };
        let mut args = [args, &[&rest, &all]].concat();
        if bits == 512 {
            args.push(&current);
        }
        self.call_x86(&format!("avx512.mask.{name}.{suffix}.{bits}"), ty, &args)
    }
}
