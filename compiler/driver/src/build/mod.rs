//! A build: a model's way to a file or a session, one step at a time.
//!
//! ```no_run
//! use hammock_compiler::{Build, Dump, Emit, Model, ModelFile, Options, Silent};
//!
//! # fn main() -> Result<(), hammock_compiler::Failure> {
//! let file = ModelFile { path: "model.onnx".into(), ..ModelFile::default() };
//! let mut model = Model::read(&file, None, &mut Silent)?;
//! model.bind_weights(None)?;
//! let mut progress = Silent;
//! let mut build = Build::new(model, Options::default(), &mut progress);
//! build.lower(&build.options().pipeline(), &mut Dump::default())?;
//! let artifact = build.compile(Emit::Lib)?;
//! std::fs::write("model.so", artifact.file.into_bytes()).unwrap();
//! # Ok(())
//! # }
//! ```

mod exec_mode;
mod options;
mod progress;

pub use exec_mode::ExecMode;
pub use options::{Bounds, Options, Quantization};
pub use progress::{Progress, Silent};

use crate::{
    Artifact, Codegens, Dump, Emit, Evaluator, Failure, Lowered, Model, PlanFile, Record, Temporaries, check_lowerable,
    kernels,
    model::{
        entry::{Kept, keep_kernel},
        params::Named,
    },
    reference, temporaries, tune,
};
use hammock_diagnostics::codes;
use hammock_ir::Module;
use hammock_kernels::schedule::Flops;
use hammock_passes::{Environment, NamedTensors, Observer, Pipeline, pipeline};
use hammock_tools::{RunOptions, Session};
use std::{cell::RefCell, sync::Arc, time::Duration};

/// A model that is being compiled.
pub struct Build<'a> {
    model: Model,
    options: Options,
    evaluator: Evaluator,
    codegens: Codegens,
    progress: RefCell<&'a mut dyn Progress>,
}

impl<'a> Build<'a> {
    /// A build of a model.
    pub fn new(model: Model, options: Options, progress: &'a mut dyn Progress) -> Build<'a> {
        let evaluator = match options.exec_mode {
            ExecMode::Reference => Evaluator::interpreting(),
            _ => Evaluator::with_cache(options.cache.clone()),
        };
        let evaluator = evaluator.until(options.stop.clone());
        Build { model, options, evaluator, codegens: Codegens::default(), progress: RefCell::new(progress) }
    }

    /// The model, as far as passes have lowered it.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Code generators, where those of the program can be registered.
    pub fn codegens(&mut self) -> &mut Codegens {
        &mut self.codegens
    }

    /// Returns true if a code generator has produced object code.
    pub fn has_objects(&self) -> bool {
        self.codegens.has_made_objects()
    }

    /// Number of kernels that were compiled to compute constants.
    pub fn constant_kernels(&self) -> usize {
        self.evaluator.compiled()
    }

    /// Reports that a stage begins.
    ///
    /// # Errors
    /// If the message cannot be written.
    pub fn begin(&self, stage: &'static str) -> Result<(), Failure> {
        self.progress.borrow_mut().begin(stage)
    }

    /// Runs passes that end at the VM's level, such as those of [`Options::pipeline`].
    ///
    /// # Errors
    /// If the module is not well formed, or cannot be lowered.
    pub fn lower(&mut self, passes: &Pipeline, observer: &mut dyn Observer) -> Result<(), Failure> {
        self.progress.borrow_mut().begin("passes")?;
        check_lowerable(&self.model.module, &self.model.source, self.options.gpu)?;
        self.run_passes(passes, observer)
    }

    /// Runs passes.
    ///
    /// # Errors
    /// If a pass fails.
    pub fn run_passes(&mut self, passes: &Pipeline, observer: &mut dyn Observer) -> Result<(), Failure> {
        let result = self.with_environment(|module, environment| passes.run(module, environment, observer));
        result.map_err(|error| Failure::from(error).within(&self.model.source))
    }

    /// Calls `f` with the module and the environment that passes run in.
    pub fn with_environment<R>(&mut self, f: impl FnOnce(&mut Module, &Environment) -> R) -> R {
        let Build { model: Model { module, weights, .. }, options, evaluator, codegens, progress } = self;
        let note = |text: &str| progress.borrow_mut().note(text);
        let weights = weights.as_ref().map(Named);
        let environment = Environment {
            notes: options.explain_fusion.then_some(&note),
            reports: Some(&note),
            codegens: Some(codegens),
            weights: weights.as_ref().map(|named| named as &dyn NamedTensors),
            ..options.environment(evaluator)
        };
        f(module, &environment)
    }

    /// Leaves only a kernel of the lowered module, and a function `main` that calls it: see [`keep_kernel`].
    ///
    /// # Errors
    /// If there is no such kernel.
    pub fn keep_kernel(&mut self, kernel: &str) -> Result<Kept, Failure> {
        let kept = keep_kernel(&mut self.model.module, kernel)?;
        let renamed = |plans: &Arc<PlanFile>| Arc::new(plans.only(kernel).renamed(kernel, &kept.name));
        self.options.plans = self.options.plans.as_ref().map(renamed);
        self.run_passes(&pipeline(0), &mut Dump::default())?;
        Ok(kept)
    }

    /// Tunes the lowered module's kernels on `threads` threads for about `time`, and uses the plans that are faster than those
    /// of the rules. `report` gets the share of the time that has passed, and the name of the next kernel. `name` is that of
    /// the file in which the plans will be stored, after those of [`Options::tuned`].
    ///
    /// # Errors
    /// If a kernel cannot be lowered, or this build has no code generator.
    pub fn tune(
        &mut self,
        time: Duration,
        threads: usize,
        name: &str,
        report: &mut dyn FnMut(f64, &str),
    ) -> Result<Vec<Record>, Failure> {
        let Model { module, source, .. } = &self.model;
        let records = tune(module, source, &self.options, threads, time, report)?;
        let tuned = PlanFile::with_records(self.options.tuned.as_deref(), &records, name)?;
        self.options.tuned = Some(Arc::new(tuned));
        Ok(records)
    }

    /// Compiles the lowered module.
    ///
    /// # Errors
    /// If something in it cannot be compiled; the diagnostic points at the text.
    pub fn compile(&mut self, emit: Emit) -> Result<Artifact, Failure> {
        self.progress.borrow_mut().begin("compiling kernels")?;
        let Model { module, source, signatures, .. } = &self.model;
        let objects = self.codegens.take_objects();
        let artifact = Lowered { module, source, signatures, objects: &objects }.compile(&self.options, emit)?;
        self.progress.borrow_mut().end_with(&artifact.times);
        Ok(artifact)
    }

    /// A session that interprets the lowered module's kernels.
    ///
    /// # Errors
    /// If the module cannot be compiled to bytecode, or code generators have produced object code.
    pub fn interpret(&self, run: &RunOptions) -> Result<Session, Failure> {
        if self.has_objects() {
            let message = "what code generators made is machine code, which `--exec-mode reference` does not run";
            let failure = Failure::new(codes::UNSUPPORTED_OPTION, message);
            return Err(failure.help("leave out `--exec-mode`, or `RunCodegen`"));
        }
        let Model { module, source, .. } = &self.model;
        reference(module, source, self.options.bytecode.as_deref(), run.options()).map(Session::from_vm)
    }

    /// Plan of each kernel of the lowered module as text, with the kernel's name.
    ///
    /// # Errors
    /// If a kernel cannot be lowered.
    pub fn plans(&self) -> Result<Vec<(String, String)>, Failure> {
        kernels::plans(&self.model.module, &self.model.source, &self.options)
    }

    /// Kernels of the lowered module before a step of lowering: see [`before_step`](crate::before_step).
    ///
    /// # Errors
    /// If a kernel cannot be lowered.
    pub fn before_step(&self, step: Option<&str>) -> Result<Module, Failure> {
        kernels::before_step(&self.model.module, &self.model.source, &self.options, step)
    }

    /// Stages of the lowered module's kernels after the first `count` of the [`TRANSFORMS`](crate::TRANSFORMS).
    ///
    /// # Errors
    /// If a kernel cannot be lowered.
    pub fn stages(&self, count: usize) -> Result<Module, Failure> {
        kernels::stages(&self.model.module, &self.model.source, &self.options, count)
    }

    /// Number of floating-point operations of each kernel, with its name: see [`flops`](crate::flops).
    ///
    /// # Errors
    /// If a kernel cannot be lowered.
    pub fn flops(&self) -> Result<Vec<(String, Option<Flops>)>, Failure> {
        kernels::flops(&self.model.module, &self.model.source, &self.options)
    }

    /// Temporaries of the lowered module's kernels.
    ///
    /// # Errors
    /// If a kernel cannot be lowered.
    pub fn temporaries(&self) -> Result<Temporaries, Failure> {
        temporaries(&self.model.module, &self.model.source, &self.options)
    }
}
