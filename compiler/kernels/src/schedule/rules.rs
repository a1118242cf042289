//! Rules, and the choice between those for CPUs and those for GPUs.

use super::{Loop, PartPlan, Plan, RowsPlan, ScheduleContext, StagePlan, Staged, cpu, gpu};
use hammock_loopnest::{Kernel, OpaqueStmts, Part, Stage, row_tiling::Rows};

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

impl ScheduleContext<'_> {
    /// Returns the rules of the machine, in the order in which they are tried.
    pub fn rules(self) -> &'static [&'static Rule] {
        if self.gpu.is_some() { gpu::RULES } else { cpu::RULES }
    }

    /// Plans every part of a kernel.
    pub fn choose(self, kernel: &Kernel) -> Plan {
        let part = |part: &Part| match part {
            Part::Stage(stage) => PartPlan::Stage(self.stage_plan(stage)),
            Part::Rows(rows) => PartPlan::Rows(self.rows_plan(rows)),
            Part::Opaque(other) => self.opaque_plan(other),
        };
        Plan { parts: kernel.parts.iter().map(part).collect() }
    }

    /// Plans a stage by the first rule that matches.
    pub fn stage_plan(self, stage: &Stage) -> StagePlan {
        if self.gpu.is_some() { gpu::stage_plan(stage, self) } else { cpu::stage_plan(stage, self) }
    }

    /// Returns the plans of all rules that match a stage.
    pub fn stage_plans(self, stage: &Stage) -> Vec<StagePlan> {
        if self.gpu.is_some() {
            gpu::stage_plans(stage, self).collect()
        } else {
            cpu::stage_plans(stage, self).collect()
        }
    }

    /// Plans row-tiled stages.
    pub fn rows_plan(self, rows: &Rows) -> RowsPlan {
        if self.gpu.is_some() { gpu::rows_plan(rows, self) } else { cpu::rows_plan(rows, self, None) }
    }

    /// Plans opaque statements.
    pub fn opaque_plan(self, other: &OpaqueStmts) -> PartPlan {
        if self.gpu.is_some() { gpu::opaque_plan(other) } else { cpu::opaque_plan(other) }
    }
}
