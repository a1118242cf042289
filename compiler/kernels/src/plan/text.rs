//! Plans as text: a line for each stage, with the names of the stage's axes. [`read`](super::read) reads it back.

use super::{Loop, LoopKind, PartPlan, Plan, RowsPlan, StagePlan, names, predict};
use crate::{
    Target,
    stage::{Kernel, Part, Stage, rows::Rows},
};
use std::fmt;

impl Plan {
    /// The plan of a kernel for a target, to print: before each part a remark that says what it is.
    pub fn text<'a>(&'a self, kernel: &'a Kernel, target: &'a Target) -> impl fmt::Display + 'a {
        Text { plan: self, kernel, target }
    }
}

struct Text<'a> {
    plan: &'a Plan,
    kernel: &'a Kernel,
    target: &'a Target,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.plan.parts.iter().zip(&self.kernel.parts).try_for_each(|part| match part {
            (PartPlan::Stage(plan), Part::Stage(stage)) => {
                writeln!(f, "# {}", predict::stage(stage, plan, self.target))?;
                writeln!(f, "{}", stage_text(plan, stage, &names::axes(stage)))
            }
            (PartPlan::Rows(plan), Part::Rows(rows)) => {
                writeln!(f, "# {}", predict::rows(rows, plan, self.target))?;
                rows_text(f, plan, rows)
            }
            _ => writeln!(f, "# no stage: these loops are not chosen here\nas written"),
        })
    }
}

fn rows_text(f: &mut fmt::Formatter<'_>, plan: &RowsPlan, rows: &Rows) -> fmt::Result {
    let (copying, copies) = rows.copies(plan);
    for (copy, (copied, plan)) in copies.iter().zip(&plan.copied) {
        let stage = &rows.stages[copied.stage];
        let axes = named(&copied.axes, &names::axes(stage));
        let what = &names::loads(stage)[copied.load];
        let how = stage_text(plan, copy, &axes);
        writeln!(f, "copy of {what} as [{}] for stage {} ({how})", axes.join(", "), copied.stage + 1)?;
    }
    for (number, (count, plans)) in plan.tiles.iter().enumerate() {
        write!(f, "rows{}, {count} at a time", if number == 0 { "" } else { " left" })?;
        if let Some((axis, grain)) = plan.parallel.filter(|_| number == 0) {
            write!(f, ", {} parallel {grain}", names::rows(rows)[axis])?;
        }
        writeln!(f, ":")?;
        for (stage, plan) in copying.sample(*count).stages.iter().zip(plans) {
            writeln!(f, "    {}", stage_text(plan, stage, &names::axes(stage)))?;
        }
    }
    Ok(())
}

/// A stage's plan. Its axes have these names.
fn stage_text(plan: &StagePlan, stage: &Stage, axes: &[String]) -> String {
    let mut items = Vec::new();
    for number in 0..=plan.loops.len() {
        items.extend(copies(plan, stage, number, axes));
        items.extend(plan.loops.get(number).map(|l| loop_text(l, axes)));
    }
    items.extend(plan.inverts.then(|| "divisor inverted".to_owned()));
    format!("{}:{}{}", plan.rule, if items.is_empty() { "" } else { " " }, items.join(", "))
}

fn loop_text(Loop { axis, step, kind }: &Loop, axes: &[String]) -> String {
    let step = if *step == 1 { String::new() } else { format!(" by {step}") };
    let kind = match kind {
        LoopKind::Serial => String::new(),
        LoopKind::Parallel(grain) => format!(" parallel {grain}"),
        LoopKind::Unrolled => " unrolled".to_owned(),
        LoopKind::Vector => " vector".to_owned(),
        LoopKind::Dot => " dot".to_owned(),
    };
    format!("{}{step}{kind}", axes[*axis])
}

/// The copies that are made inside so many loops.
fn copies(plan: &StagePlan, stage: &Stage, inside: usize, axes: &[String]) -> Vec<String> {
    let copies = plan.staged.iter().filter(|staged| staged.inside == inside);
    let text = |staged: &super::Staged| {
        let own = named(&staged.axes, axes);
        let what = &names::parts(stage)[staged.load];
        let how = stage_text(&staged.copy, &plan.copy_of(stage, staged), &own);
        let in_words = plan.in_words(stage, staged);
        let dimension = |(axis, name): (&usize, &String)| match in_words {
            Some((own, dot)) if own == *axis => format!("{name} by {}", dot.terms()),
            _ => name.clone(),
        };
        let dimensions: Vec<String> = staged.axes.iter().zip(&own).map(dimension).collect();
        format!("copy of {what} as [{}] ({how})", dimensions.join(", "))
    };
    copies.map(text).collect()
}

fn named(axes: &[usize], names: &[String]) -> Vec<String> {
    axes.iter().map(|axis| names[*axis].clone()).collect()
}
