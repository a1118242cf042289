//! Plans by measuring: for each kernel, plans near the rule's are compiled, run and compared, and the fastest is kept.
//!
//! What is kept is a file of plans ([`PlanFile::read_records`]) whose kernels are called by what decides on their plans
//! ([`plan_key`](kernels::plan_key)): structure, target, threads. A kernel of sizes that are not known when it is compiled has
//! one plan for all of them: it is measured at several, and what counts is the geometric mean, or at those that a user names
//! ([`Sizes`]), for which there is a record of its own. A plan takes the place of the rule's only if it is faster by more than
//! measurements vary (`benchmark.rs`).

#[cfg(feature = "native")]
mod arguments;
#[cfg(feature = "native")]
mod benchmark;
#[cfg(feature = "native")]
mod search;
mod sizes;

use crate::{Failure, Options};
use hammock_diagnostics::SourceFile;
use hammock_ir::Module;
pub use sizes::{Sizes, is_bucket};
use std::{fmt, time::Duration};

/// What measuring found for a kernel.
#[derive(Clone, Debug)]
pub struct Record {
    /// The kernel's name, as one that has this plan.
    pub kernel: String,
    /// What decides on its plan.
    pub key: String,
    /// The plan, in which axes and what is copied are called by numbers.
    pub plan: String,
    /// The same with the kernel's own names.
    pub said: String,
    /// The sizes that it was measured at, where they are not those of the kernel: `n = 1, 16`.
    pub sizes: String,
    /// How many other plans were tried.
    pub tried: usize,
    /// Seconds of a call with the rule's plan, and with this one.
    pub times: [f64; 2],
}

impl Record {
    /// How many times as fast as the rule's plan it is.
    pub fn gain(&self) -> f64 {
        self.times[0] / self.times[1]
    }
}

/// The record as it stands in a file.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = self.times.map(|seconds| seconds * 1e3);
        let sizes = if self.sizes.is_empty() { String::new() } else { format!(", at {}", self.sizes) };
        writeln!(f, "# {}: {after:.4} ms, and {before:.4} ms as rules choose{sizes}:", self.kernel)?;
        self.said
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'))
            .try_for_each(|line| writeln!(f, "#     {line}"))?;
        writeln!(f, "{}:", self.key)?;
        self.plan.lines().try_for_each(|line| writeln!(f, "    {line}"))
    }
}

/// Looks for faster plans of a module's kernels on so many threads, for about as long as is given. Kernels that have a plan
/// in the options' files are left out. `report` is told what is done: which part of the time has passed, and which kernel
/// is next.
///
/// # Errors
/// When a kernel cannot be lowered, or this build compiles none.
pub fn tune(
    module: &Module,
    source: &SourceFile,
    options: &Options,
    threads: usize,
    time: Duration,
    report: &mut dyn FnMut(f64, &str),
) -> Result<Vec<Record>, Failure> {
    #[cfg(feature = "native")]
    return search::tune(module, source, options, threads, time, report);
    #[cfg(not(feature = "native"))]
    {
        let _ = (module, source, options, threads, time, report);
        let message = "this build of Hammock cannot measure kernels: it was made without the feature `llvm`";
        Err(Failure::new(hammock_diagnostics::codes::UNSUPPORTED_OPTION, message))
    }
}
