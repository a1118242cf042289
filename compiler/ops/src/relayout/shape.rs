//! Layout rules of operators with operands of different kinds.

use super::{Arrangement, LayoutChange, Relayout, RuleResult, int};

/// Only the data changes its layout; the result's other members are vectors.
pub fn batch_norm(call: &Relayout) -> RuleResult {
    let layout = call.unblocked("data")?;
    let position = int(layout.axis_position(call.cx.axis("axis", call.ndim("data")?)?));
    let layout: Arrangement = layout.into();
    let vectors = [Arrangement::AsWritten, Arrangement::AsWritten];
    let result = Arrangement::tuple([layout.clone()].into_iter().chain(vectors).collect());
    Ok(Some(LayoutChange::new([layout], result).attr("axis", position)))
}

/// `alpha` is a vector. Vector data has only one axis, regardless of `axis`.
pub fn prelu(call: &Relayout) -> RuleResult {
    if call.ndim("data")? == 1 { Ok(None) } else { super::along(call) }
}

/// Data and indices have the same layout: the data's, unless only the indices have another one than the program's.
pub fn gather_elements(call: &Relayout) -> RuleResult {
    let (data, indices) = (call.layout("data")?, call.layout("indices")?);
    let layout = if data.is_as_written() { indices } else { data };
    with_indices(call, layout, 2)
}

/// Data, indices and updates have the same layout: the data's, unless the other two agree on another.
pub fn scatter_elements(call: &Relayout) -> RuleResult {
    let (data, indices) = (call.layout("data")?, call.layout("indices")?);
    let layout = if indices == call.layout("updates")? { indices } else { data };
    with_indices(call, layout, 3)
}

fn with_indices(call: &Relayout, layout: crate::layout::Layout, operands: usize) -> RuleResult {
    let ndim = call.ndim("data")?;
    let layout = if layout.has_blocks() { call.as_written(ndim)? } else { layout };
    let position = int(layout.axis_position(call.cx.axis("axis", ndim)?));
    let layout: Arrangement = layout.into();
    Ok(Some(LayoutChange::new(vec![layout.clone(); operands], layout).attr("axis", position)))
}

/// Index vectors address the first axes of the data, so these keep their positions; data and updates change alike.
pub fn scatter_nd(call: &Relayout) -> RuleResult {
    let indices = call.cx.tensor("indices")?;
    let named = indices.dims().and_then(|dims| dims.last()).and_then(|count| count.as_int());
    let layout = call.unblocked("data")?;
    let same_rank = layout.ndim() == call.ndim("updates")?;
    let stays =
        |named: i64| layout.axes().take(named as usize).enumerate().all(|(position, (axis, _))| position == axis);
    if !same_rank || !named.is_some_and(stays) {
        return Ok(None);
    }
    let (indices, layout) = (call.arrangement("indices")?, Arrangement::from(layout));
    Ok(Some(LayoutChange::new([layout.clone(), indices, layout.clone()], layout)))
}
