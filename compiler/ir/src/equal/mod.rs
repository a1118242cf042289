//! Equality by structure.
//!
//! Two questions are answered. [`exprs`], [`types`] and [`values`]: are two of *one* function the same, their
//! variables being the same variables? [`modules`], [`functions`]: are two programs the same *up to the names of
//! variables*, and if not, where do they first differ? For the second, a program is read as a sequence of tokens in
//! which variables are numbered as they are met; [`hash`](crate::hash) hashes the same sequence.
//!
//! Not part of the structure: names of variables, buffers and blocks, places in source text, the order of functions and
//! of attributes.
mod difference;
mod direct;
mod graph;
mod kernel;
#[cfg(test)]
mod tests;
mod token;

pub use difference::{Difference, functions, modules};
pub(crate) use direct::FEW_BYTES;
pub use direct::{dims, exprs, types, values};
pub(crate) use token::{Sink, Token, Walker};
