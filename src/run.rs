//! `hammock run`: calls a function of a module or executable.

use crate::{
    compare::{CompareFlags, comparable, up_to},
    compile::CodeArgs,
    failure::{input_failure, tool_failure},
    module::{DigestFlag, ModuleArgs, OnnxFlags, is_zeros},
    opt::Watch,
    output::say,
    progress::{StageFlags, Stages},
    unused_flags::refuse,
};
use clap::Args;
use hammock_compiler::{Artifact, Build, Dump, Emit, ExecMode, Failure, Model, Options, Progress};
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_ir::{Module, Name, Span};
use hammock_tools::{
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

/// Changes or examines a module on its way from passes to an executable. `()` does nothing.
pub trait Adapt {
    /// Returns true if the modules are needed in which fused groups are functions: [`Dump::groups`].
    fn keeps_groups(&self) -> bool {
        false
    }

    /// Called when passes have lowered the module, before it is compiled.
    ///
    /// # Errors
    /// If the module is not what the command needs.
    fn lowered(&mut self, _build: &mut Build, _dump: &mut Dump) -> Result<(), Failure> {
        Ok(())
    }

    /// Called when it is compiled.
    fn compiled(&mut self, _build: &Build, _artifact: &Artifact) {}
}

impl Adapt for () {}

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
    /// The file.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// Begins with the command.
    pub fn stages(&self) -> Stages {
        self.stages.start(self.code.tune.tune.is_none())
    }

    /// The weights of `--params`, unless it is `zeros`. Warns about weights of a compiled model that fit no parameter; for
    /// other models, reading them did.
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
    pub fn open(&self, stages: &mut Stages) -> Result<(Session, ParamSpans), Failure> {
        self.open_adapted(Some(&self.call), &mut (), stages)
    }

    /// Opens the executable, or compiles the text in memory, for a call if that is known before.
    pub fn open_adapted(
        &self,
        call: Option<&CallFlags>,
        adapt: &mut dyn Adapt,
        stages: &mut Stages,
    ) -> Result<(Session, ParamSpans), Failure> {
        let opened = self.compiling(|| self.opened(call, adapt, stages))?;
        opened.0.devices().iter().try_for_each(|device| stages.detail(device))?;
        Ok(opened)
    }

    fn opened(
        &self,
        call: Option<&CallFlags>,
        adapt: &mut dyn Adapt,
        stages: &mut Stages,
    ) -> Result<(Session, ParamSpans), Failure> {
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
            return Ok((session, ParamSpans::default()));
        }
        // With bytecode, the module has kernels only, and the functions are the bytecode's.
        let call = call.filter(|_| self.code.bytecode.is_none());
        let mut options = self.options()?;
        if options.exec_mode == ExecMode::Reference {
            refuse(&self.code.of_kernels(), "kernels are interpreted")?;
        }
        let (model, renamed) = self.model(call, stages)?;
        if let Some(renamed) = renamed {
            options.plans = options.plans.map(|plans| Arc::new(plans.renamed(&self.call.func, &renamed)));
        }
        let places = ParamSpans::of(&model.module, &model.source, &self.call.func);
        let session = self.session(model, options, adapt, stages)?;
        Ok((session, places))
    }

    /// Reads the model, with a function to call and its weights as constants, unless the call has arguments for them. Returns
    /// the new name of a kernel whose name that function took.
    fn model(&self, call: Option<&CallFlags>, stages: &mut Stages) -> Result<(Model, Option<Name>), Failure> {
        let spec = call.map(|call| call.spec(None));
        let mut model = Model::read(&self.module_args().model_file()?, spec.as_ref(), stages)?;
        model.bind_weights(spec.as_ref())?;
        let renamed = spec.map(|spec| model.add_entry(spec.func)).transpose()?.flatten();
        Ok((model, renamed))
    }

    /// The files that the flags name.
    pub fn files(&self, files: &mut CommandFiles) -> Result<(), Failure> {
        self.module_args().files(files);
        files.reads_arguments(&self.call.args);
        self.code.files(files)?;
        self.watch.files(files, &self.code.pipeline()?);
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

    /// The compiler's options.
    fn options(&self) -> Result<Options, Failure> {
        let options = self.code.options()?;
        let threads = self.call.run_options().threads.unwrap_or(options.threads);
        Ok(Options { threads, explain_fusion: self.watch.explain_fusion, ..options })
    }

    /// Compiles a model in memory.
    fn session(
        &self,
        model: Model,
        options: Options,
        adapt: &mut dyn Adapt,
        stages: &mut Stages,
    ) -> Result<Session, Failure> {
        let (run, passes) = (self.call.run_options(), options.pipeline());
        let mut dump = self.watch.observer(&passes, false)?;
        dump.keep_groups = adapt.keeps_groups();
        let is_interpreted = options.exec_mode == ExecMode::Reference;
        let mut build = Build::new(model, options, stages);
        build.lower(&passes, &mut dump)?;
        self.watch.report(&dump.times)?;
        adapt.lowered(&mut build, &mut dump)?;
        if is_interpreted {
            return build.interpret(&run);
        }
        self.code.tune.tune(&mut build, Emit::Lib)?;
        let artifact = build.compile(Emit::Lib)?;
        self.code.report(&artifact)?;
        adapt.compiled(&build, &artifact);
        build.begin("loading")?;
        artifact.load(&run).map_err(tool_failure)
    }

    /// Runs the program as the flags say and in another way, and says where the two first differ.
    fn compare(&self, how: &ExpectFlags, with: Way, stages: &mut Stages) -> Result<String, Failure> {
        if is_executable(&self.file) {
            refuse(&[("--compare-levels", true)], &format!("{} is compiled already", self.file))?;
        }
        let (model, _) = self.compiling(|| self.model(Some(&self.call), stages))?;
        let options = self.options()?;
        let weights = self.call.weights().map_err(input_failure)?;
        let mut result = |module: &Module, exec_mode: &ExecMode, level: u8| {
            let options = Options { level, exec_mode: exec_mode.clone(), ..options.clone() };
            let model = Model { module: module.clone(), ..model.clone() };
            let session = self.compiling(|| self.session(model, options, &mut (), stages))?;
            let spec = self.call.spec(weights.as_ref());
            let args = session.arguments(&spec).map_err(input_failure)?;
            session.call(spec.func, &args).map_err(|e| tool_failure(e.into()))
        };
        let mode = &options.exec_mode;
        let (other, level) = (with.mode.as_ref().unwrap_or(mode), with.level.unwrap_or(options.level));
        let mut differ = |module: &Module| {
            let expected = result(module, other, level)?;
            let actual = result(module, mode, options.level)?;
            how.difference(&expected, &actual).map_err(|e| tool_failure(e.into()))
        };
        let module = &model.module;
        let Some(why) = differ(module)? else { return Ok("the results are the same\n".to_owned()) };
        let candidates = module.relax(&self.call.func).map(comparable).unwrap_or_default();
        // The first binding that differs: what comes after it in the function usually does as well.
        let (mut first, mut end, mut found) = (0, candidates.len(), None);
        while first < end {
            let middle = (first + end) / 2;
            let Some((part, name, span)) = up_to(module, &self.call.func, candidates[middle]) else { break };
            match differ(&part)? {
                Some(why) => (end, found) = (middle, Some((name, span, why))),
                None => first = middle + 1,
            }
        }
        let failure = |message: String| Diagnostic::error(codes::RUN_FAILED, message);
        Err(match found {
            Some((name, span, why)) => {
                let error = failure(format!("the two ways first differ in `{name}`: {why}")).label(span, "");
                Failure::from(error.help("`hammock opt --bisect` finds the pass")).within(&model.source)
            }
            None => failure(format!("the results differ, but no binding does on its own: {why}")).into(),
        })
    }
}

/// Spans of the parameters of the function that is called, if its text is known.
#[derive(Default)]
pub struct ParamSpans {
    source: Option<SourceFile>,
    params: Vec<(Name, Span)>,
}

impl ParamSpans {
    fn of(module: &Module, source: &SourceFile, function: &str) -> Self {
        let params =
            module.relax(function).into_iter().flat_map(|f| f.lambda.params.iter().map(|param| &f.vars[*param]));
        let params = params.filter(|var| !var.span.is_none()).map(|var| (var.name.clone(), var.span)).collect();
        ParamSpans { source: Some(source.clone()), params }
    }

    /// An error, with labels at the parameters that it is about.
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
            _ => Ok(Way { level: None, mode: Some(text.parse()?) }),
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

    /// The output of the command.
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
