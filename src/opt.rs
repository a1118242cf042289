//! `hammock opt`: runs passes on a module and prints the result.

use crate::{
    bisect::bisect,
    cache::CacheFlags,
    memory_plan::{add_temporaries, json_of, svg_of},
    module::ModuleArgs,
    output::{colored, expect_weights, not_stdout, say, write_file},
    pictures::graph::{fused_graphs, svg},
    progress::Messages,
    quantize::QuantizeFlags,
    target_flags::TargetFlags,
    tune::SizeFlags,
    unused_flags::refuse,
};
use clap::{ArgGroup, Args, builder::PossibleValuesParser};
use hammock_compiler::{
    Build, Dump, Failure, GPU_STEPS, Model, Options, PlanFile, STEPS, Step, TRANSFORMS, Timing, read_source,
    write_weights,
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Module, Name, equal,
    print::{Metadata, PrintOptions, constants, module_text},
};
use hammock_passes::{MemoryPlan, Pipeline, find};
use hammock_tools::{CommandFiles, Content};
use indexmap::IndexMap;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Runs passes on a module and prints the result
#[derive(Args)]
#[command(group = ArgGroup::new("of_plans").multiple(true))]
#[command(mut_group("TargetFlags", |flags| flags.requires("of_plans")))]
#[command(after_help = "\
Examples:
  hammock opt model.py                                  the module as Hammock understood it
  hammock opt model.py --passes LegalizeOps             operators as loops
  hammock opt model.py --passes Normalize,LegalizeOps --print-after changed
  hammock opt model.py --print-after changed --time-passes > /dev/null      what the passes that compile it do to a module
  hammock opt model.py --passes Normalize,LegalizeOps --bisect 'grep -q R.matmul'    the first pass after which this fails
  hammock opt model.py --memory-plan-out plan.svg       what memory is used when
  hammock opt model.onnx --graph graph.svg              operators, and the kernels that they are fused to
  hammock opt model.py --print-plans                    which loops compute each kernel, and how near to the limit
  hammock opt model.py --plan plan.txt                  the same after changes by hand
  hammock opt model.py --emit flat                      the kernels as flat code with vectors (or `tir`, `plan`)
  hammock opt model.py --tune-file tuned.txt            the same with plans that `compile --tune` found
  hammock opt model.py --params-out w.safetensors       large constants in a file of their own
  hammock opt a.py --passes Normalize --same-as b.py    prints nothing if they are the same, ignoring names")]
pub struct Opt {
    #[command(flatten)]
    pub module: ModuleArgs,
    /// Passes to run, in order: `A,B{option=1},C` (`hammock passes` lists them), or a file of them: `@FILE` [default: none;
    /// with a flag that observes passes, those of -O2]
    #[arg(long, value_name = "LIST", conflicts_with = "level")]
    passes: Option<String>,
    /// Run the passes that compile a module at this level, 0 to 3 (`hammock passes --pipeline -O2`)
    #[arg(short = 'O', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3))]
    level: Option<u8>,
    /// Write large constants to this .safetensors or .npz file instead of into the text; `--params FILE` reads them back
    #[arg(long, value_name = "FILE", conflicts_with = "same_as")]
    params_out: Option<PathBuf>,
    /// Compare with the module in this file, ignoring variable names; print nothing, and fail if they differ
    #[arg(long, value_name = "FILE")]
    same_as: Option<String>,
    /// Draw the memory plan of each function (SVG), after the given passes or, without any, as `hammock compile` plans it
    #[arg(long, alias = "memory-plan", value_name = "FILE", conflicts_with = "same_as")]
    memory_plan_out: Option<PathBuf>,
    /// Draw the graph of each function (SVG): operators, and the kernels that they are fused to, after the given passes or,
    /// without any, as `hammock compile` fuses them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["same_as", "bisect"])]
    graph: Option<PathBuf>,
    /// Print only the plan of each kernel, after the given passes or, without any, as `hammock compile` makes it (see
    /// `hammock rules`)
    #[arg(long, group = "of_plans", conflicts_with_all = ["same_as", "params_out", "bisect"])]
    print_plans: bool,
    /// Print plans like `--print-plans`, with those of this file (as for `compile --plan`); an invalid plan is an error
    #[arg(long, value_name = "FILE", group = "of_plans", conflicts_with_all = ["same_as", "params_out", "bisect"])]
    plan: Option<String>,
    /// Print plans like `--print-plans`, with the tuned ones of a file that `compile --tune --tune-file FILE` wrote
    #[arg(long, value_name = "FILE", group = "of_plans", conflicts_with_all = ["same_as", "params_out", "bisect"])]
    tune_file: Option<String>,
    /// Print only the kernels at a point of lowering: loops and blocks (`tir`), stages (`stages`), plans (`plan`), vectorized
    /// code for LLVM (`flat`), or after a transform of stages or a step of lowering (`hammock passes --transforms`, `--steps`)
    #[arg(long, value_name = "STAGE", group = "of_plans", value_parser = PossibleValuesParser::new(stages()),
          hide_possible_values = true, conflicts_with_all = ["same_as", "params_out", "bisect"])]
    emit: Option<String>,
    /// Number of threads that plans are for [default: all]
    #[arg(long, value_name = "N", requires = "of_plans", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    target: TargetFlags,
    /// Print plans that keep the order of additions, as for `compile --strict-order`
    #[arg(long, requires = "of_plans")]
    strict_order: bool,
    /// Print plans whose tensor cores multiply float32 as tf32, as for `compile --allow-tf32`
    #[arg(long, requires = "of_plans", conflicts_with = "strict_order")]
    allow_tf32: bool,
    /// Write `--memory-plan-out` as JSON
    #[arg(long, requires = "memory_plan_out")]
    json: bool,
    /// Find the first pass after which this shell command fails; it gets the module's file as its last argument
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["same_as", "params_out"])]
    bisect: Option<String>,
    #[command(flatten)]
    quantize: QuantizeFlags,
    #[command(flatten)]
    sizes: SizeFlags,
    #[command(flatten)]
    watch: Watch,
    #[command(flatten)]
    cache: CacheFlags,
}

/// Flags that show passes at work.
#[derive(Args)]
#[command(next_help_heading = "Passes")]
pub struct Watch {
    /// Print the module to standard error after these passes: their names, `all`, or `changed` for the lines that each
    /// pass changes; or the kernels' stages after these transforms (`hammock passes --transforms`)
    #[arg(long, value_name = "PASS", value_delimiter = ',')]
    pub print_after: Vec<String>,
    /// Write the module after each pass into this folder
    #[arg(long, value_name = "DIR")]
    pub dump_dir: Option<PathBuf>,
    /// Print the time of each pass, and of each stage after them, to standard error
    #[arg(long)]
    pub time_passes: bool,
    /// Verify the module after each pass
    #[arg(long)]
    pub verify_each: bool,
    /// Print to standard error why kernels are fused by row tiling, or are not, with the cost estimate
    #[arg(long)]
    pub explain_fusion: bool,
}

impl Watch {
    /// An observer of passes for the flags. Only `hammock opt` `prints_stages` of kernels.
    pub fn observer(&self, pipeline: &Pipeline, prints_stages: bool) -> Result<Dump, Failure> {
        for name in self.print_after.iter().filter(|name| !["all", "changed"].contains(&name.as_str())) {
            if is_transform(name) {
                let why = format!("`hammock opt` prints the stages of kernels after `{name}`");
                refuse(&[("--print-after", !prints_stages)], &why)?;
                continue;
            }
            let pass = find(name)?;
            if !pipeline.steps.iter().any(|step| step.pass.name == pass.name) {
                refuse(&[("--print-after", true)], &format!("pass `{name}` does not run"))?;
            }
        }
        Ok(Dump {
            print_after: self.print_after.clone(),
            dir: self.dump_dir.clone(),
            verify: self.verify_each || cfg!(debug_assertions),
            color: colored(),
            ..Dump::default()
        })
    }

    /// The files that `--dump-dir` writes.
    pub fn files(&self, files: &mut CommandFiles, pipeline: &Pipeline) {
        let Some(folder) = &self.dump_dir else { return };
        for (number, step) in pipeline.steps.iter().enumerate() {
            files.writes("--dump-dir", Dump::path(folder, number + 1, step.pass));
        }
    }

    /// The flags, and whether each was given.
    pub fn given(&self) -> [(&'static str, bool); 5] {
        [
            ("--print-after", !self.print_after.is_empty()),
            ("--dump-dir", self.dump_dir.is_some()),
            ("--time-passes", self.time_passes),
            ("--verify-each", self.verify_each),
            ("--explain-fusion", self.explain_fusion),
        ]
    }

    /// Prints the times, if asked to.
    pub fn report(&self, times: &[Timing]) -> Result<(), Failure> {
        let line = |timing: &Timing| format!("{:>10.3} ms  {}\n", timing.took.as_secs_f64() * 1e3, timing.pass);
        say(&times.iter().filter(|_| self.time_passes).map(line).collect::<String>())
    }
}

impl Opt {
    /// The files that the command reads and writes.
    pub fn files(&self, files: &mut CommandFiles) -> Result<(), Failure> {
        self.module.files(files);
        self.same_as.iter().for_each(|path| files.reads("--same-as", path));
        self.plan.iter().for_each(|path| files.reads("--plan", path));
        self.tune_file.iter().for_each(|path| files.reads("--tune-file", path));
        self.params_out.iter().for_each(|path| files.writes("--params-out", path));
        self.memory_plan_out.iter().for_each(|path| files.writes("--memory-plan-out", path));
        self.graph.iter().for_each(|path| files.writes("--graph", path));
        let pipeline = self.pipeline()?;
        reads_pipeline(files, self.passes.as_deref().unwrap_or_default(), &pipeline);
        self.watch.files(files, &pipeline);
        Ok(())
    }

    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let pipeline = self.pipeline()?;
        let mut dump = self.watch.observer(&pipeline, true)?;
        dump.keep_groups = self.graph.is_some();
        if pipeline.steps.is_empty() {
            refuse(&self.watch.given(), "no pass runs; `--passes` says which do")?;
        }
        if let Some(path) = &self.params_out {
            expect_weights("--params-out", path)?;
        }
        let (mut messages, mut of_lowered) = (Messages, Messages);
        let mut model = Model::read(&self.module.model_file()?, None, &mut messages)?;
        if !pipeline.steps.is_empty() && !pipeline.steps.iter().any(|step| step.pass.name == "BindParams") {
            model.bind_weights(None)?;
        }
        let mut build = Build::new(model, self.options()?, &mut messages);
        if let Some(command) = &self.bisect {
            let found = build.with_environment(|module, environment| bisect(module, &pipeline, environment, command));
            return crate::print(&found.map_err(|e| e.within(&build.model().source))?);
        }
        build.run_passes(&pipeline, &mut dump)?;
        self.watch.report(&dump.times)?;
        note_objects(&build)?;
        let is_lowered = !pipeline.steps.is_empty();
        let of_kernels = self.print_plans || self.emit.is_some() || self.plan.is_some() || self.tune_file.is_some();
        let prints_stages = self.watch.print_after.iter().any(|name| is_transform(name));
        if of_kernels || prints_stages || self.memory_plan_out.is_some() || self.graph.is_some() {
            let mut lowered = if is_lowered { None } else { Some(self.lowered(&build, &mut dump, &mut of_lowered)?) };
            let lowered = lowered.as_mut().unwrap_or(&mut build);
            if let Some(path) = &self.memory_plan_out {
                not_stdout("--memory-plan-out", path)?;
                let memory = std::mem::take(&mut dump.memory);
                let mut plans = if memory.is_empty() { MemoryPlan::all(&lowered.model().module) } else { memory };
                add_temporaries(&mut plans, &lowered.temporaries()?);
                self.write_plan(path, &plans)?;
            }
            if let Some(path) = &self.graph {
                not_stdout("--graph", path)?;
                let drawing = svg(&fused_graphs(lowered, &dump), &|_| None);
                write_file(path, Content::Text, |out| out.write_all(drawing.as_bytes()))?;
            }
            self.print_transforms(lowered)?;
            if of_kernels {
                return crate::print(&self.kernels_text(lowered)?);
            }
        }
        let module = &build.model().module;
        match (&self.same_as, &self.params_out) {
            (Some(other), _) => self.compare(module, other),
            (None, Some(path)) => print_without_constants(module, path),
            (None, None) => crate::print(&module_text(module, &PrintOptions::default())),
        }
    }

    /// The compiler's options.
    fn options(&self) -> Result<Options, Failure> {
        let defaults = Options::default();
        let tuned = self.tune_file.as_deref().map(PlanFile::read_records).transpose()?.map(Arc::new);
        let sizes = self.sizes.sizes();
        if tuned.is_none() {
            refuse(&[("--tune-size", !sizes.is_empty())], "`--tune-file` names a file of plans that were measured")?;
        }
        Ok(Options {
            level: self.level.unwrap_or(defaults.level),
            target: self.target.cpu()?,
            gpu: self.target.gpu_for(self.allow_tf32)?,
            libraries: self.target.libraries(self.strict_order)?,
            threads: self.threads.map_or(defaults.threads, usize::from),
            quantization: self.quantize.quantization(),
            quantized_activations: self.quantize.activations(),
            explain_fusion: self.watch.explain_fusion,
            strict_order: self.strict_order,
            allow_tf32: self.allow_tf32,
            plans: self.plan.as_deref().map(PlanFile::read).transpose()?.map(Arc::new),
            tuned,
            sizes,
            cache: self.cache.open().ok(),
            ..defaults
        })
    }

    /// The module once the passes of the level have lowered a copy of it.
    fn lowered<'a>(&self, build: &Build, dump: &mut Dump, messages: &'a mut Messages) -> Result<Build<'a>, Failure> {
        let mut model = build.model().clone();
        model.bind_weights(None)?;
        let mut lowered = Build::new(model, build.options().clone(), messages);
        lowered.run_passes(&build.options().level_pipeline(), dump)?;
        Ok(lowered)
    }

    /// Kernels of a lowered module at the stage of `--emit`, or their plans without it.
    fn kernels_text(&self, build: &Build) -> Result<String, Failure> {
        let text = |module: &Module| module_text(module, &PrintOptions::default());
        if let Some(count) = self.emit.as_deref().and_then(transform_count) {
            return Ok(text(&build.stages(count)?));
        }
        let steps = if build.options().gpu.is_some() { GPU_STEPS } else { STEPS };
        let step = match self.emit.as_deref() {
            None | Some("plan") => return Ok(plans_text(&build.plans()?)),
            Some("tir") => steps.first(),
            Some("flat") => None,
            Some(stage) => {
                let is_other = !steps.iter().any(|step| step.name == stage);
                let other = if build.options().gpu.is_some() { "CPUs" } else { "GPUs" };
                refuse(&[("--emit", is_other)], &format!("`{stage}` is a step for {other}"))?;
                steps.iter().skip_while(|step| step.name != stage).nth(1)
            }
        };
        let kernels = build.before_step(step.map(|step| step.name))?;
        Ok(text(&kernels))
    }

    /// Prints the kernels' stages after each transform that `--print-after` names.
    fn print_transforms(&self, build: &Build) -> Result<(), Failure> {
        for (position, transform) in TRANSFORMS.iter().enumerate() {
            if self.watch.print_after.iter().any(|name| name == transform.name) {
                let kernels = build.stages(position + 1)?;
                say(&format!("# after {}\n{}\n", transform.name, module_text(&kernels, &PrintOptions::default())))?;
            }
        }
        Ok(())
    }

    fn write_plan(&self, path: &Path, plans: &IndexMap<Name, MemoryPlan>) -> Result<(), Failure> {
        let plan = if self.json { format!("{}\n", json_of(plans)) } else { svg_of(plans) };
        write_file(path, Content::Text, |out| out.write_all(plan.as_bytes()))
    }

    /// The passes: those of a list, or of the file that it names, or those that compile a module.
    fn pipeline(&self) -> Result<Pipeline, Failure> {
        let watched = self.bisect.is_some() || self.watch.given().iter().any(|(_, given)| *given);
        let (quantize, libs) = (self.quantize.given(), self.target.given_libs());
        if self.passes.is_some() {
            let [weights, activations] = quantize;
            refuse(&[weights], "`--passes` says which passes run: `QuantizeWeights` can be one of them")?;
            refuse(&[activations], "`--passes` says which passes run: `QuantizeActivations` can be one of them")?;
            refuse(&[libs], "`--passes` says which passes run: `FuseOpsByPattern` and `RunCodegen` can be among them")?;
        }
        let list = match (&self.passes, self.level) {
            (Some(list), _) => list,
            (None, Some(level)) => return self.level_pipeline(level),
            (None, None) if watched || quantize.iter().any(|flag| flag.1) || libs.1 => {
                return self.level_pipeline(Options::default().level);
            }
            (None, None) => return Ok(Pipeline::default()),
        };
        read_pipeline(list)
    }

    /// Passes that lower a module at a level.
    fn level_pipeline(&self, level: u8) -> Result<Pipeline, Failure> {
        let (quantization, strict_order) = (self.quantize.quantization(), self.strict_order);
        let (gpu, libraries) = (self.target.gpu()?, self.target.libraries(strict_order)?);
        let quantized_activations = self.quantize.activations();
        let defaults = Options::default();
        let options = Options { gpu, libraries, level, quantization, quantized_activations, strict_order, ..defaults };
        Ok(options.level_pipeline())
    }

    /// Fails unless the other file has the same module.
    fn compare(&self, module: &Module, other: &str) -> Result<(), Failure> {
        let (expected, ..) = self.module.of_file(other).model_file()?.read()?;
        equal::modules(module, &expected).map_err(|difference| {
            let path = match difference.path.as_slice() {
                [] => "as a whole".to_owned(),
                path => format!("at `{}`", path.join(".")),
            };
            let message = format!("{} and {other} differ {path}", self.module.file);
            let (left, right) = (difference.left, difference.right);
            Failure::new(codes::MODULES_DIFFER, message).help(format!("the first has {left}, the second {right}"))
        })
    }
}

/// Values of `--emit`: named stages and the steps of lowering.
fn stages() -> Vec<&'static str> {
    let transforms = TRANSFORMS.iter().map(|transform| transform.name);
    let steps = STEPS.iter().chain(gpu_steps()).map(|step| step.name);
    ["tir", "stages", "plan", "flat"].into_iter().chain(steps).chain(transforms).collect()
}

/// Steps of lowering for GPUs that those for CPUs do not have.
pub fn gpu_steps() -> impl Iterator<Item = &'static Step> {
    GPU_STEPS.iter().filter(|step| !STEPS.iter().any(|other| other.name == step.name))
}

/// Returns true if a transform of stages has this name.
fn is_transform(name: &str) -> bool {
    TRANSFORMS.iter().any(|transform| transform.name == name)
}

/// Number of transforms of stages that run before `--emit NAME` prints: up to that of the name, or all for `stages`.
fn transform_count(name: &str) -> Option<usize> {
    let position = TRANSFORMS.iter().position(|transform| transform.name == name);
    position.map(|position| position + 1).or((name == "stages").then_some(TRANSFORMS.len()))
}

/// Each kernel with its plan.
fn plans_text(plans: &[(String, String)]) -> String {
    let lines = |plan: &str| plan.lines().map(|line| format!("    {line}\n")).collect::<String>();
    plans.iter().map(|(name, plan)| format!("{name}:\n{}", lines(plan))).collect()
}

/// Notes that the text does not contain the object code of code generators.
fn note_objects(build: &Build) -> Result<(), Failure> {
    if !build.has_objects() {
        return Ok(());
    }
    let message = "the text calls what code generators made, and cannot hold it";
    let note = Diagnostic::note(codes::CODE_GENERATOR, message);
    say(&Failure::from(note.help("`hammock compile --passes` and `hammock run --passes` link it")).render(false))
}

/// Adds the files that a list of passes names: its own (`@FILE`), and those that options of passes name.
pub fn reads_pipeline(files: &mut CommandFiles, list: &str, pipeline: &Pipeline) {
    list.strip_prefix('@').iter().for_each(|path| files.reads("--passes @", path));
    for step in &pipeline.steps {
        let texts = step.options.given_texts().into_iter().filter(|text| Path::new(text).is_file());
        texts.for_each(|path| files.reads(&format!("--passes {}", step.pass.name), path));
    }
}

/// A list of passes, or that of the file that it names: `@FILE`.
pub fn read_pipeline(list: &str) -> Result<Pipeline, Failure> {
    let Some(path) = list.strip_prefix('@') else { return Ok(Pipeline::parse(list)?) };
    let text = read_source(path)?.ok_or_else(|| {
        Failure::new(codes::UNSUPPORTED_FILE, format!("{path} is a compiled executable, not a list of passes"))
    })?;
    let lines = text.text().lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines: Vec<&str> = lines.map(|line| line.trim_end_matches(',')).collect();
    Ok(Pipeline::parse(&lines.join(","))?)
}

/// Prints a module, and writes its constants to a separate file under the numbers that the text gives them.
fn print_without_constants(module: &Module, path: &Path) -> Result<(), Failure> {
    let named: Vec<_> = constants(module).into_iter().enumerate().map(|(i, t)| (i.to_string(), t)).collect();
    write_weights(path, &named)?;
    crate::print(&module_text(module, &PrintOptions { metadata: Metadata::NoConstants }))
}
