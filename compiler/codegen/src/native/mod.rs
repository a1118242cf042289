//! Compiles Relax functions from bytecode to machine code with Cranelift.
//!
//! The input is an executable, facts about its kernels, and the list of functions to compile; the output is an object
//! with one symbol per function, [`PREFIX`]`name`, and the [`VERSION`] of the runtime that it was made for. The object
//! depends on nothing else. [`hammock_runtime::vm::native`] describes what such code receives and may rely on, and
//! [`hammock_runtime::executable::compact`] how bytecode is folded into the steps that it carries out.
//!
//! The bytecode stays: instruments, listings and messages use it, and the interpreter takes over if the code cannot
//! continue or would not be faster ([`Compact::interpreted`] says which steps those are). So rare cases need no code here,
//! only an exit:
//! - [`emit`] walks over the steps and writes their blocks;
//! - [`call`] passes arguments and checks results;
//! - [`check`] checks tensors against kernel signatures, unless they are known to match;
//! - [`facts`] are the facts that are known on entry.
//!
//! [`Compact::interpreted`]: hammock_runtime::executable::compact::Compact::interpreted
mod call;
mod check;
mod emit;
mod error;
mod facts;
mod fields;
mod object;
mod primitives;
mod signatures;

pub use error::NativeError;

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::{OwnedTargetIsa, lookup_by_name};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use emit::Emitter;
use hammock_runtime::Executable;
use hammock_runtime::executable::FunctionInfo;
use hammock_runtime::executable::compact::{Folding, compact};
use hammock_runtime::image::KernelSignature;
use hammock_runtime::vm::native::{PREFIX, VERSION};

/// Compiles functions of a verified executable, given by table index, to an object for x86-64.
///
/// # Errors
/// When a function is too large for the code generator.
pub fn compile(
    executable: &Executable,
    kernels: &[KernelSignature],
    functions: &[usize],
) -> Result<Vec<u8>, NativeError> {
    let isa = isa()?;
    let mut object = object::Object::new();
    let mut builder = FunctionBuilderContext::new();
    for info in functions.iter().map(|function| &executable.functions[*function]) {
        let mut context = Context::new();
        build(&mut context, &mut builder, &isa, executable, kernels, info);
        let failed = |reason: String| NativeError::Function { name: info.name.clone(), reason };
        let compiled = context.compile(&*isa, &mut ControlPlane::default()).map_err(|e| failed(e.inner.to_string()))?;
        if !compiled.buffer.relocs().is_empty() {
            return Err(failed("its code depends on addresses".to_owned()));
        }
        object.function(&info.name, compiled.code_buffer(), compiled.buffer.alignment);
    }
    object.write()
}

/// Returns the Cranelift IR of a function as text.
///
/// # Errors
/// When the code generator does not support the processor.
pub fn text(executable: &Executable, kernels: &[KernelSignature], function: usize) -> Result<String, NativeError> {
    let (mut context, mut builder) = (Context::new(), FunctionBuilderContext::new());
    build(&mut context, &mut builder, &isa()?, executable, kernels, &executable.functions[function]);
    Ok(context.func.display().to_string())
}

fn build(
    context: &mut Context,
    builder: &mut FunctionBuilderContext,
    isa: &OwnedTargetIsa,
    executable: &Executable,
    kernels: &[KernelSignature],
    info: &FunctionInfo,
) {
    let steps = compact(executable, info, Folding::Full);
    Emitter::new(&mut context.func, builder, executable, kernels, &steps).function(isa.frontend_config());
}

/// Baseline x86-64: the code copies words and calls functions, which newer instructions do not speed up.
fn isa() -> Result<OwnedTargetIsa, NativeError> {
    let unsupported = |reason: &dyn std::fmt::Display| NativeError::Target(reason.to_string());
    let mut flags = settings::builder();
    let debug = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [("opt_level", "speed"), ("enable_verifier", debug), ("unwind_info", "false")] {
        flags.set(name, value).map_err(|error| unsupported(&error))?;
    }
    let builder = lookup_by_name("x86_64-unknown-linux-gnu").map_err(|error| unsupported(&error))?;
    builder.finish(settings::Flags::new(flags)).map_err(|error| unsupported(&error))
}
