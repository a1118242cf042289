//! Plans as text: a line for each stage, with the names of the stage's axes.

use super::{Loop, LoopKind, PartPlan, Plan, RowsPlan, StagePlan};
use crate::stage::{Kernel, Part, Stage, rows::Rows};
use std::fmt;

impl Plan {
    /// The plan of a kernel, to print.
    pub fn text<'a>(&'a self, kernel: &'a Kernel) -> impl fmt::Display + 'a {
        Text { plan: self, kernel }
    }
}

struct Text<'a> {
    plan: &'a Plan,
    kernel: &'a Kernel,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.parts.iter().zip(&self.kernel.parts).try_for_each(|part| match part {
            (PartPlan::Stage(plan), Part::Stage(stage)) => {
                stage_text(f, plan, &names(stage))?;
                writeln!(f)
            }
            (PartPlan::Rows(plan), Part::Rows(rows)) => rows_text(f, plan, rows),
            _ => writeln!(f, "as written"),
        })
    }
}

fn rows_text(f: &mut fmt::Formatter<'_>, plan: &RowsPlan, rows: &Rows) -> fmt::Result {
    for (copied, plan) in &plan.copied {
        let names = names(&rows.stages[copied.stage]);
        let own: Vec<String> = copied.axes.iter().map(|axis| names[*axis].clone()).collect();
        write!(f, "copy of load {} of stage {}, ", copied.load, copied.stage)?;
        stage_text(f, plan, &own)?;
        writeln!(f)?;
    }
    for (count, plans) in &plan.tiles {
        write!(f, "rows, {count} at a time")?;
        if let Some((axis, grain)) = plan.parallel {
            let name = rows.vars().nth(axis).map_or("?", |var| var.name().as_str());
            write!(f, ", {name} parallel by {grain}")?;
        }
        writeln!(f, ":")?;
        for (stage, plan) in rows.sample(*count).stages.iter().zip(plans) {
            write!(f, "    ")?;
            stage_text(f, plan, &names(stage))?;
            writeln!(f)?;
        }
    }
    Ok(())
}

fn stage_text(f: &mut fmt::Formatter<'_>, plan: &StagePlan, names: &[String]) -> fmt::Result {
    write!(f, "{}:", plan.rule)?;
    for (number, Loop { axis, step, kind }) in plan.loops.iter().enumerate() {
        copies_text(f, plan, number, names)?;
        write!(f, "{}{}", if number == 0 { " " } else { ", " }, names[*axis])?;
        if *step != 1 {
            write!(f, " by {step}")?;
        }
        match kind {
            LoopKind::Serial => {}
            LoopKind::Parallel(grain) => write!(f, " parallel {grain}")?,
            LoopKind::Unrolled => write!(f, " unrolled")?,
            LoopKind::Vector => write!(f, " vector")?,
        }
    }
    if plan.inverts { write!(f, ", divisor inverted") } else { Ok(()) }
}

/// The copies that are made inside so many loops.
fn copies_text(f: &mut fmt::Formatter<'_>, plan: &StagePlan, inside: usize, names: &[String]) -> fmt::Result {
    plan.staged.iter().filter(|staged| staged.inside == inside).try_for_each(|staged| {
        let own: Vec<String> = staged.axes.iter().map(|axis| names[*axis].clone()).collect();
        write!(f, ", copy of load {} (", staged.load)?;
        stage_text(f, &staged.copy, &own)?;
        write!(f, ")")
    })
}

/// What the axes of a stage are called: as their variables are, with a number where names repeat.
fn names(stage: &Stage) -> Vec<String> {
    let name = |at: usize| {
        let own = stage.axes[at].var.name();
        let before = stage.axes[..at].iter().filter(|axis| axis.var.name() == own).count();
        if before == 0 { own.to_string() } else { format!("{own}#{}", before + 1) }
    };
    (0..stage.axes.len()).map(name).collect()
}
