//! From files to IR: text modules, patterns and weights.
//!
//! The input is the text of a module (or its syntax tree), the output a [`Module`](hammock_ir::Module) or a list of
//! diagnostics. The importer gives names their meaning: it knows the namespaces `R`, `T` and `I`, asks the operator
//! table how calls are bound and typed, and brings nested calls to A-normal form. If it does not
//! understand something, it reports a diagnostic there and never skips it silently. Reading does not check what the
//! verifier checks: it takes annotations as written. [`check_module`] does both.
#![forbid(unsafe_code)]
// `to_int` and its like convert an argument, in the context that is `self`.
#![allow(clippy::wrong_self_convention)]

mod options;
mod patterns;
mod script;

pub use options::{Constants, ReadOptions};
pub use patterns::{read_pattern, read_patterns};
pub use script::{check_module, nearest_operator, read_index_map, read_module};
