//! Applies primitives to loops, axes and buffers that are found by name.

use super::{At, BindContext, Result, resolve};
use crate::schedule::{
    StagePlan,
    primitives::{Args, Edit, PRIMITIVES},
    read::{ArgsText, ChangeText, LoopName, PlanError},
    text::loop_text,
};
use hammock_loopnest::Stage;

/// Applies primitives to a stage's plan.
pub fn apply(
    plan: StagePlan,
    changes: &[ChangeText],
    stage: &Stage,
    axes: &[String],
    how: BindContext,
    inner: bool,
) -> Result<StagePlan> {
    let mut edit = Edit::new(plan, stage, how.ctx, axes.to_vec(), how.naming.parts(stage));
    for (number, change) in changes.iter().enumerate() {
        edit.now = number;
        let args = arguments(&change.args, &edit)?;
        (PRIMITIVES[change.primitive].apply)(&mut edit, &args)
            .map_err(|refused| PlanError::new(change.span, refused.message).help(refused.help))?;
    }
    edit.finish(inner).map_err(|fault| {
        let to_blame = fault.change.and_then(|number| changes.get(number)).or(changes.last());
        let span = to_blame.map_or(changes[0].span, |change| change.span);
        let help = format!("{}; after all changes, the loops are: {}", fault.help, fault.loops);
        PlanError::new(span, fault.message).help(help)
    })
}

fn arguments(text: &ArgsText, edit: &Edit) -> Result<Args> {
    let loops = text.loops.iter().map(|name| resolve_loop(name, edit)).collect::<Result<_>>()?;
    let part = text.part.as_ref().map(|part| resolve(part, "buffer to copy", &edit.parts)).transpose()?;
    let axis = |axis: &At<String>| resolve(axis, "axis", &edit.axes);
    let axes = text.axes.as_ref().map(|axes| axes.iter().map(axis).collect::<Result<_>>()).transpose()?;
    let inside = text.location.as_ref().map(|location| match location {
        Some(name) => resolve_loop(name, edit).map(|number| number + 1),
        None => Ok(0),
    });
    Ok(Args { loops, number: text.number, part: part.unwrap_or(0), axes, inside: inside.transpose()? })
}

/// Returns the current index of a loop.
fn resolve_loop(name: &LoopName, edit: &Edit) -> Result<usize> {
    let axis = resolve(&name.axis, "axis", &edit.axes)?;
    let over = || edit.plan.loops.iter().enumerate().filter(|(_, l)| l.axis == axis);
    let found = match name.step {
        Some(step) => over().find(|(_, l)| l.step == step),
        None => over().next_back(),
    };
    found.map(|(number, _)| number).ok_or_else(|| {
        let own: Vec<String> = over().map(|(_, l)| format!("`{}`", loop_text(l, &edit.axes))).collect();
        let error = PlanError::new(name.span, format!("there is no such loop over `{}` here", name.axis.value));
        error.help(format!("its loops are {}, and each is called by its step", own.join(", ")))
    })
}
