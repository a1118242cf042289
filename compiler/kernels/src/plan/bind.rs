//! From the text of a plan to the plan of a kernel: what names stand for, and whether the loops can compute it.

mod primitives;

use super::{
    Loop, PartPlan, Plan, RowsPlan, StagePlan, Staged,
    check::{Item, check},
    names::Naming,
    read::{At, Base, CopyText, PartText, PlanError, RowsText, StageText, Written, WrittenText},
};
use crate::{
    rules::{Choice, RULES, Rule, inner_plan, other_plan, rows_plan, stage_plan, stage_plans},
    stage::{
        Kernel, Part, Stage,
        access::{can_be_copied, loads},
        rows::{Copied, Rows},
    },
};
use hammock_ir::{PrimExpr, Span, count};
use hammock_runtime::suggest::nearest;

type Result<T> = std::result::Result<T, PlanError>;

/// What stages that share rows may hand on at a time, in bytes.
const ROWS: i64 = 2 << 20;

/// The plan of a kernel.
///
/// # Errors
/// When it does not fit the kernel, or its loops cannot compute it: where that is, and what must hold.
pub fn bind(written: &Written, kernel: &Kernel, choice: Choice) -> Result<Plan> {
    let is_fixed = |part: &PartText| matches!(part, PartText::AsWritten(_, None));
    if written.parts.iter().all(is_fixed) && kernel.parts.iter().all(|part| matches!(part, Part::Other(_))) {
        // Nothing was chosen; constants change how many statements there are, as where shapes are computed.
        return Ok(Plan { parts: kernel.parts.iter().map(|_| PartPlan::AsWritten(None)).collect() });
    }
    if written.parts.len() != kernel.parts.len() {
        let (own, given) = (count(kernel.parts.len(), "part"), count(written.parts.len(), "part"));
        let error = PlanError::new(written.span, format!("the kernel has {own}, and this plan {given}"));
        return Err(error.help("`hammock opt --print-plans`, with the same flags, prints a plan to begin with"));
    }
    let how = How { choice, naming: written.naming };
    let parts = written.parts.iter().zip(&kernel.parts).map(|(text, part)| match (text, part) {
        (PartText::AsWritten(_, None), Part::Other(_)) => Ok(PartPlan::AsWritten(None)),
        (PartText::AsWritten(_, Some((loops, grain))), Part::Other(other)) => {
            let known = usize::try_from(loops.value).ok().filter(|loops| *loops <= other.apart.len());
            known.map(|loops| PartPlan::AsWritten(Some((loops, grain.value)))).ok_or_else(|| {
                let own = count(other.apart.len(), "loop");
                let message = format!("{own} around these statements can have threads, not {}", loops.value);
                PlanError::new(loops.span, message).help("iterations of others may touch the same elements")
            })
        }
        (PartText::Stage(text), Part::Stage(part)) => {
            stage(text, part, &written.naming.axes(part), how, false).map(PartPlan::Stage)
        }
        (PartText::Rows(text), Part::Rows(part)) => Bind { rows: part, how }.rows(text).map(PartPlan::Rows),
        (PartText::Stage(StageText { base: Base::Planned(None), changes, .. }), Part::Rows(part)) => match changes
            .first()
        {
            None => Ok(PartPlan::Rows(rows_plan(part, choice, None))),
            Some(change) => Err(PlanError::new(change.span, "this part of the kernel is stages that share rows").help(
                "each of them has a line below `rows, N at a time:`, and primitives below that, further to the right",
            )),
        },
        (PartText::Stage(StageText { base: Base::Planned(None), changes, .. }), Part::Other(other))
            if changes.is_empty() =>
        {
            Ok(other_plan(other))
        }
        (text, part) => Err(mismatch(text, part)),
    });
    Ok(Plan { parts: parts.collect::<Result<_>>()? })
}

fn mismatch(text: &PartText, part: &Part) -> PlanError {
    let span = match text {
        PartText::AsWritten(span, _) => *span,
        PartText::Stage(stage) => stage.span,
        PartText::Rows(rows) => rows.span,
    };
    let (what, form) = match part {
        Part::Stage(_) => ("a single stage", "`rule: loops`"),
        Part::Rows(_) => ("stages that share rows", "`rows, N at a time:`"),
        Part::Other(_) => ("no stage, and its loops stay as they are", "`as written`"),
    };
    PlanError::new(span, format!("this part of the kernel is {what}")).help(format!("its plan has the form {form}"))
}

/// What plans may choose from, and what names stand for.
#[derive(Clone, Copy)]
struct How<'a> {
    choice: Choice<'a>,
    naming: Naming,
}

/// What a name stands for among several.
fn named(name: &At<String>, kind: &str, names: &[String]) -> Result<usize> {
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

/// The plan of a stage whose axes have these names. `inner`: whether loops around it may have threads.
fn stage(text: &StageText, stage: &Stage, axes: &[String], how: How, inner: bool) -> Result<StagePlan> {
    let base = match &text.base {
        Base::Planned(rule) => planned(rule.as_ref(), stage, how, inner)?,
        Base::Written(text) => written(text, stage, axes, how, inner)?,
    };
    if text.changes.is_empty() { Ok(base) } else { primitives::changed(base, &text.changes, stage, axes, how, inner) }
}

/// What rules choose, or one of them.
fn planned(rule: Option<&At<String>>, stage: &Stage, how: How, inner: bool) -> Result<StagePlan> {
    let plan = |plan: StagePlan| if inner { plan.on_one_thread() } else { plan };
    let Some(rule) = rule else {
        return Ok(if inner { inner_plan(stage, how.choice) } else { stage_plan(stage, how.choice) });
    };
    let name = self::rule(rule)?.name;
    let plans: Vec<StagePlan> = stage_plans(stage, how.choice).collect();
    plans.iter().find(|plan| plan.rule == name).cloned().map(plan).ok_or_else(|| {
        let others: Vec<String> = plans.iter().map(|plan| format!("`{}`", plan.rule)).collect();
        let error = PlanError::new(rule.span, format!("the rule `{name}` is not for this stage"));
        error.help(format!("those that are: {}", others.join(", ")))
    })
}

/// The rule of that name.
fn rule(name: &At<String>) -> Result<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.name == name.value).ok_or_else(|| {
        let error = PlanError::new(name.span, format!("there is no rule `{}`", name.value));
        error.help(match nearest(&name.value, RULES.iter().map(|rule| rule.name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`hammock rules` lists them; the name is for readers only".to_owned(),
        })
    })
}

/// Loops that are written out.
fn written(text: &WrittenText, stage: &Stage, axes: &[String], how: How, inner: bool) -> Result<StagePlan> {
    let rule = rule(&text.rule)?;
    let one_loop =
        |l: &super::read::LoopText| Ok(Loop { axis: named(&l.axis, "axis", axes)?, step: l.step, kind: l.kind });
    let loops = text.loops.iter().map(one_loop).collect::<Result<Vec<Loop>>>()?;
    let mut plan = StagePlan { inverts: text.inverts.is_some(), ..StagePlan::new(rule.name, loops) };
    for copy in &text.copies {
        let (load, own) = copied(copy, stage, axes, how)?;
        let padded = own.iter().zip(&copy.padded).filter_map(|(axis, to)| Some((*axis, to.as_ref()?.value)));
        let padded = padded.filter(|(_, to)| *to > 1).collect();
        plan.staged.push(Staged { padded, ..Staged::new(load, copy.inside, own) });
    }
    check(stage, &plan, axes, how.choice, inner).map_err(|violation| {
        let span = match violation.at {
            Item::Plan => text.span,
            Item::Loop(number) => text.loops[number].span,
            Item::Copy(number) => text.copies[number].span,
            Item::Inverts => text.inverts.unwrap_or(text.span),
        };
        PlanError::new(span, violation.message).help(violation.help)
    })?;
    for (number, copy) in text.copies.iter().enumerate() {
        words(copy, stage, &plan, &plan.staged[number])?;
        let own: Vec<String> = plan.staged[number].axes.iter().map(|axis| axes[*axis].clone()).collect();
        plan.staged[number].copy =
            self::stage(&copy.copy, &plan.copy_of(stage, &plan.staged[number]), &own, how, true)?;
    }
    Ok(plan)
}

/// A copy says how many terms its words have.
fn words(text: &CopyText, stage: &Stage, plan: &StagePlan, staged: &Staged) -> Result<()> {
    let in_words = plan.in_words(stage, staged);
    for (axis, (name, given)) in staged.axes.iter().zip(text.axes.iter().zip(&text.words)) {
        let has = in_words.filter(|(own, _)| own == axis).map(|(_, dot)| dot.terms());
        if has != given.as_ref().map(|given| given.value) {
            let error = PlanError::new(name.span, format!("how many terms words along `{}` have is wrong", name.value));
            return Err(error.help(match has {
                Some(terms) => format!("the loops add up words of so many terms: write `{} by {terms}`", name.value),
                None => format!("single values are copied along this axis: write `{}` alone", name.value),
            }));
        }
    }
    Ok(())
}

/// What a copy is of, and its axes.
fn copied(copy: &CopyText, stage: &Stage, axes: &[String], how: How) -> Result<(usize, Vec<usize>)> {
    let load = named(&copy.load, "buffer to copy", &how.naming.parts(stage))?;
    let own = copy.axes.iter().map(|axis| named(axis, "axis", axes)).collect::<Result<_>>()?;
    Ok((load, own))
}

/// Binds the plans of stages that share rows.
struct Bind<'a> {
    rows: &'a Rows,
    how: How<'a>,
}

impl Bind<'_> {
    fn rows(&self, text: &RowsText) -> Result<RowsPlan> {
        let mut plan = RowsPlan { copied: Vec::new(), parallel: None, tiles: Vec::new() };
        for (number, copy) in &text.copied {
            let copied = self.copied(number, copy, &plan)?;
            plan.copied.push((copied, StagePlan::new("", Vec::new())));
        }
        let (rows, copies) = self.rows.copies(&plan);
        for (((_, text), copy), (copied, plan)) in text.copied.iter().zip(&copies).zip(&mut plan.copied) {
            let names = self.how.naming.axes(&self.rows.stages[copied.stage]);
            let own: Vec<String> = copied.axes.iter().map(|axis| names[*axis].clone()).collect();
            *plan = stage(&text.copy, copy, &own, self.how, true)?;
        }
        if let Some((axis, grain)) = &text.parallel {
            plan.parallel = Some((named(axis, "axis of the rows", &self.how.naming.rows(self.rows))?, grain.value));
        }
        self.check_tiles(text)?;
        for (count, stages) in &text.tiles {
            plan.tiles.push((count.value, self.tile(&rows, count, stages)?));
        }
        Ok(plan)
    }

    fn copied(&self, number: &At<usize>, copy: &CopyText, before: &RowsPlan) -> Result<Copied> {
        let Some(own) = self.rows.stages.get(number.value) else {
            let message = format!("there are {} here", count(self.rows.stages.len(), "stage"));
            return Err(PlanError::new(number.span, message).help("stages are counted from 1"));
        };
        let names = self.how.naming.axes(own);
        let (load, axes) = copied(copy, own, &names, self.how)?;
        let Some(e) = loads(own).get(load).copied() else {
            let message = "what is copied before rows is loaded, not computed";
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
        if let Some(to) = copy.padded.iter().flatten().next() {
            let message = "what is copied before rows has no room for more values than there are".to_owned();
            return fail(to.span, message, "leave out `padded`");
        }
        if !self.rows.is_same_for_rows(number.value, e) || !can_be_copied(own, e) {
            let message = format!("what `{buffer}` is read for is not the same for all rows");
            return fail(copy.span, message, "leave out the copy");
        }
        let row_axes: Vec<usize> = self.rows.row_axes(number.value).collect();
        let used = |axis: &usize| e.uses(&own.axes[*axis].var) && !row_axes.contains(axis);
        let twice = (0..axes.len()).find(|at| axes[..*at].contains(&axes[*at]) || !used(&axes[*at]));
        if let Some(at) = twice {
            let name = &names[axes[at]];
            let message =
                format!("`{buffer}` does not change along `{name}` inside of the rows, or `{name}` stands twice");
            return fail(copy.axes[at].span, message, "leave it out");
        }
        match (0..own.axes.len()).find(|axis| used(axis) && !axes.contains(axis)) {
            Some(axis) => {
                let message = format!("`{buffer}` changes along `{}`, too", names[axis]);
                fail(copy.span, message, "add it to the copy's axes")
            }
            None => Ok(Copied { stage: number.value, load, axes }),
        }
    }

    /// All rows have a tile.
    fn check_tiles(&self, text: &RowsText) -> Result<()> {
        let extent = self.rows.extents().last().and_then(PrimExpr::as_int);
        let (mut left, mut before) = (extent, None::<i64>);
        for (count, _) in &text.tiles {
            let rows = count.value;
            let divides = before.is_none_or(|before| rows < before && before % rows == 0);
            if extent.is_none() && !divides {
                let message = format!("{rows} rows at a time may leave a gap after those before");
                let help = "how many rows there are is not known here: each number divides the one before it";
                return Err(PlanError::new(count.span, message).help(help));
            }
            if self.rows.bytes(rows) > ROWS || extent.is_some_and(|extent| rows > extent.max(1)) {
                let message = format!("{rows} rows at a time are more than there are, or than stay in a cache");
                return Err(PlanError::new(count.span, message).help("choose fewer rows"));
            }
            left = left.map(|left| left % rows);
            before = Some(rows);
        }
        let last = text.tiles.last().map_or(text.span, |(count, _)| count.span);
        match left {
            Some(0) => Ok(()),
            Some(left) => {
                let error = PlanError::new(last, format!("no plan is for the last {}", count(left as usize, "row")));
                Err(error.help(format!("add `rows left, {left} at a time:` with a line for each stage")))
            }
            None if before == Some(1) => Ok(()),
            None => {
                let error = PlanError::new(last, "how many rows there are is not known here: some may be left");
                Err(error.help("add `rows left, 1 at a time:` with a line for each stage"))
            }
        }
    }

    /// The plans of the stages for so many rows.
    fn tile(&self, rows: &Rows, number: &At<i64>, texts: &[StageText]) -> Result<Vec<StagePlan>> {
        let stages = rows.sample(number.value).stages;
        if stages.len() != texts.len() {
            let (own, given) = (count(stages.len(), "stage"), count(texts.len(), "line"));
            let error = PlanError::new(number.span, format!("these rows have {own}, and this plan {given}"));
            return Err(error.help("write a line for each stage, further to the right"));
        }
        let plans = stages.iter().zip(texts);
        plans.map(|(own, text)| stage(text, own, &self.how.naming.axes(own), self.how, true)).collect()
    }
}
