//! Evaluates kernels at compile time, for passes that fold constants.
//!
//! Short calls are interpreted, which is faster than compiling. Longer ones run as machine code for the host, whatever the
//! target. Calls that may not terminate, or would take too long, are not evaluated.

mod spill_constants;
mod work;

use crate::{Cache, reference};
#[cfg(feature = "native")]
use crate::{
    Options,
    kernels::{self, CompileError, Compiler, SYMBOL},
};
#[cfg(feature = "native")]
use hammock_codegen::llvm::{Host, OptLevel};
use hammock_ir::{DType, Function as Global, Module, Tensor, equal, hash, tir::PrimFunc};
use hammock_kernels::inline_calls;
use hammock_passes::StopCondition;
use hammock_runtime::{Any, Function};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    sync::Arc,
};

/// Maximum number of steps that are interpreted: those of the break-even with compiling.
const FEW: u64 = 1 << 16;

/// The same without a code generator: less than a minute.
const INTERPRETED: u64 = 1 << 24;

/// Maximum number of steps of machine code: some seconds, minutes for slow ones.
const COMPILED: u64 = 1 << 36;

/// Runs kernels.
#[derive(Default)]
pub struct Evaluator {
    /// True if all kernels are interpreted.
    interprets: bool,
    /// Compiled kernels by structural hash.
    made: RefCell<HashMap<u64, Vec<(Global, Made)>>>,
    /// Cache of machine code.
    #[cfg_attr(not(feature = "native"), allow(dead_code, reason = "there is none"))]
    cache: Option<Arc<Cache>>,
    /// Number of kernels that were compiled.
    compiled: Cell<usize>,
    /// Condition under which no further kernel is run.
    stop: StopCondition,
}

const WRITES_INPUT: &str = "it writes into what it is given";

/// A kernel ready to be called, or the reason why it cannot be compiled.
type Made = Result<Function, String>;

impl Evaluator {
    /// An evaluator that runs machine code, if this build has a code generator.
    pub fn new() -> Self {
        Evaluator { interprets: !cfg!(feature = "native"), ..Evaluator::default() }
    }

    /// The same with a cache of machine code.
    pub fn with_cache(cache: Option<Arc<Cache>>) -> Self {
        Evaluator { cache, ..Evaluator::new() }
    }

    /// The same evaluator, which runs no further kernel under this condition.
    pub fn until(self, stop: StopCondition) -> Self {
        Evaluator { stop, ..self }
    }

    /// Number of kernels that were compiled; the others were in the cache.
    pub fn compiled(&self) -> usize {
        self.compiled.get()
    }

    /// An evaluator that interprets all kernels: the reference.
    pub fn interpreting() -> Self {
        Evaluator { interprets: true, ..Evaluator::default() }
    }

    /// Machine code of a kernel without calls of other kernels.
    fn native(&self, func: &PrimFunc, inputs: usize) -> Made {
        let func = Global::Tir(func.clone());
        let mut made = self.made.borrow_mut();
        let alike = made.entry(hash::function(&func)).or_default();
        if let Some((_, made)) = alike.iter().find(|(known, _)| equal::functions(known, &func).is_ok()) {
            return made.clone();
        }
        let Global::Tir(kernel) = &func else { return Err(String::new()) };
        let made = self.compile(kernel, inputs);
        alike.push((func, made.clone()));
        made
    }

    /// Compiles a kernel for the host, and loads it.
    #[cfg(feature = "native")]
    fn compile(&self, kernel: &PrimFunc, inputs: usize) -> Made {
        let target = kernels::target(&Options::default(), 1);
        let compiler = Compiler { level: OptLevel::Lean, host: Host::Hammock, cache: self.cache.as_deref() };
        let compiled = compiler.compile(SYMBOL, kernel.clone(), hammock_kernels::Options::new(&target));
        let compiled = compiled.map_err(|error| match error {
            CompileError::Lowering(error) => error.to_string(),
            CompileError::Code(message) => message,
        })?;
        self.compiled.set(self.compiled.get() + usize::from(!compiled.is_cached));
        if compiled.signature.params.iter().take(inputs).any(|param| param.is_written) {
            return Err(WRITES_INPUT.to_owned());
        }
        compiled.load()
    }

    /// Fails: this build has no code generator.
    #[cfg(not(feature = "native"))]
    fn compile(&self, _: &PrimFunc, _: usize) -> Made {
        Err("this build makes no machine code".to_owned())
    }
}

impl hammock_passes::Evaluator for Evaluator {
    fn call_tir(
        &self,
        module: &Module,
        kernel: &PrimFunc,
        inputs: &[Any],
        outputs: &[(Vec<i64>, DType)],
    ) -> Result<Vec<Tensor>, String> {
        if let Some(reason) = self.stop.reason() {
            return Err(reason.to_string());
        }
        let kernel = inline_calls(kernel, &|name| module.tir(name), &|_| None).map_err(|e| e.to_string())?;
        if kernel.body.runs_functions() {
            return Err("it calls functions that are not of the module".to_owned());
        }
        let mut args = inputs.to_vec();
        for (shape, dtype) in outputs {
            args.push(spill_constants::output(*dtype, shape).map_err(|e| e.to_string())?.into());
        }
        let steps = work::steps(&kernel, &args).ok_or("nothing says how long it takes")?;
        if steps > self.max_steps() {
            return Err(format!("it takes {steps} steps, which are too many"));
        }
        if steps <= FEW || self.interprets {
            let (_, written) = reference::interpret(&kernel, &args).map_err(|e| e.to_string())?;
            if written.iter().any(|(i, _)| *i < inputs.len()) {
                return Err(WRITES_INPUT.to_owned());
            }
            written.into_iter().for_each(|(i, tensor)| args[i] = tensor.into());
        } else {
            let kernel = self.native(&kernel, inputs.len())?;
            let tensors: Vec<Tensor> = args.iter().filter_map(Any::get).collect();
            spill_constants::during(&tensors, || kernel.call(&args)).map_err(|e| e.to_string())?;
            drop(tensors);
        }
        Ok(args.drain(inputs.len()..).filter_map(|arg| arg.get()).collect())
    }

    fn max_steps(&self) -> u64 {
        if self.interprets { INTERPRETED } else { COMPILED }
    }
}
