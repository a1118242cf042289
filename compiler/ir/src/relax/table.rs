//! The interface of the operator table, which lives in a crate above this one.

use super::{Call, Function};
use crate::{Module, Type};
use std::fmt;

/// Properties of operators that the verifier and passes need.
pub trait OpTable {
    /// Returns true if calling the operator has no visible side effect; `None` for an unknown operator.
    fn is_pure(&self, op: &str) -> Option<bool>;

    /// Memory of the operator's result.
    fn result_memory(&self, op: &str) -> ResultMemory;

    /// Operands that a call of the operator may overwrite.
    fn operand_writes(&self, op: &str) -> OperandWrites;

    /// The type of a call's result, for any callee. Types of operands are read from `function` and `module`.
    ///
    /// # Errors
    /// When operands or attributes break the operator's rule.
    fn infer(&self, module: &Module, function: &Function, call: &Call) -> Result<Type, InferError>;
}

/// Memory of an operator's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultMemory {
    /// Unknown: it may alias, or contain, any operand.
    Unknown,
    /// In new memory.
    Own,
    /// In new memory; it could also overwrite an operand of the result's type, since each element depends only on the
    /// elements at the same index.
    OwnOrOperand,
    /// It may be a view of the first operand.
    View,
}

impl ResultMemory {
    /// Returns true if the result certainly shares no memory with operands.
    pub fn is_own(self) -> bool {
        matches!(self, ResultMemory::Own | ResultMemory::OwnOrOperand)
    }
}

/// Operands that a call of an operator may write over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandWrites {
    /// None.
    Nothing,
    /// Those that its attribute `inplace_indices` lists.
    InPlace,
    /// Any, if a function of the module writes: the call runs a closure.
    Closure,
    /// Any.
    Any,
}

/// A type error of a call.
#[derive(Clone, Debug)]
pub struct InferError {
    /// The message, which names the operator and the argument.
    pub message: String,
    /// The index of the invalid argument, if there is one.
    pub arg: Option<usize>,
    /// The name of the invalid attribute, if there is one.
    pub attr: Option<String>,
    /// True if the message begins with the operator.
    pub names_operator: bool,
    /// Advice.
    pub help: Option<String>,
}

impl InferError {
    /// An error about the call as a whole.
    pub fn new(message: impl Into<String>) -> Self {
        InferError { message: message.into(), arg: None, attr: None, names_operator: false, help: None }
    }

    /// Sets the invalid argument.
    pub fn at(mut self, arg: usize) -> Self {
        self.arg = Some(arg);
        self
    }

    /// Sets the invalid attribute.
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
