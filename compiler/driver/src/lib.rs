//! Targets, options, pipelines: what the command line and bindings call.
//!
//! [`read_file`] turns a file into a module or recognises a compiled executable; [`compile`] turns a module into the
//! bytes of a shared library; everything that a user can get wrong comes back as a [`Failure`], which knows how to
//! print itself with the source lines it speaks of.
#![forbid(unsafe_code)]

mod artifact;
mod bytecode;
#[cfg_attr(not(feature = "native"), allow(dead_code, unused_imports, reason = "there is nothing to keep"))]
mod cache;
mod codegens;
mod digest;
mod entry;
mod evaluate;
mod failure;
mod graphs;
mod input;
mod kernels;
#[cfg(feature = "native")]
mod objects;
mod observe;
mod onnx;
mod params;
mod plans;
mod reference;
mod signature;
mod target;
mod texts;
mod tune;
mod tvm;

pub use artifact::{Artifact, Bounds, Emit, Options, Output, Temporaries, compile, lower, temporaries};
pub use cache::{Cache, Usage};
pub use codegens::{CodeGenerator, Codegens};
pub use digest::Digest;
pub use entry::{Kept, add_entry, keep_kernel};
pub use evaluate::Evaluator;
pub use failure::Failure;
pub use graphs::Graphs;
pub use hammock_import::nearest_operator;
pub use hammock_kernels::plan::Flops;
pub use hammock_kernels::{
    Accesses, Target,
    plan::primitives::{Form, PRIMITIVES, Primitive},
    rules::RULES,
    steps::{STEPS, Step},
};
pub use hammock_onnx::{
    ImportOptions, Imported, InputShape, Overridden, Ranks, RanksOf, Weights as OnnxWeights,
    ops::{Op as OnnxOp, all as onnx_operators},
};
pub use hammock_runtime::tools::Weights;
pub use input::{
    Constants, Input, ReadOptions, check_module, read_file, read_source, read_text, read_weights, unreadable,
    write_weights,
};
pub use kernels::{before_step, flops, plans};
pub use observe::{Clock, Dump, Timing};
pub use onnx::{data_files, import_onnx, is_onnx};
pub use params::{Named, bind, misfit, misfit_in};
pub use plans::PlanFile;
pub use reference::reference;
pub use signature::signatures;
pub use target::{check_target, target, targets};
pub use texts::TextFiles;
pub use tune::{Record, Sizes, tune};
