//! Context of a scheduling decision: the target, and the options that affect plans.

use hammock_loopnest::Machine;
use hammock_target::{Gpu, Target};

/// Blocks of an SM that reduce parts of a long reduction at once.
const SM_BLOCKS: i64 = 4;

/// Context of scheduling.
#[derive(Clone, Copy)]
pub struct ScheduleContext<'a> {
    /// The target machine; for a GPU, its host.
    pub target: &'a Target,
    /// The GPU that kernels run on, if any.
    pub gpu: Option<&'a Gpu>,
    /// True if reductions must combine elements in program order.
    pub strict_order: bool,
    /// True if tensor cores may multiply float32, rounded to tf32.
    pub allow_tf32: bool,
    /// How often tiles of rows repeat a stage; 1 without them, or if that is unknown.
    pub repeats: i64,
}

impl ScheduleContext<'_> {
    /// Returns the kind of machine that stages are transformed for.
    pub fn machine(&self) -> Machine {
        match self.gpu {
            Some(gpu) => {
                let blocks = i64::from(gpu.sm_count) * SM_BLOCKS;
                Machine::Gpu { parts: (!self.strict_order).then_some(blocks) }
            }
            None => Machine::Cpu { masks: self.target.masks },
        }
    }
}
