//! The view of a call in type rules and legalizations: operands by name, with their types.
//!
//! Every accessor returns an error that names the operator and the parameter, so a rule is a straight line of `?`.

mod attrs;
mod operands;

pub use operands::is_absent;

use super::Op;
use crate::dims;
use hammock_ir::{
    Module, Type,
    relax::{Call, Function, InferError},
};
use std::fmt::Display;

/// A call of an operator in its function and module.
#[derive(Clone, Copy)]
pub struct CallContext<'a> {
    /// The module.
    pub module: &'a Module,
    /// The function, for the types of variables.
    pub function: &'a Function,
    /// The operator.
    pub op: &'a Op,
    /// The call.
    pub call: &'a Call,
}

impl CallContext<'_> {
    /// The type of the call's result, with simplified dimensions.
    ///
    /// # Errors
    /// When operands or attributes break the operator's rule.
    pub fn result_ty(&self) -> Result<Type, InferError> {
        let ty = (self.op.infer)(self)?;
        // Declared result types are not simplified.
        Ok(if self.call.ty_args.is_empty() { ty.map_exprs(&mut dims::simplify) } else { ty })
    }

    /// An error about the call as a whole: "`R.sum`: …".
    pub fn error(&self, message: impl Display) -> InferError {
        let error = InferError::new(format!("`R.{}`: {message}", self.op.name));
        InferError { names_operator: true, ..error }
    }

    /// An error about one parameter, operand or attribute: the diagnostic points at it.
    pub fn error_at(&self, param: &str, message: impl Display) -> InferError {
        let error = self.error(message);
        match self.operand_index(param) {
            Some(index) => error.at(index),
            None => error.of_attr(param),
        }
    }
}
