//! From files to IR: text modules, patterns and weights.
//!
//! The input is the text of a module (or its syntax tree), the output a [`Module`](hammock_ir::Module) or a list of
//! diagnostics. The importer gives names their meaning: it knows the namespaces `R`, `T` and `I`, binds and types calls
//! by the operator table, and brings nested calls to A-normal form. Anything that it does not understand is reported,
//! never skipped silently. Reading does not verify: it accepts annotations as written. [`check_module`] does both.
#![forbid(unsafe_code)]
// `to_int` and similar methods convert an argument, in the context `self`.
#![allow(clippy::wrong_self_convention)]

mod options;
mod patterns;
mod script;

pub use options::{Constants, ReadOptions};
pub use patterns::{read_pattern, read_patterns};
pub use script::{
    Form, Inspection, Namespace, check_module, dtype_names, inspect_module, namespace_of, nearest_operator,
    read_index_map, read_module,
};
