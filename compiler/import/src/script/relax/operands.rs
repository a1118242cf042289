//! Conversion of values to operands.

use super::RelaxEval;
use crate::script::{args::Arg, context::Read, value::Value};
use hammock_ir::{AttrValue, PrimExpr, relax::Operand};

impl RelaxEval<'_, '_> {
    /// Any value as an operand; unbound values are bound first.
    pub(super) fn to_operand(&mut self, arg: &Arg) -> Read<Operand> {
        match &arg.value {
            Value::Operand(operand) => Ok(operand.clone()),
            Value::Unbound(pending) => self.bind_fresh((**pending).clone()),
            Value::Broken => self.erroneous(arg.span).map(Operand::Var),
            Value::Scalar(e) => Ok(self.scalar_operand(e)),
            Value::Bool(_) | Value::Int(_) | Value::Float(_) => self.to_scalar(arg).map(Operand::Prim),
            Value::Str(text) => Ok(Operand::Str(text.clone())),
            Value::Tuple(items) | Value::List(items) => {
                let item = |value: &Value| self.to_operand(&Arg { value: value.clone(), span: arg.span });
                Ok(Operand::Tuple(items.iter().map(item).collect::<Read<_>>()?))
            }
            Value::Global(name) => Ok(Operand::Global(name.clone())),
            Value::Attr(value) => Ok(Operand::Opaque(Box::new(value.clone()))),
            Value::Omitted(index) => Ok(self.omitted(*index, arg.span)),
            Value::None => Ok(Operand::Opaque(Box::new(AttrValue::None))),
            _ => Err(self.expected(arg, "a value")),
        }
    }

    /// A scalar expression as an operand. One that simplifies to a variable's value, such as `k + 0`, becomes that
    /// variable, so that its printed form, the name, reads back as the same operand.
    fn scalar_operand(&self, e: &PrimExpr) -> Operand {
        match e.as_var().and_then(|scalar| self.dialect.function.var_of_scalar(scalar)) {
            Some(var) => Operand::Var(var),
            None => Operand::Prim(e.clone()),
        }
    }

    /// A shape: a variable, `R.shape([…])`, or a list of dimensions.
    pub(super) fn to_shape(&mut self, arg: &Arg) -> Read<Operand> {
        match &arg.value {
            Value::Tuple(_) | Value::List(_) => self.dims(arg).map(Operand::Shape),
            Value::Int(_) | Value::Scalar(_) => Ok(Operand::Shape(vec![self.dim(arg)?])),
            Value::Operand(Operand::Tuple(items))
                if !items.is_empty() && items.iter().all(|o| matches!(o, Operand::Prim(_))) =>
            {
                self.dims(arg).map(Operand::Shape)
            }
            _ => self.to_operand(arg),
        }
    }

    /// A tuple of scalars, from a list, a shape or one scalar.
    pub(super) fn to_prims(&mut self, arg: &Arg) -> Read<Operand> {
        match &arg.value {
            Value::Operand(Operand::Shape(dims)) => {
                Ok(Operand::Tuple(dims.iter().cloned().map(Operand::Prim).collect()))
            }
            Value::Int(_) | Value::Scalar(_) => Ok(Operand::Tuple(vec![self.to_operand(arg)?])),
            _ => self.to_operand(arg),
        }
    }

    /// A dtype, from its name.
    pub(super) fn to_dtype_operand(&mut self, arg: &Arg) -> Read<Operand> {
        match &arg.value {
            Value::Operand(Operand::Var(_)) | Value::Unbound(_) => self.to_operand(arg),
            _ => self.to_dtype(arg).map(Operand::DType),
        }
    }

    /// A function: of the module, external, or a variable.
    pub(super) fn to_function(&mut self, arg: &Arg) -> Read<Operand> {
        match &arg.value {
            Value::Str(symbol) => Ok(Operand::Extern(symbol.clone())),
            _ => self.to_operand(arg),
        }
    }
}
