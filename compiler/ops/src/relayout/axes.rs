//! Layout rules of operators with axis attributes.

use super::{Arrangement, LayoutChange, Relayout, RuleResult, elementwise, int, ints};
use crate::{dims, layout::Layout};
use hammock_ir::{
    AttrValue,
    relax::{InferError, Operand},
};

/// Operators along one `axis` whose result is like the operand.
pub fn along(call: &Relayout) -> RuleResult {
    let param = call.cx.op.params[0].name;
    let layout = call.unblocked(param)?;
    let axis = call.cx.axis("axis", call.ndim(param)?)?;
    let position = int(layout.axis_position(axis));
    let layout: Arrangement = layout.into();
    Ok(Some(LayoutChange::new([layout.clone()], layout).attr("axis", position)))
}

/// The same with parameters that have one element, or one per index along the axis; if all have one, the axis does not
/// matter.
pub fn with_parameters(call: &Relayout) -> RuleResult {
    let mut single = true;
    for param in call.cx.op.operands().skip(1) {
        let ty = call.cx.tensor_or_scalar(param.name)?;
        single &= ty.dims().is_some_and(|sizes| sizes.iter().all(|size| dims::is(size, 1)));
    }
    if single { elementwise(call) } else { along(call) }
}

/// Padding, with a pair of numbers per axis.
pub fn padded(call: &Relayout) -> RuleResult {
    let layout = call.unblocked("data")?;
    let widths = call.cx.ints("pad_width")?;
    if widths.len() != 2 * layout.ndim() {
        return Ok(None);
    }
    let moved: Vec<i64> = layout.axes().flat_map(|(axis, _)| [widths[2 * axis], widths[2 * axis + 1]]).collect();
    let layout: Arrangement = layout.into();
    Ok(Some(LayoutChange::new([layout.clone()], layout).attr("pad_width", moved)))
}

/// Normalization over `axes`, with parameters of the sizes of those axes, or of the channels along `channel_axis`.
pub fn normalized(call: &Relayout) -> RuleResult {
    over_axes(call, None)
}

/// The same, by channels.
pub fn channels_and_axes(call: &Relayout) -> RuleResult {
    let ndim = call.ndim("data")?;
    over_axes(call, Some(call.cx.axis("channel_axis", ndim)?))
}

/// Normalized axes and the channel axis must not be blocked.
fn over_axes(call: &Relayout, channel: Option<usize>) -> RuleResult {
    let ndim = call.ndim("data")?;
    let axes = call.cx.axes("axes", ndim)?;
    let current = call.layout("data")?;
    let layout = match axes.iter().chain(&channel).any(|axis| current.block_of(*axis).is_some()) {
        true => call.as_written(ndim)?,
        false => current,
    };
    let positions = ints(axes.iter().map(|axis| layout.axis_position(*axis)));
    let channel = channel.map(|channel| int(layout.axis_position(channel)));
    let layout: Arrangement = layout.into();
    let relaid = LayoutChange::new([layout.clone()], layout).attr("axes", positions);
    Ok(Some(channel.into_iter().fold(relaid, |relaid, channel| relaid.attr("channel_axis", channel))))
}

/// Reduction over `axis`, or over all axes. Both parts of a blocked axis are reduced.
pub fn reduction(call: &Relayout) -> RuleResult {
    let ndim = call.ndim("x")?;
    let folded = call.cx.axes_or_all("axis", ndim)?;
    let layout = call.layout("x")?;
    let is_folded = |axis: usize| folded.contains(&axis);
    let positions =
        ints(layout.axes().enumerate().filter(|(_, (axis, _))| is_folded(*axis)).map(|(position, _)| position));
    let result = match call.cx.bool("keepdims")? {
        // reduced axes have one element, so their blocks have one
        true => Layout::of_axes(layout.axes().map(|(axis, b)| (axis, b.map(|b| if is_folded(axis) { 1 } else { b })))),
        false => without(&layout, &folded),
    };
    Ok(Some(LayoutChange::new([layout.into()], result).attr("axis", positions)))
}

/// A layout with some axes removed.
fn without(layout: &Layout, removed: &[usize]) -> Layout {
    let number = |axis: usize| axis - removed.iter().filter(|r| **r < axis).count();
    let kept = layout.axes().filter(|(axis, _)| !removed.contains(axis));
    Layout::of_axes(kept.map(|(axis, block)| (number(axis), block)))
}

/// Axes of size 1 removed.
pub fn squeezed(call: &Relayout) -> RuleResult {
    let ndim = call.ndim("x")?;
    let Some(shape) = call.cx.tensor("x")?.dims().map(<[_]>::to_vec) else { return Ok(None) };
    let is_one = |axis: &usize| shape[*axis].as_int() == Some(1);
    let removed: Vec<usize> = match call.cx.attr("axis")?.is_none() {
        true if shape.iter().any(|d| d.as_int().is_none()) => return Ok(None),
        true => (0..ndim).filter(is_one).collect(),
        false => call.cx.axes("axis", ndim)?,
    };
    // a given axis of another size is unchanged
    if removed.iter().any(|axis| shape[*axis].as_int().is_some() && !is_one(axis)) {
        return Ok(None);
    }
    let layout = call.unblocked("x")?;
    let mut positions: Vec<usize> = removed.iter().map(|axis| layout.axis_position(*axis)).collect();
    positions.sort_unstable();
    let result = without(&layout, &removed);
    Ok(Some(LayoutChange::new([layout.into()], result).attr("axis", ints(positions))))
}

/// Inserted axes of size 1: they keep their positions, the others fill the remaining ones in order.
pub fn expansion(call: &Relayout) -> RuleResult {
    let layout = call.unblocked("x")?;
    let ndim = layout.ndim() + call.cx.ints("axis")?.len();
    call.as_written(ndim)?;
    let result = inserted(&layout, &call.cx.axes("axis", ndim)?, ndim);
    Ok(Some(LayoutChange::new([layout.into()], result)))
}

/// The layout of a tensor of `ndim` axes, where new axes are at their given positions.
fn inserted(layout: &Layout, new: &[usize], ndim: usize) -> Layout {
    let kept: Vec<usize> = (0..ndim).filter(|axis| !new.contains(axis)).collect();
    let mut own = layout.axes().map(|(axis, block)| (kept[axis], block));
    let at = |position| if new.contains(&position) { Some((position, None)) } else { own.next() };
    Layout::of_axes((0..ndim).filter_map(at))
}

/// `permute_dims`: its result has the program's layout.
pub fn permutation(call: &Relayout) -> RuleResult {
    let ndim = call.ndim("x")?;
    let layout = call.unblocked("x")?;
    let order = match call.cx.attr("axes")?.is_none() {
        true => (0..ndim).rev().collect(),
        false => call.cx.axes("axes", ndim)?,
    };
    let positions = ints(order.into_iter().map(|axis| layout.axis_position(axis)));
    Ok(Some(LayoutChange::new([layout.into()], Arrangement::AsWritten).attr("axes", positions)))
}

/// The layouts of the members of a tuple of tensors.
fn members(call: &Relayout, param: &str) -> Result<Vec<Layout>, InferError> {
    let tensors = call.cx.tensors(param)?;
    let current = call.arrangement(param)?;
    let layout = |(i, ty): (usize, &hammock_ir::TensorType)| match current.member(i) {
        Arrangement::Tensor(layout) => Ok(layout),
        _ => call.as_written(ty.ndim().unwrap_or(0)),
    };
    tensors.iter().enumerate().map(layout).collect()
}

/// Concatenation along an axis: all in the first tensor's layout, or, if only some are blocked, in that of the first
/// unblocked one.
pub fn concatenation(call: &Relayout) -> RuleResult {
    let layouts = members(call, "tensors")?;
    let Some(first) = layouts.first() else { return Ok(None) };
    let ndim = first.primal_ndim();
    let mut layout = layouts.iter().find(|l| !l.has_blocks()).filter(|_| layouts.iter().any(Layout::has_blocks));
    let all_fit = call.cx.tensors("tensors")?.iter().all(|ty| first.fits(ty.dims()));
    let as_written = call.as_written(ndim)?;
    let layout = layout.take().unwrap_or(if all_fit { first } else { &as_written }).clone();
    let axis = call.cx.optional_int("axis")?.unwrap_or(0);
    let position = layout.axis_position(call.cx.normalize_axis("axis", axis, ndim)?);
    let each = Arrangement::tuple(vec![layout.clone().into(); layouts.len()]);
    Ok(Some(LayoutChange::new([each], layout).attr("axis", int(position))))
}

/// Tensors stacked along a new axis, which is at its given position.
pub fn stacked(call: &Relayout) -> RuleResult {
    let layouts = members(call, "tensors")?;
    let Some(first) = layouts.first() else { return Ok(None) };
    let layout = if first.has_blocks() { call.as_written(first.primal_ndim())? } else { first.clone() };
    let ndim = layout.ndim() + 1;
    call.as_written(ndim)?;
    let axis = call.cx.normalize_axis("axis", call.cx.optional_int("axis")?.unwrap_or(0), ndim)?;
    let result = inserted(&layout, &[axis], ndim);
    let each = Arrangement::tuple(vec![layout.into(); layouts.len()]);
    Ok(Some(LayoutChange::new([each], result).attr("axis", int(axis))))
}

/// A tensor split along an axis; a blocked axis is split only between blocks.
pub fn parts(call: &Relayout) -> RuleResult {
    let ndim = call.ndim("x")?;
    let ty = call.cx.result_ty()?;
    let Some(pieces) = ty.as_tuple() else { return Ok(None) };
    let current = call.layout("x")?;
    let fits = pieces.iter().all(|ty| ty.as_tensor().is_some_and(|t| current.fits(t.dims())));
    let layout = if fits { current } else { call.as_written(ndim)? };
    let axis = call.cx.axis("axis", ndim)?;
    let result = Arrangement::tuple(vec![layout.clone().into(); pieces.len()]);
    let position = int(layout.axis_position(axis));
    let block = layout.block_of(axis);
    let relaid = LayoutChange::new([layout.into()], result).attr("axis", position);
    let ends = call.cx.attr("indices_or_sections")?.as_list();
    Ok(Some(match block.zip(ends) {
        Some((block, ends)) => {
            let ends = ends.iter().map(|end| AttrValue::Int(end.as_int().unwrap_or(0) / block));
            relaid.attr("indices_or_sections", ends.collect::<Vec<_>>())
        }
        None => relaid,
    }))
}

/// Elements repeated along an axis. Without an axis, the flattened tensor is in program order.
pub fn repeated(call: &Relayout) -> RuleResult {
    match call.cx.attr("axis")?.is_none() {
        true => Ok(None),
        false => along(call),
    }
}

/// The whole tensor repeated along axes; excess repetitions add leading axes.
pub fn tiled(call: &Relayout) -> RuleResult {
    let layout = call.unblocked("data")?;
    let (ndim, times) = (layout.ndim(), call.cx.ints("repeats")?);
    let rank = ndim.max(times.len());
    let result = call.among(&layout, rank)?;
    let of = |axis: usize| (axis + times.len()).checked_sub(rank).map_or(1, |i| times[i]);
    let repeats: Vec<i64> = result.axes().map(|(axis, _)| of(axis)).collect();
    Ok(Some(LayoutChange::new([layout.into()], result).attr("repeats", repeats)))
}

/// Slices of the axes that the second operand names.
pub fn slices(call: &Relayout) -> RuleResult {
    let ndim = call.ndim("x")?;
    let layout = call.unblocked("x")?;
    let axes = call.cx.prims("axes")?.unwrap_or_default();
    let Some(axes) = axes.iter().map(|a| a.as_int()).collect::<Option<Vec<i64>>>() else { return Ok(None) };
    if call.cx.prims("axes")?.is_none() {
        return Ok(None);
    }
    let position = |axis| Ok(Operand::int(layout.axis_position(call.cx.normalize_axis("axes", axis, ndim)?) as i64));
    let positions = axes.into_iter().map(position).collect::<Result<Vec<_>, InferError>>()?;
    let layout: Arrangement = layout.into();
    let relaid = LayoutChange::new([layout.clone()], layout);
    Ok(Some(LayoutChange { replaced: vec![(1, Operand::Tuple(positions))], ..relaid }))
}
