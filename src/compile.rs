//! `hammock compile`: compiles a module to a file that runs.

use crate::{
    cache::CacheFlags,
    failure::tool_failure,
    module::ModuleArgs,
    opt::{Watch, read_pipeline, reads_pipeline},
    output::{check_writable, not_stdout, say, write_file},
    progress::StageFlags,
    quantize::QuantizeFlags,
    runner,
    stats::{self, Stats},
    target_flags::TargetFlags,
    tune::TuneFlags,
    unused_flags::refuse,
};
use clap::{Args, ValueEnum};
use hammock_compiler::{
    Accesses, Artifact, Bounds, Build, Clock, Emit, ExecMode, Failure, Model, Options, Output, PlanFile, Progress,
};
use hammock_diagnostics::codes;
use hammock_passes::{Pipeline, with_prepared_constants};
use hammock_runtime::{Image, library::image_of};
use hammock_tools::{CommandFiles, Content, WeightsFormat, c_header};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Compiles a module to a shared library with its kernels, bytecode and weights
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock compile model.py -o model.so --params weights.safetensors
  hammock compile model.py -o model --emit exe --params weights.safetensors    a program: ./model --help
  hammock compile model.py -o model.so --target-cpu x86-64-v3    for any CPU with AVX2
  hammock compile model.py -o model.so --multi-version           for any since 2009, fast with AVX2 and AVX-512
  hammock compile model.py -o model.so --plan plan.txt           kernels as `hammock opt --print-plans` prints them, edited
  hammock compile model.py -o model.so --tune=1 --tune-file tuned.txt    plans by measuring, kept in a file
  hammock compile model.py -o model.so --tune-file tuned.txt     the same plans, nothing measured
  hammock compile model.py -o model.h --emit c-header            typed functions for C and C++
  hammock compile model.py -o model.ll --emit llvm               the kernels as LLVM IR text
  hammock compile model.py -o model.so --target cuda             for NVIDIA GPUs from compute capability 8.0 on
  hammock compile model.py -o model.ptx --emit ptx --target cuda:sm_90    the device code of kernels as PTX
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
    /// `asm`, each CPU has a separate file: model.x86-64-v3.s
    #[arg(
        long,
        value_name = "CPUS",
        value_delimiter = ',',
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "x86-64-v2,x86-64-v3,x86-64-v4",
        conflicts_with_all = ["target_cpu", "plan"]
    )]
    multi_version: Vec<String>,
    /// Write the weights to this safetensors file next to the output instead of into it; both files are needed to run it
    #[arg(long, value_name = "FILE")]
    external_weights: Option<PathBuf>,
    /// Leave out names of source files and source text: run-time errors name functions and kernels only
    #[arg(long)]
    strip_source: bool,
    /// What to write
    #[arg(long, value_enum, default_value_t = Kind::Lib)]
    emit: Kind,
    /// The runner for `--emit exe`: the program that the model is appended to [default: `hammock-runner` next to this
    /// program, or in ../lib/hammock]
    #[arg(long, value_name = "FILE")]
    runner: Option<PathBuf>,
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
    #[command(flatten)]
    pub target: TargetFlags,
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
    /// Let tensor cores of a GPU multiply float32: operands are rounded to tf32, with 10 bits of mantissa instead of 23, and
    /// sums are float32; much faster
    #[arg(long, conflicts_with = "strict_order")]
    pub allow_tf32: bool,
    #[command(flatten)]
    pub quantize: QuantizeFlags,
    #[command(flatten)]
    pub tune: TuneFlags,
    #[command(flatten)]
    pub cache: CacheFlags,
}

/// Treatment of buffer accesses that are not proved to be in bounds.
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
    /// The compiler's options.
    pub fn options(&self) -> Result<Options, Failure> {
        let defaults = Options::default();
        Ok(Options {
            target: self.target.cpu()?,
            gpu: self.target.gpu_for(self.allow_tf32)?,
            libraries: self.target.libraries(self.strict_order)?,
            level: self.level.unwrap_or(defaults.level),
            passes: read_pipeline(&self.passes)?,
            quantization: self.quantize.quantization(),
            quantized_activations: self.quantize.activations(),
            bytecode: self.bytecode()?,
            exec_mode: self.exec_mode.as_deref().unwrap_or("bytecode").parse()?,
            bounds: if self.bounds == BoundsMode::Unchecked { Bounds::Unchecked } else { Bounds::Checked },
            strict_order: self.strict_order,
            allow_tf32: self.allow_tf32,
            plans: self.plan.as_deref().map(PlanFile::read).transpose()?.map(Arc::new),
            tuned: self.tune.read()?,
            sizes: self.tune.sizes.sizes(),
            cache: self.cache.open().ok(),
            ..Options::default()
        })
    }

    /// Passes that lower a module.
    pub fn pipeline(&self) -> Result<Pipeline, Failure> {
        let level = self.level.unwrap_or(Options::default().level);
        let (passes, quantization) = (read_pipeline(&self.passes)?, self.quantize.quantization());
        let (gpu, strict_order) = (self.target.gpu()?, self.strict_order);
        let libraries = self.target.libraries(strict_order)?;
        let quantized_activations = self.quantize.activations();
        let defaults = Options::default();
        let options =
            Options { gpu, libraries, level, passes, quantization, quantized_activations, strict_order, ..defaults };
        Ok(options.pipeline())
    }

    /// Flags that affect only the machine code of kernels, and whether each was given.
    pub fn of_kernels(&self) -> [(&'static str, bool); 9] {
        let [tune, tune_file, sizes] = self.tune.given();
        let [target, target_cpu] = self.target.given();
        [
            tune,
            tune_file,
            sizes,
            target,
            target_cpu,
            ("--plan", self.plan.is_some()),
            ("--bounds", self.bounds != BoundsMode::Checked),
            ("--strict-order", self.strict_order),
            ("--allow-tf32", self.allow_tf32),
        ]
    }

    /// All flags, and whether each was given.
    pub fn given(&self) -> Vec<(&'static str, bool)> {
        let others = [
            ("-O", self.level.is_some()),
            ("--exec-mode", self.exec_mode.is_some()),
            ("--passes", !self.passes.is_empty()),
            ("--bytecode", self.bytecode.is_some()),
            self.target.given_libs(),
        ];
        self.of_kernels().into_iter().chain(others).chain(self.quantize.given()).chain(self.cache.given()).collect()
    }

    /// Prints how kernels stay inside their buffers, if asked to.
    pub fn report(&self, artifact: &Artifact) -> Result<(), Failure> {
        let line = |(kernel, Accesses { proved, checked }): &_| {
            format!("{kernel}: {proved} accesses proved in bounds, {checked} checked\n")
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

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A shared library with everything in it
    Lib,
    /// A stand-alone program, which runs on any Linux: the library with its runtime
    Exe,
    /// A C header with typed functions for the model's
    CHeader,
    /// The kernels' object code
    Obj,
    /// The kernels as LLVM IR text
    Llvm,
    /// The kernels as assembly; with `--target cuda`, their host code
    Asm,
    /// The device code of kernels as PTX, with `--target cuda`
    Ptx,
    /// The bytecode alone: the executable's section, in TVM's format
    Bytecode,
    /// A shared library that TVM's runtime loads and its virtual machine runs
    Tvm,
}

impl Kind {
    fn emit(self) -> Emit {
        match self {
            Kind::Lib | Kind::Exe | Kind::CHeader => Emit::Lib,
            Kind::Obj => Emit::Obj,
            Kind::Llvm => Emit::Llvm,
            Kind::Asm => Emit::Asm,
            Kind::Ptx => Emit::Ptx,
            Kind::Bytecode => Emit::Bytecode,
            Kind::Tvm => Emit::Tvm,
        }
    }

    /// Kind of the file.
    fn content(self) -> Content {
        match self {
            Kind::Lib | Kind::Exe | Kind::Tvm => Content::Program,
            Kind::CHeader | Kind::Llvm | Kind::Asm | Kind::Ptx => Content::Text,
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
        self.runner.iter().for_each(|path| files.reads("--runner", path));
        self.external_weights.iter().for_each(|path| files.writes("--external-weights", path));
        self.watch.files(files, &self.code.pipeline()?);
        Ok(())
    }

    /// Returns true if a file holds kernels for one processor, so that several make a file each.
    fn writes_versions(&self) -> bool {
        !self.multi_version.is_empty() && matches!(self.emit, Kind::Obj | Kind::Llvm | Kind::Asm)
    }

    /// Writes the output; for several processors that one file does not hold, a file each: `model.x86-64-v3.s`.
    fn write(&self, artifact: &Artifact, runner: Option<Vec<u8>>, target: &str) -> Result<(), Failure> {
        if let Some(runner) = runner {
            return write_file(&self.output, Content::Program, |out| artifact.file.write_program(runner, out));
        }
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
        options.exec_mode.check_emits_code()?;
        if !matches!(self.emit, Kind::Lib | Kind::Exe) && options.exec_mode != ExecMode::Bytecode {
            refuse(&[("--exec-mode", true)], "only `--emit lib` and `exe` hold machine code of graphs")?;
        }
        if self.emit != Kind::Exe {
            refuse(&[("--runner", self.runner.is_some())], "only `--emit exe` has a runner")?;
        } else if options.gpu.is_some() {
            let message =
                "stand-alone programs run on CPUs: a GPU's driver is a shared library, which they cannot load";
            return Err(Failure::new(codes::UNSUPPORTED_OPTION, message)
                .help("use `--emit lib`, and run the library with `hammock-run`"));
        }
        if self.emit != Kind::Lib {
            refuse(
                &[("--external-weights", self.external_weights.is_some())],
                "only `--emit lib` has weights beside it",
            )?;
        }
        if !self.multi_version.is_empty() {
            let names_cpu = self.code.target.deprecated_cpu().is_some();
            refuse(&[("--target", names_cpu)], "`--multi-version` names the CPUs")?;
        }
        if self.emit == Kind::CHeader {
            let stripped = ("--strip-source", self.strip_source);
            refuse(
                &[&self.code.given()[..], &[stripped]].concat(),
                "a header does not depend on how the model is compiled",
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
        let external_weights = self.external_weights.as_deref().map(|path| beside(path, &self.output)).transpose();
        let options = Options {
            threads: self.threads.map_or(options.threads, usize::from),
            explain_fusion: self.watch.explain_fusion,
            strip_source: self.strip_source,
            ..options.for_several(&self.multi_version)?
        };
        self.refuse_idle_flags(&options)?;
        self.check_output()?;
        let runner = (self.emit == Kind::Exe).then(|| runner::read(self.runner.as_deref())).transpose()?;
        let options = Options { external_weights: external_weights?, ..options };
        let emit = self.emit.emit();
        let mut stages = self.stages.start(self.code.tune.tune.is_none());
        let file = self.module.model_file()?;
        let mut model = Model::read(&file, None, &mut stages)?;
        model.name_weights(&file);
        model.bind_weights(None)?;
        if self.emit == Kind::CHeader {
            stages.finish()?;
            return self.write_header(&model);
        }
        let passes = options.pipeline();
        let prepares_constants = emit == Emit::Lib && options.gpu.is_none();
        let passes = if prepares_constants { with_prepared_constants(passes) } else { passes };
        let mut dump = self.watch.observer(&passes, false)?;
        let mut build = Build::new(model, options, &mut stages);
        build.lower(&passes, &mut dump)?;
        self.code.tune.tune(&mut build, emit)?;
        let mut artifact = build.compile(emit)?;
        dump.times.append(&mut artifact.times);
        self.code.report(&artifact)?;
        let stats = Stats::of(&build, dump.memory, &artifact);
        let target = build.options().target.clone();
        let mut clock = Clock::start();
        stages.begin("writing the file")?;
        if let (Some(weights), Some(path)) = (&artifact.weights, &self.external_weights) {
            weights.write(path).map_err(|e| Failure::of_input(codes::UNWRITABLE_FILE, e))?;
        }
        self.write(&artifact, runner, &target)?;
        clock.lap("writing the file", &mut dump.times);
        stages.finish()?;
        self.watch.report(&dump.times)?;
        if stages.is_shown() {
            let (summary, seconds) = (stats.summary(&self.output), stages.total().as_secs_f64());
            say(&format!("{}: {summary}, {seconds:.1} s\n", self.output.display()))?;
        }
        if self.stats { stats::report(&stats, self.json) } else { Ok(()) }
    }

    /// Writes a header for the model; the names in it begin with the file's.
    fn write_header(&self, model: &Model) -> Result<(), Failure> {
        let stem = self.output.file_stem().and_then(|stem| stem.to_str()).filter(|stem| *stem != "-");
        let header = c_header(stem.unwrap_or("model"), &model.complete_signatures());
        write_file(&self.output, Content::Text, |out| out.write_all(header.as_bytes()))
    }

    /// Refuses an output that cannot be written, before the model is compiled.
    fn check_output(&self) -> Result<(), Failure> {
        if self.stats {
            not_stdout("--stats --output", &self.output)?;
        }
        if self.writes_versions() && self.output == Path::new("-") {
            let message = "each CPU has a file of its own, and standard output takes only one";
            return Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help("name a file"));
        }
        check_writable(&self.output)
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
            let message = format!("the weights of {} cannot be stored in {}", executable.display(), path.display());
            Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help("name another file in the same folder"))
        }
    }
}
