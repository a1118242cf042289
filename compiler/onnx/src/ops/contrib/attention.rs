//! Attention of several heads.

use super::{
    super::{
        Op, Result,
        attention::{append_past, head_count, mask_to_bias, split_heads},
    },
    op,
};
use crate::node::{self, Node};
use hammock_ir::{DType, PrimExpr, relax::Operand};
use hammock_ops::{dims, legalize::accumulator};

pub const OPS: &[Op] = &[
    op("Attention", attention).attributes("mask_filter_value num_heads qkv_hidden_sizes scale unidirectional"),
    op("MultiHeadAttention", multi_head).attributes("mask_filter_value num_heads scale unidirectional"),
];

/// Queries, keys and values as (batch, heads, length, head size).
struct Heads {
    queries: Operand,
    keys: Operand,
    values: Operand,
}

/// Indices of the inputs that mask and shift scores.
struct Masks {
    mask: usize,
    bias: usize,
}

/// Inputs: data, the weights and the bias of queries, keys and values in one matrix, a mask, past keys and values in one
/// tensor, and what is added to scores. Results: the data, and all keys and values in one tensor.
fn attention(n: &mut Node) -> Result {
    if n.given(6).is_some() {
        return n.error("past keys and values in buffers of maximum length are not supported");
    }
    let (x, weights) = (n.input(0)?, n.input(1)?);
    let mut all = n.call("matmul", [x, weights])?;
    if let Some(bias) = n.optional(2)? {
        all = n.call("add", [all, bias])?;
    }
    let sizes = match n.attrs.ints("qkv_hidden_sizes")? {
        Some(sizes) => sizes,
        None => match n.dims(&all)?.last().and_then(PrimExpr::as_int) {
            Some(size) => vec![size / 3; 3],
            None => return n.error("the size of its weights has to be known"),
        },
    };
    let [queries, keys, values] = split(n, &all, &sizes)?;
    // Required even where its data have 4 dimensions already.
    head_count(n, "num_heads")?;
    let (queries, mut keys, mut values) = (
        split_heads(n, queries, "num_heads")?,
        split_heads(n, keys, "num_heads")?,
        split_heads(n, values, "num_heads")?,
    );
    if let Some(past) = n.optional(4)? {
        let past_of = |n: &mut Node, index: i64| -> node::Result<Operand> {
            let index = node::scalar(index as f64, DType::INT64)?;
            n.call_with("take", [past.clone(), index], &[("axis", 0i64.into())])
        };
        let (past_keys, past_values) = (past_of(n, 0)?, past_of(n, 1)?);
        keys = append(n, past_keys, keys)?;
        values = append(n, past_values, values)?;
    }
    let y = n.attend(&Heads { queries, keys: keys.clone(), values: values.clone() }, &Masks { mask: 3, bias: 5 })?;
    if n.outputs == 1 {
        return Ok(y.into());
    }
    let present = n.call_with("stack", [Operand::Tuple(vec![keys, values])], &[("axis", 0i64.into())])?;
    Ok(vec![y, present].into())
}

/// Inputs: queries, keys, values, their bias, a mask, what is added to scores, and past keys and values. Results: the
/// data, all keys and all values.
fn multi_head(n: &mut Node) -> Result {
    if n.given(8).is_some() || n.given(9).is_some() {
        return n.error("past keys and values in buffers of maximum length are not supported");
    }
    let bias = n.optional(3)?;
    let queries = n.input(0)?;
    if n.rank(&queries)? != 3 || n.given(1).is_none() || n.given(2).is_none() {
        return n.error("queries, keys and values in one tensor are not supported");
    }
    let (keys, values) = (n.input(1)?, n.input(2)?);
    let mut parts = [queries, keys, values];
    if let Some(bias) = bias {
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
    }
    let [queries, keys, values] = parts;
    let (queries, mut keys, mut values) = (
        split_heads(n, queries, "num_heads")?,
        split_heads(n, keys, "num_heads")?,
        split_heads(n, values, "num_heads")?,
    );
    if let (Some(past_keys), Some(past_values)) = (n.optional(6)?, n.optional(7)?) {
        keys = append(n, past_keys, keys)?;
        values = append(n, past_values, values)?;
    }
    let y = n.attend(&Heads { queries, keys: keys.clone(), values: values.clone() }, &Masks { mask: 4, bias: 5 })?;
    Ok(vec![y, keys, values].into())
}

/// Splits the last axis into parts of three sizes.
fn split(n: &mut Node, x: &Operand, sizes: &[i64]) -> node::Result<[Operand; 3]> {
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

/// Appends keys or values to those of the past.
fn append(n: &mut Node, past: Operand, new: Operand) -> node::Result<Operand> {
    if n.rank(&past)? != 4 {
        return n.error("its past has to have 4 dimensions for keys, and as many for values");
    }
    append_past(n, Some(past), new)
}

impl Node<'_, '_> {
    /// Returns `softmax(scale * queries @ keysᵀ + masks) @ values` as (batch, length, heads * head size).
    fn attend(&mut self, heads: &Heads, masks: &Masks) -> node::Result<Operand> {
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
            self.mask(masks.mask, &keys[2], dtype)?,
            self.optional(masks.bias)?,
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

    /// Returns what a mask adds to scores: of one dimension, it has the number of visible keys of each sequence, otherwise
    /// zeros for hidden keys.
    fn mask(&mut self, at: usize, keys: &PrimExpr, dtype: DType) -> node::Result<Option<Operand>> {
        let Some(mask) = self.optional(at)? else { return Ok(None) };
        let sizes = self.dims(&mask)?;
        let one = || PrimExpr::int64(1);
        let visible = match sizes.as_slice() {
            [batch] => {
                let lengths = self.cast(mask, DType::INT64)?;
                let lengths = self.reshape(lengths, vec![batch.clone(), one(), one(), one()])?;
                let positions = self.arange(keys.clone())?;
                self.call("less", [positions, lengths])?
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
