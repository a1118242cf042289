//! Operands by name.

use super::CallContext;
use crate::text::{kind_text, type_text};
use hammock_ir::{
    AttrValue, PrimExpr, TensorType, Type,
    relax::{InferError, Operand},
    types::ShapeType,
};

/// Returns true if an operand denotes an absent one: `None` or the empty tuple.
pub fn is_absent(operand: &Operand) -> bool {
    match operand {
        Operand::Tuple(members) => members.is_empty(),
        Operand::Opaque(value) => matches!(**value, AttrValue::None),
        _ => false,
    }
}

impl<'a> CallContext<'a> {
    /// The position of an operand among the arguments.
    pub(super) fn operand_index(&self, param: &str) -> Option<usize> {
        self.op.operands().position(|p| p.name == param)
    }

    /// An optional operand: absent if it is omitted, `None` or the empty tuple.
    pub fn optional(&self, param: &str) -> Option<&'a Operand> {
        self.call.args.get(self.operand_index(param)?).filter(|o| !is_absent(o))
    }

    /// An operand.
    ///
    /// # Errors
    /// When it is not given.
    pub fn operand(&self, param: &str) -> Result<&'a Operand, InferError> {
        let index = self.operand_index(param);
        index
            .and_then(|i| self.call.args.get(i))
            .ok_or_else(|| self.error(format_args!("the operand `{param}` is missing")))
    }

    /// The type of any operand in this function.
    pub fn type_of(&self, operand: &Operand) -> Type {
        self.function.operand_ty(self.module, operand)
    }

    /// The type of an operand.
    ///
    /// # Errors
    /// When it is not given.
    pub fn ty(&self, param: &str) -> Result<Type, InferError> {
        Ok(self.type_of(self.operand(param)?))
    }

    /// The type of a tensor operand.
    ///
    /// # Errors
    /// When it is not given or no tensor.
    pub fn tensor(&self, param: &str) -> Result<TensorType, InferError> {
        match self.ty(param)? {
            Type::Tensor(t) => Ok(t),
            Type::DTensor(t) => Ok(t.tensor.clone()),
            other => Err(self.mismatch(param, "a tensor", &other)),
        }
    }

    /// The type of an optional tensor operand.
    ///
    /// # Errors
    /// When it is given and no tensor.
    pub fn optional_tensor(&self, param: &str) -> Result<Option<TensorType>, InferError> {
        self.optional(param).map(|_| self.tensor(param)).transpose()
    }

    /// The type of a tensor operand; a scalar counts as a rank-0 tensor.
    ///
    /// # Errors
    /// When it is not given or is neither.
    pub fn tensor_or_scalar(&self, param: &str) -> Result<TensorType, InferError> {
        match self.ty(param)? {
            Type::Prim(dtype) => Ok(TensorType::new([] as [PrimExpr; 0], dtype)),
            Type::Tensor(t) => Ok(t),
            Type::DTensor(t) => Ok(t.tensor.clone()),
            other => Err(self.mismatch(param, "a tensor or scalar", &other)),
        }
    }

    /// The types of a tuple of tensors.
    ///
    /// # Errors
    /// When it is not given, no tuple, or a member is not a tensor.
    pub fn tensors(&self, param: &str) -> Result<Vec<TensorType>, InferError> {
        let ty = self.ty(param)?;
        let members = ty.as_tuple().ok_or_else(|| self.mismatch(param, "a tuple of tensors", &ty))?;
        let tensor = |(i, t): (usize, &Type)| {
            let wrong = || self.error_at(param, format_args!("`{param}[{i}]` must be a tensor, not {}", kind_text(t)));
            t.as_tensor().cloned().ok_or_else(wrong)
        };
        members.iter().enumerate().map(tensor).collect()
    }

    /// The type of a shape operand.
    ///
    /// # Errors
    /// When it is not given or no shape.
    pub fn shape(&self, param: &str) -> Result<ShapeType, InferError> {
        match self.ty(param)? {
            Type::Shape(s) => Ok(s),
            other => Err(self.mismatch(param, "a shape", &other)),
        }
    }

    /// The value of a scalar operand: a number or an expression over scalar variables.
    ///
    /// # Errors
    /// When it is not given or no scalar.
    pub fn prim(&self, param: &str) -> Result<PrimExpr, InferError> {
        let operand = self.operand(param)?;
        self.scalar(operand).ok_or_else(|| self.mismatch(param, "a scalar", &self.type_of(operand)))
    }

    /// An operand as a scalar; `None` if it is none.
    pub(crate) fn scalar(&self, operand: &Operand) -> Option<PrimExpr> {
        match operand {
            Operand::Prim(e) => Some(e.clone()),
            Operand::Var(v) => self.function.scalar(*v).map(Into::into),
            _ => None,
        }
    }

    /// The values of a tuple of scalars; `None` when the tuple is a variable, whose members have no names.
    ///
    /// # Errors
    /// When it is not given, no tuple, or a member is not a scalar.
    pub fn prims(&self, param: &str) -> Result<Option<Vec<PrimExpr>>, InferError> {
        let operand = self.operand(param)?;
        let ty = self.type_of(operand);
        let wrong = || self.mismatch(param, "a tuple of scalars", &ty);
        match (operand, &ty) {
            (Operand::Shape(dims), _) => Ok(Some(dims.clone())),
            (Operand::Tuple(members), _) => {
                members.iter().map(|m| self.scalar(m)).collect::<Option<_>>().map(Some).ok_or_else(wrong)
            }
            (_, Type::Tuple(members)) if members.iter().all(|t| matches!(t, Type::Prim(_))) => Ok(None),
            (_, Type::Shape(shape)) => Ok(shape.dims().map(<[_]>::to_vec)),
            _ => Err(wrong()),
        }
    }

    /// An error about an operand of another type than expected.
    pub(crate) fn mismatch(&self, param: &str, expected: &str, found: &Type) -> InferError {
        self.error_at(param, format_args!("`{param}` must be {expected}, not {}", type_text(found)))
    }
}
