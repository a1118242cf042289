//! Arithmetic, comparison and logic.

use super::{Emitter, Result, Ty, Unsupported, Value};
use hammock_ir::{DType, prim::BinaryOp};

impl Emitter<'_, '_> {
    /// `a op b` for operands of `dtype`.
    pub(super) fn binary(&mut self, op: BinaryOp, a: &Value, b: &Value, dtype: DType) -> Result<Value> {
        if a.ty != b.ty {
            return Err(Unsupported::Form("operands of one operation have different types"));
        }
        if op.is_comparison() {
            let (a, b) = (self.widen(a, dtype), self.widen(b, dtype));
            return Ok(self.f.compare(comparison(op, dtype), &a, &b));
        }
        match op {
            BinaryOp::And => Ok(self.f.binary("and", a, b)),
            BinaryOp::Or => Ok(self.f.binary("or", a, b)),
            _ if dtype.is_floating() => self.float_binary(op, a, b, dtype),
            _ if dtype.is_handle() => Err(Unsupported::Form("arithmetic on handles")),
            _ => match self.exact_binary(op, a, b, dtype) {
                Some(exact) => Ok(exact),
                None => Ok(self.int_binary(op, a, b, dtype.is_int())),
            },
        }
    }

    fn float_binary(&mut self, op: BinaryOp, a: &Value, b: &Value, dtype: DType) -> Result<Value> {
        let (a, b) = (self.widen(a, dtype), self.widen(b, dtype));
        let result = match op {
            BinaryOp::Add => self.f.binary("fadd", &a, &b),
            BinaryOp::Sub => self.f.binary("fsub", &a, &b),
            BinaryOp::Mul => self.f.binary("fmul", &a, &b),
            BinaryOp::Div => self.f.binary("fdiv", &a, &b),
            BinaryOp::Mod => {
                let platform = self.kernel.platform;
                platform.remainder(self, &a, &b)?
            }
            BinaryOp::FloorDiv => self.float_floordiv(&a, &b, dtype),
            // Minimum and maximum are handled elsewhere.
            _ => {
                let quotient = self.float_floordiv(&a, &b, dtype);
                let multiple = self.f.binary("fmul", &quotient, &b);
                let multiple = self.rounded(&multiple, dtype);
                self.f.binary("fsub", &a, &multiple)
            }
        };
        Ok(self.narrow(&result, dtype))
    }

    fn float_floordiv(&mut self, a: &Value, b: &Value, dtype: DType) -> Value {
        let quotient = self.f.binary("fdiv", a, b);
        let quotient = self.rounded(&quotient, dtype);
        self.intrinsic("floor", quotient.ty, quotient.ty, &[&quotient])
    }

    /// Rounds an intermediate result to its dtype, still in computing precision.
    fn rounded(&mut self, value: &Value, dtype: DType) -> Value {
        let narrow = self.narrow(value, dtype);
        self.widen(&narrow, dtype)
    }

    /// `a < b ? a : b` or `a > b ? a : b`, as the processor's minimum and maximum.
    pub(super) fn choose_extreme(&mut self, op: BinaryOp, a: &Value, b: &Value, dtype: DType) -> Value {
        let order = if op == BinaryOp::Min { BinaryOp::Lt } else { BinaryOp::Gt };
        let first = self.f.compare(comparison(order, dtype), a, b);
        self.f.select(&first, a, b)
    }

    fn int_binary(&mut self, op: BinaryOp, a: &Value, b: &Value, is_signed: bool) -> Value {
        match op {
            BinaryOp::Add => self.f.binary("add", a, b),
            BinaryOp::Sub => self.f.binary("sub", a, b),
            BinaryOp::Mul => self.f.binary("mul", a, b),
            BinaryOp::Min | BinaryOp::Max => {
                let dtype = if is_signed { DType::INT64 } else { DType::UINT64 };
                self.choose_extreme(op, a, b, dtype)
            }
            _ => self.int_division(op, a, b, is_signed),
        }
    }

    fn int_division(&mut self, op: BinaryOp, a: &Value, b: &Value, is_signed: bool) -> Value {
        let is_floor = matches!(op, BinaryOp::FloorDiv | BinaryOp::FloorMod);
        let is_quotient = matches!(op, BinaryOp::Div | BinaryOp::FloorDiv);
        if let Some(divisor) = b.as_int().filter(|d| *d > 0) {
            return match (is_signed, is_floor && is_signed) {
                (_, true) => self.floor_by_constant(a, b, divisor, is_quotient),
                (true, false) => self.f.binary(if is_quotient { "sdiv" } else { "srem" }, a, b),
                (false, _) => self.f.binary(if is_quotient { "udiv" } else { "urem" }, a, b),
            };
        }
        let (is_zero, divisor) = self.safe_divisor(a, b, is_signed);
        let result = match (is_signed, is_floor) {
            (true, true) => self.floor_by_any(a, &divisor, is_quotient),
            (true, false) => self.f.binary(if is_quotient { "sdiv" } else { "srem" }, a, &divisor),
            (false, _) => self.f.binary(if is_quotient { "udiv" } else { "urem" }, a, &divisor),
        };
        self.f.select(&is_zero, &Value::int(0, a.ty), &result)
    }

    /// Returns the test for a zero divisor, and a divisor that does not trap: 1 if it is zero, and if a signed division
    /// overflows (which wraps to the dividend, as division by 1 does).
    fn safe_divisor(&mut self, a: &Value, b: &Value, is_signed: bool) -> (Value, Value) {
        let is_zero = self.f.compare("icmp eq", b, &Value::int(0, b.ty));
        let mut is_unsafe = is_zero.clone();
        if is_signed {
            let is_minus_one = self.f.compare("icmp eq", b, &Value::int(-1, b.ty));
            let min = i64::MIN >> (64 - u32::from(a.ty.bits()));
            let is_min = self.f.compare("icmp eq", a, &Value::int(min, a.ty));
            let overflows = self.f.binary("and", &is_minus_one, &is_min);
            is_unsafe = self.f.binary("or", &is_unsafe, &overflows);
        }
        let divisor = self.f.select(&is_unsafe, &Value::int(1, b.ty), b);
        (is_zero, divisor)
    }

    /// Floor division by a positive constant: shifts or masks for powers of two, otherwise truncating division with a
    /// correction for negative remainders.
    fn floor_by_constant(&mut self, a: &Value, b: &Value, divisor: i64, is_quotient: bool) -> Value {
        let constant = |v| Value::int(v, a.ty);
        if divisor & (divisor - 1) == 0 {
            return if is_quotient {
                self.f.binary("ashr", a, &constant(divisor.trailing_zeros().into()))
            } else {
                self.f.binary("and", a, &constant(divisor - 1))
            };
        }
        let remainder = self.f.binary("srem", a, b);
        let negative = self.f.binary("ashr", &remainder, &constant(i64::from(a.ty.bits()) - 1));
        if is_quotient {
            let quotient = self.f.binary("sdiv", a, b);
            self.f.binary("add", &quotient, &negative)
        } else {
            let correction = self.f.binary("and", &negative, b);
            self.f.binary("add", &remainder, &correction)
        }
    }

    /// Floor division: truncating division, corrected if the remainder has the other sign.
    fn floor_by_any(&mut self, a: &Value, b: &Value, is_quotient: bool) -> Value {
        let zero = Value::int(0, a.ty);
        let remainder = self.f.binary("srem", a, b);
        let signs = self.f.binary("xor", &remainder, b);
        let differ = self.f.compare("icmp slt", &signs, &zero);
        let is_inexact = self.f.compare("icmp ne", &remainder, &zero);
        let corrects = self.f.binary("and", &differ, &is_inexact);
        if is_quotient {
            let quotient = self.f.binary("sdiv", a, b);
            let one = self.f.convert("zext", &corrects, a.ty);
            self.f.binary("sub", &quotient, &one)
        } else {
            let corrected = self.f.binary("add", &remainder, b);
            self.f.select(&corrects, &corrected, &remainder)
        }
    }

    /// Left shift, or right shift (arithmetic for signed numbers). A negative count, or one not below the width, shifts
    /// out all bits.
    pub(super) fn shift(&mut self, is_left: bool, a: &Value, count: &Value, is_signed: bool) -> Value {
        let width = i64::from(a.ty.bits());
        let name = match (is_left, is_signed) {
            (true, _) => "shl",
            (false, true) => "ashr",
            (false, false) => "lshr",
        };
        if count.as_int().is_some_and(|c| (0..width).contains(&c)) {
            return self.f.binary(name, a, count);
        }
        let fits = self.f.compare("icmp ult", count, &Value::int(width, count.ty));
        if name == "ashr" {
            let count = self.f.select(&fits, count, &Value::int(width - 1, count.ty));
            return self.f.binary(name, a, &count);
        }
        let safe = self.f.select(&fits, count, &Value::int(0, count.ty));
        let shifted = self.f.binary(name, a, &safe);
        self.f.select(&fits, &shifted, &Value::int(0, a.ty))
    }

    /// Logical not.
    pub(super) fn not(&mut self, a: &Value) -> Value {
        let ones = if a.ty.element() == Ty::I1 { 1 } else { -1 };
        self.f.binary("xor", a, &Value::int(ones, a.ty))
    }
}

/// Returns the comparison instruction of a dtype; with a NaN only "not equal" is true.
fn comparison(op: BinaryOp, dtype: DType) -> &'static str {
    let is_signed = dtype.is_int();
    match op {
        BinaryOp::Eq if dtype.is_floating() => "fcmp oeq",
        BinaryOp::Ne if dtype.is_floating() => "fcmp une",
        BinaryOp::Lt if dtype.is_floating() => "fcmp olt",
        BinaryOp::Le if dtype.is_floating() => "fcmp ole",
        BinaryOp::Gt if dtype.is_floating() => "fcmp ogt",
        _ if dtype.is_floating() => "fcmp oge",
        BinaryOp::Eq => "icmp eq",
        BinaryOp::Ne => "icmp ne",
        BinaryOp::Lt if is_signed => "icmp slt",
        BinaryOp::Le if is_signed => "icmp sle",
        BinaryOp::Gt if is_signed => "icmp sgt",
        _ if is_signed => "icmp sge",
        BinaryOp::Lt => "icmp ult",
        BinaryOp::Le => "icmp ule",
        BinaryOp::Gt => "icmp ugt",
        _ => "icmp uge",
    }
}
