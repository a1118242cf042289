//! Options of a build.

use crate::{
    Cache, ExecMode, Failure, PlanFile, TextFiles,
    target::{self, check_cpu},
    tune::Sizes,
};
use hammock_ops::Table;
use hammock_passes::{
    Environment, Evaluator, Pipeline, StopCondition, exact_pipeline, gpu_pipeline, libraries::Library, pipeline,
    with_libraries, with_quantized_activations, with_quantized_weights,
};
use hammock_runtime::Image;
use hammock_target::{Gpu, Target};
use std::sync::Arc;

/// How a model is compiled.
#[derive(Clone)]
pub struct Options {
    /// CPU that kernels are compiled for, one of [`targets`](crate::targets): `native`, or a name such as `x86-64-v3`.
    pub target: String,
    /// GPU that kernels are compiled for; `target` then runs their host code.
    pub gpu: Option<Gpu>,
    /// Libraries of the GPU's vendor that compute what they can: see [`libraries`](crate::libraries).
    pub libraries: Vec<&'static Library>,
    /// Less capable CPUs that a library has kernels for as well, in ascending order of capability. Graphs are lowered for `target`.
    pub others: Vec<String>,
    /// Optimization level, 0 to 3.
    pub level: u8,
    /// Number of threads to compile with, and that kernels are planned for.
    pub threads: usize,
    /// Passes that run before those of the level.
    pub passes: Pipeline,
    /// Weight-only quantization.
    pub quantization: Option<Quantization>,
    /// True if activations of matmuls by quantized weights are quantized to int8 at run time.
    pub quantized_activations: bool,
    /// True if [`Progress::note`](crate::Progress::note) gets the cost estimates of row tiling.
    pub explain_fusion: bool,
    /// Precompiled bytecode that replaces the module's own; only kernels are compiled then.
    pub bytecode: Option<Arc<Image>>,
    /// How graphs and kernels run.
    pub exec_mode: ExecMode,
    /// Treatment of accesses that are not proved to be in bounds.
    pub bounds: Bounds,
    /// True if reductions keep the program's order of operations.
    pub strict_order: bool,
    /// True if tensor cores of a GPU may multiply float32 elements rounded to tf32, with sums of float32.
    pub allow_tf32: bool,
    /// Plans of kernels by name; rules choose plans for the others.
    pub plans: Option<Arc<PlanFile>>,
    /// Tuned plans, for kernels without one in `plans`: see [`PlanFile::read_records`].
    pub tuned: Option<Arc<PlanFile>>,
    /// Symbolic sizes that `tuned` is for, and that kernels are tuned at.
    pub sizes: Sizes,
    /// Cache of kernels' machine code.
    pub cache: Option<Arc<Cache>>,
    /// Name of a safetensors file next to the library that stores its constants.
    pub external_weights: Option<String>,
    /// True if the output has no names of source files and no source text.
    pub strip_source: bool,
    /// Condition under which compilation fails. (`--timeout` of the command line ends the process.)
    pub stop: StopCondition,
}

/// Treatment of buffer accesses that are not proved to be in bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bounds {
    /// Checked at run time; an access out of bounds is an error.
    #[default]
    Checked,
    /// Not checked: an access out of bounds is undefined behaviour.
    Unchecked,
}

/// Weight-only quantization of constant matmul weights: see the pass `QuantizeWeights`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantization {
    /// `int8` or `int4`.
    pub dtype: &'static str,
    /// Number of rows that share a scale; `None` for all with int8, 32 with int4.
    pub group: Option<i64>,
}

impl Default for Options {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        Options {
            target: "native".into(),
            gpu: None,
            libraries: Vec::new(),
            others: Vec::new(),
            level: 2,
            threads,
            passes: Pipeline::default(),
            quantization: None,
            quantized_activations: false,
            explain_fusion: false,
            bytecode: None,
            exec_mode: ExecMode::default(),
            bounds: Bounds::default(),
            strict_order: false,
            allow_tf32: false,
            plans: None,
            tuned: None,
            sizes: Sizes::default(),
            cache: None,
            external_weights: None,
            strip_source: false,
            stop: StopCondition::default(),
        }
    }
}

impl Options {
    /// The same options for several CPUs (function multiversioning): the best match is picked at load time.
    ///
    /// # Errors
    /// If a name is not a target.
    pub fn for_several(self, names: &[String]) -> Result<Options, Failure> {
        let mut targets: Vec<(Target, &String)> = Vec::new();
        for name in names {
            check_cpu(name)?;
            let new = target::target(name).filter(|new| targets.iter().all(|(known, _)| known.cpu != new.cpu));
            targets.extend(new.map(|new| (new, name)));
        }
        targets.sort_by_key(|(target, _)| (target.vector_bytes, target.features.len()));
        let Some((_, target)) = targets.pop() else { return Ok(self) };
        let others = targets.into_iter().map(|(_, name)| name.clone()).collect();
        Ok(Options { target: target.clone(), others, ..self })
    }

    /// Targets of the kernels, the most capable last.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &String> {
        self.others.iter().chain([&self.target])
    }

    /// Passes that lower a module to the VM's level: `passes`, then those of the level.
    pub fn pipeline(&self) -> Pipeline {
        let mut passes = self.passes.clone();
        passes.steps.extend(self.level_pipeline().steps);
        passes
    }

    /// Passes of the level, with those of `libraries` and of quantization.
    pub fn level_pipeline(&self) -> Pipeline {
        let passes = if self.strict_order { exact_pipeline(self.level) } else { pipeline(self.level) };
        let passes = if self.gpu.is_some() { gpu_pipeline(passes) } else { passes };
        let passes = with_libraries(passes, &self.libraries);
        let passes = match self.quantization {
            Some(Quantization { dtype, group }) => with_quantized_weights(passes, dtype, group.unwrap_or(0)),
            None => passes,
        };
        if self.quantized_activations { with_quantized_activations(passes) } else { passes }
    }

    /// Environment of passes; `evaluator` runs kernels whose results become constants.
    pub fn environment<'a>(&'a self, evaluator: &'a dyn Evaluator) -> Environment<'a> {
        Environment {
            target: &self.target,
            gpu: self.gpu,
            level: self.level,
            operators: &Table,
            evaluator,
            planner: self,
            weights: None,
            texts: &TextFiles,
            notes: None,
            reports: None,
            codegens: None,
            stop: &self.stop,
        }
    }
}
