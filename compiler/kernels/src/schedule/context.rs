//! Context of a scheduling decision: the target, and the options that affect plans.

use hammock_target::Target;

/// Context of scheduling.
#[derive(Clone, Copy)]
pub struct ScheduleContext<'a> {
    /// The target machine.
    pub target: &'a Target,
    /// True if reductions must combine elements in program order.
    pub strict_order: bool,
}
