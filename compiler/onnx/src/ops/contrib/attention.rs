//! Attention of several heads.

use super::{
    super::{
        Op, Result,
        attention::{append_past, head_count, mask_to_bias, split_heads},
        stateful::{Cache, write_rows},
    },
    op,
    quantize::quantized_projection,
};
use crate::node::{self, Node};
use hammock_ir::{DType, PrimExpr, relax::Operand};
use hammock_ops::{dims, legalize::accumulator};

pub const OPS: &[Op] = &[
    op("Attention", attention).attributes(
        "do_rotary mask_filter_value num_heads past_present_share_buffer qkv_hidden_sizes rotary_embedding_dim scale \
         unidirectional",
    ),
    op("DecoderMaskedMultiHeadAttention", decoder)
        .attributes("mask_filter_value num_heads output_qk past_present_share_buffer scale"),
    op("QAttention", quantized)
        .attributes("do_rotary mask_filter_value num_heads past_present_share_buffer scale unidirectional"),
    op("MultiHeadAttention", multi_head).attributes("mask_filter_value num_heads scale unidirectional"),
];

/// Queries, keys and values as (batch, heads, length, head size).
struct Heads {
    queries: Operand,
    keys: Operand,
    values: Operand,
}

/// Indices of the inputs of an operator.
struct Inputs {
    /// Bias of queries, keys and values.
    projection_bias: usize,
    mask: usize,
    /// What is added to scores.
    bias: usize,
    past_keys: usize,
    past_values: usize,
    /// Number of past rows in buffers of maximum length.
    past_length: usize,
    /// Which beam each row of the past is from.
    indirection: usize,
}

const MULTI_HEAD: Inputs =
    Inputs { projection_bias: 3, mask: 4, bias: 5, past_keys: 6, past_values: 7, past_length: 8, indirection: 9 };

const DECODER: Inputs =
    Inputs { projection_bias: 10, mask: 3, bias: 4, past_keys: 5, past_values: 6, past_length: 7, indirection: 9 };

/// Inputs: data, the weights and the bias of queries, keys and values in one matrix, a mask, past keys and values in one
/// tensor, and what is added to scores. Results: the data, and all keys and values in one tensor.
fn attention(n: &mut Node) -> Result {
    if n.attrs.flag("do_rotary")? {
        return n.error("rotary embeddings in it are not supported");
    }
    let (x, weights) = (n.input(0)?, n.input(1)?);
    let mut all = n.call("matmul", [x, weights])?;
    if let Some(bias) = n.optional(2)? {
        all = n.call("add", [all, bias])?;
    }
    merged(n, &all)
}

/// The same on integers: its inputs are data, weights, bias, their scales, a mask, their zero points, and past keys and
/// values.
fn quantized(n: &mut Node) -> Result {
    if n.attrs.flag("do_rotary")? || n.attrs.flag("past_present_share_buffer")? {
        return n.error("rotary embeddings and buffers of maximum length in it are not supported");
    }
    let all = quantized_projection(n)?;
    let (mask, past) = (n.given(5).cloned(), n.given(8).cloned());
    n.inputs = vec![None, None, None, mask, past];
    merged(n, &all)
}

/// Attention of queries, keys and values in one tensor.
fn merged(n: &mut Node, all: &Operand) -> Result {
    let sizes = match n.attrs.ints("qkv_hidden_sizes")? {
        Some(sizes) => sizes,
        None => match n.dims(all)?.last().and_then(PrimExpr::as_int) {
            Some(size) => vec![size / 3; 3],
            None => return n.error("the size of its weights has to be known"),
        },
    };
    let [queries, keys, values] = split(n, all, &sizes)?;
    // Required even where its data have 4 dimensions already.
    head_count(n, "num_heads")?;
    let (queries, mut keys, mut values) = (
        split_heads(n, queries, "num_heads")?,
        split_heads(n, keys, "num_heads")?,
        split_heads(n, values, "num_heads")?,
    );
    let mut present = (keys.clone(), values.clone());
    if let Some(past) = n.optional(4)? {
        let past_of = |n: &mut Node, index: i64| -> node::Result<Operand> {
            let index = node::scalar(index as f64, DType::INT64)?;
            n.call_with("take", [past.clone(), index], &[("axis", 0i64.into())])
        };
        let (past_keys, past_values) = (past_of(n, 0)?, past_of(n, 1)?);
        let length = past_length(n, 6)?;
        (present.0, keys) = append(n, past_keys, keys, length.clone())?;
        (present.1, values) = append(n, past_values, values, length)?;
    }
    let y = n.attend(&Heads { queries, keys, values }, (3, 5))?;
    if n.outputs == 1 {
        return Ok(y.into());
    }
    let (keys, values) = present;
    let present = n.call_with("stack", [Operand::Tuple(vec![keys, values])], &[("axis", 0i64.into())])?;
    Ok(vec![y, present].into())
}

/// Inputs: queries, keys, values, their bias, a mask, what is added to scores, and past keys and values. Results: the
/// data, all keys and all values.
fn multi_head(n: &mut Node) -> Result {
    with_past(n, &MULTI_HEAD)
}

/// The same for one new row, with its inputs in another order.
fn decoder(n: &mut Node) -> Result {
    with_past(n, &DECODER)
}

fn with_past(n: &mut Node, inputs: &Inputs) -> Result {
    if n.given(inputs.indirection).is_some() {
        return n.error("its `cache_indirection` is not supported: reorder the cache between calls");
    }
    let parts = projections(n)?;
    let [queries, keys, values] = with_bias(n, parts, inputs.projection_bias)?;
    let (queries, mut keys, mut values) = (
        split_heads(n, queries, "num_heads")?,
        split_heads(n, keys, "num_heads")?,
        split_heads(n, values, "num_heads")?,
    );
    let mut present = (keys.clone(), values.clone());
    if let (Some(past_keys), Some(past_values)) = (n.optional(inputs.past_keys)?, n.optional(inputs.past_values)?) {
        let length = past_length(n, inputs.past_length)?;
        (present.0, keys) = append(n, past_keys, keys, length.clone())?;
        (present.1, values) = append(n, past_values, values, length)?;
    }
    let y = n.attend(&Heads { queries, keys, values }, (inputs.mask, inputs.bias))?;
    Ok(vec![y, present.0, present.1].into())
}

/// Returns queries, keys and values. One tensor may have all of them, or keys and values: (batch, length, heads, parts,
/// head size), or the parts along the last axis.
fn projections(n: &mut Node) -> node::Result<[Operand; 3]> {
    let (first, keys, values) = (n.input(0)?, n.optional(1)?, n.optional(2)?);
    match (n.rank(&first)?, keys, values) {
        (3, Some(keys), Some(values)) => Ok([first, keys, values]),
        (3, Some(packed), None) if n.rank(&packed)? == 5 => {
            let [keys, values] = unstack(n, &packed)?;
            Ok([first, keys, values])
        }
        (5, None, None) => unstack(n, &first),
        (3, None, None) => match n.dims(&first)?[2].as_int() {
            Some(size) if size % 3 == 0 => split(n, &first, &[size / 3; 3]),
            _ => n.error("its packed queries, keys and values are not three of the same size"),
        },
        _ => n.error("its queries have to have 3 dimensions, or 5 with keys and values"),
    }
}

/// Returns the parts along the fourth axis as (batch, heads, length, head size).
fn unstack<const COUNT: usize>(n: &mut Node, packed: &Operand) -> node::Result<[Operand; COUNT]> {
    if n.dims(packed)?[3].as_int() != Some(COUNT as i64) {
        return n.error(format!("its packed tensor has to have {COUNT} parts along axis 3"));
    }
    let mut parts = Vec::new();
    for index in 0..COUNT {
        let index = node::scalar(index as f64, DType::INT64)?;
        let part = n.call_with("take", [packed.clone(), index], &[("axis", 3i64.into())])?;
        parts.push(n.call_with("permute_dims", [part], &[("axes", vec![0i64, 2, 1, 3].into())])?);
    }
    parts.try_into().or_else(|_| n.error("its packed tensor has to have parts"))
}

/// Adds the bias of queries, keys and values; those that are divided into heads already have none.
fn with_bias(n: &mut Node, mut parts: [Operand; 3], at: usize) -> node::Result<[Operand; 3]> {
    let Some(bias) = n.optional(at)? else { return Ok(parts) };
    let mut sizes = Vec::new();
    for part in &parts {
        let rank = n.rank(part)?;
        let size = if rank == 3 { n.dims(part)?[2].as_int() } else { Some(0) };
        let Some(size) = size else { return n.error("the sizes of its operands have to be known") };
        sizes.push(size);
    }
    let biases = split(n, &bias, &sizes)?;
    for ((part, bias), size) in parts.iter_mut().zip(biases).zip(sizes) {
        if size > 0 {
            *part = n.call("add", [part.clone(), bias])?;
        }
    }
    Ok(parts)
}

/// Number of past rows, if the past is in buffers of maximum length.
fn past_length(n: &mut Node, at: usize) -> node::Result<Option<PrimExpr>> {
    if n.given(at).is_none() {
        return Ok(None);
    }
    if let Some(known) = n.known(at).filter(|known| known.elements.len() == 1) {
        return Ok(Some(known.elements[0].clone()));
    }
    let length = n.input_as_int64(at)?;
    match n.symbolic_dims(length)?.as_slice() {
        [length] => Ok(Some(length.clone())),
        _ => n.error("its `past_sequence_length` has to be one number"),
    }
}

/// Splits the last axis into parts of three sizes.
pub(super) fn split(n: &mut Node, x: &Operand, sizes: &[i64]) -> node::Result<[Operand; 3]> {
    let [queries, keys, values] = sizes else { return n.error("its `qkv_hidden_sizes` are not three") };
    let mut begin = 0;
    let mut part = |size: i64| {
        let prims = |v: i64| Operand::Tuple(vec![Operand::int(v)]);
        let axis = n.rank(x)? as i64 - 1;
        let bounds = [x.clone(), prims(axis), prims(begin), prims(begin + size), prims(1)];
        begin += size;
        n.call("strided_slice", bounds)
    };
    Ok([part(*queries)?, part(*keys)?, part(*values)?])
}

/// Appends keys or values to those of the past, or writes them to its buffer. Returns the new past, and its used rows.
fn append(n: &mut Node, past: Operand, new: Operand, length: Option<PrimExpr>) -> node::Result<(Operand, Operand)> {
    if n.rank(&past)? != 4 {
        return n.error("its past has to have 4 dimensions for keys, and as many for values");
    }
    let Some(length) = length else {
        let all = append_past(n, Some(past), new)?;
        return Ok((all.clone(), all));
    };
    let sizes = n.dims(&new)?;
    let past = n.assert_dims(past, &[0, 1, 3].map(|axis| (axis, sizes[axis].clone())))?;
    let starts = n.dims_vector(std::slice::from_ref(&length))?;
    let present = write_rows(n, &Cache { data: past, axis: 2, is_circular: false }, new, Some(starts))?;
    let used = n.slice_axis(present.clone(), 2, 0i64.into(), dims::add(&length, &sizes[2]))?;
    let used = n.assert_dims(used, &[(2, dims::add(&length, &sizes[2]))])?;
    Ok((present, used))
}

impl Node<'_, '_> {
    /// Returns `softmax(scale * queries @ keysᵀ + masks) @ values` as (batch, length, heads * head size).
    fn attend(&mut self, heads: &Heads, (mask, bias): (usize, usize)) -> node::Result<Operand> {
        let (queries, keys) = (self.dims(&heads.queries)?, self.dims(&heads.keys)?);
        let scale = match (self.attrs.float("scale")?.filter(|scale| *scale != 0.0), queries[3].as_int()) {
            (Some(scale), _) => scale,
            (None, Some(size)) => (size as f64).powf(-0.5),
            (None, None) => return self.error("its head size has to be known"),
        };
        let dtype = self.dtype(&heads.queries)?;
        let swapped = &[("axes", vec![0i64, 1, 3, 2].into())];
        let transposed = self.call_with("permute_dims", [heads.keys.clone()], swapped)?;
        let scaled = self.with_scalar("multiply", &heads.queries, scale)?;
        let mut scores = self.call("matmul", [scaled, transposed])?;
        let masks = [
            self.mask(mask, &queries[0], &keys[2], dtype)?,
            self.optional(bias)?,
            self.causal(&queries[2], &keys[2], dtype)?,
        ];
        for mask in masks.into_iter().flatten() {
            scores = self.call("add", [scores, mask])?;
        }
        let wide = self.cast(scores, accumulator(dtype))?;
        let soft = self.call_with("nn.softmax", [wide], &[("axis", (-1i64).into())])?;
        let soft = self.cast(soft, dtype)?;
        let y = self.call("matmul", [soft, heads.values.clone()])?;
        let size = dims::mul(&queries[1], &self.dims(&y)?[3]);
        let y = self.call_with("permute_dims", [y], &[("axes", vec![0i64, 2, 1, 3].into())])?;
        self.reshape(y, vec![queries[0].clone(), queries[2].clone(), size])
    }

    /// Returns what a mask adds to scores: of one dimension, it has the ends of the visible keys of all sequences, then
    /// their starts if it has twice as many elements; otherwise, it has zeros for hidden keys.
    fn mask(&mut self, at: usize, batch: &PrimExpr, keys: &PrimExpr, dtype: DType) -> node::Result<Option<Operand>> {
        let Some(mask) = self.optional(at)? else { return Ok(None) };
        let sizes = self.dims(&mask)?;
        let one = || PrimExpr::int64(1);
        let visible = match sizes.as_slice() {
            [count] => {
                let bounds = self.cast(mask, DType::INT64)?;
                let positions = self.arange(keys.clone())?;
                let of_sequences = |n: &mut Self, bounds| n.reshape(bounds, vec![batch.clone(), one(), one(), one()]);
                if dims::equal(count, &dims::mul(batch, &2i64.into())) == Some(true) {
                    let ends = self.slice_axis(bounds.clone(), 0, 0i64.into(), batch.clone())?;
                    let starts = self.slice_axis(bounds, 0, batch.clone(), count.clone())?;
                    let (ends, starts) = (of_sequences(self, ends)?, of_sequences(self, starts)?);
                    let before_end = self.call("less", [positions.clone(), ends])?;
                    let after_start = self.call("greater_equal", [positions, starts])?;
                    self.call("logical_and", [before_end, after_start])?
                } else {
                    let ends = of_sequences(self, bounds)?;
                    self.call("less", [positions, ends])?
                }
            }
            [batch, keys] => {
                let mask = self.reshape(mask, vec![batch.clone(), one(), one(), keys.clone()])?;
                self.with_scalar("not_equal", &mask, 0.0)?
            }
            [batch, queries, keys] => {
                let mask = self.reshape(mask, vec![batch.clone(), one(), queries.clone(), keys.clone()])?;
                self.with_scalar("not_equal", &mask, 0.0)?
            }
            _ => return self.error("its mask has to have 1, 2 or 3 dimensions"),
        };
        let fill = self.attrs.float_or("mask_filter_value", -10000.0)?;
        let (zero, fill) = (node::scalar(0.0, dtype)?, node::scalar(fill, dtype)?);
        self.call("where", [visible, zero, fill]).map(Some)
    }

    /// Returns what hides later keys from queries, if the node asks for that. The last query sees all keys.
    fn causal(&mut self, queries: &PrimExpr, keys: &PrimExpr, dtype: DType) -> node::Result<Option<Operand>> {
        if !self.attrs.flag("unidirectional")? {
            return Ok(None);
        }
        let rows = self.arange(queries.clone())?;
        let rows = self.reshape(rows, vec![queries.clone(), 1i64.into()])?;
        let before = self.dims_vector(&[dims::sub(keys, queries)])?;
        let last = self.call("add", [rows, before])?;
        let columns = self.arange(keys.clone())?;
        let visible = self.call("less_equal", [columns, last])?;
        mask_to_bias(self, visible, dtype).map(Some)
    }
}
