//! Every operator, declared once.
//!
//! A family file declares its operators: signature, documentation, type rule, and how each becomes TIR. The importer
//! binds the arguments of a call by [`Op::params`], the verifier and passes ask [`Table`], `LegalizeOps` asks
//! [`Op::lowering`]. Nothing else in the project lists operators.
//!
//! - [`op`]: the declaration and the words to write it in; [`Example`], a call of it that runs.
//! - [`context`]: a call as rules see it, [`rules`] that many operators share, [`dims`] arithmetic for them.
//! - [`legalize`]: the builder of block TIR.
//! - [`layout`] and [`relayout`]: which axis of a tensor holds what, and how calls look when it is moved.
//! - [`precision`]: which operators compute in 16 bits.
//! - [`families`]: the operators.
#![forbid(unsafe_code)]

mod callee;
pub mod context;
pub mod dims;
mod example;
pub mod families;
pub mod layout;
pub mod legalize;
pub mod op;
mod param;
pub mod precision;
pub mod relayout;
pub mod rules;
mod table;
mod text;

pub use context::{CallContext, is_absent};
pub use example::Example;
pub use families::linear_algebra::matmul_of_transposed;
pub use families::manipulate::{inverse as layout_inverse, mapped_shape as layout_shape};
pub use families::nn::{WINOGRAD_RESULTS, WINOGRAD_TAPS, winograd, winograd_weights};
pub use hammock_ir::relax::memory::ResultMemory;
pub use op::{AttrKind, InferFn, Lowering, Op, OperandKind, Param, ParamKind};
pub use table::{Table, lookup, ops};
