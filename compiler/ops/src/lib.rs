//! Every operator, declared once.
//!
//! A family file declares its operators: signature, documentation, type rule, and how each becomes TIR. The importer
//! binds the arguments of a call by [`Op::params`], the verifier and passes ask [`OpTable`], `LegalizeOps` asks
//! [`Op::lowering`]. Nothing else in the project lists operators.
#![forbid(unsafe_code)]

pub mod legalize;
mod op;
mod table;

pub use op::{AttrKind, Context, InferFn, Lowering, Op, OperandKind, Param, ParamKind};
pub use table::{Table, lookup, ops};
