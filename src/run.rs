//! `hammock run`: calls a function of a module or executable.

use crate::{
    compare::{CompareFlags, comparable, up_to},
    compile::{CodeArgs, ExecMode, Prepared, prepared},
    effect::refuse,
    failure::{input_failure, tool_failure},
    module::{DigestFlag, ModuleArgs, OnnxFlags, is_zeros},
    opt::Watch,
    output::say,
    progress::{StageFlags, Stages},
};
use clap::Args;
use hammock_compiler::{Codegens, Dump, Emit, Evaluator, Failure, Options, Output, compile, lower, reference};
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_ir::{Module, Name, Span};
use hammock_passes::{Environment, pipeline};
use hammock_runtime::tools::{
    CallFlags, CommandFiles, ExpectFlags, FileKind, OutputFlags, ProfileFlags, Session, Step, ToolError, Weights,
};
use std::{path::Path, sync::Arc};

/// Runs a function of a text module or ONNX model (compiled first), or of a compiled executable
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock run model.py --params weights.safetensors --arg @images.npy
  hammock run model.so --func classify --arg @test.npz#images --output out.npz
  hammock run model.onnx --arg @images.npy
  hammock run kernels.py --bytecode tvm.so --arg @x.npy
  hammock run kernel.py --arg 'random(8):float32' --arg 'zeros(8):float32'   a lone T.prim_func: all its arguments in
                                          order, outputs too; the result is the buffers that it writes
  hammock run model.py --params weights.safetensors --arg 'random(2,64):float32' --json
  hammock run model.py --params weights.safetensors --arg 'random(2,64):float32' --compare-levels    finds the first
                                          binding that differs from what -O0 computes")]
pub struct Run {
    #[command(flatten)]
    program: Program,
    #[command(flatten)]
    output: OutputFlags,
    #[command(flatten)]
    compare: CompareFlags,
    #[command(flatten)]
    profile: ProfileFlags,
}

/// Looks at a module that passes have lowered. With options as a result, it has made another module of it, which is lowered
/// and compiled with these.
pub type Adapt<'a> = &'a mut dyn FnMut(&mut Module, &SourceFile, &Options) -> Result<Option<Options>, Failure>;

/// Flags that name a program and a call.
#[derive(Args)]
pub struct Program {
    /// A text module, an ONNX model, a compiled executable, or `-` for a text or an ONNX model on standard input
    file: String,
    /// The module to use, if the file has several
    #[arg(long, value_name = "NAME")]
    module: Option<String>,
    #[command(flatten)]
    onnx: OnnxFlags,
    #[command(flatten)]
    digest: DigestFlag,
    #[command(flatten)]
    pub call: CallFlags,
    #[command(flatten)]
    code: CodeArgs,
    #[command(flatten)]
    stages: StageFlags,
    #[command(flatten)]
    watch: Watch,
}

impl Program {
    /// Begins with the command.
    pub fn stages(&self) -> Stages {
        self.stages.start(self.code.tune.tune.is_none())
    }

    /// The tensors that `--params` gives to parameters of their names: none when it only stands in zeros for constants.
    /// Says which belong to none, unless that was said when text was compiled.
    pub fn weights(&self, session: &Session, stages: &mut Stages) -> Result<Option<Weights>, Failure> {
        if is_zeros(self.call.params.as_deref()) {
            return Ok(None);
        }
        if self.call.params.is_some() {
            stages.begin("reading weights")?;
        }
        let weights = self.compiling(|| self.call.weights().map_err(input_failure))?;
        let fit = weights.as_ref().filter(|_| is_executable(&self.file)).map(|weights| session.fit(weights));
        if let Some(misfit) = fit.and_then(|fit| hammock_compiler::misfit(&fit)) {
            if misfit.is_error() {
                return Err(misfit.into());
            }
            say(&Failure::from(misfit).render(false))?;
        }
        if let Some(spare) = session.spare_weights(&self.call.spec(weights.as_ref())) {
            say(&Failure::from(Diagnostic::warning(codes::UNUSED_WEIGHT, spare)).render(false))?;
        }
        Ok(weights)
    }

    /// Opens the executable, or compiles the text in memory.
    pub fn open(&self, stages: &mut Stages) -> Result<(Session, Places), Failure> {
        self.open_adapted(Some(&self.call), &mut |_, _, _| Ok(None), stages)
    }

    /// Opens the executable, or compiles the text in memory, for a call if that is known before; `adapt` sees what passes
    /// made of the text.
    pub fn open_adapted(
        &self,
        call: Option<&CallFlags>,
        adapt: Adapt,
        stages: &mut Stages,
    ) -> Result<(Session, Places), Failure> {
        self.compiling(|| self.opened(call, adapt, stages))
    }

    fn opened(
        &self,
        call: Option<&CallFlags>,
        adapt: Adapt,
        stages: &mut Stages,
    ) -> Result<(Session, Places), Failure> {
        if is_executable(&self.file) {
            let how = self.call.run_options();
            let idle = [
                ("--module", self.module.is_some()),
                ("--external-data-dir", !self.onnx.data_folders.is_empty()),
                ("--params zeros", is_zeros(self.call.params.as_deref())),
            ];
            self.onnx.expect_onnx(&self.file)?;
            let idle = [&self.code.given()[..], &self.watch.given(), &idle].concat();
            refuse(&idle, &format!("{} is compiled already", self.file))?;
            stages.begin("loading")?;
            self.digest.expect(&self.file)?;
            let session = Session::open(Path::new(&self.file), &how).map_err(tool_failure)?;
            return Ok((session, Places::default()));
        }
        let module = self.module_args();
        // With bytecode, the module has kernels only, and the functions are the bytecode's.
        let call = call.filter(|_| self.code.bytecode.is_none());
        if self.code.exec_mode()? == ExecMode::Reference {
            refuse(&self.code.of_kernels(), "kernels are interpreted")?;
        }
        let mut options = self.options()?;
        let Prepared { module, source, aside, .. } = prepared(&module, call, stages)?;
        if let Some(aside) = aside {
            options.plans = options.plans.map(|plans| Arc::new(plans.renamed(&self.call.func, &aside)));
        }
        let places = Places::of(&module, &source, &self.call.func);
        let session = self.session(module, &source, &self.code.exec_mode()?, options, adapt, stages)?;
        Ok((session, places))
    }

    /// The files that the flags name.
    pub fn files(&self, files: &mut CommandFiles) -> Result<(), Failure> {
        self.module_args().files(files);
        files.reads_arguments(&self.call.args);
        self.code.files(files)?;
        let level = self.code.level.unwrap_or(Options::default().level);
        self.watch.files(files, &self.code.pipeline(level)?);
        Ok(())
    }

    /// Refuses flags that need the text, if it is not there.
    pub fn refuse_without_text(&self, flags: &[(&'static str, bool)]) -> Result<(), Failure> {
        if is_executable(&self.file) { refuse(flags, &format!("{} is compiled already", self.file)) } else { Ok(()) }
    }

    fn module_args(&self) -> ModuleArgs {
        ModuleArgs {
            file: self.file.clone(),
            module: self.module.clone(),
            params: self.call.params.clone(),
            overridable: Vec::new(),
            onnx: self.onnx.clone(),
            digest: self.digest.clone(),
            budget: self.call.limits.budget.clone(),
        }
    }

    /// Reads or compiles within the limits for that.
    fn compiling<R>(&self, work: impl FnOnce() -> Result<R, Failure>) -> Result<R, Failure> {
        self.call.limits.budget.compiling(work).map_err(|e| tool_failure(e.into()))?
    }

    /// The compiler's options, whatever the mode.
    fn options(&self) -> Result<Options, Failure> {
        let options = match self.code.exec_mode()? {
            ExecMode::Reference => {
                let defaults = Options::default();
                Options {
                    level: self.code.level.unwrap_or(defaults.level),
                    bytecode: self.code.bytecode()?,
                    ..defaults
                }
            }
            ExecMode::Native(_) => self.code.options()?,
        };
        Ok(Options { threads: self.call.run_options().threads.unwrap_or(options.threads), ..options })
    }

    /// Compiles a module in memory.
    fn session(
        &self,
        mut module: Module,
        source: &SourceFile,
        mode: &ExecMode,
        options: Options,
        adapt: Adapt,
        stages: &mut Stages,
    ) -> Result<Session, Failure> {
        stages.begin("passes")?;
        let how = self.call.run_options();
        let passes = self.code.pipeline(options.level)?;
        let mut dump = self.watch.observer(&passes)?;
        let codegens = Codegens::default();
        let evaluator = if *mode == ExecMode::Reference {
            Evaluator::interpreting()
        } else {
            Evaluator::with_cache(options.cache.clone())
        };
        let environment = Environment { codegens: Some(&codegens), ..self.watch.environment(&options, &evaluator) };
        lower(&mut module, source, &passes, &environment, &mut dump)?;
        self.watch.report(&dump)?;
        let adapted = adapt(&mut module, source, &options)?;
        if let Some(options) = &adapted {
            lower(&mut module, source, &pipeline(0), &options.environment(&evaluator), &mut Dump::default())?;
        }
        let options = adapted.unwrap_or_else(|| options.clone());
        let threads = options.threads;
        let options = match mode {
            ExecMode::Reference => options,
            ExecMode::Native(_) => self.code.tune.tuned(&module, source, options, threads, stages)?,
        };
        match mode {
            ExecMode::Reference if codegens.has_made_objects() => {
                let message = "what code generators made is machine code, which `--exec-mode reference` does not run";
                Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help("leave out `--exec-mode`, or `RunCodegen`"))
            }
            ExecMode::Reference => {
                reference(&module, source, options.bytecode.as_deref(), how.options()).map(Session::from_vm)
            }
            ExecMode::Native(graphs) => {
                let options = Options { graphs: graphs.clone(), objects: codegens.into_objects(), ..options };
                stages.begin("compiling kernels")?;
                let artifact = compile(&module, source, &options, Emit::Lib)?;
                stages.end_with(&artifact.times);
                self.code.report(&artifact)?;
                stages.begin("loading")?;
                let session = match &artifact.file {
                    Output::Library(linked) => {
                        let (before, constants, after) = linked.parts();
                        Session::from_linked(before, constants, after, &how)
                    }
                    Output::Bytes(bytes) => Session::from_bytes(bytes.clone(), &how),
                };
                session.map_err(tool_failure)
            }
        }
    }

    /// Runs the program as the flags say and in another way, and says where the two first differ.
    fn compare(&self, how: &ExpectFlags, with: Way, stages: &mut Stages) -> Result<String, Failure> {
        if is_executable(&self.file) {
            refuse(&[("--compare-levels", true)], &format!("{} is compiled already", self.file))?;
        }
        let Prepared { module, source, .. } =
            self.compiling(|| prepared(&self.module_args(), Some(&self.call), stages))?;
        let (mode, options) = (self.code.exec_mode()?, self.options()?);
        let weights = self.call.weights().map_err(input_failure)?;
        let mut result = |module: &Module, mode: &ExecMode, level: u8| {
            let options = Options { level, ..options.clone() };
            let session = self
                .compiling(|| self.session(module.clone(), &source, mode, options, &mut |_, _, _| Ok(None), stages))?;
            let spec = self.call.spec(weights.as_ref());
            let args = session.arguments(&spec).map_err(input_failure)?;
            session.call(spec.func, &args).map_err(|e| tool_failure(e.into()))
        };
        let (other, level) = (with.mode.as_ref().unwrap_or(&mode), with.level.unwrap_or(options.level));
        let mut differ = |module: &Module| {
            let expected = result(module, other, level)?;
            let actual = result(module, &mode, options.level)?;
            how.difference(&expected, &actual).map_err(|e| tool_failure(e.into()))
        };
        let Some(why) = differ(&module)? else { return Ok("the results are the same\n".to_owned()) };
        let candidates = module.relax(&self.call.func).map(comparable).unwrap_or_default();
        // The first binding that differs: what comes after it in the function usually does as well.
        let (mut first, mut end, mut found) = (0, candidates.len(), None);
        while first < end {
            let middle = (first + end) / 2;
            let Some((part, name, span)) = up_to(&module, &self.call.func, candidates[middle]) else { break };
            match differ(&part)? {
                Some(why) => (end, found) = (middle, Some((name, span, why))),
                None => first = middle + 1,
            }
        }
        let failure = |message: String| Diagnostic::error(codes::RUN_FAILED, message);
        Err(match found {
            Some((name, span, why)) => {
                let error = failure(format!("the two ways first differ in `{name}`: {why}")).label(span, "");
                Failure::from(error.help("`hammock opt --bisect` finds the pass")).within(&source)
            }
            None => failure(format!("the results differ, but no binding does on its own: {why}")).into(),
        })
    }
}

/// Where the parameters of the function that is called are declared, if its text is at hand.
#[derive(Default)]
pub struct Places {
    source: Option<SourceFile>,
    params: Vec<(Name, Span)>,
}

impl Places {
    fn of(module: &Module, source: &SourceFile, function: &str) -> Self {
        let params =
            module.relax(function).into_iter().flat_map(|f| f.lambda.params.iter().map(|param| &f.vars[*param]));
        let params = params.filter(|var| !var.span.is_none()).map(|var| (var.name.clone(), var.span)).collect();
        Places { source: Some(source.clone()), params }
    }

    /// What went wrong, shown where the parameters are that it is about.
    pub fn failure(&self, error: ToolError) -> Failure {
        let about = if let ToolError::Input(error) = &error { error.parameters.clone() } else { Vec::new() };
        let mut failure = tool_failure(error);
        let named = self.params.iter().filter(|(name, _)| about.iter().any(|other| **name == **other));
        let spans: Vec<Span> = named.map(|(_, span)| *span).collect();
        match (&self.source, failure.diagnostics.pop()) {
            (Some(source), Some(said)) if !spans.is_empty() => {
                Failure::from(spans.into_iter().fold(said, |said, span| said.label(span, ""))).within(source)
            }
            (_, said) => Failure { diagnostics: said.into_iter().collect(), ..failure },
        }
    }
}

/// A way to compile a program that another is compared with.
struct Way {
    level: Option<u8>,
    mode: Option<ExecMode>,
}

impl Way {
    fn parse(text: &str) -> Result<Way, Failure> {
        match text.parse() {
            Ok(level @ 0..=3) => Ok(Way { level: Some(level), mode: None }),
            _ => Ok(Way { level: None, mode: Some(ExecMode::parse(text)?) }),
        }
    }
}

/// Returns true if a file is a compiled executable.
fn is_executable(file: &str) -> bool {
    file != "-" && FileKind::of_file(Path::new(file)) == Some(FileKind::Elf)
}

impl Run {
    /// The files that the command reads and writes.
    pub fn files(&self, files: &mut CommandFiles) -> Result<(), Failure> {
        self.program.files(files)?;
        self.compare.expect.expect.iter().for_each(|path| files.reads_weights("--expect", path));
        self.output.path().iter().for_each(|path| files.writes("--output", path));
        self.profile.files(files);
        Ok(())
    }

    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let mut stages = self.program.stages();
        let text = self.result(&mut stages)?;
        stages.finish()?;
        crate::print(&text)
    }

    /// What the command prints.
    fn result(&self, stages: &mut Stages) -> Result<String, Failure> {
        if let Some(with) = &self.compare.compare_levels {
            return self.program.compare(&self.compare.expect, Way::parse(with)?, stages);
        }
        let (session, places) = self.program.open(stages)?;
        let weights = self.program.weights(&session, stages)?;
        let spec = self.program.call.spec(weights.as_ref());
        if self.compare.expect.expect.is_some() {
            stages.begin("reading arguments")?;
            let args = session.arguments(&spec).map_err(|e| places.failure(e.into()))?;
            stages.begin_call("first inference")?;
            let call = || session.call(spec.func, &args).map_err(ToolError::from);
            let result = self.profile.watch(&session, call).map_err(tool_failure)?;
            return self.compare.expect.check(&result).map(Option::unwrap_or_default).map_err(tool_failure);
        }
        let mut said = Ok(());
        let mut began = |step: Step| {
            said = std::mem::replace(&mut said, Ok(())).and_then(|()| match step {
                Step::Arguments => stages.begin("reading arguments"),
                Step::Call => stages.begin_call("first inference"),
                Step::Output => stages.begin("writing the result"),
            });
        };
        let text = self.profile.watch(&session, || session.run(&spec, &self.output, &mut began));
        said.and(text.map_err(|error| places.failure(error)))
    }
}
