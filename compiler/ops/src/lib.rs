//! The operator registry: every operator, declared once.
//!
//! A family file declares its operators: signature, documentation, type rule, and lowering. The importer binds the
//! arguments of a call by [`Op::params`], the verifier and passes use [`Table`], `LegalizeOps` uses [`Op::lowering`].
//! Nothing else in the project lists operators.
//!
//! - [`op`]: the declaration and its builder; [`Example`], a runnable call of it; [`CallContext`], the view of a call in
//!   rules.
//! - [`rules`]: type rules shared by many operators; [`dims`], arithmetic for them.
//! - [`legalize`]: the builder of block TIR.
//! - [`layout`] and [`relayout`]: tensor layouts, and calls under changed layouts.
//! - [`packed_weights`]: the kernel that dequantizes weights.
//! - [`precision`]: operators for mixed precision.
//! - [`families`]: the operators.
#![forbid(unsafe_code)]

mod callee;
pub mod dims;
pub mod families;
pub mod layout;
pub mod legalize;
pub mod op;
pub mod packed_weights;
mod param;
pub mod precision;
pub mod relayout;
pub mod rules;
mod table;
mod text;

pub use families::linear_algebra::matmul_of_transposed;
pub use families::manipulate::{inverse as layout_inverse, mapped_shape as layout_shape};
pub use families::nn::{WinogradTiles, winograd, winograd_weights};
pub use hammock_ir::relax::ResultMemory;
pub use op::{AttrKind, CallContext, Example, InferFn, Lowering, Op, OperandKind, Param, ParamKind, is_absent};
pub use table::{Table, lookup, ops};
