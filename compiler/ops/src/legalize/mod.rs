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
mod fill_block;
mod input;
pub mod loops;
mod normalize_operands;
mod region;
mod sizes;
mod stage;

pub use crate::op::{DecomposeFn, Emit, Legalized, TirFn};
pub use builder::Builder;
pub use combine::{Combine, highest, largest_float, lowest};
pub use fill_block::fill_block;
pub use input::{Input, broadcast_indices, scalar_constant};
pub use normalize_operands::{has_normal_operands, normalize_operands};
pub use stage::{ReduceAxis, accumulator};

use crate::table::lookup;
use hammock_ir::{
    AttrValue,
    relax::{InferError, Operand, Value},
};

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
