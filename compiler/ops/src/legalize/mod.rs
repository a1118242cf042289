//! Legalization: lowers operators to TIR functions, or to other operators.
//!
//! A legalization reads like the definition of its operator. A [`Builder`] provides operands as [`Input`]s, adds stages
//! (`compute`: an expression per index; `reduce`: a reduction over axes; `block`: custom statements) and wraps
//! everything into a private [`PrimFunc`] of block TIR:
//!
//! ```ignore
//! let mut b = Builder::new(cx, "mean")?;
//! let x = b.input("x")?;
//! let total = b.temp("x_red", kept.clone(), x.dtype());
//! b.reduce(&total, &axes, Combine::Sum, |i, k| x.at(&merge(i, k)));
//! let out = b.output("T_divide")?;
//! b.compute(&out, |i| total.at(i) / count);
//! Ok(b.finish())
//! ```
//!
//! Symbolic dimensions. A PrimFunc has its own variables: [`Builder::dim`] translates from the Relax function's. A
//! variable that is itself a dimension of a buffer is defined by it; all others become int64 parameters after the
//! inputs.
//!
//! Memory. Generated kernels stay in bounds for any input: indices from tensors are clamped or wrapped at their use.

mod builder;
mod combine;
mod input;
pub mod loops;
mod normalize_operands;
mod region;
mod sizes;
mod stage;

pub use builder::Builder;
pub use combine::{Combine, highest, largest_float, lowest};
pub use input::{Input, broadcast_indices, scalar_constant};
pub use normalize_operands::{has_normal_operands, normalize_operands};
pub use stage::{ReduceAxis, accumulator};

use crate::{context::CallContext, table::lookup};
use hammock_ir::{
    AttrValue, Type,
    relax::{InferError, Operand, Value},
    tir::PrimFunc,
};

/// Builds the TIR function of a call, whose operands must be normalized: see [`normalize_operands`].
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

impl dyn Emit + '_ {
    /// Binds a call of an operator, with default values for attributes that are not given.
    ///
    /// # Errors
    /// When there is no such operator, or the call has no type.
    pub fn op<const N: usize>(
        &mut self,
        name: &str,
        args: Vec<Operand>,
        given: [(&'static str, AttrValue); N],
    ) -> Result<Operand, InferError> {
        let op = lookup(name).ok_or_else(|| InferError::new(format!("there is no operator `R.{name}`")))?;
        self.emit(Value::Call(op.call(args, given)))
    }
}
