//! Dot products of packed groups (dot4, dot2), accumulated per lane.
//!
//! int8 uses `vpdpbusd` (unsigned times signed) if the target has it. Operands of the wrong signedness are shifted by
//! 128, and the compensation term is subtracted; integers wrap, so the result is exact. Other targets widen int8 to
//! int16 and use `pmaddwd`.

use super::{Emitter, Result, Ty, Unsupported, Value};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, flat::Dot},
};

/// Four int8 ones.
const ONES: i64 = 0x0101_0101;
/// Sign bits of four int8 values.
const SIGNS: i64 = 0x8080_8080;

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
        // Shift the operand that is broadcast: several sums then share the compensation term.
        let moves_first = !matches!(b.kind(), PrimKind::Broadcast(_));
        let (lanes, full) = (values[2].ty.lanes, (self.kernel.target.vector_bytes / 4) as u16);
        let values = values.each_ref();
        Ok(self.per_register(values, lanes, full, &mut |s, [a, b, sum]| match dot {
            Dot::Bfloat16 => s.dot_bfloat(&a, &b, &sum),
            Dot::Bytes(signed) => s.dot_bytes(signed, moves_first, [&a, &b], &sum),
        }))
    }

    fn dot_bfloat(&mut self, a: &Value, b: &Value, sum: &Value) -> Value {
        let pairs = Ty::BFLOAT.with_lanes(sum.ty.lanes * 2);
        let [a, b] = [a, b].map(|words| self.f.convert("bitcast", words, pairs));
        self.call_x86(&format!("avx512bf16.dpbf16ps.{}", sum.ty.lanes * 32), sum.ty, &[sum, &a, &b])
    }

    fn dot_bytes(&mut self, signed: [bool; 2], moves_first: bool, words: [&Value; 2], sum: &Value) -> Value {
        if !self.kernel.target.int8_dot {
            return self.dot_widened(signed, words, sum);
        }
        let constant = |v| Value::int(v, sum.ty);
        match (signed, words) {
            ([false, true], [a, b]) => self.dot_unsigned_signed(a, b, sum),
            ([true, false], [a, b]) => self.dot_unsigned_signed(b, a, sum),
            ([is_signed, _], [a, b]) => {
                let (moved, other) = if moves_first { (a, b) } else { (b, a) };
                let moved = self.f.binary("xor", moved, &constant(SIGNS));
                let (ones, none) = (constant(ONES), constant(0));
                // Compensate for 128 times the sum of the other operand.
                let (all, own) = match is_signed {
                    true => {
                        (self.dot_unsigned_signed(&moved, other, sum), self.dot_unsigned_signed(&ones, other, &none))
                    }
                    false => {
                        (self.dot_unsigned_signed(other, &moved, sum), self.dot_unsigned_signed(other, &ones, &none))
                    }
                };
                let own = self.f.binary("shl", &own, &constant(7));
                self.f.binary(if is_signed { "sub" } else { "add" }, &all, &own)
            }
        }
    }

    /// dot4 of unsigned with signed bytes, accumulated per lane.
    fn dot_unsigned_signed(&mut self, a: &Value, b: &Value, sum: &Value) -> Value {
        let [a, b] = [a, b].map(|words| self.bytes_of(words));
        self.call_x86(&format!("avx512.vpdpbusd.{}", sum.ty.lanes * 32), sum.ty, &[sum, &a, &b])
    }

    /// dot4 by two 16-bit dot2: of the even bytes, and of the odd bytes.
    fn dot_widened(&mut self, signed: [bool; 2], words: [&Value; 2], sum: &Value) -> Value {
        let pairs = Ty::int(16).with_lanes(sum.ty.lanes * 2);
        let eight = Value::int(8, pairs);
        let halves = [0, 1].map(|n| {
            let all = self.f.convert("bitcast", words[n], pairs);
            if signed[n] {
                let raised = self.f.binary("shl", &all, &eight);
                [self.f.binary("ashr", &raised, &eight), self.f.binary("ashr", &all, &eight)]
            } else {
                [self.f.binary("and", &all, &Value::int(0xff, pairs)), self.f.binary("lshr", &all, &eight)]
            }
        });
        let name = match sum.ty.lanes {
            4 => "sse2.pmadd.wd",
            8 => "avx2.pmadd.wd",
            _ => "avx512.pmaddw.d.512",
        };
        let [a, b] = &halves;
        a.iter().zip(b).fold(sum.clone(), |sum, (a, b)| {
            let pairs = self.call_x86(name, sum.ty, &[a, b]);
            self.f.binary("add", &sum, &pairs)
        })
    }

    fn bytes_of(&mut self, words: &Value) -> Value {
        self.f.convert("bitcast", words, Ty::I8.with_lanes(words.ty.lanes * 4))
    }
}
