//! Conversions between element types.

use super::{Op, Result, op, strings};
use crate::{
    dtype,
    node::{self, Node},
    value::Value,
};
use hammock_ir::{
    DType, PrimExpr,
    relax::{InferError, Operand},
};
use hammock_runtime::value::small_float;
use hammock_tools::ElementType;

pub const OPS: &[Op] = &[
    op("BitCast", bit_cast).attributes("to"),
    op("Cast", cast)
        .on_strings(|n| {
            let to = target(n)?;
            strings::cast(n, to)
        })
        .handles_sub_byte()
        .attributes("round_mode@24 saturate@19 to"),
    op("CastLike", cast_like).handles_sub_byte().attributes("round_mode@24 saturate@19"),
];

fn cast(n: &mut Node) -> Result {
    let to = target(n)?;
    if to == i64::from(dtype::STRING) {
        return strings::cast_numbers(n);
    }
    let element = n.element_type(to)?;
    convert(n, element)
}

/// Returns the code of the type that `Cast` converts to.
fn target(n: &Node) -> node::Result<i64> {
    match n.opset {
        // Before version 6, the attribute is the name of the type: `FLOAT`.
        ..6 => {
            let name = n.attrs.str_or("to", "")?;
            let number = dtype::number(name);
            number.ok_or_else(|| InferError::new(format!("its attribute `to` is `{name}`, which is not a type")))
        }
        _ => n.attrs.int("to")?.ok_or_else(|| InferError::new("its attribute `to` is missing")),
    }
}

fn cast_like(n: &mut Node) -> Result {
    let like = n.value(1)?;
    let element = match like.narrow() {
        Some(element) => element,
        None => {
            let like = n.input(1)?;
            n.element_type_of(&like)?
        }
    };
    convert(n, element)
}

fn convert(n: &mut Node, to: ElementType) -> Result {
    if let Some(known) = n.known(0).filter(|_| !to.is_narrow() && !to.held.is_float8()).and_then(|x| x.cast(to.held)) {
        return Ok(known.into());
    }
    let x = n.input(0)?;
    Ok(Value::of(n.cast_elements(x, to)?, to).into())
}

/// Reinterprets the bits as another dtype of the same size.
fn bit_cast(n: &mut Node) -> Result {
    let Some(to) = n.attrs.int("to")? else { return n.error("its attribute `to` is missing") };
    let dtype = n.dtype_from_code(to)?;
    let x = n.input(0)?;
    let own = n.dtype(&x)?;
    if own.is_bool() && dtype.bits == 8 {
        return Ok(n.cast(x, dtype)?.into());
    }
    if own.bits != dtype.bits || dtype.is_bool() {
        return n.error(format!("elements of {own} and {dtype} differ in size"));
    }
    Ok(n.bitcast(x, dtype)?.into())
}

impl Node<'_, '_> {
    /// Returns the element type of an ONNX type code.
    pub(super) fn element_type(&self, number: i64) -> node::Result<ElementType> {
        ElementType::of(number).ok_or_else(|| unsupported(number))
    }

    /// Returns the dtype of an ONNX type code.
    pub(super) fn dtype_from_code(&self, number: i64) -> node::Result<DType> {
        dtype::of(number).ok_or_else(|| unsupported(number))
    }

    /// Returns the element type of a tensor that is not sub-byte.
    pub(super) fn element_type_of(&self, x: &Operand) -> node::Result<ElementType> {
        let held = self.dtype(x)?;
        Ok(ElementType { number: 0, stored: held, held })
    }

    /// Converts a tensor to an element type.
    pub(super) fn cast_elements(&mut self, x: Operand, to: ElementType) -> node::Result<Operand> {
        let saturate = self.attrs.int_or("saturate", 1)? != 0;
        match to.stored {
            dtype if dtype.is_float4() => {
                let x = self.at_least_float32(x)?;
                let rounded = self.round_to_float4(x)?;
                self.cast(rounded, to.held)
            }
            DType::FLOAT8_E8M0FNU => self.round_to_power_of_two(x),
            dtype if to.is_narrow() => self.truncate_bits(x, dtype, to.held),
            dtype if dtype.is_float8() && saturate => {
                let x = self.at_least_float32(x)?;
                let own = self.dtype(&x)?;
                let max =
                    small_float::format(dtype).map_or(f64::INFINITY, |format| format.decode(format.largest() as u8));
                let bound = |v: f64| Operand::Prim(PrimExpr::float(v, own));
                let x = self.call("clip", [x, bound(-max), bound(max)])?;
                self.cast(x, dtype)
            }
            dtype => self.cast(x, dtype),
        }
    }

    /// Casts to float32 unless the tensor is float64, so the following rounding is the only one.
    fn at_least_float32(&mut self, x: Operand) -> node::Result<Operand> {
        if self.dtype(&x)? == DType::FLOAT64 { Ok(x) } else { self.cast(x, DType::FLOAT32) }
    }

    /// Truncates integers to the low bits of a narrow type.
    fn truncate_bits(&mut self, x: Operand, to: DType, held: DType) -> node::Result<Operand> {
        let x = if self.dtype(&x)?.is_integer() { x } else { self.cast(x, DType::INT32)? };
        let low = self.with_scalar("bitwise_and", &x, f64::from((1u16 << to.bits) - 1))?;
        let low = self.cast(low, DType::INT8)?;
        if to.is_uint() {
            return self.cast(low, held);
        }
        let sign = f64::from(1u16 << (to.bits - 1));
        let turned = self.with_scalar("bitwise_xor", &low, sign)?;
        self.with_scalar("subtract", &turned, sign)
    }

    /// Rounds to the values of float4 (e2m1), saturating at 6; NaN becomes zero.
    fn round_to_float4(&mut self, x: Operand) -> node::Result<Operand> {
        let size = self.call("abs", [x.clone()])?;
        let (half, one, two) = (self.scalar_like(0.5, &x)?, self.scalar_like(1.0, &x)?, self.scalar_like(2.0, &x)?);
        let above_two = self.with_scalar("greater_equal", &size, 2.0)?;
        let above_four = self.with_scalar("greater_equal", &size, 4.0)?;
        let step = self.call("where", [above_four, two, one])?;
        let step = self.call("where", [above_two, step, half])?;
        let dtype = self.dtype(&x)?;
        let bound = |v: f64| Operand::Prim(PrimExpr::float(v, dtype));
        let near = self.call("clip", [x.clone(), bound(-6.0), bound(6.0)])?;
        let count = self.call("divide", [near, step.clone()])?;
        let count = self.call("round", [count])?;
        let rounded = self.call("multiply", [count, step])?;
        let unknown = self.call("isnan", [x.clone()])?;
        let zero = self.scalar_like(0.0, &x)?;
        self.call("where", [unknown, zero, rounded])
    }

    /// Rounds to powers of two (e8m0), as bfloat16, by rounding off the mantissa of float32.
    fn round_to_power_of_two(&mut self, x: Operand) -> node::Result<Operand> {
        let smallest = 2f64.powi(-127);
        let (carry, below) = match self.attrs.str_or("round_mode", "up")? {
            "up" => (0x7f_ffff, 1.000_001 * smallest),
            "down" => (0, 1.999_999 * smallest),
            "nearest" => (0x40_0000, 1.499_999 * smallest),
            other => return self.error(format!("its `round_mode` is `{other}`, which is not supported")),
        };
        let x = self.cast(x, DType::FLOAT32)?;
        let bound = |v: f64| Operand::Prim(PrimExpr::float(v, DType::FLOAT32));
        let near = self.call("clip", [x.clone(), bound(2.0 * smallest), bound(2f64.powi(127))])?;
        let bits = self.bitcast(near, DType::INT32)?;
        let raised = self.with_scalar("add", &bits, f64::from(carry))?;
        let exponent = self.with_scalar("bitwise_and", &raised, f64::from(0x7f80_0000))?;
        let power = self.bitcast(exponent, DType::FLOAT32)?;
        let power = self.cast(power, DType::BFLOAT16)?;
        // The smallest power is a subnormal float32, whose exponent bits are zero.
        let small = self.with_scalar("less_equal", &x, below)?;
        let (smallest, nan) = (node::scalar(smallest, DType::BFLOAT16)?, node::scalar(f64::NAN, DType::BFLOAT16)?);
        let power = self.call("where", [small, smallest, power])?;
        let unknown = self.call("isnan", [x])?;
        self.call("where", [unknown, nan, power])
    }

    /// Reinterprets the bits as another dtype.
    pub(super) fn bitcast(&mut self, x: Operand, dtype: DType) -> node::Result<Operand> {
        let shape = Operand::Shape(self.dims(&x)?);
        let zero = Operand::int(0);
        self.call("memory.view", [x, shape, Operand::DType(dtype), zero])
    }

    /// Clamps elements of a wider dtype to the range of a narrow one.
    pub(super) fn clamp_to_dtype(&mut self, x: Operand, to: DType) -> node::Result<Operand> {
        let (low, high) = match to.is_uint() {
            true => (0, (1i64 << to.bits) - 1),
            false => (-(1i64 << (to.bits - 1)), (1i64 << (to.bits - 1)) - 1),
        };
        let x = self.with_scalar("maximum", &x, low as f64)?;
        self.with_scalar("minimum", &x, high as f64)
    }
}

fn unsupported(number: i64) -> InferError {
    InferError::new(format!("elements of {} are not supported", dtype::name(number)))
}
