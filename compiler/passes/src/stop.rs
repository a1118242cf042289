//! When compiling gives up: at a deadline, or once another thread cancels it.

use hammock_diagnostics::{Diagnostic, codes};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};

/// Condition under which compiling stops with an error. It is checked before each pass and each kernel; a single pass,
/// or LLVM at work on one kernel, is not interrupted. Clones share their flag.
#[derive(Clone, Debug, Default)]
pub struct StopCondition {
    deadline: Option<Instant>,
    cancelled: Arc<AtomicBool>,
}

/// Why compiling stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Another thread has cancelled it.
    Cancelled,
    /// The deadline has passed.
    Timeout,
}

impl StopCondition {
    /// A condition that also holds from `deadline` on.
    pub fn at(deadline: Instant) -> Self {
        StopCondition { deadline: Some(deadline), ..StopCondition::default() }
    }

    /// Deadline, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Makes the condition hold for all its clones, on any thread.
    pub fn cancel(&self) {
        self.cancelled.store(true, Relaxed);
    }

    /// Why compiling must stop now; `None` if it may go on.
    pub fn reason(&self) -> Option<StopReason> {
        if self.cancelled.load(Relaxed) {
            return Some(StopReason::Cancelled);
        }
        self.deadline.filter(|deadline| Instant::now() >= *deadline).map(|_| StopReason::Timeout)
    }

    /// Fails if compiling must stop.
    ///
    /// # Errors
    /// If it was cancelled, or the deadline has passed.
    pub fn check(&self) -> Result<(), Diagnostic> {
        let error = |reason: StopReason| Err(Diagnostic::error(codes::RUN_FAILED, reason.to_string()));
        self.reason().map_or(Ok(()), error)
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StopReason::Cancelled => "CancelledError: compiling was cancelled",
            StopReason::Timeout => "TimeoutError: compiling exceeded its time limit",
        })
    }
}
