//! The interface of the operator table, which lives in a crate above this one.

use super::{
    Call, Function,
    memory::{OperandWrites, ResultMemory},
};
use crate::{Module, Type};
use std::fmt;

/// What the verifier and passes need to know of operators.
pub trait OpTable {
    /// Returns true if calling the operator has no visible side effect; `None` for an unknown operator.
    fn is_pure(&self, op: &str) -> Option<bool>;

    /// Memory of the operator's result.
    fn result_memory(&self, op: &str) -> ResultMemory;

    /// Operands that a call of the operator may write over.
    fn operand_writes(&self, op: &str) -> OperandWrites;

    /// The type of a call's result, whatever its callee. Types of operands are read from `function` and `module`.
    ///
    /// # Errors
    /// When operands or attributes break the operator's rule.
    fn infer(&self, module: &Module, function: &Function, call: &Call) -> Result<Type, InferError>;
}

/// Why a call has no type.
#[derive(Clone, Debug)]
pub struct InferError {
    /// What is wrong, in a sentence that names the operator and the argument.
    pub message: String,
    /// The index of the argument at fault, when it is one.
    pub arg: Option<usize>,
    /// The name of the attribute at fault, when it is one.
    pub attr: Option<String>,
    /// True if the message begins with the operator.
    pub names_operator: bool,
    /// What to do about it.
    pub help: Option<String>,
}

impl InferError {
    /// An error about the call as a whole.
    pub fn new(message: impl Into<String>) -> Self {
        InferError { message: message.into(), arg: None, attr: None, names_operator: false, help: None }
    }

    /// Names the argument at fault.
    pub fn at(mut self, arg: usize) -> Self {
        self.arg = Some(arg);
        self
    }

    /// Names the attribute at fault.
    pub fn of_attr(mut self, name: impl Into<String>) -> Self {
        self.attr = Some(name.into());
        self
    }

    /// Adds advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for InferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for InferError {}
