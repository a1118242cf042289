//! Quantized values.

use super::constants::{elements, is_known, is_zero};
use crate::rewrite::editor::Editor;
use hammock_ir::{
    AttrValue, DType, PrimExpr,
    relax::{Constant, Definitions, Operand},
};

/// `(numbers - zero) * scale`, with int8 or uint8 `numbers`.
pub struct Quantized {
    pub numbers: Operand,
    /// Zero point in int32; `None` if it is zero.
    pub zero: Option<Parameter>,
    /// Scale in float32; `None` if the value is an integer.
    pub scale: Option<Parameter>,
}

/// Scale or zero point, per tensor or per channel.
#[derive(Clone)]
pub struct Parameter {
    /// Operand in a shape that broadcasts with the numbers.
    pub operand: Operand,
    /// Axis of the channels; `None` if per tensor.
    pub axis: Option<usize>,
    /// Its elements, if known.
    pub known: Option<Vec<f64>>,
}

impl Quantized {
    /// Reads an operand that is float32 dequantized from int8 or uint8, or an int32 difference of these.
    pub fn of(e: &mut Editor, operand: &Operand) -> Option<Quantized> {
        let call = e.call(operand)?.clone();
        if call.is_op("dequantize") {
            let [numbers, scale, zero] = call.operands()?;
            let (rank, float) = (rank_of_bytes(e, numbers)?, Some(DType::FLOAT32));
            if e.tensor(operand)?.dtype != float || e.tensor(scale)?.dtype != float {
                return None;
            }
            let axis = call.attrs.get("axis")?.as_int()?;
            let axis = usize::try_from(if axis < 0 { axis + rank as i64 } else { axis }).ok()?;
            let zero = match is_zero(e, zero) {
                true => None,
                false => {
                    let wide = e.emit("astype", [zero.clone()], [("dtype", DType::INT32.into())])?;
                    let known = elements(e, zero);
                    Some(Parameter { known, ..Parameter::along(e, &wide, axis, rank)? })
                }
            };
            let scale = Some(Parameter::along(e, scale, axis, rank)?);
            return Some(Quantized { numbers: numbers.clone(), zero, scale });
        }
        if call.is_op("subtract") {
            let [wide, zero] = call.operands()?;
            let numbers = uncast(e, wide)?;
            let rank = rank_of_bytes(e, &numbers)?;
            let zero = if is_zero(e, zero) { None } else { Some(Parameter::broadcast(e, zero, rank)?) };
            return Some(Quantized { numbers, zero, scale: None });
        }
        Some(Quantized { numbers: uncast(e, operand)?, zero: None, scale: None })
    }

    /// Returns the same value with int8, if it is uint8 and known at compile time.
    pub fn signed(self, e: &mut Editor) -> Option<Quantized> {
        let unsigned = e.tensor(&self.numbers)?.dtype == Some(DType::UINT8);
        if !unsigned || !is_known(e, &self.numbers) {
            return Some(self);
        }
        let half = int(128)?;
        let zero = match &self.zero {
            Some(zero) if zero.known.as_ref().is_some_and(|all| all.iter().all(|v| *v == 128.0)) => None,
            Some(zero) => {
                let operand = e.emit("subtract", [zero.operand.clone(), half.clone()], [])?;
                Some(Parameter { operand, axis: zero.axis, known: None })
            }
            None => Some(Parameter { operand: int(-128)?, axis: None, known: None }),
        };
        let wide = e.emit("astype", [self.numbers], [("dtype", DType::INT32.into())])?;
        let shifted = e.emit("subtract", [wide, half], [])?;
        let numbers = e.emit("astype", [shifted], [("dtype", DType::INT8.into())])?;
        Some(Quantized { numbers, zero, scale: self.scale })
    }

    /// Returns true if parameters are per tensor, or vary along this axis.
    pub fn varies_only(&self, axis: usize) -> bool {
        self.zero.iter().chain(&self.scale).all(|parameter| parameter.axis.is_none_or(|own| own == axis))
    }
}

impl Parameter {
    /// Reads a parameter of `dequantize`: one element, or a vector along an axis.
    fn along(e: &mut Editor, operand: &Operand, axis: usize, rank: usize) -> Option<Parameter> {
        let dims = e.tensor(operand)?.dims()?.to_vec();
        let single = dims.iter().all(|size| size.as_int() == Some(1));
        let shape = match &dims[..] {
            _ if single => Vec::new(),
            [size] => (0..rank).map(|at| if at == axis { size.clone() } else { PrimExpr::int64(1) }).collect(),
            _ => return None,
        };
        let operand = match dims.len() == shape.len() {
            true => operand.clone(),
            false => e.emit("reshape", [operand.clone(), Operand::Shape(shape)], [])?,
        };
        Some(Parameter { operand, axis: (!single).then_some(axis), known: None })
    }

    /// Reads an operand that broadcasts with the numbers, if it varies along at most one axis.
    fn broadcast(e: &Editor, operand: &Operand, rank: usize) -> Option<Parameter> {
        let ty = e.tensor(operand)?;
        let dims = ty.dims().filter(|dims| dims.len() <= rank)?;
        let several = |at: &usize| dims[*at].as_int() != Some(1);
        let axes: Vec<usize> = (0..dims.len()).filter(several).map(|at| at + rank - dims.len()).collect();
        let known = elements(e, operand);
        (axes.len() < 2).then(|| Parameter { operand: operand.clone(), axis: axes.first().copied(), known })
    }
}

/// Returns an int32 constant.
pub fn int(value: i32) -> Option<Operand> {
    Some(Operand::Const(Constant::new(hammock_ir::Tensor::from_slice(&[], &[value]).ok()?)))
}

/// Returns the int8 or uint8 operand that an int32 operand is cast from.
fn uncast(e: &Editor, operand: &Operand) -> Option<Operand> {
    let cast = e.op(operand, "astype")?;
    let numbers = cast.args.first().filter(|_| e.tensor(operand).is_some_and(|ty| ty.dtype == Some(DType::INT32)))?;
    rank_of_bytes(e, numbers).map(|_| numbers.clone())
}

/// Returns the rank of an int8 or uint8 tensor.
fn rank_of_bytes(e: &Editor, operand: &Operand) -> Option<usize> {
    let ty = e.tensor(operand)?;
    ty.dtype.filter(|dtype| dtype.is_integer() && dtype.bits == 8)?;
    ty.ndim()
}

/// Emits sums along axes, in int32.
pub fn sums(e: &mut Editor, numbers: &Operand, axes: Vec<i64>) -> Option<Operand> {
    let wide = e.emit("astype", [numbers.clone()], [("dtype", DType::INT32.into())])?;
    e.emit("sum", [wide], [("axis", AttrValue::from(axes)), ("keepdims", true.into())])
}
