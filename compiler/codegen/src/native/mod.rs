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
mod arch;
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

use arch::isa;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_frontend::FunctionBuilderContext;
use emit::Emitter;
use hammock_runtime::Executable;
use hammock_runtime::executable::FunctionInfo;
use hammock_runtime::executable::compact::{Folding, compact};
use hammock_runtime::image::KernelSignature;
use hammock_runtime::vm::native::{PREFIX, VERSION};
use hammock_target::Family;

/// Compiles functions of a verified executable, given by table index, to an object for a processor family.
///
/// # Errors
/// When a function is too large for the code generator.
pub fn compile(
    family: Family,
    executable: &Executable,
    kernels: &[KernelSignature],
    functions: &[usize],
) -> Result<Vec<u8>, NativeError> {
    let isa = isa(family)?;
    let mut object = object::Object::new(family);
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
pub fn text(
    family: Family,
    executable: &Executable,
    kernels: &[KernelSignature],
    function: usize,
) -> Result<String, NativeError> {
    let (mut context, mut builder) = (Context::new(), FunctionBuilderContext::new());
    build(&mut context, &mut builder, &isa(family)?, executable, kernels, &executable.functions[function]);
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
