//! What passes may ask for.

use crate::{Options, Pass};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    DType, Module, Tensor,
    prim::IndexMap,
    relax::{OpTable, pattern::NamedPattern},
    tir::PrimFunc,
};
use hammock_runtime::Any;
use std::time::Instant;

/// What one run of a pass may ask for.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The pass's options.
    pub options: &'a Options,
    /// What is the same for all passes of a pipeline.
    pub environment: &'a Environment<'a>,
}

impl Context<'_> {
    /// Runs another pass with its default options, as a part of this one.
    ///
    /// # Errors
    /// That pass's.
    pub fn then(&self, pass: &'static Pass, module: &mut Module) -> Result<(), Diagnostic> {
        (pass.run)(module, &Context { options: &Options::of(pass), environment: self.environment })
    }

    /// Says why something was fused, or not, to whoever wants to know.
    pub fn note(&self, text: impl FnOnce() -> String) {
        if let Some(notes) = self.environment.notes {
            notes(&text());
        }
    }

    /// Says what the user of a pass should know of its result.
    pub fn report(&self, text: impl FnOnce() -> String) {
        if let Some(reports) = self.environment.reports {
            reports(&text());
        }
    }
}

/// What is the same for all passes of a pipeline.
#[derive(Clone, Copy)]
pub struct Environment<'a> {
    /// What the module is compiled for: `native`, or a processor's name.
    pub target: &'a str,
    /// How much to optimise, 0 to 3.
    pub level: u8,
    /// What is known of operators.
    pub operators: &'a dyn OpTable,
    /// Runs kernels at compile time.
    pub evaluator: &'a dyn Evaluator,
    /// How kernels are computed.
    pub planner: &'a dyn Planner,
    /// Tensors for parameters of their names.
    pub weights: Option<&'a dyn NamedTensors>,
    /// Reads what options give as text.
    pub texts: &'a dyn Texts,
    /// Who wants to know why kernels are fused, or not.
    pub notes: Option<&'a dyn Fn(&str)>,
    /// Who wants to know what a pass did that its name does not say, such as what it cost in accuracy.
    pub reports: Option<&'a dyn Fn(&str)>,
    /// Code generators of others; none where nobody would link what they make.
    pub codegens: Option<&'a dyn CodeGenerators>,
    /// When compiling is to have ended: no pass begins after that.
    pub deadline: Option<Instant>,
}

/// Fails once compiling takes too long.
///
/// # Errors
/// When there is a deadline, and it has passed.
pub fn check_deadline(deadline: Option<Instant>) -> Result<(), Diagnostic> {
    match deadline {
        Some(deadline) if Instant::now() >= deadline => {
            Err(Diagnostic::error(codes::RUN_FAILED, "TimeoutError: compiling exceeded its time limit"))
        }
        _ => Ok(()),
    }
}

/// Runs kernels while a module is compiled.
pub trait Evaluator {
    /// The tensors that a kernel of a module computes: it is called with `inputs` (tensors and numbers), then fresh
    /// tensors of these shapes and dtypes.
    ///
    /// # Errors
    /// The reason when it cannot run here: it may not end, needs too much time, calls what is unknown at compile time,
    /// or fails.
    fn call_tir(
        &self,
        module: &Module,
        kernel: &PrimFunc,
        inputs: &[Any],
        outputs: &[(Vec<i64>, DType)],
    ) -> Result<Vec<Tensor>, String>;
}

/// How a parameter is copied in blocks before a kernel uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The number of the parameter.
    pub param: usize,
    /// The dimension of its buffer that is divided into blocks.
    pub dim: usize,
    /// How many elements a block has.
    pub block: i64,
    /// Whether several elements of another dimension lie side by side.
    pub words: Option<Words>,
}

/// How terms of sums are packed in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// The dimension of the terms.
    pub dim: usize,
    /// How many a word has.
    pub terms: i64,
    /// True if bytes that both are signed, or both unsigned, are worth multiplying as signed with unsigned ones.
    pub moved: bool,
}

/// Knows how kernels are computed, about which passes know nothing.
pub trait Planner {
    /// The parameters of a kernel that are worth copying in blocks before it runs.
    fn packed(&self, kernel: &PrimFunc) -> Vec<Packed>;
}

/// Reads what options of passes give as text, about which passes know nothing.
pub trait Texts {
    /// The module of a text file. Its functions stand nowhere in the text that is compiled: they have no spans.
    ///
    /// # Errors
    /// When the file cannot be read, or is no well-formed module.
    fn module(&self, path: &str) -> Result<Module, Diagnostic>;

    /// An index map over int64 indices, `lambda i, j: (j, i // 4, i % 4)`.
    ///
    /// # Errors
    /// When the text is none.
    fn index_map(&self, text: &str) -> Result<IndexMap, Diagnostic>;

    /// The patterns of a file.
    ///
    /// # Errors
    /// When the file cannot be read, or something in it is no pattern.
    fn patterns(&self, path: &str) -> Result<Vec<NamedPattern>, Diagnostic>;

    /// A pattern of that name and text.
    ///
    /// # Errors
    /// When the text is no pattern.
    fn pattern(&self, name: &str, text: &str) -> Result<NamedPattern, Diagnostic>;
}

/// Code generators of others, which compile functions that are theirs.
pub trait CodeGenerators {
    /// Has one compile the functions of a module that have the attribute `Codegen`.
    ///
    /// # Errors
    /// When there is none of that name, or it fails.
    fn generate(&self, by: Generator, functions: &Module) -> Result<(), Diagnostic>;
}

/// Which code generator is asked, and how.
#[derive(Clone, Copy)]
pub struct Generator<'a> {
    /// Its name: that of the attribute.
    pub name: &'a str,
    /// The program that it is; one that is registered when there is none.
    pub program: Option<&'a str>,
    /// What it is told: an object.
    pub options: &'a serde_json::Value,
}

/// Tensors by the names of parameters.
pub trait NamedTensors {
    /// The tensor for a parameter of this name, and what it is called where it comes from.
    fn named(&self, parameter: &str) -> Option<(&str, &Tensor)>;
}
