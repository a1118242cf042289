//! What rules know when they choose a plan.

use hammock_target::Target;

/// Context of scheduling.
#[derive(Clone, Copy)]
pub struct ScheduleContext<'a> {
    /// The target machine.
    pub target: &'a Target,
    /// True if reductions must combine elements in program order.
    pub strict_order: bool,
}
