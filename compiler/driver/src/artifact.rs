//! Modules to shared libraries.

use crate::{
    Cache, Clock, Dump, Evaluator, Failure, Graphs, PlanFile, TextFiles, Timing, bytecode, graphs,
    kernels::{self, Compiled},
    signature,
    target::{self, check_target},
    tune::Sizes,
    tvm,
};
use hammock_codegen::{llvm::Host, vm};
use hammock_diagnostics::{Diagnostic, SourceFile, Span, codes};
use hammock_ir::Module;
use hammock_kernels::{Accesses, Target};
use hammock_link::{Linked, Object};
use hammock_ops::Table;
use hammock_passes::{Environment, Pipeline};
use hammock_runtime::{
    executable::{ConstantData, FunctionInfo, FunctionKind},
    image::{self, Image, Signature, SourceMap, Version},
    library::tvm::modules,
    tools::ExternalWeights,
};
use std::{
    collections::HashMap,
    io::{self, Write},
    sync::Arc,
    time::Instant,
};

/// How to compile.
#[derive(Clone, Debug)]
pub struct Options {
    /// What kernels are compiled for, one of [`targets`](crate::targets): `native`, or a processor such as `x86-64-v3`.
    pub target: String,
    /// Less capable processors that a library has kernels for too, the least capable first. The graph is that for `target`.
    pub others: Vec<String>,
    /// How much to optimise, 0 to 3.
    pub level: u8,
    /// Threads that compile, and that kernels are planned for.
    pub threads: usize,
    /// Bytecode in the place of the module's own, of which then only the kernels are compiled.
    pub bytecode: Option<Arc<Image>>,
    /// How graphs run.
    pub graphs: Graphs,
    /// What keeps kernels inside of their buffers.
    pub bounds: Bounds,
    /// True if reductions combine their terms in the order in which they are written.
    pub strict_order: bool,
    /// How kernels are computed; rules choose for those that have no plan here.
    pub plans: Option<Arc<PlanFile>>,
    /// Plans that measuring found, for kernels that have none in `plans`: see [`PlanFile::read_records`].
    pub tuned: Option<Arc<PlanFile>>,
    /// Sizes that `tuned` is for, and that kernels are measured at, where they are not known.
    pub sizes: Sizes,
    /// Where kernels' machine code is kept, so that it is not made again.
    pub cache: Option<Arc<Cache>>,
    /// What functions took and gave before passes changed the module: see [`signatures`](crate::signatures).
    pub signatures: Vec<Signature>,
    /// The name of a file beside the library that constants go to, not into the library.
    pub external_weights: Option<String>,
    /// Object code to link with the kernels: what [`Codegens`](crate::Codegens) made.
    pub objects: Vec<Vec<u8>>,
    /// When compiling is to have ended. It is checked before each pass and each kernel, so that a program that compiles goes
    /// on with an error; one pass, or LLVM at work on one kernel, is not interrupted. (`--timeout` of the command line ends
    /// the process.)
    pub deadline: Option<Instant>,
}

/// What keeps kernels inside of their buffers, where that is not proved when they are compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bounds {
    /// Checks when they run: what lies outside is an error.
    #[default]
    Checked,
    /// Nothing: what lies outside is read and overwritten.
    Unchecked,
}

impl Default for Options {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        Options {
            target: "native".into(),
            others: Vec::new(),
            level: 2,
            threads,
            bytecode: None,
            graphs: Graphs::default(),
            bounds: Bounds::default(),
            strict_order: false,
            plans: None,
            tuned: None,
            sizes: Sizes::default(),
            cache: None,
            signatures: Vec::new(),
            external_weights: None,
            objects: Vec::new(),
            deadline: None,
        }
    }
}

impl Options {
    /// The same for several processors: the machine that loads the library takes the most capable that it can run.
    ///
    /// # Errors
    /// When there is no target of one of the names.
    pub fn for_several(self, names: &[String]) -> Result<Options, Failure> {
        let mut targets: Vec<(Target, &String)> = Vec::new();
        for name in names {
            check_target(name)?;
            let new = target::target(name).filter(|new| targets.iter().all(|(known, _)| known.cpu != new.cpu));
            targets.extend(new.map(|new| (new, name)));
        }
        targets.sort_by_key(|(target, _)| (target.vector_bytes, target.features.len()));
        let Some((_, target)) = targets.pop() else { return Ok(self) };
        let others = targets.into_iter().map(|(_, name)| name.clone()).collect();
        Ok(Options { target: target.clone(), others, ..self })
    }

    /// What kernels are compiled for, the most capable last.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &String> {
        self.others.iter().chain([&self.target])
    }

    /// What passes run in, for kernels that `evaluator` runs.
    pub fn environment<'a>(&'a self, evaluator: &'a Evaluator) -> Environment<'a> {
        Environment {
            target: &self.target,
            level: self.level,
            operators: &Table,
            evaluator,
            planner: self,
            weights: None,
            texts: &TextFiles,
            notes: None,
            reports: None,
            codegens: None,
            deadline: self.deadline,
        }
    }
}

/// What to produce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// A shared library with everything in it.
    Lib,
    /// The kernels' object code.
    Obj,
    /// The kernels as LLVM's text.
    Llvm,
    /// The kernels as assembly.
    Asm,
    /// The executable's section alone, in TVM's format.
    Bytecode,
    /// A shared library for TVM's runtime.
    Tvm,
}

/// The most bytes that each kernel takes for itself at once, by symbol; those that take none are left out.
pub type Temporaries = HashMap<String, u64>;

/// The temporaries of a module's kernels, as [`compile`] makes them.
///
/// # Errors
/// When a kernel cannot be made.
pub fn temporaries(module: &Module, source: &SourceFile, options: &Options) -> Result<Temporaries, Failure> {
    let flat = kernels::lower_all(module, source, options, options.threads)?;
    Ok(kernels::temporaries(&flat, options.threads))
}

/// What compiling made.
pub struct Artifact {
    /// The file.
    pub file: Output,
    /// The same for [`Options::others`], where no file holds the kernels for several processors.
    pub others: Vec<(String, Output)>,
    /// The file beside it: see [`Options::external_weights`].
    pub weights: Option<ExternalWeights>,
    /// How many kernels there are.
    pub kernels: usize,
    /// How many of them were compiled; others were kept from before.
    pub compiled: usize,
    /// The accesses of each kernel: how many were proved to be inside of their buffers, how many are checked.
    pub accesses: Vec<(String, Accesses)>,
    /// The instructions of each function of bytecode.
    pub instructions: Vec<(String, usize)>,
    /// The bytes that each kernel takes for itself, by symbol.
    pub temporaries: Temporaries,
    /// How long each stage took.
    pub times: Vec<Timing>,
}

/// The contents of a file.
pub enum Output {
    /// Bytes.
    Bytes(Vec<u8>),
    /// A library whose constants were not copied.
    Library(Linked),
}

impl Output {
    /// Writes the contents.
    ///
    /// # Errors
    /// The sink's.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Output::Bytes(bytes) => out.write_all(bytes),
            Output::Library(library) => library.try_each(|bytes| out.write_all(bytes)),
        }
    }

    /// The contents as bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        match self {
            Output::Bytes(bytes) => bytes,
            Output::Library(library) => library.into_bytes(),
        }
    }
}

/// Runs the passes of a pipeline that ends at the VM's level, such as [`hammock_passes::pipeline()`].
///
/// # Errors
/// When the module is not well formed, or something in it cannot be lowered.
pub fn lower(
    module: &mut Module,
    source: &SourceFile,
    passes: &Pipeline,
    environment: &Environment,
    dump: &mut Dump,
) -> Result<(), Failure> {
    let within = |d: Diagnostic| Failure::from(d).within(source);
    let found = hammock_ir::verify::errors(module, &Table);
    if !found.is_empty() {
        return Err(Failure::from(found).within(source));
    }
    target::check_devices(module, source)?;
    passes.run(module, environment, dump).map_err(within)
}

/// Compiles a module at the VM's level.
///
/// # Errors
/// When something in it cannot be compiled; the diagnostic points at its place in the text.
pub fn compile(module: &Module, source: &SourceFile, options: &Options, emit: Emit) -> Result<Artifact, Failure> {
    options.targets().try_for_each(|target| check_target(target))?;
    if !options.others.is_empty() && emit == Emit::Tvm {
        let message = "libraries for TVM's runtime hold kernels for one processor";
        return Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help("leave out `--emit`, or compile for one"));
    }
    if !options.objects.is_empty() && !matches!(emit, Emit::Lib | Emit::Tvm) {
        let message = "what code generators made is linked into libraries, and no other output holds it";
        return Err(
            Failure::new(codes::UNSUPPORTED_OPTION, message).help("leave out `--emit`, or the pass `RunCodegen`")
        );
    }
    let (mut clock, mut times) = (Clock::start(), Vec::new());
    let image = image(module, source, options.bytecode.as_deref(), &options.signatures)?;
    clock.lap("bytecode", &mut times);
    let is_bytecode = |f: &&FunctionInfo| f.kind != FunctionKind::Packed;
    let functions = image.executable.functions.iter().filter(is_bytecode);
    let instructions = functions.map(|f| (f.name.clone(), f.end - f.start)).collect();
    if emit == Emit::Bytecode {
        let file = Output::Bytes(image.executable.save_checked());
        return Ok(Artifact {
            file,
            others: Vec::new(),
            weights: None,
            kernels: 0,
            compiled: 0,
            accesses: Vec::new(),
            instructions,
            temporaries: Temporaries::default(),
            times,
        });
    }
    if matches!(emit, Emit::Obj | Emit::Llvm | Emit::Asm) {
        return kernel_files(module, source, options, emit, instructions, times);
    }
    // Kernels that TVM loads run on one thread.
    let (host, threads) = match emit {
        Emit::Tvm => (Host::Tvm, 1),
        _ => (Host::Hammock, options.threads),
    };
    if host == Host::Tvm {
        tvm::check_callees(&image, module, source)?;
    }
    let mut versions = Vec::new();
    for target in options.targets() {
        let options = Options { target: target.clone(), ..options.clone() };
        let kernels = kernels::objects(module, source, &options, host, threads)?;
        let Target { cpu: target, features, .. } = kernels::target(&options, threads);
        versions.push((Version { target, features }, kernels));
    }
    clock.lap("kernels to machine code", &mut times);
    let (file, weights) = link(image, &versions, options, host).map_err(|error| match error {
        Unlinked::Kernels(error) => unlinked(&error, module, source),
        Unlinked::Graphs(failure) => failure,
    })?;
    clock.lap("linking", &mut times);
    let mut temporaries = Temporaries::new();
    for kernel in every(&versions).filter(|kernel| kernel.temporary_bytes > 0) {
        let most = temporaries.entry(kernel.name.clone()).or_default();
        *most = kernel.temporary_bytes.max(*most);
    }
    let one = versions.last().map_or(&[][..], |(_, kernels)| kernels);
    Ok(Artifact {
        file,
        others: Vec::new(),
        weights,
        kernels: every(&versions).count(),
        compiled: every(&versions).filter(|kernel| !kernel.was_kept).count(),
        accesses: one.iter().map(|kernel| (kernel.name.clone(), kernel.accesses)).collect(),
        instructions,
        temporaries,
        times,
    })
}

/// The kernels of all versions.
fn every(versions: &[(Version, Vec<Compiled>)]) -> impl Iterator<Item = &Compiled> {
    versions.iter().flat_map(|(_, kernels)| kernels)
}

/// The kernels alone, as a module for each target.
fn kernel_files(
    module: &Module,
    source: &SourceFile,
    options: &Options,
    emit: Emit,
    instructions: Vec<(String, usize)>,
    mut times: Vec<Timing>,
) -> Result<Artifact, Failure> {
    let mut clock = Clock::start();
    let versions = options.targets().map(|target| Options { target: target.clone(), ..options.clone() });
    let flat = versions.map(|options| Ok((kernels::lower_all(module, source, &options, options.threads)?, options)));
    let flat = flat.collect::<Result<Vec<_>, Failure>>()?;
    clock.lap("kernels to flat TIR", &mut times);
    let (mut files, mut compiled) = (Vec::new(), 0);
    for (kernels, options) in &flat {
        let (bytes, was_kept) = kernels::one_module(module, kernels, source, options, emit)?;
        compiled += if was_kept { 0 } else { kernels.len() };
        files.push((options.target.clone(), Output::Bytes(bytes)));
    }
    clock.lap("kernels to machine code", &mut times);
    let every = || flat.iter().flat_map(|(kernels, _)| kernels);
    let (kernels, temporaries) = (every().count(), kernels::temporaries(every(), options.threads));
    let accesses = flat.last().map_or(&[][..], |(kernels, _)| kernels);
    let accesses = accesses.iter().map(|kernel| (kernel.name.to_string(), kernel.accesses)).collect();
    let file = files.pop().map_or_else(|| Output::Bytes(Vec::new()), |(_, file)| file);
    Ok(Artifact { file, others: files, weights: None, kernels, compiled, accesses, instructions, temporaries, times })
}

/// Why there is no library.
enum Unlinked {
    Kernels(hammock_link::LinkError),
    Graphs(Failure),
}

/// Bytecode and versions of kernels as a library.
fn link(
    mut image: Image,
    versions: &[(Version, Vec<Compiled>)],
    options: &Options,
    host: Host,
) -> Result<(Output, Option<ExternalWeights>), Unlinked> {
    let others = options.objects.iter().map(Vec::as_slice);
    if host == Host::Tvm {
        let objects: Vec<&[u8]> = every(versions).map(|kernel| kernel.object.as_slice()).chain(others).collect();
        let library = hammock_link::link_for_tvm(&objects, &modules(&image.executable.save()));
        return library.map(|bytes| (Output::Bytes(bytes), None)).map_err(Unlinked::Kernels);
    }
    // What has no kernels runs anywhere.
    image.versions = versions.iter().filter(|(_, own)| !own.is_empty()).map(|(version, _)| version.clone()).collect();
    image.kernels = versions.last().map_or(Vec::new(), |(_, own)| own.iter().map(|k| k.signature.clone()).collect());
    let code = graphs::compile(&mut image.executable, &image.kernels, options).map_err(Unlinked::Graphs)?;
    let renamed = versions.iter().enumerate();
    let renamed: Vec<_> =
        renamed.flat_map(|(number, (_, kernels))| kernels.iter().map(move |kernel| kernel.renamed(number))).collect();
    let kernels = every(versions).zip(&renamed);
    let kernels = kernels.map(|(kernel, renamed)| Object { bytes: &kernel.object, renamed });
    let objects: Vec<Object> = kernels.chain(others.chain(code.as_deref()).map(Object::plain)).collect();
    let (image, constants, weights) = match &options.external_weights {
        None => {
            let (image, constants) = image.save_in_parts();
            (image, constants, None)
        }
        Some(name) => {
            let mut head = Vec::new();
            let (image, constants) = image.save_external(|constants| {
                let place;
                (place, head) = ExternalWeights::locate(name, constants);
                place
            });
            (image, ConstantData::default(), Some(ExternalWeights::new(head, constants)))
        }
    };
    let library = hammock_link::link_apart(&objects, &image, constants).map_err(Unlinked::Kernels)?;
    Ok((Output::Library(library), weights))
}

fn unlinked(error: &hammock_link::LinkError, module: &Module, source: &SourceFile) -> Failure {
    let d = Diagnostic::error(codes::LINK_FAILED, format!("cannot link the kernels: {error}"));
    let place = match error {
        hammock_link::LinkError::Undefined { symbol, .. } => kernels::caller_of(module, symbol),
        _ => Span::NONE,
    };
    Failure::from(if place.is_none() { d } else { d.label(place, "") }).within(source)
}

/// The bytecode of a module's graphs, with the place of each instruction and what functions take (`known` is from before
/// passes ran), or `given` bytecode that calls its kernels.
pub(crate) fn image(
    module: &Module,
    source: &SourceFile,
    given: Option<&Image>,
    known: &[Signature],
) -> Result<Image, Failure> {
    if let Some(given) = given {
        return bytecode::adopt(given, module, source);
    }
    let bytecode = vm::generate(module).map_err(|e| not_lowerable(e.to_string(), e.span(), source))?;
    let sources = source_map(source, &bytecode.spans);
    let signatures = signature::lowered(module, known);
    Ok(Image { executable: bytecode.executable, sources, signatures, ..Image::default() })
}

pub(crate) fn not_lowerable(message: String, span: Span, source: &SourceFile) -> Failure {
    let d = Diagnostic::error(codes::NOT_LOWERABLE, message);
    Failure::from(if span.is_none() { d } else { d.label(span, "") }).within(source)
}

/// Where instructions come from, with the lines that messages quote.
fn source_map(source: &SourceFile, spans: &[Span]) -> SourceMap {
    let mut map = SourceMap::default();
    let file = map.file(source.name());
    for (instruction, span) in spans.iter().enumerate().filter(|(_, s)| !s.is_none()) {
        let place = source.position(span.start);
        let line = source.slice(source.line_span(source.line_index(span.start)));
        map.add_line(file, place.line, line.trim_end());
        map.set(instruction, image::Span { file, line: place.line, column: place.column });
    }
    map
}
