//! The pass manager, and one file a pass.
//!
//! A [`Pass`] rewrites a module in place. Each is declared once, in its own file, and listed in [`PASSES`]; names are
//! those of TVM. A [`Pipeline`] is a list of passes, written `a,b,c`; [`Pipeline::run`] runs it
//! and lets an [`Observer`] look at the module after each pass.
//!
//! A pass leaves a module that the verifier accepts. None of them knows of text, targets or kernels.
#![forbid(unsafe_code)]

mod observe;
mod pipeline;
mod rewrite;
mod symbolic;

mod attach_global_symbol;
mod call_tir_rewrite;
mod canonicalize_bindings;
mod compute_prim_value;
mod dead_code_elimination;
mod kill_after_last_use;
mod lambda_lift;
mod legalize_ops;
mod lower_alloc_tensor;
mod lower_runtime_builtin;
mod normalize;
mod remove_purity_checking;
mod to_non_dataflow;
mod vm_shape_lower;

pub use observe::{Observer, Silent};
pub use pipeline::{Pipeline, default_pipeline, find};

use hammock_ir::Module;
use hammock_syntax::Diagnostic;

/// A pass: a rewriting of a whole module.
pub struct Pass {
    /// Its name, that of TVM's pass.
    pub name: &'static str,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Does it.
    pub run: fn(&mut Module, &Context) -> Result<(), Diagnostic>,
}

/// What a pass may ask for: nothing yet.
pub struct Context;

/// Every pass, in the order in which the default pipeline runs them.
pub const PASSES: &[Pass] = &[
    normalize::PASS,
    canonicalize_bindings::PASS,
    lambda_lift::PASS,
    legalize_ops::PASS,
    dead_code_elimination::PASS,
    to_non_dataflow::PASS,
    remove_purity_checking::PASS,
    call_tir_rewrite::PASS,
    lower_alloc_tensor::PASS,
    kill_after_last_use::PASS,
    lower_runtime_builtin::PASS,
    compute_prim_value::PASS,
    vm_shape_lower::PASS,
    attach_global_symbol::PASS,
];

pub use rewrite::{substitute, substitute_dims};
