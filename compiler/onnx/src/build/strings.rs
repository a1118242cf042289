//! Calls of functions of the runtime on tensors of strings.

use super::Builder;
use crate::value::strings::{Strings, evaluate};
use hammock_ir::{
    Attrs, PrimExpr, Tensor, TensorShape, TensorType, Type, prim,
    relax::{Call, Callee, Constant, InferError, Operand, Value as Bound},
};
use hammock_runtime::{Any, Str, Tuple};

/// Maximum number of strings whose results are computed while the model is imported.
const MAX_KNOWN: usize = 1 << 20;

/// Argument of a function of the runtime.
pub enum Argument {
    /// Known value, and the same as an operand.
    Known(Any, Operand),
    /// Strings.
    Strings(Strings),
    /// Value at run time.
    Dynamic(Operand),
}

impl From<Strings> for Argument {
    fn from(strings: Strings) -> Argument {
        Argument::Strings(strings)
    }
}

impl Argument {
    /// A known integer.
    pub fn int(value: i64) -> Argument {
        Argument::Known(value.into(), Operand::int(value))
    }

    /// A tensor of numbers, which is known if it is a constant.
    pub fn of(operand: Operand) -> Argument {
        match operand {
            Operand::Const(constant) => {
                let value = constant.tensor.clone().into();
                Argument::Known(value, Operand::Const(constant))
            }
            operand => Argument::Dynamic(operand),
        }
    }

    /// A known string.
    pub fn text(value: &str) -> Argument {
        Argument::Known(Str::new(value).into(), Operand::Str(value.into()))
    }

    fn value(&self) -> Option<Any> {
        match self {
            Argument::Known(value, _) | Argument::Strings(Strings::Known(value, _)) => Some(value.clone()),
            _ => None,
        }
    }
}

/// Result of a function of the runtime.
pub enum Outcome {
    /// Known value.
    Known(Any),
    /// Value at run time, of unknown type.
    Dynamic(Operand),
}

impl Builder {
    /// Returns strings as a value at run time.
    pub fn strings_operand(&mut self, strings: &Strings) -> Result<Operand, InferError> {
        let (value, shape) = match strings {
            Strings::Dynamic(operand, _) => return Ok(operand.clone()),
            Strings::Known(value, shape) => (value, shape),
        };
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        each_text(value, &mut |text| {
            bytes.extend_from_slice(text.as_bytes());
            ends.push(bytes.len() as i64);
        });
        let constant = |tensor: Result<Tensor, hammock_runtime::value::TensorError>| {
            tensor.map(|tensor| Operand::Const(Constant::new(tensor))).map_err(|e| InferError::new(e.to_string()))
        };
        let bytes = constant(Tensor::from_slice(&[bytes.len() as i64], &bytes))?;
        let ends = constant(Tensor::from_slice(&[ends.len() as i64], &ends))?;
        let shape = Operand::Shape(shape.iter().map(|size| PrimExpr::int64(*size)).collect());
        self.packed("hammock.strings.unpack", vec![bytes, ends, shape], Type::Any)
    }

    /// Calls a function of the runtime, now if all arguments are known.
    pub fn call_strings(&mut self, name: &'static str, args: Vec<Argument>) -> Result<Outcome, InferError> {
        if let Some(values) = args.iter().map(Argument::value).collect::<Option<Vec<_>>>()
            && args.iter().all(|arg| !matches!(arg, Argument::Strings(Strings::Known(_, shape)) if shape.iter().product::<i64>() > MAX_KNOWN as i64))
        {
            return evaluate(name, &values).map(Outcome::Known);
        }
        let mut operands = Vec::new();
        for arg in args {
            operands.push(match arg {
                Argument::Known(_, operand) | Argument::Dynamic(operand) => operand,
                Argument::Strings(strings) => self.strings_operand(&strings)?,
            });
        }
        self.packed(name, operands, Type::Any).map(Outcome::Dynamic)
    }

    /// Returns a result as strings.
    pub fn strings_of(&self, outcome: Outcome, dims: Vec<Option<PrimExpr>>) -> Strings {
        match outcome {
            Outcome::Dynamic(operand) => Strings::Dynamic(operand, dims),
            Outcome::Known(value) => {
                let shape = shape_of(&value, dims.len());
                Strings::Known(value, shape)
            }
        }
    }

    /// Returns a result as a tensor of numbers, whose type is checked at run time.
    pub fn numbers_of(
        &mut self,
        outcome: Outcome,
        dtype: hammock_ir::DType,
        dims: &[Option<PrimExpr>],
    ) -> Result<Operand, InferError> {
        match outcome {
            Outcome::Known(value) => match value.get::<Tensor>() {
                Some(tensor) => Ok(Operand::Const(Constant::new(tensor))),
                None => Err(InferError::new("its result is not a tensor")),
            },
            Outcome::Dynamic(operand) => {
                let dim = |dim: &Option<PrimExpr>| dim.clone().unwrap_or_else(|| prim::Var::int64("m").expr());
                let shape = TensorShape::Known(dims.iter().map(dim).collect::<Vec<_>>().into());
                self.match_cast(operand, TensorType { shape, dtype: Some(dtype), vdevice: None }.into())
            }
        }
    }

    fn packed(&mut self, name: &'static str, args: Vec<Operand>, ty: Type) -> Result<Operand, InferError> {
        let args = std::iter::once(Operand::Extern(name.into())).chain(args).collect();
        let call =
            Call { callee: Callee::Op("call_pure_packed"), args, attrs: Attrs::new(), ty_args: vec![ty.clone()] };
        self.bind(ty, Bound::Call(call)).map(Operand::Var)
    }
}

fn each_text(value: &Any, f: &mut dyn FnMut(&str)) {
    match value.get::<&Tuple>() {
        Some(rows) => rows.iter().for_each(|row| each_text(row, f)),
        None => f(value.as_str().unwrap_or_default()),
    }
}

fn shape_of(value: &Any, rank: usize) -> Vec<i64> {
    let (mut shape, mut part) = (Vec::new(), Some(value));
    for _ in 0..rank {
        let rows = part.and_then(|part| part.get::<&Tuple>());
        shape.push(rows.map_or(0, |rows| rows.len() as i64));
        part = rows.and_then(|rows| rows.first());
    }
    shape
}
