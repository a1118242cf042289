//! Targets, options, pipelines: what the command line and bindings call.
//!
//! A [`Model`] is read from a file; a [`Build`] lowers, tunes and compiles it to an [`Artifact`], one step at a time. The
//! functions below them do the same to modules: [`read_text`], [`lower`], [`compile`]. Every error that a user can cause is a
//! [`Failure`], which prints with the source lines that it is about.
#![forbid(unsafe_code)]

mod build;
#[cfg_attr(not(feature = "native"), allow(dead_code, unused_imports, reason = "only machine code is cached"))]
mod cache;
mod codegens;
mod emit;
mod evaluate;
mod failure;
mod kernels;
mod model;
mod observe;
mod reference;
mod target;
mod texts;
mod tune;

pub use build::{Bounds, Build, ExecMode, Options, Progress, Quantization, Silent};
pub use cache::{Cache, Usage};
pub use codegens::{CodeGenerator, Codegens};
pub use emit::{Artifact, Emit, Lowered, Output, compile};
pub use evaluate::Evaluator;
pub use failure::Failure;
pub use hammock_import::{Constants, ReadOptions, check_module, nearest_operator};
pub use hammock_kernels::{
    Accesses,
    schedule::{
        Flops,
        cpu::RULES,
        gpu::RULES as GPU_RULES,
        primitives::{Form, PRIMITIVES, Primitive},
    },
    steps::{GPU_STEPS, STEPS, Step},
};
pub use hammock_loopnest::transforms::{TRANSFORMS, Transform};
pub use hammock_onnx::{
    Assumption, ImportOptions, Imported, InputShape, Overridden, Weights as OnnxWeights,
    ops::{Op as OnnxOp, all as onnx_operators},
};
pub use hammock_passes::libraries::Library;
pub use hammock_target::{Family, Gpu, Target};
pub use hammock_tools::Weights;
pub use kernels::{PlanFile, Temporaries, before_step, flops, plans, stages, temporaries};
pub use model::{
    Model, ModelFile, Params,
    digest::Digest,
    entry::{Kept, keep_kernel},
    input::{read_source, read_text, read_weights, write_weights},
    onnx::{data_files, import_onnx, is_onnx},
    params::{Named, bind, misfit},
    signature::{signatures, value_type},
    stream::unreadable,
};
pub use observe::{Clock, Dump, Timing};
pub use reference::reference;
pub use target::{architecture, check_cpu, gpus, libraries, llvm_version, target, targets};
pub use texts::TextFiles;
pub use tune::{Record, Sizes, tune};

use hammock_diagnostics::SourceFile;
use hammock_ir::Module;
use hammock_ops::Table;
use hammock_passes::{Environment, Pipeline};

/// Address space for the stack of a thread that compiles: trees are walked recursively, as deep as text may nest.
pub const STACK_BYTES: usize = 512 << 20;

/// Runs the passes of a pipeline that ends at the VM's level, such as [`hammock_passes::pipeline()`].
///
/// # Errors
/// If the module is not well formed, or cannot be lowered.
pub fn lower(
    module: &mut Module,
    source: &SourceFile,
    passes: &Pipeline,
    environment: &Environment,
    dump: &mut Dump,
) -> Result<(), Failure> {
    check_lowerable(module, source, environment.gpu)?;
    passes.run(module, environment, dump).map_err(|error| Failure::from(error).within(source))
}

/// Refuses a module that is not well formed, or is for other devices.
fn check_lowerable(module: &Module, source: &SourceFile, gpu: Option<Gpu>) -> Result<(), Failure> {
    let errors = hammock_ir::verify::errors(module, &Table);
    if !errors.is_empty() {
        return Err(Failure::from(errors).within(source));
    }
    target::check_devices(module, source, gpu)
}
