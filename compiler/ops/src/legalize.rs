//! What operators become: TIR functions, or other operators.

use crate::op::Context;
use hammock_ir::{
    Type,
    relax::{Call, InferError, Operand, Value},
    tir::PrimFunc,
};

/// Builds the TIR function that computes a call.
pub type TirFn = fn(&Context, &Call) -> Result<Legalized, InferError>;

/// Rewrites a call as bindings of other operators.
pub type DecomposeFn = fn(&Context, &Call, &mut dyn Emit) -> Result<Operand, InferError>;

/// A TIR function and the `call_tir` that replaces the operator's call.
pub struct Legalized {
    /// The name to give the function: the operator's last name part, such as `conv2d`.
    pub name: String,
    /// The function, in block TIR: inputs, then scalars, then outputs.
    pub func: PrimFunc,
    /// The arguments of `call_tir`.
    pub args: Vec<Operand>,
    /// The type of its result: a tensor, or a tuple of tensors.
    pub out_ty: Type,
}

/// Where a decomposition puts its bindings.
pub trait Emit {
    /// Binds a value to a new variable, with the type its operator gives.
    ///
    /// # Errors
    /// When the value has no type.
    fn emit(&mut self, value: Value) -> Result<Operand, InferError>;
}
