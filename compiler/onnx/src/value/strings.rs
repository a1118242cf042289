//! Tensors of strings. Those that are known while the model is imported are evaluated by the same functions of the
//! runtime that others call.

use crate::schema::TensorProto;
use hammock_ir::{
    PrimExpr,
    relax::{InferError, Operand},
};
use hammock_runtime::{Any, Shape, Str, Tuple};

/// Tensor of strings.
#[derive(Clone, Debug)]
pub enum Strings {
    /// Strings as nested tuples, and their shape.
    Known(Any, Vec<i64>),
    /// Value at run time, and its dimensions, as far as they are known.
    Dynamic(Operand, Vec<Option<PrimExpr>>),
}

impl Strings {
    /// Creates known strings.
    pub fn known(shape: &[i64], texts: &[&str]) -> Result<Strings, InferError> {
        let count = shape.iter().try_fold(1usize, |all, size| all.checked_mul(usize::try_from(*size).ok()?));
        if count != Some(texts.len()) {
            return Err(InferError::new(format!("{} strings do not have the shape {shape:?}", texts.len())));
        }
        let value: Tuple = texts.iter().map(|text| Any::from(Str::new(text))).collect();
        let value = evaluate("hammock.strings.reshape", &[value.into(), Shape::new(shape).into()])?;
        Ok(Strings::Known(value, shape.to_vec()))
    }

    /// Reads the strings of a tensor in the file.
    pub fn read(proto: &TensorProto) -> Result<Strings, InferError> {
        let texts = proto.string_data.iter().map(|text| std::str::from_utf8(text)).collect::<Result<Vec<_>, _>>();
        let texts = texts.map_err(|_| InferError::new("its strings are not valid UTF-8"))?;
        Strings::known(&proto.dims, &texts)
    }

    /// Returns the dimensions, as far as they are known.
    pub fn dims(&self) -> Vec<Option<PrimExpr>> {
        match self {
            Strings::Known(_, shape) => shape.iter().map(|size| Some(PrimExpr::int64(*size))).collect(),
            Strings::Dynamic(_, dims) => dims.clone(),
        }
    }
}

/// Calls a function of the runtime while the model is imported.
pub fn evaluate(name: &str, args: &[Any]) -> Result<Any, InferError> {
    let function = hammock_runtime::builtins().find(|builtin| builtin.name == name);
    let function = function.ok_or_else(|| InferError::new(format!("the runtime has no function {name}")))?;
    function.call(args).map_err(|error| InferError::new(error.message().to_owned()))
}
