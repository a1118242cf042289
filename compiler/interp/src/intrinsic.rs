//! Intrinsics: lazy select, pointers, bits, and math functions of libm.

use crate::{Fault, Interpreter, Pointer, Value, dot, number, simt};
use hammock_ir::{
    DType, Name, PrimExpr,
    prim::{
        PrimCall, PrimCallee, PrimKind, check,
        flat::{self, Dot, LOAD_PACKED},
        intrinsics::LAUNCH_KERNEL,
    },
};

impl Interpreter {
    /// Evaluates a call.
    pub fn call(&mut self, call: &PrimCall, e: &PrimExpr) -> Result<Value, Fault> {
        let name = match &call.callee {
            PrimCallee::Intrin(name) => name,
            PrimCallee::Global(name) => return Err(Fault::Callee(name.clone())),
        };
        match (name.as_str(), call.args.as_slice()) {
            ("if_then_else", [condition, a, b]) => self.if_then_else(condition, a, b),
            ("likely", [value]) => self.eval(value),
            ("tvm_storage_sync" | "assume" | "undef" | flat::PREFETCH, _) => Ok(Value::Void),
            ("address_of", [element]) => self.address_of(element),
            ("tvm_access_ptr", [of, data, offset, _, _]) => {
                Ok(Value::Pointer(self.eval(data)?.pointer()?.offset(self.int(offset)?, of.dtype())))
            }
            ("handle_add_byte_offset", [data, bytes]) => {
                Ok(Value::Pointer(self.eval(data)?.pointer()?.offset_bytes(self.int(bytes)?)))
            }
            ("vector_any", [condition]) => {
                let condition = self.eval(condition)?;
                let lanes = (0..condition.lanes()).map(|i| condition.lane(i).truth());
                Ok(lanes.collect::<Result<Vec<_>, _>>()?.contains(&true).into())
            }
            (check::EXACT, [value, ..]) => {
                let outer = std::mem::replace(&mut self.exact, true);
                let result = self.eval(value);
                self.exact = outer;
                result
            }
            // Checks that lowering adds to operands that are not proved to be valid.
            (check::DIVISOR, [divisor, ..]) => self.checked(divisor, |d| d != 0, Fault::DivisionByZero),
            (check::COUNT, [count, width, ..]) => {
                let bits = self.int(width)?;
                self.checked(count, |c| (0..bits).contains(&c), Fault::Shift { bits: bits as u8 })
            }
            (check::INDEX, [index, extent, texts @ ..]) => self.check_index(index, extent, texts),
            ("ptx_commit_group" | "ptx_wait_group", _) => Ok(Value::Void),
            ("ptx_cp_async", args) => self.copy_async(args, e.dtype()),
            (LAUNCH_KERNEL, args) => self.launch_kernel(args),
            (shuffle, [_, value, by, width, _]) if let Some(shuffle) = simt::Shuffle::named(shuffle) => {
                self.shuffled(shuffle, value, by, width)
            }
            ("tvm_warp_activemask", []) => Ok(Value::Int(0xffff_ffff)),
            (LOAD_PACKED, [element]) => self.load_packed(element),
            (known, [a, b, sum]) if let Some(dot) = Dot::named(known) => {
                let (values, to) = ([self.eval(a)?, self.eval(b)?, self.eval(sum)?], e.dtype().element());
                Value::lanewise([&values[0], &values[1], &values[2]], |[a, b, sum]| dot::add(dot, a, b, sum, to))
            }
            ("isnullptr", [pointer]) => Ok((self.eval(pointer)? == Value::Int(0)).into()),
            (_, args) => self.elementwise(name, args, e.dtype().element()),
        }
    }

    /// Evaluates an operand and checks its integers.
    fn checked(&mut self, e: &PrimExpr, holds: impl Fn(i64) -> bool, fault: Fault) -> Result<Value, Fault> {
        let value = self.eval(e)?;
        for lane in 0..value.lanes() {
            if !holds(value.lane(lane).int()?) {
                return Err(fault);
            }
        }
        Ok(value)
    }

    fn check_index(&mut self, index: &PrimExpr, extent: &PrimExpr, rest: &[PrimExpr]) -> Result<Value, Fault> {
        let (values, extents) = (self.eval(index)?, self.eval(extent)?);
        let (texts, mask) = rest.split_at(rest.len().min(3));
        let mask = mask.first().map(|m| self.eval(m)).transpose()?;
        for lane in 0..values.lanes() {
            let (at, extent) = (values.lane(lane).int()?, extents.lane(lane).int()?);
            let wanted = mask.as_ref().map_or(Ok(true), |m| m.lane(lane).truth())?;
            if wanted && !(0..extent).contains(&at) {
                let text =
                    |i: usize| if let Some(PrimKind::Str(text)) = texts.get(i).map(PrimExpr::kind) { text } else { "" };
                let message = format!("{}{at}{}{extent}{}", text(0), text(1), text(2));
                return Err(Fault::Assertion { kind: "IndexError".into(), message });
            }
        }
        Ok(values)
    }

    fn if_then_else(&mut self, condition: &PrimExpr, a: &PrimExpr, b: &PrimExpr) -> Result<Value, Fault> {
        let condition = self.eval(condition)?;
        if !matches!(condition, Value::Vector(_)) {
            return if condition.truth()? { self.eval(a) } else { self.eval(b) };
        }
        let (a, b) = (self.eval(a)?, self.eval(b)?);
        Value::lanewise([&condition, &a, &b], |[c, a, b]| Ok(if c.truth()? { a.clone() } else { b.clone() }))
    }

    fn address_of(&mut self, element: &PrimExpr) -> Result<Value, Fault> {
        let PrimKind::Load(buffer, indices, _) = element.kind() else {
            return Err(Fault::Mismatch { expected: "an element of a buffer", found: format!("{element:?}") });
        };
        let access = self.access(buffer, indices, None)?;
        let at = access.position(0)?.unwrap_or(0);
        let base: Pointer = access.view.base;
        Ok(Value::Pointer(base.offset(at, buffer.dtype)))
    }

    /// Applies a function to each lane of its operands.
    fn elementwise(&mut self, name: &Name, args: &[PrimExpr], to: DType) -> Result<Value, Fault> {
        let values = args.iter().map(|a| self.eval(a)).collect::<Result<Vec<_>, _>>()?;
        let from = args.first().map_or(to, |a| a.dtype().element());
        match values.as_slice() {
            [a] => Value::lanewise([a], |[a]| unary(name, a, from, to)),
            [a, b] => Value::lanewise([a, b], |[a, b]| binary(name, a, b, from, to)),
            [a, b, c] if name == "fma" => Value::lanewise([a, b, c], |[a, b, c]| fma(a, b, c, to)),
            [x, y, q, s] if name == "q_multiply_shift" => Value::lanewise([x, y, q, s], |[x, y, q, s]| {
                Ok(Value::Int(number::wrap(multiply_shift(x.int()?, y.int()?, q.int()?, s.int()?), to)))
            }),
            _ => Err(Fault::Callee(name.clone())),
        }
    }
}

fn unary(name: &Name, a: &Value, from: DType, to: DType) -> Result<Value, Fault> {
    match (name.as_str(), a) {
        ("reinterpret", a) => number::from_bits(number::to_bits(a, from)?, to),
        (flat::EXP2_STEP, Value::Int(k)) => Ok(Value::Float(number::round(flat::exp2_step(*k), to))),
        ("isnan", Value::Float(v)) => Ok(v.is_nan().into()),
        ("isinf", Value::Float(v)) => Ok(v.is_infinite().into()),
        ("isfinite", Value::Float(v)) => Ok(v.is_finite().into()),
        ("isnan" | "isinf", Value::Int(_)) => Ok(false.into()),
        ("isfinite", Value::Int(_)) => Ok(true.into()),
        (_, Value::Int(v)) => {
            let value = int_unary(name, *v, from).ok_or_else(|| Fault::Callee(name.clone()))?;
            Ok(Value::Int(number::wrap(value, to)))
        }
        (_, Value::Float(v)) => {
            let f = float_unary(name).ok_or_else(|| Fault::Callee(name.clone()))?;
            Ok(Value::Float(number::round(f(*v), to)))
        }
        (_, other) => Err(Fault::Mismatch { expected: "a number", found: other.to_string() }),
    }
}

fn int_unary(name: &str, v: i64, dtype: DType) -> Option<i64> {
    let unused = 64 - u32::from(dtype.bits);
    let bits = (v as u64) << unused;
    Some(match name {
        "abs" | "fabs" if dtype.is_uint() => v,
        "abs" | "fabs" => v.wrapping_abs(),
        "floor" | "ceil" | "trunc" | "round" | "nearbyint" => v,
        "bitwise_not" => !v,
        "popcount" => i64::from(bits.count_ones()),
        "clz" => i64::from(bits.leading_zeros().min(u32::from(dtype.bits))),
        _ => return None,
    })
}

fn float_unary(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "exp" => f64::exp,
        "exp2" => f64::exp2,
        "exp10" => libm::exp10,
        "expm1" => f64::exp_m1,
        "log" => f64::ln,
        "log2" => f64::log2,
        "log10" => f64::log10,
        "log1p" => f64::ln_1p,
        "sin" => f64::sin,
        "cos" => f64::cos,
        "tan" => f64::tan,
        "sinh" => f64::sinh,
        "cosh" => f64::cosh,
        "tanh" => f64::tanh,
        "asin" => f64::asin,
        "acos" => f64::acos,
        "atan" => f64::atan,
        "asinh" => libm::asinh,
        "acosh" => |x| if x < 1.0 { f64::NAN } else { libm::acosh(x) },
        "atanh" => libm::atanh,
        "erf" => libm::erf,
        "sigmoid" => |x| {
            let small = (-x.abs()).exp();
            if x < 0.0 { small / (1.0 + small) } else { 1.0 / (1.0 + small) }
        },
        "sqrt" => f64::sqrt,
        "rsqrt" => |x| 1.0 / x.sqrt(),
        "floor" => f64::floor,
        "ceil" => f64::ceil,
        "trunc" => f64::trunc,
        "round" | "nearbyint" => f64::round_ties_even,
        "abs" | "fabs" => f64::abs,
        _ => return None,
    })
}

fn binary(name: &Name, a: &Value, b: &Value, from: DType, to: DType) -> Result<Value, Fault> {
    match (name.as_str(), a, b) {
        ("ldexp", Value::Float(_), Value::Float(n)) if n.is_nan() => Ok(b.clone()),
        ("ldexp", Value::Float(x), n) => {
            let n = if let Value::Float(n) = n { n.floor() as i64 } else { n.int()? };
            Ok(Value::Float(number::round(libm::ldexp(*x, n.clamp(-5000, 5000) as i32), to)))
        }
        ("nextafter", Value::Float(x), Value::Float(y)) => next_after(*x, *y, to),
        (_, Value::Float(x), Value::Float(y)) => {
            let f = float_binary(name).ok_or_else(|| Fault::Callee(name.clone()))?;
            Ok(Value::Float(number::round(f(*x, *y), to)))
        }
        (_, Value::Int(x), Value::Int(y)) => {
            let value = int_binary(name, *x, *y, from)?.ok_or_else(|| Fault::Callee(name.clone()))?;
            Ok(Value::Int(number::wrap(value, to)))
        }
        _ => Err(Fault::IntrinsicArguments { name: name.clone(), expected: 1, actual: 2 }),
    }
}

fn float_binary(name: &str) -> Option<fn(f64, f64) -> f64> {
    Some(match name {
        "pow" => f64::powf,
        "atan2" => f64::atan2,
        "fmod" => libm::fmod,
        "hypot" => f64::hypot,
        "copysign" => f64::copysign,
        flat::WITHIN => flat::within,
        _ => return None,
    })
}

fn int_binary(name: &str, x: i64, y: i64, dtype: DType) -> Result<Option<i64>, Fault> {
    Ok(Some(match name {
        "bitwise_and" => x & y,
        "bitwise_or" => x | y,
        "bitwise_xor" => x ^ y,
        "shift_left" => x << shift_count(y, dtype)?,
        "shift_right" if dtype.is_uint() => (x as u64 >> shift_count(y, dtype)?) as i64,
        "shift_right" => x >> shift_count(y, dtype)?,
        "pow" if dtype.is_uint() => power(x, y as u64),
        "pow" if y < 0 => match x {
            // Negative powers truncate towards zero.
            1 => 1,
            -1 => 1 - 2 * (y & 1),
            _ => 0,
        },
        "pow" => power(x, y as u64),
        _ => return Ok(None),
    }))
}

/// Returns a shift count that is valid for the dtype.
fn shift_count(count: i64, dtype: DType) -> Result<u32, Fault> {
    let fits = u32::try_from(count).ok().filter(|count| *count < u32::from(dtype.bits));
    fits.ok_or(Fault::Shift { bits: dtype.bits })
}

/// `x` to the power of `y`, wrapping.
fn power(x: i64, y: u64) -> i64 {
    let (mut result, mut base, mut rest) = (1i64, x, y);
    while rest > 0 {
        if rest & 1 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        rest >>= 1;
    }
    result
}

fn fma(a: &Value, b: &Value, c: &Value, to: DType) -> Result<Value, Fault> {
    if let (Value::Int(a), Value::Int(b), Value::Int(c)) = (a, b, c) {
        return Ok(Value::Int(number::wrap(a.wrapping_mul(*b).wrapping_add(*c), to)));
    }
    let (a, b, c) = (a.float()?, b.float()?, c.float()?);
    // Double rounding could give another result, so single precision is separate.
    Ok(Value::Float(match to.bits {
        32 => f64::from((a as f32).mul_add(b as f32, c as f32)),
        _ => number::round(a.mul_add(b, c), to),
    }))
}

/// Returns the neighbour of `x` in the direction of `y`, in `dtype`.
fn next_after(x: f64, y: f64, dtype: DType) -> Result<Value, Fault> {
    if x.is_nan() || y.is_nan() {
        return Ok(Value::Float(f64::NAN));
    }
    if x == y {
        return Ok(Value::Float(y));
    }
    if x == 0.0 {
        let smallest = number::from_bits(1, dtype)?.float()?;
        return Ok(Value::Float(smallest.copysign(y)));
    }
    let bits = number::to_bits(&Value::Float(x), dtype)?;
    let away = (x < y) == (x > 0.0);
    number::from_bits(if away { bits + 1 } else { bits - 1 }, dtype)
}

/// Fixed-point multiplication with `q` fraction bits, shifted left by `s` (right if negative), rounding half up.
fn multiply_shift(x: i64, y: i64, q: i64, s: i64) -> i64 {
    let product = (x << s.clamp(0, 63)).wrapping_mul(y);
    match q.saturating_sub(s.min(0)).clamp(0, 63) {
        0 => product,
        right => product.wrapping_add(1 << (right - 1)) >> right,
    }
}
