//! How an operator is lowered.

use super::CallContext;
use hammock_ir::{
    Type,
    relax::{InferError, Operand, Value},
    tir::PrimFunc,
};

/// Lowering of an operator.
pub enum Lowering {
    /// To a TIR function, built by this.
    Tir(TirFn),
    /// To other operators.
    Decompose(DecomposeFn),
    /// To a runtime function of that name, called with the operands, then the attributes in order of declaration.
    Packed(&'static str),
    /// In a later pass or the code generator, which the text names for the table.
    Structural(&'static str),
}

/// Builds the TIR function of a call, whose operands must be normalized: see [`normalize_operands`](crate::legalize::normalize_operands).
pub type TirFn = Box<dyn Fn(&CallContext) -> Result<Legalized, InferError> + Send + Sync>;

/// Rewrites a call as bindings of other operators.
pub type DecomposeFn = Box<dyn Fn(&CallContext, &mut dyn Emit) -> Result<Operand, InferError> + Send + Sync>;

/// A TIR function and the `call_tir` that replaces the operator's call.
#[derive(Clone, Debug)]
pub struct Legalized {
    /// Name hint of the function: the last part of the operator's name, such as `conv2d`.
    pub name: String,
    /// The function, in block TIR: inputs, then scalars, then outputs.
    pub func: PrimFunc,
    /// The arguments of `call_tir`.
    pub args: Vec<Operand>,
    /// The type of its result: a tensor, or a tuple of tensors.
    pub out_ty: Type,
}

/// Receiver of a decomposition's bindings.
pub trait Emit {
    /// Binds a value to a new variable, with its inferred type.
    ///
    /// # Errors
    /// When the value has no type.
    fn emit(&mut self, value: Value) -> Result<Operand, InferError>;
}
