//! Rules: ways to schedule stages of one kind.

use super::{Loop, ScheduleContext, Staged};
use hammock_loopnest::Stage;

/// A way to schedule stages of one kind.
pub struct Rule {
    /// Name in plans.
    pub name: &'static str,
    /// Name of the kind of stages that it matches.
    pub class: &'static str,
    /// Reason to choose it, in a few words.
    pub why: &'static str,
    /// Stages that it matches, loops that it chooses, and why.
    pub doc: &'static str,
    /// Returns the loops for a stage that it matches, outermost first; for a CPU, not yet parallel.
    pub(super) plan: fn(&Stage, &ScheduleContext) -> Option<Loops>,
}

/// Loops and copies that a rule chooses.
pub(super) struct Loops {
    pub loops: Vec<Loop>,
    pub staged: Vec<Staged>,
}

impl From<Vec<Loop>> for Loops {
    fn from(loops: Vec<Loop>) -> Loops {
        Loops { loops, staged: Vec::new() }
    }
}
