//! Choice of plans by the rules of the machine: those for CPUs, or those for GPUs.

use super::{PartPlan, Plan, RowsPlan, Rule, ScheduleContext, StagePlan, cpu, gpu};
use hammock_loopnest::{Kernel, OpaqueStmts, Part, Stage, row_tiling::Rows};

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
