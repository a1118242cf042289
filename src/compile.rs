//! `hammock compile`: compiles a module to a file that runs.

use crate::{
    cache::CacheFlags,
    effect::refuse,
    failure::tool_failure,
    module::ModuleArgs,
    opt::{Watch, read_pipeline, reads_pipeline},
    output::{check_writable, not_stdout, say, write_file},
    progress::{StageFlags, Stages},
    quantize::QuantizeFlags,
    stats::{self, Stats},
    tune::TuneFlags,
};
use clap::{Args, ValueEnum};
use hammock_compiler::{
    Accesses, Artifact, Bounds, Clock, Codegens, Emit, Evaluator, Failure, Graphs, Options, Output, PlanFile, Weights,
    add_entry, bind, check_target, compile, is_onnx, lower, misfit_in, signatures,
};
use hammock_diagnostics::{SourceFile, codes};
use hammock_ir::{Module, Name};
use hammock_passes::{Environment, Pipeline, exact_pipeline, pipeline, with_prepared_constants};
use hammock_runtime::{
    Image,
    image::{
        Signature,
        signature::{Param, Role},
    },
    library::image_of,
    suggest::nearest,
    tools::{CallFlags, CommandFiles, Content, WeightsFormat},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Compiles a module to a shared library with its kernels, bytecode and weights
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock compile model.py -o model.so --params weights.safetensors
  hammock compile model.py -o model.so --target x86-64-v3        for any CPU with AVX2
  hammock compile model.py -o model.so --multi-version           for any since 2009, fast with AVX2 and AVX-512
  hammock compile model.py -o model.so --plan plan.txt           kernels as `hammock opt --print-plans` prints them, edited
  hammock compile model.py -o model.so --tune=1 --tune-file tuned.txt    plans by measuring, kept in a file
  hammock compile model.py -o model.so --tune-file tuned.txt     the same plans, nothing measured
  hammock compile model.py -o model.ll --emit llvm               the kernels as LLVM IR text
  hammock compile model.py -o model.s --emit asm --multi-version  as assembly: model.x86-64-v2.s, -v3, -v4
  hammock compile model.py -o model.so --emit tvm                for tvm.runtime.load_module
  hammock compile kernels.py -o model.so --bytecode tvm.so       the graph as TVM compiled it, with our kernels")]
pub struct Compile {
    #[command(flatten)]
    pub module: ModuleArgs,
    /// The file to write, or `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Number of threads to compile with, and to plan kernels for [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Build for several CPUs (function multiversioning); the best match is picked at load time, or the one that
    /// HAMMOCK_TARGET=CPU names. Weights that these CPUs pack differently are packed in each call. With `--emit obj`, `llvm` or
    /// `asm`, each CPU has a file of its own: model.x86-64-v3.s
    #[arg(
        long,
        value_name = "CPUS",
        value_delimiter = ',',
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "x86-64-v2,x86-64-v3,x86-64-v4",
        conflicts_with_all = ["target", "plan"]
    )]
    multi_version: Vec<String>,
    /// Write the weights to this safetensors file next to the output instead of into it; both files are needed to run it
    #[arg(long, value_name = "FILE")]
    external_weights: Option<PathBuf>,
    /// What to write
    #[arg(long, value_enum, default_value_t = Kind::Lib)]
    emit: Kind,
    /// Print the number of kernels (all, and newly compiled) and instructions, and the memory that a call needs
    #[arg(long)]
    stats: bool,
    /// Print `--stats` as JSON
    #[arg(long, requires = "stats")]
    json: bool,
    #[command(flatten)]
    code: CodeArgs,
    #[command(flatten)]
    stages: StageFlags,
    #[command(flatten)]
    watch: Watch,
}

/// Flags that say how code is generated.
#[derive(Args)]
#[command(next_help_heading = "Code")]
pub struct CodeArgs {
    /// The CPU to compile for: `native`, or a name such as x86-64-v3 (`hammock targets`) [default: native]
    #[arg(long, value_name = "CPU")]
    pub target: Option<String>,
    /// Optimization level of graphs and kernels, 0 to 3 (`hammock passes --pipeline -O1`) [default: 2]
    #[arg(short = 'O', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub level: Option<u8>,
    /// How graphs run: as `bytecode`, `compiled` to machine code, or `compiled=f,g` for these functions only; `reference`
    /// interprets graphs and kernels [default: bytecode]
    #[arg(long, value_name = "MODE")]
    pub exec_mode: Option<String>,
    /// Use precompiled bytecode and compile only the kernels: a library that TVM exported, a file that `hammock asm` wrote,
    /// or a compiled model
    #[arg(long, value_name = "FILE")]
    pub bytecode: Option<PathBuf>,
    /// Passes to run before those of the level: `A,B{option=1},C`, or a file of them: `@FILE`
    #[arg(long, value_name = "LIST", default_value = "", hide_default_value = true)]
    pub passes: String,
    /// Use the plans in this file, an edited copy of what `hammock opt --print-plans` prints; rules choose for kernels that it
    /// leaves out
    #[arg(long, value_name = "FILE")]
    pub plan: Option<String>,
    /// How to treat buffer accesses that are not proved to be in bounds
    #[arg(long, value_enum, value_name = "HOW", default_value_t = BoundsMode::Checked)]
    pub bounds: BoundsMode,
    /// Keep the program's order of additions (and of other reductions), divide instead of multiplying by reciprocals, and do
    /// not use Winograd convolution; slower
    #[arg(long)]
    pub strict_order: bool,
    #[command(flatten)]
    pub quantize: QuantizeFlags,
    #[command(flatten)]
    pub tune: TuneFlags,
    #[command(flatten)]
    pub cache: CacheFlags,
}

/// What to do about buffer accesses that cannot be proved to be in bounds.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BoundsMode {
    /// Check them at run time; an access out of bounds is an error
    Checked,
    /// Do not check: the caller guarantees that every access is in bounds
    Unchecked,
    /// Check them, and report the number of proved and of checked accesses of each kernel on standard error
    Report,
}

impl CodeArgs {
    /// The mode that the flag names.
    pub fn exec_mode(&self) -> Result<ExecMode, Failure> {
        ExecMode::parse(self.exec_mode.as_deref().unwrap_or("bytecode"))
    }

    /// The compiler's options.
    pub fn options(&self) -> Result<Options, Failure> {
        let ExecMode::Native(graphs) = self.exec_mode()? else { return Err(no_files_for_reference()) };
        let (bytecode, defaults) = (self.bytecode()?, Options::default());
        let target = self.target.clone().unwrap_or(defaults.target);
        check_target(&target)?;
        let level = self.level.unwrap_or(defaults.level);
        let bounds = if self.bounds == BoundsMode::Unchecked { Bounds::Unchecked } else { Bounds::Checked };
        let plans = self.plan.as_deref().map(PlanFile::read).transpose()?.map(Arc::new);
        let (strict_order, tuned, cache) = (self.strict_order, self.tune.read()?, self.cache.open().ok());
        let sizes = self.tune.sizes.sizes();
        let defaults = Options::default();
        Ok(Options { target, level, bytecode, graphs, bounds, strict_order, plans, tuned, sizes, cache, ..defaults })
    }

    /// The passes that compile a module: those that are asked for, then those of the level.
    pub fn pipeline(&self, level: u8) -> Result<Pipeline, Failure> {
        let mut passes = read_pipeline(&self.passes)?;
        let of_level = if self.strict_order { exact_pipeline(level) } else { pipeline(level) };
        passes.steps.extend(self.quantize.applied(of_level).steps);
        Ok(passes)
    }

    /// Flags that affect only the machine code of kernels, and whether each was given.
    pub fn of_kernels(&self) -> [(&'static str, bool); 7] {
        let [tune, tune_file, sizes] = self.tune.given();
        [
            tune,
            tune_file,
            sizes,
            ("--target", self.target.is_some()),
            ("--plan", self.plan.is_some()),
            ("--bounds", self.bounds != BoundsMode::Checked),
            ("--strict-order", self.strict_order),
        ]
    }

    /// All flags, and whether each was given.
    pub fn given(&self) -> Vec<(&'static str, bool)> {
        let others = [
            ("-O", self.level.is_some()),
            ("--exec-mode", self.exec_mode.is_some()),
            ("--passes", !self.passes.is_empty()),
            ("--bytecode", self.bytecode.is_some()),
            self.quantize.given(),
        ];
        self.of_kernels().into_iter().chain(others).chain(self.cache.given()).collect()
    }

    /// Prints how kernels stay inside their buffers, if asked to.
    pub fn report(&self, artifact: &Artifact) -> Result<(), Failure> {
        let line = |(kernel, Accesses { proved, checked }): &_| {
            format!("{kernel}: {proved} accesses proved to be inside, {checked} checked\n")
        };
        let asked = self.bounds == BoundsMode::Report;
        say(&artifact.accesses.iter().filter(|_| asked).map(line).collect::<String>())
    }

    /// The files that the flags name.
    pub fn files(&self, files: &mut CommandFiles) -> Result<(), Failure> {
        self.bytecode.iter().for_each(|path| files.reads_model("--bytecode", path));
        self.plan.iter().for_each(|path| files.reads("--plan", path));
        self.tune.files(files);
        reads_pipeline(files, &self.passes, &read_pipeline(&self.passes)?);
        Ok(())
    }

    /// The bytecode of `--bytecode`.
    pub fn bytecode(&self) -> Result<Option<Arc<Image>>, Failure> {
        self.bytecode.as_deref().map(image_of).transpose().map_err(|e| tool_failure(e.into()))
    }
}

/// How a module runs.
#[derive(Clone, PartialEq, Eq)]
pub enum ExecMode {
    /// Kernels run as machine code; the value says how graphs run.
    Native(Graphs),
    /// Graphs run as bytecode; kernels are interpreted.
    Reference,
}

impl ExecMode {
    /// The mode of that name.
    pub fn parse(text: &str) -> Result<ExecMode, Failure> {
        match text {
            "bytecode" => Ok(ExecMode::Native(Graphs::Bytecode)),
            "compiled" => Ok(ExecMode::Native(Graphs::Compiled)),
            "reference" => Ok(ExecMode::Reference),
            other => match other.strip_prefix("compiled=") {
                Some(names) => {
                    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
                    Ok(ExecMode::Native(Graphs::Mixed(names.map(str::to_owned).collect())))
                }
                None => Err(Failure::new(codes::UNSUPPORTED_OPTION, format!("there is no execution mode `{other}`"))
                    .help(match nearest(other, ["bytecode", "compiled", "reference"]) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => "the modes are `bytecode`, `compiled`, `compiled=FUNCTIONS` and `reference`".to_owned(),
                    })),
            },
        }
    }
}

fn no_files_for_reference() -> Failure {
    Failure::new(codes::UNSUPPORTED_OPTION, "`--exec-mode reference` makes no machine code, and so no files")
        .help("it is for `hammock run` on text modules")
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A shared library with everything in it
    Lib,
    /// The kernels' object code
    Obj,
    /// The kernels as LLVM IR text
    Llvm,
    /// The kernels as assembly
    Asm,
    /// The bytecode alone: the executable's section, in TVM's format
    Bytecode,
    /// A shared library that TVM's runtime loads and its virtual machine runs
    Tvm,
}

impl Kind {
    /// What kind of file the system takes it for.
    fn content(self) -> Content {
        match self {
            Kind::Lib | Kind::Tvm => Content::Program,
            Kind::Llvm | Kind::Asm => Content::Text,
            Kind::Obj | Kind::Bytecode => Content::Data,
        }
    }
}

impl Compile {
    /// The files that the command reads and writes.
    pub fn files(&self, files: &mut CommandFiles) -> Result<(), Failure> {
        self.module.files(files);
        self.code.files(files)?;
        if self.writes_versions() {
            self.multi_version.iter().for_each(|target| files.writes("-o", version_of(&self.output, target)));
        } else {
            files.writes("-o", &self.output);
        }
        self.external_weights.iter().for_each(|path| files.writes("--external-weights", path));
        let level = self.code.level.unwrap_or(Options::default().level);
        self.watch.files(files, &self.code.pipeline(level)?);
        Ok(())
    }

    /// Returns true if a file holds kernels for one processor, so that several make a file each.
    fn writes_versions(&self) -> bool {
        !self.multi_version.is_empty() && matches!(self.emit, Kind::Obj | Kind::Llvm | Kind::Asm)
    }

    /// Writes the output; for several processors that one file does not hold, a file each: `model.x86-64-v3.s`.
    fn write(&self, artifact: &Artifact, target: &str) -> Result<(), Failure> {
        let write = |path: &Path, file: &Output| write_file(path, self.emit.content(), |out| file.write(out));
        if !self.writes_versions() {
            return write(&self.output, &artifact.file);
        }
        let others = artifact.others.iter().map(|(target, file)| (target.as_str(), file));
        others
            .chain([(target, &artifact.file)])
            .try_for_each(|(target, file)| write(&version_of(&self.output, target), file))
    }

    /// Refuses flags that do not affect the output.
    fn refuse_idle_flags(&self, options: &Options) -> Result<(), Failure> {
        if self.emit != Kind::Lib && options.graphs != Graphs::Bytecode {
            refuse(&[("--exec-mode", true)], "only `--emit lib` holds machine code of graphs")?;
        }
        if self.emit != Kind::Lib {
            refuse(
                &[("--external-weights", self.external_weights.is_some())],
                "only `--emit lib` has weights beside it",
            )?;
        }
        if self.emit == Kind::Bytecode {
            let several = ("--multi-version", !self.multi_version.is_empty());
            refuse(&[&self.code.of_kernels()[..], &[several]].concat(), "`--emit bytecode` writes no kernels")?;
        }
        Ok(())
    }

    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let options = self.code.options()?;
        let options = Options { threads: self.threads.map_or(options.threads, usize::from), ..options };
        let options = options.for_several(&self.multi_version)?;
        self.refuse_idle_flags(&options)?;
        let emit = match self.emit {
            Kind::Lib => Emit::Lib,
            Kind::Obj => Emit::Obj,
            Kind::Llvm => Emit::Llvm,
            Kind::Asm => Emit::Asm,
            Kind::Bytecode => Emit::Bytecode,
            Kind::Tvm => Emit::Tvm,
        };
        if self.stats {
            not_stdout("--stats --output", &self.output)?;
        }
        if self.writes_versions() && self.output == Path::new("-") {
            let message = "kernels for several processors are a file each, of which standard output takes one";
            return Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help("name a file"));
        }
        check_writable(&self.output)?;
        let external_weights = self.external_weights.as_deref().map(|path| beside(path, &self.output)).transpose()?;
        let mut stages = self.stages.start(self.code.tune.tune.is_none());
        let Prepared { mut module, source, signatures, .. } = prepared(&self.module, None, &mut stages)?;
        stages.begin("passes")?;
        let mut passes = self.code.pipeline(options.level)?;
        if emit == Emit::Lib {
            passes = with_prepared_constants(passes);
        }
        let mut dump = self.watch.observer(&passes)?;
        let (evaluator, codegens) = (Evaluator::with_cache(options.cache.clone()), Codegens::default());
        let environment = Environment { codegens: Some(&codegens), ..self.watch.environment(&options, &evaluator) };
        lower(&mut module, &source, &passes, &environment, &mut dump)?;
        let threads = if emit == Emit::Tvm { 1 } else { options.threads };
        let options = self.code.tune.tuned(&module, &source, options.clone(), threads, &mut stages)?;
        let options = Options { objects: codegens.into_objects(), signatures, external_weights, ..options };
        stages.begin("compiling kernels")?;
        let mut artifact = compile(&module, &source, &options, emit)?;
        stages.end_with(&artifact.times);
        dump.times.append(&mut artifact.times);
        self.code.report(&artifact)?;
        let mut clock = Clock::start();
        stages.begin("writing the file")?;
        if let (Some(weights), Some(path)) = (&artifact.weights, &self.external_weights) {
            weights.write(path).map_err(|e| Failure::of_input(codes::UNWRITABLE_FILE, e))?;
        }
        self.write(&artifact, &options.target)?;
        clock.lap("writing the file", &mut dump.times);
        stages.finish()?;
        self.watch.report(&dump)?;
        let kept = options.cache.as_ref().map(|cache| cache.folder().display().to_string());
        let stats = Stats::of(&module, dump.memory, &artifact, evaluator.compiled(), kept);
        if stages.is_shown() {
            say(&format!(
                "{}: {}, {:.1} s\n",
                self.output.display(),
                stats.summary(&self.output),
                stages.total().as_secs_f64()
            ))?;
        }
        if self.stats { stats::report(&stats, self.json) } else { Ok(()) }
    }
}

/// The file for one of several processors: `model.x86-64-v3.s` for `model.s`.
fn version_of(path: &Path, target: &str) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".{target}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// The name of a file that lies in the folder of an executable.
fn beside(path: &Path, executable: &Path) -> Result<String, Failure> {
    let folder =
        |path: &Path| path.parent().map(|folder| if folder == Path::new("") { ".".into() } else { folder.to_owned() });
    let name = path.file_name().and_then(|name| name.to_str());
    if WeightsFormat::of(path) == Ok(WeightsFormat::Npz) {
        let message = format!("weights beside an executable are safetensors, which {} is not called", path.display());
        return Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help("name a .safetensors file"));
    }
    match name.filter(|_| folder(path) == folder(executable) && path != executable) {
        Some(name) => Ok(name.to_owned()),
        None => {
            let message = format!("the weights of {} cannot lie in {}", executable.display(), path.display());
            Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help("name another file in the same folder"))
        }
    }
}

/// A module with its weights.
pub struct Prepared {
    pub module: Module,
    pub source: SourceFile,
    /// What functions took before weights became constants.
    pub signatures: Vec<Signature>,
    /// What the kernel is called that left its name to the function that is called.
    pub aside: Option<Name>,
}

/// Reads a text module. Parameters named in the weights become constants, unless the call that the module is compiled for
/// gives them.
pub fn prepared(args: &ModuleArgs, call: Option<&CallFlags>, stages: &mut Stages) -> Result<Prepared, Failure> {
    if args.params.is_some() {
        stages.begin("reading weights")?;
    }
    let weights = args.weights()?;
    stages.begin("reading the model")?;
    let (mut module, source) = args.read_text_for(weights.as_ref(), call)?;
    let mut signatures = signatures(&module);
    // A model whose weights are no parameters, since operators have to know them, has no names for them.
    if call.is_none()
        && is_onnx(&args.file)
        && let Ok(named) = args.onnx_signatures()
    {
        name_weights(&mut signatures, &named);
    }
    if let Some(weights) = &weights {
        report_misfit(&module, weights, &source)?;
    }
    let weights = match call {
        Some(call) => {
            let of_call = signatures.iter().find(|signature| signature.function == call.func);
            let params = of_call.into_iter().flat_map(|signature| &signature.params);
            call.spec(weights.as_ref()).weights_for(&params.map(|param| param.name.as_str()).collect::<Vec<_>>())
        }
        None => weights,
    };
    if let Some(weights) = weights {
        bind(&mut module, &weights).map_err(|e| e.within(&source))?;
    }
    let aside = match call {
        Some(call) => add_entry(&mut module, &call.func).map_err(|e| e.within(&source))?,
        None => None,
    };
    Ok(Prepared { module, source, signatures, aside })
}

/// Adds the weights that an ONNX model has, which are constants without names in its module.
fn name_weights(signatures: &mut [Signature], onnx: &[Signature]) {
    for (signature, named) in signatures.iter_mut().zip(onnx) {
        let is_known = |param: &&Param| signature.params.iter().any(|own| own.name == param.name);
        let weights = named.params.iter().filter(|param| matches!(param.role, Role::Bound | Role::Default));
        let bound = weights.filter(|param| !is_known(param)).map(|param| Param { role: Role::Bound, ..param.clone() });
        let bound: Vec<Param> = bound.collect();
        signature.params.extend(bound);
    }
}

/// Reports what of `--params` does not fit the module.
pub fn report_misfit(module: &Module, weights: &Weights, source: &SourceFile) -> Result<(), Failure> {
    let Some(diagnostic) = misfit_in(module, weights) else { return Ok(()) };
    let (fails, said) = (diagnostic.is_error(), Failure::from(diagnostic).within(source));
    if fails { Err(said) } else { say(&said.render(false)) }
}
