//! TIR functions to object code, several at a time.

use crate::{Emit, Options};
#[cfg(feature = "native")]
use hammock_codegen::llvm;
use hammock_codegen::llvm::Cpu;
use hammock_ir::{Function, Module, Span, tir::PrimFunc};
use hammock_kernels::{FlatKernel, Target};
use std::sync::Mutex;

/// Why a kernel could not be made.
pub struct KernelFailure {
    /// What is wrong; names the kernel.
    pub message: String,
    /// The function's place in the text.
    pub span: Span,
}

/// Lowers every TIR function of a module to flat TIR, planned for so many threads, in the module's order.
pub fn lower_all(module: &Module, options: &Options, threads: usize) -> Result<Vec<FlatKernel>, KernelFailure> {
    let target = target(options, threads);
    let functions: Vec<(&str, &PrimFunc)> = functions(module).collect();
    in_parallel(&functions, options.threads, |(name, func)| {
        hammock_kernels::lower(func, &target)
            .map(|kernel| FlatKernel { name: (*name).into(), ..kernel })
            .map_err(|e| KernelFailure { message: format!("kernel `{name}`: {e}"), span: func.span })
    })
}

/// A module's TIR functions by their symbols.
pub fn functions(module: &Module) -> impl Iterator<Item = (&str, &PrimFunc)> {
    module.functions.iter().filter_map(|(name, f)| match f {
        Function::Tir(func) => Some((f.global_symbol().unwrap_or(name), func)),
        _ => None,
    })
}

/// Compiles kernels in as many modules as there are threads.
#[cfg(feature = "native")]
pub fn compile_all(kernels: &[FlatKernel], options: &Options, emit: Emit) -> Result<Vec<Vec<u8>>, KernelFailure> {
    let cpu = cpu(options);
    let level = match options.level {
        0 => llvm::OptLevel::None,
        1 => llvm::OptLevel::Lean,
        2 => llvm::OptLevel::Unroll,
        _ => llvm::OptLevel::Full,
    };
    let host = if emit == Emit::Tvm { llvm::Host::Tvm } else { llvm::Host::Hammock };
    let emit = match emit {
        Emit::Llvm => llvm::Emit::Ir,
        Emit::Asm => llvm::Emit::Assembly,
        _ => llvm::Emit::Object,
    };
    let share = if emit == llvm::Emit::Object { kernels.len().div_ceil(options.threads.max(1)) } else { kernels.len() };
    let groups: Vec<&[FlatKernel]> = kernels.chunks(share.max(1)).collect();
    in_parallel(&groups, options.threads, |group| {
        llvm::compile(group, &cpu, host, level, emit)
            .map_err(|e| KernelFailure { message: e.to_string(), span: Span::NONE })
    })
}

/// Says that this build cannot compile kernels.
#[cfg(not(feature = "native"))]
pub fn compile_all(_: &[FlatKernel], _: &Options, _: Emit) -> Result<Vec<Vec<u8>>, KernelFailure> {
    let message = "this build of Hammock cannot compile kernels: it was made without the feature `llvm`".into();
    Err(KernelFailure { message, span: Span::NONE })
}

/// Applies `f` to every item on several threads; results in order, or the first error in order.
fn in_parallel<T: Sync, R: Send, E: Send>(
    items: &[T],
    threads: usize,
    f: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    if threads < 2 || items.len() < 2 {
        return items.iter().map(f).collect();
    }
    let next = Mutex::new(items.iter().enumerate());
    let results = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            // As deep as the command line's own: kernels are trees too.
            let worker = std::thread::Builder::new().stack_size(64 << 20);
            let work = || {
                while let Some((i, item)) = next.lock().ok().and_then(|mut n| n.next()) {
                    let result = f(item);
                    results.lock().map(|mut r| r.push((i, result))).ok();
                }
            };
            if worker.spawn_scoped(scope, work).is_err() {
                break;
            }
        }
    });
    // Whatever no thread took (none could be started) is done here.
    let mut results = results.into_inner().unwrap_or_default();
    let rest = next.into_inner().into_iter().flatten();
    results.extend(rest.map(|(i, item)| (i, f(item))));
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, r)| r).collect()
}

#[cfg(feature = "native")]
fn cpu(options: &Options) -> Cpu {
    if options.target == "native" { llvm::host() } else { Cpu::named(options.target.as_str()) }
}

fn target(options: &Options, threads: usize) -> Target {
    let threads = threads as u32;
    if options.target == "native" {
        return Target { threads, ..Target::host() };
    }
    match Cpu::named(options.target.as_str()).vector_bits() {
        512 => Target { threads, ..Target::avx512() },
        256 => Target { threads, ..Target::avx2() },
        _ => Target { threads, ..Target::baseline() },
    }
}
