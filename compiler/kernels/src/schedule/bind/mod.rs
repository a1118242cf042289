//! Binds the text of a plan to a kernel: resolves names, and checks that the loops can compute it.

mod online;
mod primitives;

use super::{
    Loop, PartPlan, Plan, RowsPlan, Rule, ScheduleContext, StagePlan, Staged,
    check::{Item, check, gpu::check_copy_loops},
    cpu::inner_plan,
    gpu,
    names::Naming,
    read::{At, Base, CopyText, ExplicitText, LoopText, ParsedPlan, PartText, PlanError, RowsText, StageText},
};
use hammock_ir::{PrimExpr, Span, count};
use hammock_loopnest::{
    Kernel, Part, Stage,
    access::{can_be_copied, loads},
    row_tiling::{Rows, SharedCopy},
};
use hammock_runtime::suggest::nearest;

type Result<T> = std::result::Result<T, PlanError>;

/// Maximum bytes of the intermediates of row-tiled stages.
const MAX_TILE_BYTES: i64 = 2 << 20;

/// Binds a plan to a kernel.
///
/// # Errors
/// If it does not fit the kernel, or its loops cannot compute it.
pub fn bind(written: &ParsedPlan, kernel: &Kernel, ctx: ScheduleContext) -> Result<Plan> {
    let is_fixed = |part: &PartText| matches!(part, PartText::Opaque(_, None));
    if written.parts.iter().all(is_fixed) && kernel.parts.iter().all(|part| matches!(part, Part::Opaque(_))) {
        // Nothing is scheduled. The number of statements may differ, since constants fold some, as in shape
        // computations.
        return Ok(Plan { parts: kernel.parts.iter().map(|_| PartPlan::Opaque(None)).collect() });
    }
    if written.parts.len() != kernel.parts.len() {
        let (own, given) = (count(kernel.parts.len(), "part"), count(written.parts.len(), "part"));
        let error = PlanError::new(written.span, format!("the kernel has {own}, and this plan {given}"));
        return Err(error.help("`hammock opt --print-plans`, with the same flags, prints a plan to begin with"));
    }
    let how = BindContext { ctx, naming: written.naming };
    let parts = written.parts.iter().zip(&kernel.parts).map(|(text, part)| match (text, part) {
        (PartText::Opaque(_, None), Part::Opaque(_)) => Ok(PartPlan::Opaque(None)),
        (PartText::Opaque(_, Some((loops, grain))), Part::Opaque(other)) => {
            let known = usize::try_from(loops.value).ok().filter(|loops| *loops <= other.parallel_extents.len());
            known.map(|loops| PartPlan::Opaque(Some((loops, grain.value)))).ok_or_else(|| {
                let own = count(other.parallel_extents.len(), "loop");
                let message = format!("{own} around these statements can be parallel, not {}", loops.value);
                PlanError::new(loops.span, message).help("iterations of the others may access the same elements")
            })
        }
        (PartText::Stage(text), Part::Stage(part)) => {
            stage(text, part, &written.naming.axes(part), how, false).map(PartPlan::Stage)
        }
        (PartText::Rows(text), Part::Rows(part)) => BindRows { rows: part, how }.rows(text).map(PartPlan::Rows),
        (PartText::Stage(StageText { base: Base::Planned(None), changes, .. }), Part::Rows(part)) => {
            match changes.first() {
                None => Ok(PartPlan::Rows(ctx.rows_plan(part))),
                Some(change) => {
                    Err(PlanError::new(change.span, "this part of the kernel is a group of row-tiled stages")
                        .help("each stage has a line below `rows, N at a time:`, with its primitives indented below"))
                }
            }
        }
        (PartText::Stage(StageText { base: Base::Planned(None), changes, .. }), Part::Opaque(other))
            if changes.is_empty() =>
        {
            Ok(ctx.opaque_plan(other))
        }
        (text, part) => Err(mismatch(text, part)),
    });
    Ok(Plan { parts: parts.collect::<Result<_>>()? })
}

fn mismatch(text: &PartText, part: &Part) -> PlanError {
    let span = match text {
        PartText::Opaque(span, _) => *span,
        PartText::Stage(stage) => stage.span,
        PartText::Rows(rows) => rows.span,
    };
    let (what, form) = match part {
        Part::Stage(_) => ("a single stage", "`rule: loops`"),
        Part::Rows(_) => ("a group of row-tiled stages", "`rows, N at a time:`"),
        Part::Opaque(_) => ("opaque, and its loops are not scheduled", "`opaque`"),
    };
    PlanError::new(span, format!("this part of the kernel is {what}")).help(format!("its plan has the form {form}"))
}

/// Scheduling context, and naming of axes and buffers.
#[derive(Clone, Copy)]
struct BindContext<'a> {
    ctx: ScheduleContext<'a>,
    naming: Naming,
}

/// Resolves a name.
fn resolve(name: &At<String>, kind: &str, names: &[String]) -> Result<usize> {
    if let Some(at) = names.iter().position(|known| *known == name.value) {
        return Ok(at);
    }
    let error = PlanError::new(name.span, format!("there is no {kind} `{}` here", name.value));
    let list = || names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Err(error.help(match nearest(&name.value, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "there is none".to_owned(),
        None => format!("there are {}", list()),
    }))
}

/// Binds the plan of a stage whose axes have these names. `inner`: true if enclosing loops may be parallel.
fn stage(text: &StageText, stage: &Stage, axes: &[String], how: BindContext, inner: bool) -> Result<StagePlan> {
    let base = match &text.base {
        Base::Planned(rule) => plan_by_rule(rule.as_ref(), stage, how, inner)?,
        Base::Explicit(text) => bind_loops(text, stage, axes, how, inner)?,
    };
    if text.changes.is_empty() { Ok(base) } else { primitives::apply(base, &text.changes, stage, axes, how, inner) }
}

/// Returns the plan of the first rule that matches, or of a given one.
fn plan_by_rule(rule: Option<&At<String>>, stage: &Stage, how: BindContext, inner: bool) -> Result<StagePlan> {
    let plan = |plan: StagePlan| if inner { plan.on_one_thread() } else { plan };
    let Some(rule) = rule else {
        let is_serial = inner && how.ctx.gpu.is_none();
        return Ok(if is_serial { inner_plan(stage, how.ctx) } else { how.ctx.stage_plan(stage) });
    };
    let name = self::rule(rule, how.ctx)?.name;
    let plans = how.ctx.stage_plans(stage);
    plans.iter().find(|plan| plan.rule == name).cloned().map(plan).ok_or_else(|| {
        let others: Vec<String> = plans.iter().map(|plan| format!("`{}`", plan.rule)).collect();
        let error = PlanError::new(rule.span, format!("the rule `{name}` is not for this stage"));
        error.help(format!("those that are: {}", others.join(", ")))
    })
}

/// Returns the rule of a name.
fn rule(name: &At<String>, ctx: ScheduleContext) -> Result<&'static Rule> {
    let rules = ctx.rules();
    rules.iter().copied().find(|rule| rule.name == name.value).ok_or_else(|| {
        let error = PlanError::new(name.span, format!("there is no rule `{}`", name.value));
        error.help(match nearest(&name.value, rules.iter().map(|rule| rule.name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`hammock rules` lists them; the name is for readers only".to_owned(),
        })
    })
}

/// Binds explicit loops.
fn bind_loops(text: &ExplicitText, stage: &Stage, axes: &[String], how: BindContext, inner: bool) -> Result<StagePlan> {
    let rule = rule(&text.rule, how.ctx)?.name;
    let loops = explicit_loops(text, axes)?;
    let mut plan = StagePlan { hoists_reciprocal: text.hoists_reciprocal.is_some(), ..StagePlan::new(rule, loops) };
    for copy in &text.copies {
        let (load, own) = resolve_copy(copy, stage, axes, how)?;
        let padded = own.iter().zip(&copy.padded).filter_map(|(axis, to)| Some((*axis, to.as_ref()?.value)));
        let padded = padded.filter(|(_, to)| *to > 1).collect();
        let stages = copy.stages.as_ref().map_or(1, |stages| stages.value);
        plan.staged.push(Staged { padded, stages, ..Staged::new(load, copy.inside, own) });
    }
    check(stage, &plan, axes, how.ctx, inner).map_err(|violation| {
        let span = match violation.at {
            Item::Plan => text.span,
            Item::Loop(number) => text.loops[number].span,
            Item::Copy(number) => text.copies[number].span,
            Item::Reciprocal => text.hoists_reciprocal.unwrap_or(text.span),
        };
        PlanError::new(span, violation.message).help(violation.help)
    })?;
    for (number, copy) in text.copies.iter().enumerate() {
        check_groups(copy, stage, &plan, &plan.staged[number])?;
        let own: Vec<String> = plan.staged[number].axes.iter().map(|axis| axes[*axis].clone()).collect();
        plan.staged[number].copy = match how.ctx.gpu {
            Some(_) => bind_copy(&copy.copy, (stage, &plan, &plan.staged[number]), &own, how)?,
            None => self::stage(&copy.copy, &plan.copy_of(stage, &plan.staged[number]), &own, how, true)?,
        };
    }
    Ok(plan)
}

/// Resolves the axes of explicit loops.
fn explicit_loops(text: &ExplicitText, axes: &[String]) -> Result<Vec<Loop>> {
    let one_loop = |l: &LoopText| Ok(Loop { axis: resolve(&l.axis, "axis", axes)?, step: l.step, kind: l.kind });
    text.loops.iter().map(one_loop).collect()
}

/// Binds the plan of a copy in shared memory. The plan that contains it is checked with it.
fn bind_copy(
    text: &StageText,
    (stage, plan, staged): (&Stage, &StagePlan, &Staged),
    axes: &[String],
    how: BindContext,
) -> Result<StagePlan> {
    match &text.base {
        Base::Explicit(text) if text.copies.is_empty() => {
            let rule = rule(&text.rule, how.ctx)?.name;
            let loops = explicit_loops(text, axes)?;
            check_copy_loops(stage, plan, staged, &loops).map_err(|violation| {
                let span = match violation.at {
                    Item::Loop(number) => text.loops[number].span,
                    _ => text.span,
                };
                PlanError::new(span, violation.message).help(violation.help)
            })?;
            Ok(StagePlan::new(rule, loops))
        }
        _ => {
            let message = format!("a copy in shared memory has loops over its {} axes", staged.axes.len());
            Err(PlanError::new(text.span, message).help("write `cooperative_copy: AXIS thread, …`"))
        }
    }
}

/// Checks the group sizes of a packed copy.
fn check_groups(text: &CopyText, stage: &Stage, plan: &StagePlan, staged: &Staged) -> Result<()> {
    let packed_axis = plan.packed_axis(stage, staged);
    for (axis, (name, given)) in staged.axes.iter().zip(text.axes.iter().zip(&text.groups)) {
        let has = packed_axis.filter(|(own, _)| own == axis).map(|(_, dot)| dot.group_size());
        if has != given.as_ref().map(|given| given.value) {
            let error = PlanError::new(name.span, format!("wrong size of packed groups along `{}`", name.value));
            return Err(error.help(match has {
                Some(terms) => format!("`dot` needs packed groups: write `{} by {terms}`", name.value),
                None => format!("this axis is not packed: write `{}` alone", name.value),
            }));
        }
    }
    Ok(())
}

/// Resolves the operand and the axes of a copy.
fn resolve_copy(copy: &CopyText, stage: &Stage, axes: &[String], how: BindContext) -> Result<(usize, Vec<usize>)> {
    let load = resolve(&copy.load, "buffer to copy", &how.naming.parts(stage))?;
    let own = copy.axes.iter().map(|axis| resolve(axis, "axis", axes)).collect::<Result<_>>()?;
    Ok((load, own))
}

/// Binds the plans of row-tiled stages.
struct BindRows<'a> {
    rows: &'a Rows,
    how: BindContext<'a>,
}

impl BindRows<'_> {
    fn rows(&self, text: &RowsText) -> Result<RowsPlan> {
        let online = text.online.as_ref().map(|online| self.online(online));
        let online = online.transpose()?;
        let mut plan = RowsPlan { copied: Vec::new(), parallel: None, online, tiles: Vec::new() };
        for (number, copy) in &text.copied {
            let copied = self.copied(number, copy, &plan)?;
            plan.copied.push((copied, StagePlan::new("", Vec::new())));
        }
        let (rows, copies) = plan.with_copies(self.rows);
        for (((_, text), copy), (copied, plan)) in text.copied.iter().zip(&copies).zip(&mut plan.copied) {
            let names = self.how.naming.axes(&self.rows.stages[copied.stage]);
            let own: Vec<String> = copied.axes.iter().map(|axis| names[*axis].clone()).collect();
            *plan = stage(&text.copy, copy, &own, self.how, true)?;
        }
        if let Some((axis, grain)) = &text.parallel {
            plan.parallel = Some((resolve(axis, "axis of the rows", &self.how.naming.rows(self.rows))?, grain.value));
        }
        self.check_tiles(text)?;
        for (count, stages) in &text.tiles {
            if online.is_some_and(|online| online.tensor_cores) {
                plan.tiles.push((count.value, self.fragments(count, stages, &plan)?));
                continue;
            }
            let own = plan.sample(&rows, count.value);
            plan.tiles.push((count.value, self.tile(own, count, stages, online.map(|_| gpu::BLOCK_THREADS))?));
        }
        Ok(plan)
    }

    fn copied(&self, number: &At<usize>, copy: &CopyText, before: &RowsPlan) -> Result<SharedCopy> {
        let Some(own) = self.rows.stages.get(number.value) else {
            let message = format!("there are {} here", count(self.rows.stages.len(), "stage"));
            return Err(PlanError::new(number.span, message).help("stages are counted from 1"));
        };
        let names = self.how.naming.axes(own);
        let (load, axes) = resolve_copy(copy, own, &names, self.how)?;
        let Some(e) = loads(own).get(load).copied() else {
            let message = "only loads can be copied before row tiles";
            return Err(PlanError::new(copy.span, message).help("leave out the copy"));
        };
        let buffer = &copy.load.value;
        let fail = |span: Span, message: String, help: &str| Err(PlanError::new(span, message).help(help));
        if before.copied.iter().any(|(other, _)| (other.stage, other.load) == (number.value, load)) {
            return fail(
                copy.span,
                format!("`{buffer}` is copied for this stage already"),
                "leave out one of the copies",
            );
        }
        if let Some(stages) = &copy.stages {
            let message = "copies before row tiles have no stages".to_owned();
            return fail(stages.span, message, "leave out `in N stages`");
        }
        if let Some(to) = copy.padded.iter().flatten().next() {
            let message = "copies before row tiles cannot be padded".to_owned();
            return fail(to.span, message, "leave out `padded`");
        }
        if !self.rows.is_row_invariant(number.value, e) || !can_be_copied(own, e) {
            let message = format!("the load of `{buffer}` varies between rows, or may not be copied");
            return fail(copy.span, message, "leave out the copy");
        }
        let row_axes: Vec<usize> = self.rows.row_axes(number.value).collect();
        let used = |axis: &usize| e.uses(&own.axes[*axis].var) && !row_axes.contains(axis);
        let twice = (0..axes.len()).find(|at| axes[..*at].contains(&axes[*at]) || !used(&axes[*at]));
        if let Some(at) = twice {
            let name = &names[axes[at]];
            let message = format!("`{buffer}` is invariant along `{name}` within a tile, or `{name}` is repeated");
            return fail(copy.axes[at].span, message, "leave it out");
        }
        match (0..own.axes.len()).find(|axis| used(axis) && !axes.contains(axis)) {
            Some(axis) => {
                let message = format!("`{buffer}` also varies along `{}`", names[axis]);
                fail(copy.span, message, "add it to the copy's axes")
            }
            None => Ok(SharedCopy { stage: number.value, load, axes }),
        }
    }

    /// Estimates the bytes of the intermediates of a tile.
    fn tile_bytes(&self, rows: i64, text: &RowsText) -> i64 {
        match text.online.as_ref().zip(self.rows.online_form()) {
            Some((own, (form, online))) => form.online_bytes(&online, (rows, own.elements.value)).unwrap_or(0),
            None => self.rows.bytes(rows),
        }
    }

    /// Checks that tiles cover all rows.
    fn check_tiles(&self, text: &RowsText) -> Result<()> {
        if self.how.ctx.gpu.is_some() {
            return self.check_block_rows(text);
        }
        let extent = self.rows.extents().last().and_then(PrimExpr::as_int);
        let (mut left, mut before) = (extent, None::<i64>);
        for (count, _) in &text.tiles {
            let rows = count.value;
            let divides = before.is_none_or(|before| rows < before && before % rows == 0);
            if extent.is_none() && !divides {
                let message = format!("{rows} rows at a time may leave a gap after the tiles before");
                let help = "the number of rows is dynamic: each tile size must divide the one before it";
                return Err(PlanError::new(count.span, message).help(help));
            }
            if self.tile_bytes(rows, text) > MAX_TILE_BYTES || extent.is_some_and(|extent| rows > extent.max(1)) {
                let message = format!("{rows} rows at a time exceed the number of rows, or the cache");
                return Err(PlanError::new(count.span, message).help("choose fewer rows"));
            }
            left = left.map(|left| left % rows);
            before = Some(rows);
        }
        let last = text.tiles.last().map_or(text.span, |(count, _)| count.span);
        match left {
            Some(0) => Ok(()),
            Some(left) => {
                let error = PlanError::new(last, format!("no plan for the last {}", count(left as usize, "row")));
                Err(error.help(format!("add `rows left, {left} at a time:` with a line for each stage")))
            }
            None if before == Some(1) => Ok(()),
            None => {
                let error = PlanError::new(last, "the number of rows is dynamic: some may be left");
                Err(error.help("add `rows left, 1 at a time:` with a line for each stage"))
            }
        }
    }

    /// Binds the plans of the stages of a tile. `threads`: those of a block, if they are given.
    fn tile(
        &self,
        stages: Vec<Stage>,
        number: &At<i64>,
        texts: &[StageText],
        mut threads: Option<i64>,
    ) -> Result<Vec<StagePlan>> {
        if stages.len() != texts.len() {
            let (own, given) = (count(stages.len(), "stage"), count(texts.len(), "line"));
            let error = PlanError::new(number.span, format!("these rows have {own}, and this plan {given}"));
            return Err(error.help("write an indented line for each stage"));
        }
        let plans = stages.iter().zip(texts);
        let plans = plans.map(|(own, text)| stage(text, own, &self.how.naming.axes(own), self.how, true));
        let plans: Vec<StagePlan> = plans.collect::<Result<_>>()?;
        let own = stages.iter().zip(&plans).map(|(stage, plan)| gpu::block_threads(stage, plan));
        let mut several = own.filter(|own| self.how.ctx.gpu.is_some() && *own > 1);
        if several.any(|own| own != *threads.get_or_insert(own)) {
            let expected = threads.map_or_else(String::new, |threads| format!(", such as {threads}"));
            return Err(PlanError::new(number.span, "the stages of a row run on different numbers of threads")
                .help(format!("choose equal numbers of `thread` iterations{expected}")));
        }
        Ok(plans)
    }
}
