//! Structural equality.
//!
//! This module answers two questions. [`exprs`], [`types`] and [`values`]: are two of them, in *one* function and over
//! the same variables, the same? [`modules`], [`functions`]: are two programs the same *except for the names of
//! variables*, and if not, where do they first differ? For the second, a program is read as a sequence of tokens in
//! which variables are numbered by first occurrence; [`hash`](crate::hash) hashes the same sequence.
//!
//! Not part of the structure: names of variables, buffers and blocks, source locations, the order of functions and of
//! attributes.
mod difference;
mod direct;
mod graph;
mod kernel;
#[cfg(test)]
mod tests;
mod token;

pub use difference::{Difference, functions, modules};
pub(crate) use direct::MAX_COMPARED_BYTES;
pub use direct::{dims, exprs, types, values};
pub(crate) use token::{Sink, Token, Walker};
