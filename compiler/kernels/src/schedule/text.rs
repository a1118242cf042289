//! Prints plans: a line for each stage, with the names of its axes. [`read`](super::read) parses it.

use super::{
    Loop, LoopKind, OnlinePlan, PartPlan, Plan, RowsPlan, ScheduleContext, StagePlan, cost_model, gpu, names::Naming,
};
use hammock_ir::{count, print::dim_text};
use hammock_loopnest::{Kernel, Part, Stage, row_tiling::Rows};
use std::fmt;

impl Plan {
    /// Formats a kernel's plan for a machine, with a remark before each part.
    pub fn text<'a>(&'a self, kernel: &'a Kernel, ctx: ScheduleContext<'a>) -> impl fmt::Display + 'a {
        let text = Text { plan: self, kernel, naming: Naming::Own };
        fmt::from_fn(move |f| text.write(f, Some(ctx)))
    }

    /// Formats a plan without remarks and names, equal for kernels that differ in names only.
    pub fn numbered<'a>(&'a self, kernel: &'a Kernel) -> impl fmt::Display + 'a {
        let text = Text { plan: self, kernel, naming: Naming::Numbers };
        fmt::from_fn(move |f| text.write(f, None))
    }
}

#[derive(Clone, Copy)]
struct Text<'a> {
    plan: &'a Plan,
    kernel: &'a Kernel,
    naming: Naming,
}

impl Text<'_> {
    /// Prints it, with remarks if there is a machine.
    fn write(self, f: &mut fmt::Formatter<'_>, ctx: Option<ScheduleContext>) -> fmt::Result {
        self.plan.parts.iter().zip(&self.kernel.parts).try_for_each(|part| match part {
            (PartPlan::Stage(plan), Part::Stage(stage)) => {
                if let Some(ctx) = ctx {
                    writeln!(f, "# {}", domain(stage))?;
                    let cost = match ctx.gpu {
                        Some(_) => gpu::remark(stage, plan),
                        None => cost_model::stage_remark(stage, plan, ctx.target),
                    };
                    writeln!(f, "# {}; {cost}", reason(plan, ctx))?;
                }
                writeln!(f, "{}", stage_text(plan, stage, &self.naming.axes(stage), self.naming))
            }
            (PartPlan::Rows(plan), Part::Rows(rows)) => {
                if let Some(ctx) = ctx {
                    writeln!(f, "# {}", shared(rows))?;
                    match ctx.gpu {
                        Some(_) => {
                            let rule = if plan.online.is_some() { &gpu::ONLINE } else { &gpu::ROWS };
                            writeln!(f, "# {}: {}", rule.class, rule.why)?;
                        }
                        None => {
                            let cost = cost_model::rows_remark(rows, plan, ctx.target);
                            let why = match plan.online {
                                Some(_) => "online softmax: rows share parts of long operands, and no row is whole",
                                None => "row tiling: intermediates of a tile stay in cache",
                            };
                            writeln!(f, "# {why}; {cost}")?;
                        }
                    }
                }
                rows_text(f, plan, rows, self.naming, ctx.is_some())
            }
            (PartPlan::Opaque(parallel), _) => {
                match (ctx.map(|ctx| ctx.gpu), parallel) {
                    (None, _) => {}
                    (Some(Some(_)), None) => writeln!(f, "# opaque: one thread, or loops are as in the program")?,
                    (Some(_), _) => writeln!(f, "# opaque: loops are as in the program")?,
                }
                let spread = parallel.map(|(loops, grain)| format!(", {} parallel {grain}", count(loops, "loop")));
                writeln!(f, "opaque{}", spread.unwrap_or_default())
            }
            _ => Ok(()),
        })
    }
}

/// Formats a stage's name and the extents of its axes.
fn domain(stage: &Stage) -> String {
    let axes = Naming::Own.axes(stage);
    let sizes = |reduce: bool| {
        let own = stage.axes.iter().zip(&axes).filter(move |(axis, _)| axis.reduce == reduce);
        own.map(|(axis, name)| format!("{name} {}", dim_text(&axis.extent))).collect::<Vec<_>>().join(", ")
    };
    let terms = if stage.reduces() { format!("; reduce {}", sizes(true)) } else { String::new() };
    let results = if stage.axes.iter().all(|axis| axis.reduce) { "one result".to_owned() } else { sizes(false) };
    format!("{}: {results}{terms}", stage.name.escape_debug())
}

/// Formats the names of row-tiled stages and the extents of their row axes.
fn shared(rows: &Rows) -> String {
    let stages: Vec<String> = rows.stages.iter().map(|stage| stage.name.escape_debug().to_string()).collect();
    let sizes = Naming::Own.rows(rows).into_iter().zip(rows.extents());
    let sizes: Vec<String> = sizes.map(|(name, extent)| format!("{name} {}", dim_text(extent))).collect();
    format!("{}: rows {}", stages.join(", "), sizes.join(", "))
}

/// Prints row-tiled stages. `with_remarks`: with a remark before each stage.
fn rows_text(
    f: &mut fmt::Formatter<'_>,
    plan: &RowsPlan,
    rows: &Rows,
    naming: Naming,
    with_remarks: bool,
) -> fmt::Result {
    let (copying, copies) = plan.with_copies(rows);
    for (copy, (copied, plan)) in copies.iter().zip(&plan.copied) {
        let stage = &rows.stages[copied.stage];
        let axes = select_names(&copied.axes, &naming.axes(stage));
        let what = &naming.parts(stage)[copied.load];
        let how = stage_text(plan, copy, &axes, naming);
        writeln!(f, "copy of {what} as [{}] for stage {} ({how})", axes.join(", "), copied.stage + 1)?;
    }
    for (number, (count, plans)) in plan.tiles.iter().enumerate() {
        write!(f, "rows{}, {count} at a time", if number == 0 { "" } else { " left" })?;
        if let Some((axis, grain)) = plan.parallel.filter(|_| number == 0) {
            write!(f, ", {} parallel {grain}", naming.rows(rows)[axis])?;
        }
        if let Some(OnlinePlan { elements, splits, tensor_cores, .. }) = plan.online.filter(|_| number == 0) {
            write!(f, ", online {elements}")?;
            if splits > 1 {
                write!(f, " in {splits} splits")?;
            }
            if tensor_cores {
                write!(f, " on tensor cores")?;
            }
        }
        writeln!(f, ":")?;
        for (stage, plan) in plan.sample(&copying, *count).iter().zip(plans) {
            if with_remarks && number == 0 {
                writeln!(f, "    # {}", domain(stage))?;
            }
            writeln!(f, "    {}", stage_text(plan, stage, &naming.axes(stage), naming))?;
        }
    }
    Ok(())
}

/// Returns the kind of a plan's stage, and why its rule was chosen.
fn reason(plan: &StagePlan, ctx: ScheduleContext) -> String {
    let rule = ctx.rules().iter().find(|rule| rule.name == plan.rule);
    rule.map_or_else(|| "stage: explicit plan".to_owned(), |rule| format!("{}: {}", rule.class, rule.why))
}

/// Formats the plan of a stage whose axes have these names.
fn stage_text(plan: &StagePlan, stage: &Stage, axes: &[String], naming: Naming) -> String {
    let mut items = Vec::new();
    for number in 0..=plan.loops.len() {
        items.extend(copies(plan, stage, number, axes, naming));
        items.extend(plan.loops.get(number).map(|l| loop_text(l, axes)));
    }
    items.extend(plan.hoists_reciprocal.then(|| "reciprocal hoisted".to_owned()));
    format!("{}:{}{}", plan.rule, if items.is_empty() { "" } else { " " }, items.join(", "))
}

/// Formats a loop over axes with these names.
pub(super) fn loop_text(Loop { axis, step, kind }: &Loop, axes: &[String]) -> String {
    let step = if *step == 1 { String::new() } else { format!(" by {step}") };
    let kind = match kind {
        LoopKind::Serial => String::new(),
        LoopKind::Parallel(grain) => format!(" parallel {grain}"),
        LoopKind::Prefetch => " prefetch".to_owned(),
        LoopKind::Unrolled => " unrolled".to_owned(),
        LoopKind::Vector => " vector".to_owned(),
        LoopKind::Grid(threads) => format!(" grid {threads}"),
        LoopKind::Block => " block".to_owned(),
        LoopKind::Thread => " thread".to_owned(),
        LoopKind::Warp => " warp".to_owned(),
        LoopKind::Mma => " mma".to_owned(),
        LoopKind::Dot => " dot".to_owned(),
    };
    format!("{}{step}{kind}", axes[*axis])
}

/// Formats the copies inside a number of loops.
fn copies(plan: &StagePlan, stage: &Stage, inside: usize, axes: &[String], naming: Naming) -> Vec<String> {
    let copies = plan.staged.iter().filter(|staged| staged.inside == inside);
    let text = |staged: &super::Staged| {
        let own = select_names(&staged.axes, axes);
        let what = &naming.parts(stage)[staged.load];
        let how = stage_text(&staged.copy, &plan.copy_of(stage, staged), &own, naming);
        let packed_axis = plan.packed_axis(stage, staged);
        let dimension = |(axis, name): (&usize, &String)| match packed_axis {
            Some((own, dot)) if own == *axis => format!("{name} by {}", dot.group_size()),
            _ => match staged.padded.get(axis) {
                Some(to) => format!("{name} padded {to}"),
                None => name.clone(),
            },
        };
        let dimensions: Vec<String> = staged.axes.iter().zip(&own).map(dimension).collect();
        let stages = if staged.stages == 1 { String::new() } else { format!(" in {} stages", staged.stages) };
        format!("copy of {what} as [{}]{stages} ({how})", dimensions.join(", "))
    };
    copies.map(text).collect()
}

fn select_names(axes: &[usize], names: &[String]) -> Vec<String> {
    axes.iter().map(|axis| names[*axis].clone()).collect()
}
