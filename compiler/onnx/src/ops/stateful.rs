//! Stateful operators of generative models: linear attention, causal convolution, cache updates.

use super::{Op, Result, op};
use crate::{
    looping::{Iteration, Output, counted_loop, import_loop},
    node::{self, Node, axes_attr, product},
    value::Value,
};
use hammock_ir::{DType, PrimExpr, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] = &[
    op("CausalConvWithState", causal_conv).attributes("activation"),
    op("LinearAttention", linear_attention).attributes("chunk_size kv_num_heads q_num_heads scale update_rule"),
    op("TensorScatter", tensor_scatter).attributes("axis mode"),
];

/// Depthwise causal convolution; the state has the elements before the first.
fn causal_conv(n: &mut Node) -> Result {
    let (x, weight) = (n.input(0)?, n.input(1)?);
    let (sizes, kernel) = (n.dims(&x)?, n.dims(&weight)?);
    let ([batch, channels, length], [_, _, width]) = (sizes.as_slice(), kernel.as_slice()) else {
        return n.error("its input and its weight have to have 3 dimensions");
    };
    let Some(groups) = channels.as_int() else { return n.error("the number of channels has to be known") };
    let before = match n.optional(3)? {
        Some(past) => past,
        None => {
            let shape = vec![batch.clone(), channels.clone(), dims::sub(width, &PrimExpr::int64(1))];
            let zero = n.scalar_like(0.0, &x)?;
            n.call("full", [Operand::Shape(shape), zero])?
        }
    };
    let all = n.call_with("concat", [Operand::Tuple(vec![before, x])], &[("axis", 2i64.into())])?;
    let mut y = n.call_with("nn.conv1d", [all.clone(), weight], &[("groups", groups.into())])?;
    if n.given(2).is_some() {
        y = n.with_bias(y, 2, 1)?;
    }
    y = match n.attrs.str_or("activation", "none")? {
        "none" => y,
        "silu" | "swish" => {
            let dtype = n.dtype(&y)?;
            let wide = n.cast(y, if dtype.bits > 32 { dtype } else { DType::FLOAT32 })?;
            let active = n.call("nn.silu", [wide])?;
            n.cast(active, dtype)?
        }
        other => return n.error(format!("its `activation` is `{other}`, which is not known")),
    };
    let end = n.dims(&all)?.swap_remove(2);
    let state = n.slice_axis(all, 2, length.clone(), end)?;
    Ok(vec![y, state].into())
}

/// Recurrence over a (key, value) state matrix, a loop over the sequence.
fn linear_attention<'m>(n: &mut Node<'_, 'm>) -> Result {
    let rule = n.attrs.str_or("update_rule", "gated_delta")?;
    let (gated, delta) = match rule {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => return n.error(format!("its `update_rule` is `{other}`, which is not known")),
    };
    let heads = |n: &Node, name: &str| match n.attrs.int(name)? {
        Some(count) if count > 0 => Ok(count),
        _ => n.error(format!("its `{name}` is missing")),
    };
    let (q_heads, heads) = (heads(n, "q_num_heads")?, heads(n, "kv_num_heads")?);
    let query = n.input(0)?;
    let (sizes, dtype) = (n.dims(&query)?, n.dtype(&query)?);
    let [batch, length, _] = sizes.as_slice() else { return n.error("its inputs have to have 3 dimensions") };
    if q_heads % heads != 0 {
        return n.error("its `q_num_heads` have to be a multiple of its `kv_num_heads`");
    }
    let (q, k) = (split_heads(n, 0, q_heads)?, split_heads(n, 1, heads)?);
    let v = split_heads(n, 2, heads)?;
    let (Some(keys), values) = (n.dims(&k)?[3].as_int(), n.dims(&v)?[3].clone()) else {
        return n.error("its head size has to be known");
    };
    let columns = n.call_with("permute_dims", [k.clone()], &[("axes", axes_attr(&[0, 1, 3, 2]))])?;
    let decay = match gated {
        true => {
            let decay = split_heads(n, 4, heads)?;
            let decay = n.call_with("permute_dims", [decay], &[("axes", axes_attr(&[0, 1, 3, 2]))])?;
            Some(n.call("exp", [decay])?)
        }
        false => None,
    };
    let beta = if delta { Some(update_rates(n, heads)?) } else { None };
    let (state, state_dtype) = match n.optional(3)? {
        Some(past) => (n.cast(past.clone(), DType::FLOAT32)?, n.dtype(&past)?),
        None => {
            let shape = vec![batch.clone(), heads.into(), keys.into(), values.clone()];
            (n.call("full", [Operand::Shape(shape), node::scalar(0.0, DType::FLOAT32)?])?, dtype)
        }
    };
    let scale = match n.attrs.float_or("scale", 0.0)? {
        0.0 => (keys as f64).powf(-0.5),
        scale => scale,
    };
    let q = n.with_scalar("multiply", &q, scale)?;
    let mut step = |n: &mut Node<'_, 'm>, position: &Operand, state: &[Value]| {
        let mut state = n.importer.build.operand(&state[0])?;
        let position = n.reshape(position.clone(), vec![1i64.into()])?;
        let at = |n: &mut Node, x: &Operand, axis: i64| {
            n.call_with("take", [x.clone(), position.clone()], &[("axis", axis.into())])
        };
        if let Some(decay) = &decay {
            let decay = at(n, decay, 3)?;
            state = n.call("multiply", [state, decay])?;
        }
        let mut value = at(n, &v, 2)?;
        if let Some(beta) = &beta {
            let row = at(n, &k, 2)?;
            let found = n.call("matmul", [row, state.clone()])?;
            let (missing, rate) = (n.call("subtract", [value, found])?, at(n, beta, 2)?);
            value = n.call("multiply", [missing, rate])?;
        }
        let column = at(n, &columns, 3)?;
        let more = n.call("multiply", [column, value])?;
        state = n.call("add", [state, more])?;
        let seen = match q_heads / heads {
            1 => state.clone(),
            group => n.call_with("repeat", [state.clone()], &[("repeats", group.into()), ("axis", 1i64.into())])?,
        };
        let row = at(n, &q, 2)?;
        let y = n.call("matmul", [row, seen])?;
        let y = n.call_with("squeeze", [y], &[("axis", axes_attr(&[2]))])?;
        let y = Output { value: Value::Operand(y), axis: 2, reversed: false };
        Ok(Iteration { condition: None, state: vec![Value::Operand(state)], outputs: vec![y] })
    };
    let mut form = |n: &mut Node<'_, 'm>| counted_loop(n, None, length);
    let results = import_loop(n, Some(length), &[Value::Operand(state)], &mut form, &mut step)?;
    let [state, y] = [&results.state[0], &results.outputs[0]].map(|value| n.importer.build.operand(value));
    let (state, y) = (state?, y?);
    let y = n.call_with("permute_dims", [y], &[("axes", axes_attr(&[0, 2, 1, 3]))])?;
    let y = n.reshape(y, vec![batch.clone(), length.clone(), dims::mul(&PrimExpr::int64(q_heads), &values)])?;
    Ok(vec![n.cast(y, dtype)?, n.cast(state, state_dtype)?].into())
}

/// Transposes an input from (batch, length, heads * size) to (batch, heads, length, size), in float32.
fn split_heads(n: &mut Node, at: usize, heads: i64) -> node::Result<Operand> {
    let x = n.input(at)?;
    let x = n.cast(x, DType::FLOAT32)?;
    let [batch, length, hidden] =
        n.dims(&x)?.try_into().or_else(|_| n.error("its inputs have to have 3 dimensions"))?;
    let size = dims::floordiv(&hidden, &PrimExpr::int64(heads));
    let x = n.reshape(x, vec![batch, length, heads.into(), size])?;
    n.call_with("permute_dims", [x], &[("axes", axes_attr(&[0, 2, 1, 3]))])
}

/// Update rates, per head or shared by all.
fn update_rates(n: &mut Node, heads: i64) -> node::Result<Operand> {
    let beta = n.input(5)?;
    let one = n.dims(&beta)?.last().is_some_and(|size| dims::is(size, 1));
    split_heads(n, 5, if one { 1 } else { heads })
}

/// Writes an update to a cache, for each sequence from its own index on.
fn tensor_scatter(n: &mut Node) -> Result {
    let (cache, update) = (n.input(0)?, n.input(1)?);
    let sizes = n.dims(&cache)?;
    let axis = n.axis(n.attrs.int_or("axis", -2)?, sizes.len())?;
    if axis == 0 {
        return n.error("its `axis` cannot be that of the batch");
    }
    if n.rank(&update)? != sizes.len() {
        return n.error(format!("its `update` has no axis {axis}, as its cache has"));
    }
    let starts = if n.given(2).is_some() { Some(n.input_as_int64(2)?) } else { None };
    let is_circular = match n.attrs.str_or("mode", "linear")? {
        "linear" => false,
        "circular" => true,
        other => return n.error(format!("its `mode` is `{other}`, which is not known")),
    };
    Ok(write_rows(n, &Cache { data: cache, axis, is_circular }, update, starts)?.into())
}

/// Cache of rows along an axis, for each sequence of a batch.
pub(super) struct Cache {
    pub(super) data: Operand,
    /// Axis of the rows; the first axis is the batch.
    pub(super) axis: usize,
    /// True if rows beyond its end are written at its start; otherwise, they are dropped.
    pub(super) is_circular: bool,
}

/// Writes new rows to a cache, for each sequence from its own row on.
pub(super) fn write_rows(n: &mut Node, cache: &Cache, new: Operand, starts: Option<Operand>) -> node::Result<Operand> {
    let Cache { data, axis, is_circular } = cache;
    let (sizes, axis) = (n.dims(data)?, *axis);
    let count = n.dims(&new)?[axis].clone();
    // For each sequence and row of the cache, the new row.
    let counted = n.arange(sizes[axis].clone())?;
    let mut indices = n.reshape(counted, vec![1i64.into(), sizes[axis].clone()])?;
    if let Some(starts) = starts {
        let batch = product(&n.dims(&starts)?);
        let starts = n.reshape(starts, vec![batch, 1i64.into()])?;
        indices = n.call("subtract", [indices, starts])?;
    }
    if *is_circular {
        let whole = n.dims_vector(&sizes[axis..=axis])?;
        indices = n.call("floor_mod", [indices, whole])?;
    }
    let indices = n.call("broadcast_to", [indices, Operand::Shape(vec![sizes[0].clone(), sizes[axis].clone()])])?;
    let low = n.with_scalar("maximum", &indices, 0.0)?;
    let last = n.dims_vector(&[dims::sub(&count, &PrimExpr::int64(1))])?;
    let inside = n.call("minimum", [low, last])?;
    let written = n.call("equal", [inside.clone(), indices])?;
    let mut shape = vec![PrimExpr::int64(1); sizes.len()];
    (shape[0], shape[axis]) = (sizes[0].clone(), sizes[axis].clone());
    let written = n.reshape(written, shape)?;
    let order: Vec<usize> = [0, axis].into_iter().chain((1..sizes.len()).filter(|at| *at != axis)).collect();
    let turned = n.call_with("permute_dims", [new], &[("axes", axes_attr(&order))])?;
    // The rows of all sequences are one axis. Indices are inside of it, so there is nothing to check in the kernel.
    let mut merged = n.dims(&turned)?;
    let batch = merged.remove(0);
    merged[0] = dims::mul(&batch, &count);
    let turned = n.reshape(turned, merged)?;
    let index = if dims::is(&batch, 1) {
        inside
    } else {
        let sequences = n.arange(batch.clone())?;
        let sequences = n.reshape(sequences, vec![batch, 1i64.into()])?;
        let count = n.dims_vector(&[count])?;
        let first = n.call("multiply", [sequences, count])?;
        n.call("add", [inside, first])?
    };
    let found = n.call_with("take", [turned, index], &[("axis", 0i64.into()), ("mode", "clip".into())])?;
    let mut back = vec![0; sizes.len()];
    order.iter().enumerate().for_each(|(at, axis)| back[*axis] = at);
    let found = n.call_with("permute_dims", [found], &[("axes", axes_attr(&back))])?;
    n.call("where", [written, found, data.clone()])
}

impl Node<'_, '_> {
    /// Slices an axis.
    pub(super) fn slice_axis(
        &mut self,
        x: Operand,
        axis: usize,
        begin: PrimExpr,
        end: PrimExpr,
    ) -> node::Result<Operand> {
        self.strided_slice(x, axis, begin, end, 1)
    }

    /// Slices an axis with a step.
    pub(super) fn strided_slice(
        &mut self,
        x: Operand,
        axis: usize,
        begin: PrimExpr,
        end: PrimExpr,
        step: i64,
    ) -> node::Result<Operand> {
        let prims = |e: PrimExpr| Operand::Tuple(vec![Operand::Prim(e)]);
        self.call("strided_slice", [x, prims((axis as i64).into()), prims(begin), prims(end), prims(step.into())])
    }
}
