//! Integers that stand for numbers.

use super::constants::{elements, is_known, is_zero};
use crate::rewrite::editor::Editor;
use hammock_ir::{
    AttrValue, DType, PrimExpr,
    relax::{Constant, Definitions, Operand},
};

/// `(numbers - zero) * scale`, of bytes.
pub struct Quantized {
    pub numbers: Operand,
    /// int32; none if it is zero.
    pub zero: Option<Parameter>,
    /// float32; none if the integers stand for themselves.
    pub scale: Option<Parameter>,
}

/// One number, or several along an axis.
#[derive(Clone)]
pub struct Parameter {
    /// In a shape that broadcasts with the numbers.
    pub operand: Operand,
    /// The axis of the numbers along which it changes.
    pub axis: Option<usize>,
    /// Its elements, if they are known.
    pub known: Option<Vec<f64>>,
}

impl Quantized {
    /// What an operand stands for, if it is float32 dequantized from bytes, or an int32 difference of bytes.
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
            let numbers = widened(e, wide)?;
            let rank = rank_of_bytes(e, &numbers)?;
            let zero = if is_zero(e, zero) { None } else { Some(Parameter::broadcast(e, zero, rank)?) };
            return Some(Quantized { numbers, zero, scale: None });
        }
        Some(Quantized { numbers: widened(e, operand)?, zero: None, scale: None })
    }

    /// The same with signed bytes, where unsigned ones are known when the module is compiled.
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
        let moved = e.emit("subtract", [wide, half], [])?;
        let numbers = e.emit("astype", [moved], [("dtype", DType::INT8.into())])?;
        Some(Quantized { numbers, zero, scale: self.scale })
    }

    /// Returns true if parameters are single numbers, or change along this axis.
    pub fn varies_only(&self, axis: usize) -> bool {
        self.zero.iter().chain(&self.scale).all(|parameter| parameter.axis.is_none_or(|own| own == axis))
    }
}

impl Parameter {
    /// A parameter of `dequantize`: of one element, or of a vector along an axis.
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

    /// An operand that broadcasts with numbers, if it changes along one axis at most.
    fn broadcast(e: &Editor, operand: &Operand, rank: usize) -> Option<Parameter> {
        let ty = e.tensor(operand)?;
        let dims = ty.dims().filter(|dims| dims.len() <= rank)?;
        let several = |at: &usize| dims[*at].as_int() != Some(1);
        let axes: Vec<usize> = (0..dims.len()).filter(several).map(|at| at + rank - dims.len()).collect();
        let known = elements(e, operand);
        (axes.len() < 2).then(|| Parameter { operand: operand.clone(), axis: axes.first().copied(), known })
    }
}

/// A number as an int32.
pub fn int(value: i32) -> Option<Operand> {
    Some(Operand::Const(Constant::new(hammock_ir::Tensor::from_slice(&[], &[value]).ok()?)))
}

/// The bytes that an int32 operand is cast from.
fn widened(e: &Editor, operand: &Operand) -> Option<Operand> {
    let cast = e.op(operand, "astype")?;
    let numbers = cast.args.first().filter(|_| e.tensor(operand).is_some_and(|ty| ty.dtype == Some(DType::INT32)))?;
    rank_of_bytes(e, numbers).map(|_| numbers.clone())
}

/// How many dimensions a tensor of bytes has.
fn rank_of_bytes(e: &Editor, operand: &Operand) -> Option<usize> {
    let ty = e.tensor(operand)?;
    ty.dtype.filter(|dtype| dtype.is_integer() && dtype.bits == 8)?;
    ty.ndim()
}

/// Sums of bytes along axes, in int32.
pub fn sums(e: &mut Editor, numbers: &Operand, axes: Vec<i64>) -> Option<Operand> {
    let wide = e.emit("astype", [numbers.clone()], [("dtype", DType::INT32.into())])?;
    e.emit("sum", [wide], [("axis", AttrValue::from(axes)), ("keepdims", true.into())])
}
