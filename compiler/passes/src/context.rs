//! Services and settings that passes use.

use crate::{Options, Pass, StopCondition};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    DType, Module, Tensor,
    prim::IndexMap,
    relax::{OpTable, pattern::NamedPattern},
    tir::PrimFunc,
};
use hammock_loopnest::PackedParam;
use hammock_runtime::Any;
use hammock_target::Gpu;

/// Context of one run of a pass.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The pass's options.
    pub options: &'a Options,
    /// Services and settings shared by all passes of a pipeline.
    pub environment: &'a Environment<'a>,
}

impl Context<'_> {
    /// Runs another pass with its default options, as a part of this pass.
    ///
    /// # Errors
    /// That pass's.
    pub fn then(&self, pass: &'static Pass, module: &mut Module) -> Result<(), Diagnostic> {
        (pass.run)(module, &Context { options: &Options::of(pass), environment: self.environment })
    }

    /// Reports why something was fused or not (`--explain-fusion`).
    pub fn note(&self, text: impl FnOnce() -> String) {
        if let Some(notes) = self.environment.notes {
            notes(&text());
        }
    }

    /// Reports a fact about the result, such as the accuracy lost.
    pub fn report(&self, text: impl FnOnce() -> String) {
        if let Some(reports) = self.environment.reports {
            reports(&text());
        }
    }
}

/// Services and settings shared by all passes of a pipeline.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// Target: `native`, or a processor's name.
    pub target: &'a str,
    /// GPU that kernels are compiled for; the target then runs their host code.
    pub gpu: Option<Gpu>,
    /// Optimization level, 0 to 3.
    pub level: u8,
    /// Table of operators.
    pub operators: &'a dyn OpTable,
    /// Runs kernels at compile time, to fold constants.
    pub evaluator: &'a dyn Evaluator,
    /// Predicts how kernels will be scheduled.
    pub planner: &'a dyn Planner,
    /// Weights, by names of parameters.
    pub weights: Option<&'a dyn NamedTensors>,
    /// Parses options that are text or file names.
    pub texts: &'a dyn Texts,
    /// Callback that receives the reasons why kernels are fused or not.
    pub notes: Option<&'a dyn Fn(&str)>,
    /// Callback that receives facts about the result, such as the accuracy lost.
    pub reports: Option<&'a dyn Fn(&str)>,
    /// External code generators; `None` where their code cannot be linked.
    pub codegens: Option<&'a dyn CodeGenerators>,
    /// Condition under which no further pass begins.
    pub stop: &'a StopCondition,
}

/// Runs kernels while a module is compiled.
pub trait Evaluator {
    /// Runs a kernel of a module on `inputs` (tensors and numbers) and returns its outputs, fresh tensors of the
    /// given shapes and dtypes.
    ///
    /// # Errors
    /// The reason why it cannot run at compile time: it may not terminate, takes too long, calls an unknown function,
    /// or fails.
    fn call_tir(
        &self,
        module: &Module,
        kernel: &PrimFunc,
        inputs: &[Any],
        outputs: &[(Vec<i64>, DType)],
    ) -> Result<Vec<Tensor>, String>;

    /// Number of steps up to which kernels are run.
    fn max_steps(&self) -> u64;
}

/// Predicts how kernels will be scheduled.
pub trait Planner {
    /// Returns the parameters of a kernel that are worth packing ahead of it.
    fn packed(&self, kernel: &PrimFunc) -> Vec<PackedParam>;
}

/// Parser of options that are text, which passes themselves cannot read.
pub trait Texts {
    /// Reads a module from a file. Its functions have no spans: they are not in the text that is being compiled.
    ///
    /// # Errors
    /// If the file cannot be read, or is no well-formed module.
    fn module(&self, path: &str) -> Result<Module, Diagnostic>;

    /// Parses an index map over int64 indices, `lambda i, j: (j, i // 4, i % 4)`.
    ///
    /// # Errors
    /// If the text is not an index map.
    fn index_map(&self, text: &str) -> Result<IndexMap, Diagnostic>;

    /// Reads the patterns in a file.
    ///
    /// # Errors
    /// If the file cannot be read, or something in it is not a pattern.
    fn patterns(&self, path: &str) -> Result<Vec<NamedPattern>, Diagnostic>;

    /// Parses the text of a pattern and names it.
    ///
    /// # Errors
    /// If the text is not a pattern.
    fn pattern(&self, name: &str, text: &str) -> Result<NamedPattern, Diagnostic>;
}

/// External code generators, which compile the functions annotated for them.
pub trait CodeGenerators {
    /// Runs a code generator on a module's functions that have the attribute `Codegen`.
    ///
    /// # Errors
    /// If there is no code generator of that name, or it fails.
    fn generate(&self, by: Generator, functions: &Module) -> Result<(), Diagnostic>;
}

/// Request to an external code generator.
#[derive(Clone, Copy)]
pub struct Generator<'a> {
    /// Its name, the value of the attribute.
    pub name: &'a str,
    /// Its executable; `None` for a registered code generator.
    pub program: Option<&'a str>,
    /// Its options: a JSON object.
    pub options: &'a serde_json::Value,
}

/// Tensors by names of parameters.
pub trait NamedTensors {
    /// Returns the tensor for a parameter of this name, and its name in the source of the weights.
    fn named(&self, parameter: &str) -> Option<(&str, &Tensor)>;
}
