//! TIR functions to object code, several at a time.

#[cfg(feature = "native")]
use crate::objects::Compiler;
use crate::{
    Bounds, Emit, Failure, Options, Temporaries,
    artifact::not_lowerable,
    cache::{Bytes, Key},
};
#[cfg(feature = "native")]
use hammock_codegen::llvm;
use hammock_codegen::llvm::{Host, raw_symbol};
use hammock_diagnostics::SourceFile;
use hammock_ir::{
    Function, Module, Span, hash,
    prim::PrimKind,
    relax::{Call, Callee, Operand, Value},
    tir::PrimFunc,
};
use hammock_kernels::{Accesses, FlatKernel, KernelError, Reason, Target, plan::Flops, rules::Packing};
use hammock_passes::{PackedGroup, PackedParam, Planner, check_deadline};
use hammock_runtime::image::{KernelSignature, versions::symbol};
use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// What every kernel for Hammock's runtime is called in its object; the linker gives it its own name. No name in a program
/// means this one, so that renaming meets no others.
pub const SYMBOL: &str = "*";

/// A kernel's object code, and what is known of it.
pub struct Compiled {
    /// The kernel's name.
    pub name: String,
    /// The object, whose kernel is called [`SYMBOL`] if it is for Hammock's runtime.
    pub object: Vec<u8>,
    /// What it takes.
    pub signature: KernelSignature,
    /// How its accesses stay inside of their buffers.
    pub accesses: Accesses,
    /// The most bytes that a call takes from the runtime at once.
    pub temporary_bytes: u64,
    /// True if it was kept from before.
    pub was_kept: bool,
}

impl Compiled {
    /// The names of its symbols in the object and, as one of several versions, in the library. Nobody asks for the raw entry
    /// of others than the first.
    pub fn renamed(&self, version: usize) -> Vec<(String, String)> {
        let raw = raw_symbol(&self.name);
        let raw = if version == 0 { raw } else { format!("{raw}{version}") };
        vec![(raw_symbol(SYMBOL), raw), (symbol(SYMBOL, 0), symbol(&self.name, version))]
    }
}

/// What stands in the way of a kernel.
pub enum Trouble {
    /// It cannot be lowered.
    Lowering(KernelError),
    /// There is no code for it; the message names it.
    #[cfg(feature = "native")]
    Code(String),
}

impl From<KernelError> for Trouble {
    fn from(error: KernelError) -> Trouble {
        Trouble::Lowering(error)
    }
}

/// Lowers every TIR function of a module to flat TIR, planned for so many threads, in the module's order.
pub fn lower_all(
    module: &Module,
    source: &SourceFile,
    options: &Options,
    threads: usize,
) -> Result<Vec<FlatKernel>, Failure> {
    each(module, source, options, threads, |name, func, options| {
        let lowered = hammock_kernels::lower_with(&func, options)?;
        Ok(FlatKernel { name: name.into(), said: name.into(), ..lowered })
    })
}

/// How each kernel of a module is computed, by its name: a plan as text.
///
/// # Errors
/// When a kernel cannot be made.
pub fn plans(module: &Module, source: &SourceFile, options: &Options) -> Result<Vec<(String, String)>, Failure> {
    each(module, source, options, options.threads, |name, func, options| {
        Ok((name.to_owned(), hammock_kernels::plan_text(&func, options)?))
    })
}

/// The kernels of a module as they are before a step of [`STEPS`](hammock_kernels::steps::STEPS), or after all of them without
/// one: a module of these alone.
///
/// # Errors
/// When a kernel cannot be made.
pub fn before_step(
    module: &Module,
    source: &SourceFile,
    options: &Options,
    step: Option<&str>,
) -> Result<Module, Failure> {
    let kernels = each(module, source, options, options.threads, |name, func, options| {
        Ok((name.into(), Function::Tir(hammock_kernels::before(&func, options, step)?)))
    })?;
    Ok(Module { functions: kernels.into_iter().collect(), ..Module::default() })
}

/// The floating-point operations of each kernel of a module, by its name: `None` where its loops were written by hand.
///
/// # Errors
/// When a kernel cannot be made.
pub fn flops(module: &Module, source: &SourceFile, options: &Options) -> Result<Vec<(String, Option<Flops>)>, Failure> {
    each(module, source, options, options.threads, |name, func, options| {
        Ok((name.to_owned(), hammock_kernels::flops(&func, options)?))
    })
}

impl Planner for Options {
    /// All versions of a kernel take the same weights, so these are packed only where they agree how.
    fn packed(&self, kernel: &PrimFunc) -> Vec<PackedParam> {
        let mut versions = self.targets().map(|target| packed(kernel, self, target));
        let first = versions.next().unwrap_or_default();
        if versions.all(|other| other == first) { first } else { Vec::new() }
    }
}

/// The weights that a kernel would take packed, compiled for that target.
fn packed(kernel: &PrimFunc, options: &Options, target: &str) -> Vec<PackedParam> {
    let (target, checked) = (named(target, options.threads), checked(options));
    let strict_order = options.strict_order;
    let options = hammock_kernels::Options { checked, strict_order, ..hammock_kernels::Options::new(&target) };
    // What cannot be planned copies nothing.
    let packings = hammock_kernels::packings(kernel, options).unwrap_or_default();
    let packed = |(param, packing): (usize, Packing)| PackedParam {
        param,
        dim: packing.dim,
        block: packing.block,
        group: packing.words.map(|words| PackedGroup { dim: words.dim, len: words.terms, sign_flipped: words.moved }),
    };
    packings.into_iter().map(packed).collect()
}

/// Does something with every TIR function of a module, which calls no others then, on several threads; the results in the
/// module's order.
pub fn each<T: Send>(
    module: &Module,
    source: &SourceFile,
    options: &Options,
    threads: usize,
    f: impl Fn(&str, PrimFunc, hammock_kernels::Options<'_>) -> Result<T, Trouble> + Sync,
) -> Result<Vec<T>, Failure> {
    let target = target(options, threads);
    let plans = options.plans.as_deref();
    plans.map_or(Ok(()), |plans| plans.check(module))?;
    let place = |span: Span| place(source, span);
    let functions: Vec<(&str, &PrimFunc)> = functions(module).collect();
    in_parallel(&functions, options.threads, |(name, func)| {
        check_deadline(options.deadline)?;
        let (checked, strict_order) = (checked(options), options.strict_order);
        let mut file = None;
        let func = hammock_kernels::inline_calls(func, &|name| module.tir(name), &place).map_err(Trouble::from);
        let result = func.and_then(|func| {
            let given = plans.and_then(|plans| Some((plans, plans.of(name)?)));
            let found = given.or_else(|| {
                let tuned = options.tuned.as_deref()?;
                let key = plan_key(&func, &target, options);
                // What was measured at other sizes than those that are asked for is better than nothing.
                let plan = tuned.of(&key).or_else(|| tuned.of(key.split('.').next()?))?;
                Some((tuned, plan))
            });
            file = found.map(|(file, _)| file);
            let plan = found.map(|(_, plan)| plan);
            let options = hammock_kernels::Options { target: &target, checked, strict_order, plan, place: &place };
            f(name, func.into_owned(), options)
        });
        result.map_err(|trouble| {
            let message = match (trouble, file) {
                (Trouble::Lowering(KernelError { reason: Reason::Plan(error), .. }), Some(file)) => {
                    return file.failure(error);
                }
                (Trouble::Lowering(error), _) => format!("kernel `{name}`: {error}"),
                #[cfg(feature = "native")]
                (Trouble::Code(message), _) => message,
            };
            not_lowerable(message, span_of(module, name), source)
        })
    })
}

/// What decides on a kernel's plan, of those that measuring found: a hash of its structure, of the order in which sums are
/// added up and of all that is known of the machine, whose name and threads follow for readers; then, where something is said
/// of its sizes, those.
pub fn plan_key(func: &PrimFunc, target: &Target, options: &Options) -> String {
    let mut facts = Bytes::default();
    let mut nameless = func.clone();
    nameless.attrs.remove("global_symbol");
    hash::kernel(&nameless, &mut facts);
    facts.text(&format!("{:?}", (target, options.strict_order)));
    let hash = Key::of(&facts).to_string();
    format!("{}-{}-{}{}", &hash[..16], target.cpu, target.threads, options.sizes.bucket(func))
}

/// Returns true if kernels check what is not proved.
pub fn checked(options: &Options) -> bool {
    options.bounds == Bounds::Checked
}

/// In how many places graphs call a kernel.
#[cfg(feature = "native")]
pub fn calls_of(module: &Module, symbol: &str) -> usize {
    let mut calls = 0;
    for (_, function) in module.relax_functions() {
        function.lambda.body.walk(&mut |binding| calls += usize::from(calls_kernel(&binding.value, symbol)));
    }
    calls
}

/// Returns true if a value is a call of a kernel, or gives it to a function that calls it.
fn calls_kernel(value: &Value, symbol: &str) -> bool {
    let mut calls = matches!(value, Value::Call(Call { callee: Callee::Global(name) | Callee::Extern(name), .. }) if &**name == symbol);
    value.each_operand(&mut |operand| {
        calls |= matches!(operand, Operand::Global(name) | Operand::Extern(name) if &**name == symbol);
    });
    calls
}

/// What each kernel that takes memory for itself takes at most when so many threads run it, in any of its versions.
pub fn temporaries<'a>(kernels: impl IntoIterator<Item = &'a FlatKernel>, threads: usize) -> Temporaries {
    let mut temporaries = Temporaries::default();
    for kernel in kernels {
        let bytes = kernel.temporary_bytes(threads);
        if bytes > 0 {
            let most = temporaries.entry(kernel.name.to_string()).or_default();
            *most = bytes.max(*most);
        }
    }
    temporaries
}

/// Calls `f` with the place of each statement that has one.
#[cfg(feature = "native")]
pub fn place_of_each(func: &PrimFunc, place: &dyn Fn(Span) -> Option<String>, f: &mut dyn FnMut(String)) {
    func.body.walk(&mut |stmt| place(stmt.span).into_iter().for_each(&mut *f));
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
            if found.is_none() && calls_kernel(&binding.value, symbol) {
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

/// Compiles every kernel of a module to an object of its own, several at a time, in the module's order; what is kept in the
/// options' cache is not compiled.
#[cfg(feature = "native")]
pub fn objects(
    module: &Module,
    source: &SourceFile,
    options: &Options,
    host: Host,
    threads: usize,
) -> Result<Vec<Compiled>, Failure> {
    let compiler = Compiler { level: opt_level(options), host, cache: options.cache.as_deref() };
    each(module, source, options, threads, |name, func, options| compiler.compile(name, func, options))
}

/// Compiles kernels as one module, to be read or to be linked by others. Says whether it was kept from before.
#[cfg(feature = "native")]
pub fn one_module(
    module: &Module,
    kernels: &[FlatKernel],
    source: &SourceFile,
    options: &Options,
    emit: Emit,
) -> Result<(Vec<u8>, bool), Failure> {
    let target = target(options, options.threads);
    let emit = match emit {
        Emit::Llvm => llvm::Emit::Ir,
        Emit::Asm => llvm::Emit::Assembly,
        _ => llvm::Emit::Object,
    };
    let compiler = Compiler { level: opt_level(options), host: Host::Hammock, cache: options.cache.as_deref() };
    let compile = |kernels: &[FlatKernel]| compiler.one_module(kernels, &target, emit);
    compile(kernels).map_err(|error| {
        // Which of several it is, each shows by itself.
        let alone = |kernel| compile(std::slice::from_ref(kernel)).err().map(|error| (kernel, error));
        match kernels.iter().find_map(alone) {
            Some((kernel, error)) => {
                let named = matches!(error, llvm::LlvmError::Kernel { .. });
                let message = if named { error.to_string() } else { format!("kernel `{}`: {error}", kernel.name) };
                not_lowerable(message, span_of(module, &kernel.name), source)
            }
            None => not_lowerable(error.to_string(), Span::NONE, source),
        }
    })
}

/// Says that this build cannot compile kernels.
#[cfg(not(feature = "native"))]
pub fn objects(_: &Module, _: &SourceFile, _: &Options, _: Host, _: usize) -> Result<Vec<Compiled>, Failure> {
    Err(no_code())
}

/// Says that this build cannot compile kernels.
#[cfg(not(feature = "native"))]
pub fn one_module(
    _: &Module,
    _: &[FlatKernel],
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

/// How much LLVM optimises.
#[cfg(feature = "native")]
pub fn opt_level(options: &Options) -> llvm::OptLevel {
    match options.level {
        0 => llvm::OptLevel::None,
        1 => llvm::OptLevel::Lean,
        2 => llvm::OptLevel::Unroll,
        _ => llvm::OptLevel::Full,
    }
}

/// Applies `f` to every item on several threads; results in order, or the first error in order. After an error, no further
/// items are begun.
pub fn in_parallel<T: Sync, R: Send, E: Send>(
    items: &[T],
    threads: usize,
    f: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    if threads < 2 || items.len() < 2 {
        return items.iter().map(f).collect();
    }
    let next = Mutex::new(items.iter().enumerate());
    let failed = AtomicBool::new(false);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            // As deep as the command line's own: kernels are trees too.
            let worker = std::thread::Builder::new().stack_size(64 << 20);
            let work = || {
                while !failed.load(Relaxed)
                    && let Some((i, item)) = next.lock().ok().and_then(|mut n| n.next())
                {
                    let result = f(item);
                    failed.fetch_or(result.is_err(), Relaxed);
                    results.lock().map(|mut r| r.push((i, result))).ok();
                }
            };
            if worker.spawn_scoped(scope, work).is_err() {
                break;
            }
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    // Whatever no thread took (none could be started) is done here.
    if !failed.into_inner() {
        let rest = next.into_inner().into_iter().flatten();
        results.extend(rest.map(|(i, item)| (i, f(item))));
    }
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, r)| r).collect()
}

/// The machine that kernels are for, with so many threads. Whoever calls checked that there is one of that name.
pub fn target(options: &Options, threads: usize) -> Target {
    named(&options.target, threads)
}

fn named(target: &str, threads: usize) -> Target {
    Target { threads: threads as u32, ..crate::target(target).unwrap_or_else(Target::baseline) }
}
