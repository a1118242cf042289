//! TIR functions to object code, several at a time.

use crate::{Bounds, Emit, Failure, Options, Temporaries, artifact::not_lowerable};
#[cfg(feature = "native")]
use hammock_codegen::llvm;
use hammock_diagnostics::SourceFile;
use hammock_ir::{
    Function, Module, Span,
    prim::PrimKind,
    relax::{Call, Callee, Operand, Value},
    tir::PrimFunc,
};
use hammock_kernels::{FlatKernel, KernelError, Reason, Target};
use hammock_passes::{Packed, Planner};
use std::sync::Mutex;

/// Why a kernel could not be made.
pub struct KernelFailure {
    /// What is wrong; names the kernel.
    pub message: String,
    /// The function's place in the text.
    pub span: Span,
}

/// Lowers every TIR function of a module to flat TIR, planned for so many threads, in the module's order.
pub fn lower_all(
    module: &Module,
    source: &SourceFile,
    options: &Options,
    threads: usize,
) -> Result<Vec<FlatKernel>, Failure> {
    let lowered = each(module, source, options, threads, hammock_kernels::lower_with)?;
    Ok(lowered.into_iter().map(|(name, kernel)| FlatKernel { name: name.into(), ..kernel }).collect())
}

/// How every kernel of a module is computed, by its name.
pub fn plans(module: &Module, source: &SourceFile, options: &Options) -> Result<Vec<(String, String)>, Failure> {
    let plans = each(module, source, options, options.threads, hammock_kernels::plan_text)?;
    Ok(plans.into_iter().map(|(name, plan)| (name.to_owned(), plan)).collect())
}

/// The floating-point operations of each kernel of a module, by its name, where they are known.
pub fn flops(module: &Module, source: &SourceFile, options: &Options) -> Result<Vec<(String, Option<f64>)>, Failure> {
    let flops = each(module, source, options, options.threads, hammock_kernels::flops)?;
    Ok(flops.into_iter().map(|(name, flops)| (name.to_owned(), flops)).collect())
}

impl Planner for Options {
    fn packed(&self, kernel: &PrimFunc) -> Vec<Packed> {
        let (target, checked) = (target(self, self.threads), self.bounds == Bounds::Checked);
        let options = hammock_kernels::Options {
            checked,
            strict_order: self.strict_order,
            ..hammock_kernels::Options::new(&target)
        };
        // What cannot be planned copies nothing.
        let packed = hammock_kernels::packed(kernel, options).unwrap_or_default();
        packed.into_iter().map(|(param, dim, block)| Packed { param, dim, block }).collect()
    }
}

/// Does something with every TIR function of a module, on several threads; the results with the functions' names, in the
/// module's order.
fn each<'a, T: Send>(
    module: &'a Module,
    source: &SourceFile,
    options: &Options,
    threads: usize,
    f: impl Fn(&PrimFunc, hammock_kernels::Options<'_>) -> Result<T, KernelError> + Sync,
) -> Result<Vec<(&'a str, T)>, Failure> {
    let target = target(options, threads);
    let plans = options.plans.as_deref();
    plans.map_or(Ok(()), |plans| plans.check(module))?;
    let place = |span: Span| place(source, span);
    let functions: Vec<(&str, &PrimFunc)> = functions(module).collect();
    in_parallel(&functions, options.threads, |(name, func)| {
        let checked = options.bounds == Bounds::Checked;
        let plan = plans.and_then(|plans| plans.of(name));
        let strict_order = options.strict_order;
        let options = hammock_kernels::Options { target: &target, checked, strict_order, plan, place: &place };
        hammock_kernels::inline_calls(func, &|name| module.tir(name), &place)
            .and_then(|func| f(&func, options))
            .map(|result| (*name, result))
            .map_err(|e| match (e.reason, plans) {
                (Reason::Plan(error), Some(plans)) => plans.failure(error),
                (reason, _) => {
                    let message = format!("kernel `{name}`: {}", KernelError { reason, ..e });
                    not_lowerable(message, span_of(module, name), source)
                }
            })
    })
}

/// What each kernel that takes memory for itself takes at most when so many threads run it.
pub fn temporaries<'a>(kernels: impl IntoIterator<Item = &'a FlatKernel>, threads: usize) -> Temporaries {
    let of = |kernel: &FlatKernel| (kernel.name.to_string(), kernel.temporary_bytes(threads));
    kernels.into_iter().map(of).filter(|(_, bytes)| *bytes > 0).collect()
}

/// Where a span lies, for messages of kernels: `model.py:12`.
pub fn place(source: &SourceFile, span: Span) -> Option<String> {
    (!span.is_none()).then(|| format!("{}:{}", source.name(), source.position(span.start).line))
}

/// Where a kernel stands in the text; one that a pass made, where it is first called.
fn span_of(module: &Module, symbol: &str) -> Span {
    let own = functions(module).find(|(name, _)| *name == symbol).map(|(_, func)| func.span);
    if let Some(span) = own.filter(|span| !span.is_none()) {
        return span;
    }
    let mut found = Span::NONE;
    for (_, function) in module.relax_functions() {
        function.lambda.body.walk(&mut |binding| {
            let mut calls = matches!(&binding.value, Value::Call(Call { callee: Callee::Global(name) | Callee::Extern(name), .. }) if &**name == symbol);
            binding.value.each_operand(&mut |operand| {
                calls |= matches!(operand, Operand::Global(name) | Operand::Extern(name) if &**name == symbol);
            });
            if calls && found.is_none() {
                found = binding.span;
            }
        });
    }
    found
}

/// Where a kernel calls an external function of that name.
pub fn caller_of(module: &Module, symbol: &str) -> Span {
    let mut found = Span::NONE;
    for (name, func) in functions(module) {
        func.body.walk(&mut |stmt| {
            let mut calls = false;
            stmt.each_expr(&mut |e| {
                e.walk(&mut |e| {
                    calls |= matches!(e.kind(), PrimKind::Call(call) if matches!(call.args.first().map(|a| a.kind()), Some(PrimKind::Str(s)) if **s == *symbol));
                })
            });
            if calls && found.is_none() {
                found = if stmt.span.is_none() { span_of(module, name) } else { stmt.span };
            }
        });
    }
    found
}

/// A module's TIR functions by their symbols.
pub fn functions(module: &Module) -> impl Iterator<Item = (&str, &PrimFunc)> {
    module.functions.iter().filter_map(|(name, f)| match f {
        Function::Tir(func) => Some((f.global_symbol().unwrap_or(name), func)),
        _ => None,
    })
}

/// Compiles kernels: for libraries, which are linked, in as many modules as there are threads; else in one.
#[cfg(feature = "native")]
pub fn compile_all(
    module: &Module,
    kernels: &[FlatKernel],
    options: &Options,
    emit: Emit,
) -> Result<Vec<Vec<u8>>, KernelFailure> {
    let target = target(options, options.threads);
    let level = match options.level {
        0 => llvm::OptLevel::None,
        1 => llvm::OptLevel::Lean,
        2 => llvm::OptLevel::Unroll,
        _ => llvm::OptLevel::Full,
    };
    let host = if emit == Emit::Tvm { llvm::Host::Tvm } else { llvm::Host::Hammock };
    let groups: Vec<&[FlatKernel]> = match emit {
        Emit::Lib | Emit::Tvm => kernels.chunks(kernels.len().div_ceil(options.threads.max(1)).max(1)).collect(),
        _ => vec![kernels],
    };
    let emit = match emit {
        Emit::Llvm => llvm::Emit::Ir,
        Emit::Asm => llvm::Emit::Assembly,
        _ => llvm::Emit::Object,
    };
    let compile = |group: &[FlatKernel]| llvm::compile(group, &target, host, level, emit);
    in_parallel(&groups, options.threads, |group| {
        // Which of several it is, each shows by itself.
        compile(group).map_err(|error| {
            let alone = |kernel| compile(std::slice::from_ref(kernel)).err().map(|error| (kernel, error));
            match group.iter().find_map(alone) {
                Some((kernel, error)) => {
                    let named = matches!(error, llvm::LlvmError::Kernel { .. });
                    let message = if named { error.to_string() } else { format!("kernel `{}`: {error}", kernel.name) };
                    KernelFailure { message, span: span_of(module, &kernel.name) }
                }
                None => KernelFailure { message: error.to_string(), span: Span::NONE },
            }
        })
    })
}

/// Says that this build cannot compile kernels.
#[cfg(not(feature = "native"))]
pub fn compile_all(_: &Module, _: &[FlatKernel], _: &Options, _: Emit) -> Result<Vec<Vec<u8>>, KernelFailure> {
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

/// The machine that kernels are for, with so many threads. Whoever calls checked that there is one of that name.
pub fn target(options: &Options, threads: usize) -> Target {
    Target { threads: threads as u32, ..crate::target(&options.target).unwrap_or_else(Target::baseline) }
}
