//! The intermediate representation: built by the importer from text, rewritten by passes, consumed by code generation.
//!
//! A [`Module`] is a table of global functions: [`relax::Function`]s (graphs of tensor operations in A-normal form),
//! [`tir::PrimFunc`]s (loops over buffers) and external names. Both dialects share one scalar expression type,
//! [`PrimExpr`]: a symbolic dimension of a Relax shape is the same thing as an index in TIR.
//!
//! Ownership. A Relax function owns a table of its variables and names them by small integers ([`relax::Var`]), so a
//! function clones cheaply and analyses are side tables. Scalar variables ([`prim::Var`]) and buffers
//! ([`tir::Buffer`]) are shared immutable nodes compared by identity. Expressions are immutable and shared, statements
//! and bindings are owned and rewritten in place.
//!
//! Evaluation. Bindings of a block run in order; a dataflow block has no side effects and no control flow. Operands are
//! variables, constants and symbolic values, never calls. Statements of a [`tir::Stmt`] sequence run in order; a block
//! ([`tir::Block`]) runs its `init` in the first iteration of its reduction axes.
//!
//! This crate knows no operators: functions that need them (purity, type inference) take a [`relax::OpTable`].
#![forbid(unsafe_code)]

pub mod arith;
pub mod bounds;
pub mod equal;
pub mod hash;
pub mod module;
pub mod name;
pub mod prim;
pub mod print;
pub mod relax;
pub mod tir;
mod type_visit;
pub mod types;
pub mod verify;

pub use hammock_diagnostics::{Span, count};
pub use hammock_runtime::{DType, Tensor};
pub use module::{ExternFunc, Function, GlobalInfo, Module};
pub use name::Name;
pub use prim::{AttrValue, Attrs, DeviceMesh, PrimExpr, VDevice};
pub use types::{CallableType, DTensorType, MAX_RANK, TensorShape, TensorType, Type};
