//! Data movement: transpose, concat, split, slice, tile.

use super::{Op, Result, activation::axis_attr, dynamic_shape, op, strings};
use crate::{
    fold::indices_of,
    known_tensor::KnownTensor,
    node::{self, Node, axes_attr, shown_size},
    value::{Outputs, Value},
};
use hammock_ir::{AttrValue, PrimExpr, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] = &[
    op("Concat", concat).on_strings(strings::concat).moves_elements().attributes("axis"),
    op("DepthToSpace", depth_to_space).moves_elements().attributes("blocksize mode@11"),
    op("ReverseSequence", reverse_sequence).attributes("batch_axis time_axis"),
    op("Slice", slice).moves_elements().attributes("axes@-9 ends@-9 starts@-9"),
    op("SpaceToDepth", space_to_depth).moves_elements().attributes("blocksize mode@28"),
    op("Split", split).moves_elements().attributes("axis num_outputs@18 split@-12"),
    op("Tile", tile).moves_elements(),
    op("Transpose", transpose).moves_elements().attributes("perm"),
    op("Trilu", trilu).attributes("upper"),
];

fn transpose(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let rank = n.rank(&x)?;
    let axes = match n.attrs.ints("perm")? {
        Some(axes) => n.axes(&axes, rank)?,
        None => (0..rank).rev().collect(),
    };
    if let Some(known) = n.known(0).and_then(|x| transpose_known(&x, &axes)) {
        return Ok(known.into());
    }
    Ok(n.call_with("permute_dims", [x], &[("axes", axes_attr(&axes))])?.into())
}

/// Transposes known elements.
fn transpose_known(x: &KnownTensor, axes: &[usize]) -> Option<KnownTensor> {
    if axes.len() != x.shape.len() {
        return None;
    }
    let shape: Vec<i64> = axes.iter().map(|axis| x.shape.get(*axis).copied()).collect::<Option<_>>()?;
    x.map_indices(&shape, |index| {
        let mut own = vec![0; index.len()];
        axes.iter().zip(index).for_each(|(axis, at)| own[*axis] = *at);
        own
    })
}

fn concat(n: &mut Node) -> Result {
    let axis = n.attrs.int_or("axis", if n.opset < 4 { 1 } else { 0 })?;
    let known: Option<Vec<KnownTensor>> = (0..n.inputs.len()).map(|at| n.known(at)).collect();
    if let Some(known) = known.filter(|known| known.iter().all(|x| x.shape.len() == 1)).and_then(|x| concat_known(&x)) {
        return Ok(known.into());
    }
    let parts = n.inputs_from(0)?;
    let first = match parts.as_slice() {
        [] => return n.error("it has no inputs"),
        [one] => return Ok(Value::Operand(one.clone()).into()),
        [first, ..] => first.clone(),
    };
    let axis = n.axis(axis, n.rank(&first)?)?;
    if has_many_sizes(n, &parts, axis)? {
        // A function of the runtime copies each part.
        let build = &mut n.importer.build;
        let element = build.element_of(&Value::Operand(first))?;
        return Ok(build.concat_sequence(Operand::Tuple(parts), &element, axis as i64, false)?.into());
    }
    Ok(n.call_with("concat", [Operand::Tuple(parts)], &[("axis", axis_attr(axis))])?.into())
}

/// Maximum number of different symbolic sizes that one kernel concatenates: offsets are sums of them, so the time to
/// compile it grows with the cube of their number.
const MAX_SYMBOLIC_SIZES: usize = 16;

/// True if the sizes of an axis have more than [`MAX_SYMBOLIC_SIZES`] different expressions.
fn has_many_sizes(n: &Node, parts: &[Operand], axis: usize) -> node::Result<bool> {
    let mut symbolic: Vec<PrimExpr> = Vec::new();
    for part in parts {
        let size = n.dims(part)?.into_iter().nth(axis).filter(|size| size.as_int().is_none());
        let is_new = |size: &PrimExpr| symbolic.iter().all(|other| dims::equal(other, size) != Some(true));
        symbolic.extend(size.filter(is_new));
        if symbolic.len() > MAX_SYMBOLIC_SIZES {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Concatenates vectors, or stacks scalars.
pub(super) fn concat_known(parts: &[KnownTensor]) -> Option<KnownTensor> {
    let elements: Vec<PrimExpr> = parts.iter().flat_map(|x| x.elements.iter().cloned()).collect();
    KnownTensor::new(&[elements.len() as i64], parts.first()?.dtype, elements)
}

/// Splits into parts of given sizes, or into equal parts; the last may be smaller.
fn split(n: &mut Node) -> Result {
    // In version 1, the sizes are an attribute or an input.
    let as_input = n.opset == 1 && n.given(1).is_some();
    let sizes = n.ints_since(if as_input { 1 } else { 13 }, 1, "split");
    let axis = n.attrs.int_or("axis", 0)?;
    let known = n.known(0).filter(|x| x.shape.len() == 1);
    let x = n.input(0)?;
    let dims = n.dims(&x)?;
    let axis = n.axis(axis, dims.len())?;
    let Ok(sizes) = sizes else { return dynamic_shape::split(n, axis) };
    let count = n.attrs.int_or("num_outputs", n.outputs as i64)?;
    if count < 1 || count > n.outputs.max(1) as i64 || sizes.as_ref().is_some_and(Vec::is_empty) {
        return n.error("it splits into no parts");
    }
    let sizes = match (sizes, dims[axis].as_int()) {
        (Some(sizes), _) => sizes,
        (None, Some(size)) => {
            let each = size.div_euclid(count) + i64::from(size % count != 0);
            (0..count).map(|i| (size - i * each).clamp(0, each)).collect()
        }
        (None, None) => {
            let attrs = [("indices_or_sections", AttrValue::Int(count)), ("axis", axis_attr(axis))];
            let parts = n.call_with("split", [x], &attrs)?;
            return Ok(n.importer.build.members(&parts)?.into());
        }
    };
    let mut ends = Vec::new();
    for size in &sizes {
        ends.push(ends.last().copied().unwrap_or(0i64).saturating_add(*size));
    }
    if sizes.iter().any(|size| *size < 0) || dims[axis].as_int().is_some_and(|size| ends.last() != Some(&size)) {
        return n.error(split_misfit(&sizes, axis, &dims[axis]));
    }
    let x = n.assert_dims(x, &[(axis, ends.last().copied().unwrap_or(0).into())])?;
    if let Some(known) = known {
        let part = |(size, end): (&i64, &i64)| {
            let elements = known.elements.get((end - size) as usize..*end as usize)?.to_vec();
            KnownTensor::new(&[*size], known.dtype, elements).map(Value::Known)
        };
        if let Some(parts) = sizes.iter().zip(&ends).map(part).collect() {
            return Ok(Outputs(parts));
        }
    }
    if sizes.len() == 1 {
        return Ok(Value::Operand(x).into());
    }
    ends.pop();
    let attrs = [("indices_or_sections", ends.into()), ("axis", axis_attr(axis))];
    let parts = n.call_with("split", [x], &attrs)?;
    Ok(n.importer.build.members(&parts)?.into())
}

/// Explains why parts do not add up to an axis.
fn split_misfit(sizes: &[i64], axis: usize, extent: &PrimExpr) -> String {
    let sum = sizes.iter().fold(0i64, |sum, size| sum.saturating_add(*size));
    let extent = shown_size(extent);
    match sizes.iter().find(|size| **size < 0) {
        Some(size) => format!("axis {axis} of {extent} elements cannot have a part of {size} elements in {sizes:?}"),
        None => format!("parts of {sizes:?} have {sum} elements together, but axis {axis} has {extent}"),
    }
}

/// Bounds are attributes before version 10, and inputs since then.
fn slice(n: &mut Node) -> Result {
    let since = 10;
    if n.opset >= since && !(1..n.inputs.len()).all(|at| n.given(at).is_none() || n.known(at).is_some()) {
        return dynamic_shape::slice(n);
    }
    let bounds = |at: usize, name: &str| -> crate::node::Result<Option<Vec<PrimExpr>>> {
        match n.opset < since {
            true => Ok(n.attrs.ints(name)?.map(|ints| ints.into_iter().map(PrimExpr::int64).collect())),
            false if n.given(at).is_none() => Ok(None),
            false => n.known_sizes(at, name).map(Some),
        }
    };
    let (starts, ends) = (bounds(1, "starts")?, bounds(2, "ends")?);
    let (Some(starts), Some(ends)) = (starts, ends) else { return n.error("its `starts` or `ends` are missing") };
    let axes = n.ints_since(since, 3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = if n.opset < since { None } else { n.ints(4, "steps")? };
    let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()].iter().any(|len| *len != starts.len()) || steps.contains(&0) {
        return n.error("its `starts`, `ends`, `axes` and `steps` do not fit each other");
    }
    let x = n.input(0)?;
    let sizes = n.dims(&x)?;
    let axes = n.axes(&axes, sizes.len())?;
    if let Some(known) = n.known(0).and_then(|x| slice_known(&x, &axes, [&starts, &ends], &steps)) {
        return Ok(known.into());
    }
    // Longer than any axis, but sums with dimensions do not overflow.
    const FAR: i64 = i64::MAX / 2;
    // Exporters write "to the end" as one of these, for every size.
    let is_end = |end: i64, size: &PrimExpr| end >= FAR || size.as_int().is_none() && end == i64::from(i32::MAX);
    let end = |at: usize| match ends[at].as_int() {
        Some(end) if steps[at] > 0 && is_end(end, &sizes[axes[at]]) => sizes[axes[at]].clone(),
        Some(end) => PrimExpr::int64(end.clamp(-FAR, FAR)),
        None => ends[at].clone(),
    };
    let begin = |at: &PrimExpr| at.as_int().map_or_else(|| at.clone(), |at| PrimExpr::int64(at.clamp(-FAR, FAR)));
    let prims = |list: Vec<PrimExpr>| Operand::Tuple(list.into_iter().map(Operand::Prim).collect());
    let (begin, end) = (prims(starts.iter().map(begin).collect()), prims((0..ends.len()).map(end).collect()));
    let strides = prims(steps.iter().map(|s| PrimExpr::int64(*s)).collect());
    let axes = prims(axes.iter().map(|a| PrimExpr::int64(*a as i64)).collect());
    Ok(n.call("strided_slice", [x, axes, begin, end, strides])?.into())
}

/// Slices known elements.
fn slice_known(
    x: &KnownTensor,
    axes: &[usize],
    [starts, ends]: [&[PrimExpr]; 2],
    steps: &[i64],
) -> Option<KnownTensor> {
    let (mut shape, mut first, mut by) = (x.shape.clone(), vec![0; x.shape.len()], vec![1; x.shape.len()]);
    for (at, axis) in axes.iter().enumerate() {
        let (len, step) = (x.shape[*axis], steps[at]);
        let from_start = |at: i64| if at < 0 { at.saturating_add(len) } else { at };
        let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
        let (start, end) = (starts[at].as_int()?, ends[at].as_int()?);
        let (start, end) = (from_start(start).clamp(low, high), from_start(end).clamp(low, high));
        let (way, pace) = if step > 0 { (end - start, step) } else { (start - end, step.checked_neg()?) };
        shape[*axis] = way.max(0).checked_add(pace - 1)? / pace;
        (first[*axis], by[*axis]) = (start, step);
    }
    let index_map =
        |index: &[i64]| index.iter().zip(&first).zip(&by).map(|((at, first), by)| first + at * by).collect();
    x.map_indices(&shape, index_map)
}

fn tile(n: &mut Node) -> Result {
    if n.opset < 6 {
        return tile_axis(n);
    }
    let Ok(repeats) = n.ints(1, "repeats") else { return dynamic_shape::tile(n) };
    let Some(repeats) = repeats else { return n.error("its `repeats` are missing") };
    let x = n.input(0)?;
    let rank = n.rank(&x)?;
    if repeats.len() != rank {
        return n.error(format!("its `repeats` are {} numbers, but its input has {rank} dimensions", repeats.len()));
    }
    Ok(n.call_with("tile", [x], &[("repeats", repeats.into())])?.into())
}

/// Version 1 repeats along one axis.
fn tile_axis(n: &mut Node) -> Result {
    let number = |list: Option<Vec<i64>>| list.and_then(|list| list.first().copied());
    let (tiles, axis) = (number(n.ints(1, "tiles")?), number(n.ints(2, "axis")?));
    let (Some(tiles), Some(axis)) = (tiles, axis) else { return n.error("its `tiles` or its `axis` is missing") };
    let x = n.input(0)?;
    let rank = n.rank(&x)?;
    let mut repeats = vec![1; rank];
    repeats[n.axis(axis, rank)?] = tiles;
    Ok(n.call_with("tile", [x], &[("repeats", repeats.into())])?.into())
}

fn trilu(n: &mut Node) -> Result {
    let Ok(k) = n.ints(1, "k") else { return dynamic_shape::triangle(n) };
    let k = k.and_then(|k| k.first().copied()).unwrap_or(0);
    let ours = if n.attrs.int_or("upper", 1)? != 0 { "triu" } else { "tril" };
    let x = n.input(0)?;
    Ok(n.call(ours, [x, Operand::int(k)])?.into())
}

fn reverse_sequence(n: &mut Node) -> Result {
    let (x, lengths) = (n.input(0)?, n.input(1)?);
    let (batch, time) = (n.attrs.int_or("batch_axis", 1)?, n.attrs.int_or("time_axis", 0)?);
    let dims = n.dims(&x)?;
    let lengths = n.check_lengths(lengths, &dims[n.axis(time, dims.len())?])?;
    let attrs = [("seq_axis", time.into()), ("batch_axis", batch.into())];
    Ok(n.call_with("reverse_sequence", [x, lengths], &attrs)?.into())
}

/// Splits, permutes, and collapses axes.
fn regroup(n: &mut Node, x: Operand, split: Vec<PrimExpr>, axes: &[usize], joined: Vec<PrimExpr>) -> Result {
    let x = n.reshape(x, split)?;
    let x = n.call_with("permute_dims", [x], &[("axes", axes_attr(axes))])?;
    Ok(n.reshape(x, joined)?.into())
}

fn images(n: &mut Node) -> crate::node::Result<(Operand, [PrimExpr; 4], i64)> {
    let x = n.input(0)?;
    let Some(block) = n.attrs.int("blocksize")?.filter(|b| (1..1 << 15).contains(b)) else {
        return n.error("its `blocksize` is missing");
    };
    let dims = n.dims(&x)?.try_into().or_else(|_| n.error("its input has to be images of 4 dimensions"))?;
    Ok((x, dims, block))
}

fn depth_to_space(n: &mut Node) -> Result {
    let (x, [batch, channels, h, w], b) = images(n)?;
    let by = PrimExpr::int64(b);
    let less = dims::floordiv(&channels, &PrimExpr::int64(b * b));
    let (tall, wide) = (dims::mul(&h, &by), dims::mul(&w, &by));
    let joined = vec![batch.clone(), less.clone(), tall, wide];
    match n.attrs.str_or("mode", "DCR")? {
        "CRD" => regroup(n, x, vec![batch, less, by.clone(), by, h, w], &[0, 1, 4, 2, 5, 3], joined),
        _ => regroup(n, x, vec![batch, by.clone(), by, less, h, w], &[0, 3, 4, 1, 5, 2], joined),
    }
}

fn space_to_depth(n: &mut Node) -> Result {
    let (x, [batch, channels, h, w], b) = images(n)?;
    let by = PrimExpr::int64(b);
    let (low, narrow) = (dims::floordiv(&h, &by), dims::floordiv(&w, &by));
    let more = dims::mul(&channels, &PrimExpr::int64(b * b));
    let split = vec![batch.clone(), channels, low.clone(), by.clone(), narrow.clone(), by];
    let order = if n.attrs.str_or("mode", "DCR")? == "CRD" { [0, 1, 3, 5, 2, 4] } else { [0, 3, 5, 1, 2, 4] };
    regroup(n, x, split, &order, vec![batch, more, low, narrow])
}

impl KnownTensor {
    /// Gathers known elements along an axis.
    pub(super) fn take(&self, indices: &KnownTensor, axis: usize) -> Option<KnownTensor> {
        let wanted = indices.ints()?;
        let size = self.shape[axis];
        let shape = [&self.shape[..axis], &indices.shape, &self.shape[axis + 1..]].concat();
        crate::known_tensor::count(&shape)?;
        let rank = indices.shape.len();
        let element = |position: &Vec<i64>| {
            let at = indices.shape.iter().zip(&position[axis..]).fold(0, |at, (size, i)| at * size + i);
            let index = *wanted.get(at as usize)?;
            let index = if index < 0 { index + size } else { index };
            let from = [&position[..axis], &[index], &position[axis + rank..]].concat();
            (0..size).contains(&index).then(|| self.at(&from).clone())
        };
        let elements = indices_of(&shape).iter().map(element).collect::<Option<Vec<_>>>()?;
        KnownTensor::new(&shape, self.dtype, elements)
    }
}
