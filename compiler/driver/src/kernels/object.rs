//! Kernels as object files.

use super::Compiled;
#[cfg(feature = "native")]
use super::{Compiler, kernel_span, map_kernels, opt_level, target};
#[cfg(feature = "native")]
use crate::failure::not_lowerable;
use crate::{Emit, Failure, Options};
#[cfg(feature = "native")]
use hammock_codegen::llvm;
use hammock_codegen::llvm::Host;
use hammock_diagnostics::SourceFile;
use hammock_ir::Module;
#[cfg(feature = "native")]
use hammock_ir::Span;
use hammock_kernels::GpuKernel;

/// Compiles every kernel of a module to a separate object, on several threads, in the module's order. Kernels that are in the
/// options' cache are not compiled again.
#[cfg(feature = "native")]
pub fn compile_all(
    module: &Module,
    source: &SourceFile,
    options: &Options,
    host: Host,
    threads: usize,
) -> Result<Vec<Compiled>, Failure> {
    let compiler = Compiler { level: opt_level(options), host, cache: options.cache.as_deref() };
    map_kernels(module, source, options, threads, |name, func, options| compiler.compile(name, func, options))
}

/// Compiles kernels to one file, to be read or linked by other tools. Returns true if it was cached.
#[cfg(feature = "native")]
pub fn compile_together(
    module: &Module,
    kernels: &[GpuKernel],
    source: &SourceFile,
    options: &Options,
    emit: Emit,
) -> Result<(Vec<u8>, bool), Failure> {
    let target = target(options, options.threads);
    let host = match emit {
        Emit::Ptx => None,
        Emit::Llvm => Some((&target, llvm::Emit::Ir)),
        Emit::Asm => Some((&target, llvm::Emit::Assembly)),
        _ => Some((&target, llvm::Emit::Object)),
    };
    let compiler = Compiler { level: opt_level(options), host: Host::Hammock, cache: options.cache.as_deref() };
    let compile = |kernels: &[GpuKernel]| compiler.one_module(kernels, options.gpu.as_ref(), host);
    compile(kernels).map_err(|error| {
        // Compile each alone to find which fails.
        let alone = |kernel| compile(std::slice::from_ref(kernel)).err().map(|error| (kernel, error));
        match kernels.iter().find_map(alone) {
            Some((kernel, error)) => {
                let named = matches!(error, llvm::LlvmError::Kernel { .. });
                let name = &kernel.host.name;
                let message = if named { error.to_string() } else { format!("kernel `{name}`: {error}") };
                not_lowerable(message, kernel_span(module, name), source)
            }
            None => not_lowerable(error.to_string(), Span::NONE, source),
        }
    })
}

/// Fails: this build has no code generator.
#[cfg(not(feature = "native"))]
pub fn compile_all(_: &Module, _: &SourceFile, _: &Options, _: Host, _: usize) -> Result<Vec<Compiled>, Failure> {
    Err(no_code())
}

/// Fails: this build has no code generator.
#[cfg(not(feature = "native"))]
pub fn compile_together(
    _: &Module,
    _: &[GpuKernel],
    _: &SourceFile,
    _: &Options,
    _: Emit,
) -> Result<(Vec<u8>, bool), Failure> {
    Err(no_code())
}

#[cfg(not(feature = "native"))]
fn no_code() -> Failure {
    let message = "this build of Hammock cannot compile kernels: it was made without the feature `llvm`";
    Failure::new(hammock_diagnostics::codes::NOT_LOWERABLE, message)
}
