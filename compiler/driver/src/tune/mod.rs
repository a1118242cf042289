//! Autotuning: compiles, times and compares alternative plans of each kernel.
//!
//! The result is a file of plans ([`PlanFile::read_records`]) in which a kernel is named by its key
//! ([`plan_key`](crate::kernels::plan_key)): structure, target, threads. A kernel with dynamic sizes has one plan, the best by
//! geometric mean over several sizes, or one for each size that the user names ([`Sizes`]). A plan replaces the rule's only if it
//! is faster by more than the noise of measurements (`benchmark.rs`).

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

/// A tuned plan of a kernel.
#[derive(Clone, Debug)]
pub struct Record {
    /// Name of a kernel with this plan.
    pub kernel: String,
    /// Key of the kernel.
    pub key: String,
    /// The plan, with numbers for axes and packed operands.
    pub plan: String,
    /// The plan with the kernel's names.
    pub said: String,
    /// Values of dynamic sizes that it was measured at: `n = 1, 16`.
    pub sizes: String,
    /// Number of other plans that were measured.
    pub tried: usize,
    /// Seconds of a call with the rule's plan and with this one.
    pub times: [f64; 2],
}

impl Record {
    /// Speedup over the rule's plan.
    pub fn gain(&self) -> f64 {
        self.times[0] / self.times[1]
    }
}

/// The record as written to a file.
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

/// Searches faster plans of a module's kernels on `threads` threads, for about `time`. Kernels with a plan in the options' files
/// are left out. `report` gets the share of the time that has passed, and the name of the next kernel.
///
/// # Errors
/// If a kernel cannot be lowered, or this build has no code generator.
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
