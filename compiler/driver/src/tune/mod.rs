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
mod record;
#[cfg(feature = "native")]
mod search;
mod sizes;

use crate::{Failure, Options};
use hammock_diagnostics::SourceFile;
use hammock_ir::Module;
pub use record::Record;
pub use sizes::{Sizes, is_bucket};
use std::time::Duration;

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
