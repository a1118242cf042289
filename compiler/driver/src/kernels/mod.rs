//! Kernels: TIR functions of a module, planned, lowered and compiled on several threads.

#[cfg(feature = "native")]
mod code;
mod compiled;
#[cfg(feature = "native")]
mod compiler;
mod gpu;
mod location;
mod object;
mod parallel;
mod plan_file;
mod planner;

pub use compiled::Compiled;
#[cfg(feature = "native")]
pub use compiled::SYMBOL;
#[cfg(feature = "native")]
pub use compiler::Compiler;
pub use gpu::lower_for;
#[cfg(feature = "native")]
pub use location::call_count;
pub use location::{extern_call_span, location};
pub use object::{compile_all, compile_together};
pub use parallel::in_parallel;
pub use plan_file::PlanFile;
#[cfg(feature = "native")]
pub use planner::opt_level;
pub use planner::{checked, plan_key, target};

use crate::{Failure, Options, failure::not_lowerable};
use hammock_diagnostics::SourceFile;
use hammock_ir::{Function, Module, Span, tir::PrimFunc};
use hammock_kernels::{FlatKernel, GpuKernel, KernelError, Reason, schedule::Flops};
use location::kernel_span;
use std::collections::HashMap;

/// Maximum bytes of temporaries that a call of each kernel allocates at once, by symbol; kernels without are left out.
pub type Temporaries = HashMap<String, u64>;

/// Why a kernel was not compiled.
pub enum CompileError {
    /// It cannot be lowered.
    Lowering(KernelError),
    /// LLVM rejects it; the message names the kernel.
    #[cfg(feature = "native")]
    Code(String),
}

impl From<KernelError> for CompileError {
    fn from(error: KernelError) -> CompileError {
        CompileError::Lowering(error)
    }
}

/// Lowers every TIR function of a module to flat TIR, in the module's order. Those that run on the CPU have no device
/// functions.
pub fn lower_all(module: &Module, source: &SourceFile, options: &Options) -> Result<Vec<GpuKernel>, Failure> {
    map_kernels(module, source, options, options.threads, |name, func, options| {
        lower_for(name, &func, options).map_err(CompileError::from)
    })
}

/// Plan of each kernel of a module as text, with the kernel's name.
///
/// # Errors
/// When a kernel cannot be made.
pub fn plans(module: &Module, source: &SourceFile, options: &Options) -> Result<Vec<(String, String)>, Failure> {
    map_kernels(module, source, options, options.threads, |name, func, options| {
        Ok((name.to_owned(), hammock_kernels::plan_text(&func, options)?))
    })
}

/// The kernels of a module before a step of [`STEPS`](hammock_kernels::steps::STEPS), or after the last without one, as a
/// module.
///
/// # Errors
/// When a kernel cannot be made.
pub fn before_step(
    module: &Module,
    source: &SourceFile,
    options: &Options,
    step: Option<&str>,
) -> Result<Module, Failure> {
    let kernels = map_kernels(module, source, options, options.threads, |name, func, options| {
        Ok((name.into(), Function::Tir(hammock_kernels::before(&func, options, step)?)))
    })?;
    Ok(Module { functions: kernels.into_iter().collect(), ..Module::default() })
}

/// The kernels of a module with their stages as blocks, after the first `count` of the
/// [`TRANSFORMS`](hammock_loopnest::transforms::TRANSFORMS), as a module.
///
/// # Errors
/// When a kernel cannot be lowered.
pub fn stages(module: &Module, source: &SourceFile, options: &Options, count: usize) -> Result<Module, Failure> {
    let kernels = map_kernels(module, source, options, options.threads, |name, func, options| {
        Ok((name.into(), Function::Tir(hammock_kernels::stages(&func, options, count)?)))
    })?;
    Ok(Module { functions: kernels.into_iter().collect(), ..Module::default() })
}

/// Number of floating-point operations of each kernel of a module, with its name; `None` for hand-written loops.
///
/// # Errors
/// When a kernel cannot be made.
pub fn flops(module: &Module, source: &SourceFile, options: &Options) -> Result<Vec<(String, Option<Flops>)>, Failure> {
    map_kernels(module, source, options, options.threads, |name, func, options| {
        Ok((name.to_owned(), hammock_kernels::flops(&func, options)?))
    })
}

/// Applies `f` to every TIR function of a module, with calls of other kernels inlined, on several threads. Returns the
/// results in the module's order.
pub fn map_kernels<T: Send>(
    module: &Module,
    source: &SourceFile,
    options: &Options,
    threads: usize,
    f: impl Fn(&str, PrimFunc, hammock_kernels::Options<'_>) -> Result<T, CompileError> + Sync,
) -> Result<Vec<T>, Failure> {
    let target = target(options, threads);
    let plans = options.plans.as_deref();
    plans.map_or(Ok(()), |plans| plans.check(module))?;
    let location = |span: Span| location(source, span).filter(|_| !options.strip_source);
    let functions: Vec<(&str, &PrimFunc)> = functions(module).collect();
    in_parallel(&functions, options.threads, |(name, func)| {
        options.stop.check()?;
        let (checked, &Options { strict_order, allow_tf32, .. }) = (checked(options), options);
        let mut file = None;
        let func = hammock_kernels::inline_calls(func, &|name| module.tir(name), &location).map_err(CompileError::from);
        let result = func.and_then(|func| {
            let given = plans.and_then(|plans| Some((plans, plans.of(name)?)));
            let found = given.or_else(|| {
                let tuned = options.tuned.as_deref()?;
                let key = plan_key(&func, &target, options);
                // A plan that was tuned at other sizes is better than none.
                let plan = tuned.of(&key).or_else(|| tuned.of(key.split('.').next()?))?;
                Some((tuned, plan))
            });
            file = found.map(|(file, _)| file);
            let plan = found.map(|(_, plan)| plan);
            let gpu = gpu::gpu_of(&func, options);
            let (target, locate) = (&target, &location);
            let options = hammock_kernels::Options { target, gpu, checked, strict_order, allow_tf32, plan, locate };
            f(name, func.into_owned(), options)
        });
        result.map_err(|error| {
            let message = match (error, file) {
                (CompileError::Lowering(KernelError { reason: Reason::Plan(error), .. }), Some(file)) => {
                    return file.failure(error);
                }
                (CompileError::Lowering(error), _) => format!("kernel `{name}`: {error}"),
                #[cfg(feature = "native")]
                (CompileError::Code(message), _) => message,
            };
            not_lowerable(message, kernel_span(module, name), source)
        })
    })
}

/// Temporaries of a module's kernels, as [`compile`](crate::compile) makes them.
///
/// # Errors
/// If a kernel cannot be lowered.
pub fn temporaries(module: &Module, source: &SourceFile, options: &Options) -> Result<Temporaries, Failure> {
    let kernels = lower_all(module, source, options)?;
    Ok(temporaries_of(kernels.iter().map(|kernel| &kernel.host), options.threads))
}

/// Temporaries of kernels on `threads` threads, the maximum over all versions of each.
pub fn temporaries_of<'a>(kernels: impl IntoIterator<Item = &'a FlatKernel>, threads: usize) -> Temporaries {
    let mut temporaries = Temporaries::default();
    for kernel in kernels {
        let bytes = kernel.temporary_bytes(threads);
        if bytes > 0 {
            let max = temporaries.entry(kernel.name.to_string()).or_default();
            *max = bytes.max(*max);
        }
    }
    temporaries
}

/// A module's TIR functions by their symbols.
pub fn functions(module: &Module) -> impl Iterator<Item = (&str, &PrimFunc)> {
    module.functions.iter().filter_map(|(name, f)| match f {
        Function::Tir(func) => Some((f.global_symbol().unwrap_or(name), func)),
        _ => None,
    })
}
