//! Attention whose query heads share keys and values in groups, with a cache of past keys and values.

use super::{
    super::{
        Op, Result,
        attention::{head_count, mask_to_bias, split_heads},
        rotary::Rotation,
        stateful::{Cache, write_rows},
    },
    attention::split,
    op,
};
use crate::node::{self, Node, product};
use hammock_ir::{PrimExpr, relax::Operand};
use hammock_ops::{dims, legalize::accumulator};

pub const OPS: &[Op] = &[op("GroupQueryAttention", group_query).attributes(
    "causal do_rotary k_norm_epsilon k_quant_type kv_cache_bit_width kv_num_heads local_window_size num_heads \
     q_norm_epsilon qk_norm_epsilon qk_output rotary_interleaved scale sliding_window_cache smooth_softmax softcap \
     v_quant_type",
)];

/// Indices of inputs.
const PAST_KEYS: usize = 3;
const PAST_VALUES: usize = 4;
const LENGTHS: usize = 5;
const TOTAL_LENGTH: usize = 6;
const COSINES: usize = 7;
const SINES: usize = 8;
const POSITIONS: usize = 9;
const BIAS: usize = 10;
const SINKS: usize = 11;
const QUERY_NORM: usize = 14;
const KEY_NORM: usize = 15;
const QUERY_LENGTHS: usize = 16;

/// Queries, and the new keys and values, as (batch, heads, length, head size).
struct Heads {
    queries: Operand,
    keys: Operand,
    values: Operand,
}

/// Lengths of the sequences of a batch, as int64 vectors.
struct Lengths {
    /// Number of cached rows before the new ones.
    past: Operand,
    /// Number of cached rows in all.
    total: Operand,
}

/// Results: the data, and the caches of keys and values with the new rows.
fn group_query(n: &mut Node) -> Result {
    expect_plain_caches(n)?;
    let mut heads = inputs(n)?;
    let lengths = lengths(n, &heads.queries)?;
    for (data, weight, epsilon) in
        [(&mut heads.queries, QUERY_NORM, "q_norm_epsilon"), (&mut heads.keys, KEY_NORM, "k_norm_epsilon")]
    {
        if let Some(weight) = n.optional(weight)? {
            *data = normalize(n, data.clone(), weight, epsilon)?;
        }
    }
    if n.attrs.flag("do_rotary")? {
        rotate(n, &mut heads, &lengths)?;
    }
    let total = total_length(n, &heads.keys)?;
    let keys = cached(n, PAST_KEYS, heads.keys, &total, &lengths)?;
    let values = cached(n, PAST_VALUES, heads.values, &total, &lengths)?;
    let y = attend(n, heads.queries, [&keys, &values], &lengths)?;
    Ok(vec![y, keys, values].into())
}

/// Rejects caches of small integers, and those that are shorter than the sequence.
fn expect_plain_caches(n: &Node) -> node::Result<()> {
    for name in ["k_quant_type", "v_quant_type"] {
        if n.attrs.str_or(name, "NONE")? != "NONE" {
            return n.error(format!("its `{name}` is not `NONE`: quantized caches are not supported"));
        }
    }
    if n.attrs.flag("sliding_window_cache")? {
        return n.error("caches of only a window (`sliding_window_cache`) are not supported");
    }
    Ok(())
}

fn inputs(n: &mut Node) -> node::Result<Heads> {
    let (count, shared) = (head_count(n, "num_heads")?, head_count(n, "kv_num_heads")?);
    if count % shared != 0 {
        return n.error(format!("its {count} query heads cannot share {shared} heads of keys and values evenly"));
    }
    let all = n.input(0)?;
    if n.rank(&all)? != 3 {
        return n.error("its queries have to have 3 dimensions");
    }
    let parts = match (n.optional(1)?, n.optional(2)?) {
        (Some(keys), Some(values)) => [all, keys, values],
        (None, None) => {
            let size = n.dims(&all)?[2].as_int().filter(|size| size % (count + 2 * shared) == 0);
            let Some(size) = size.map(|size| size / (count + 2 * shared)) else {
                return n.error("its packed queries, keys and values do not consist of its heads");
            };
            split(n, &all, &[count * size, shared * size, shared * size])?
        }
        _ => return n.error("it needs both keys and values, or none"),
    };
    let [queries, keys, values] = parts;
    let (queries, keys) = (split_heads(n, queries, "num_heads")?, split_heads(n, keys, "kv_num_heads")?);
    let values = split_heads(n, values, "kv_num_heads")?;
    let sizes = [&queries, &keys, &values].map(|x| n.dims(x));
    let [of_queries, of_keys, of_values] = sizes;
    let (of_queries, of_keys, of_values) = (of_queries?, of_keys?, of_values?);
    for (axis, others) in [(2, [&of_keys[2], &of_values[2]]), (3, [&of_keys[3], &of_values[3]])] {
        if others.into_iter().any(|size| dims::equal(size, &of_queries[axis]) == Some(false)) {
            return n.error("its queries, keys and values have to have the same length and head size");
        }
    }
    Ok(Heads { queries, keys, values })
}

/// The input has the index of the last row of each sequence. New rows are as many as queries, or given.
fn lengths(n: &mut Node, queries: &Operand) -> node::Result<Lengths> {
    let (batch, length) = (n.dims(queries)?[0].clone(), n.dims(queries)?[2].clone());
    let vector = |n: &mut Node, at: usize| -> node::Result<Operand> {
        let x = n.input_as_int64(at)?;
        n.reshape(x, vec![batch.clone()])
    };
    let last = vector(n, LENGTHS)?;
    let total = n.with_scalar("add", &last, 1.0)?;
    let new = match n.given(QUERY_LENGTHS).is_some() {
        true => vector(n, QUERY_LENGTHS)?,
        false => n.dims_vector(&[length])?,
    };
    let past = n.call("subtract", [total.clone(), new])?;
    // The rows of a prompt may be more than its sequence has: the last ones are padding.
    let past = n.with_scalar("maximum", &past, 0.0)?;
    Ok(Lengths { past, total })
}

/// Divides each head by its root mean square.
fn normalize(n: &mut Node, x: Operand, weight: Operand, epsilon: &str) -> node::Result<Operand> {
    let epsilon = match n.attrs.float(epsilon)? {
        Some(epsilon) => epsilon,
        None => n.attrs.float_or("qk_norm_epsilon", 1e-6)?,
    };
    n.call_with("nn.rms_norm", [x, weight], &[("axes", vec![-1i64].into()), ("epsilon", epsilon.into())])
}

/// Rotates queries and keys by the angles of their positions, which follow the past ones if they are not given.
fn rotate(n: &mut Node, heads: &mut Heads, lengths: &Lengths) -> node::Result<()> {
    if n.given(COSINES).is_none() || n.given(SINES).is_none() {
        return n.error("its rotary embedding needs `cos_cache` and `sin_cache`");
    }
    let positions = match n.optional(POSITIONS)? {
        Some(positions) => positions,
        None => positions(n, &heads.queries, lengths)?,
    };
    let mut angles = |table| -> node::Result<Operand> {
        let angles = n.angles(table, &positions)?;
        let mut shape = n.dims(&angles)?;
        shape.insert(1, 1i64.into());
        n.reshape(angles, shape)
    };
    let (cos, sin) = (angles(COSINES)?, angles(SINES)?);
    let Some(pairs) = n.dims(&cos)?.last().and_then(PrimExpr::as_int).filter(|pairs| *pairs > 0) else {
        return n.error("the sizes of its `cos_cache` have to be known");
    };
    for data in [&mut heads.queries, &mut heads.keys] {
        let rotation = Rotation::of(n, data, "rotary_interleaved", 2 * pairs)?;
        *data = n.rotate(data, &cos, &sin, &rotation)?;
    }
    Ok(())
}

/// Returns the (batch, length) positions of queries.
fn positions(n: &mut Node, queries: &Operand, lengths: &Lengths) -> node::Result<Operand> {
    let (length, batch) = (n.dims(queries)?[2].clone(), product(&n.dims(&lengths.past)?));
    let past = n.reshape(lengths.past.clone(), vec![batch, 1i64.into()])?;
    let steps = n.arange(length.clone())?;
    let steps = n.reshape(steps, vec![1i64.into(), length])?;
    n.call("add", [past, steps])
}

/// Returns the number of rows of the longest sequence.
fn total_length(n: &mut Node, keys: &Operand) -> node::Result<PrimExpr> {
    if n.given(PAST_KEYS).is_none() {
        return Ok(n.dims(keys)?[2].clone());
    }
    if let Some(known) = n.known(TOTAL_LENGTH).filter(|known| known.elements.len() == 1) {
        return Ok(known.elements[0].clone());
    }
    let total = n.input_as_int64(TOTAL_LENGTH)?;
    match n.symbolic_dims(total)?.as_slice() {
        [total] => Ok(total.clone()),
        _ => n.error("its `total_sequence_length` has to be one number"),
    }
}

/// Returns a cache with the new rows: the past one, extended if the longest sequence exceeds it.
fn cached(n: &mut Node, past: usize, new: Operand, total: &PrimExpr, lengths: &Lengths) -> node::Result<Operand> {
    let Some(past) = n.optional(past)? else { return Ok(new) };
    if n.rank(&past)? != 4 || n.dtype(&past)? != n.dtype(&new)? {
        return n.error("its past keys and values have to have 4 dimensions, and the dtype of the new ones");
    }
    let own = n.dims(&new)?;
    let past = n.assert_dims(past, &[0, 1, 3].map(|axis| (axis, own[axis].clone())))?;
    let sizes = n.dims(&past)?;
    let missing = dims::sub(&dims::max(total, &sizes[2]), &sizes[2]);
    let data = if dims::is(&missing, 0) {
        past
    } else {
        let zero = n.scalar_like(0.0, &past)?;
        let shape = vec![sizes[0].clone(), sizes[1].clone(), missing, sizes[3].clone()];
        let rows = n.call("full", [Operand::Shape(shape), zero])?;
        n.call_with("concat", [Operand::Tuple(vec![past, rows])], &[("axis", 2i64.into())])?
    };
    write_rows(n, &Cache { data, axis: 2, is_circular: false }, new, Some(lengths.past.clone()))
}

/// Returns the attention as (batch, length, heads * head size). The queries of a group are rows of one matrix, so keys
/// and values are read once.
fn attend(n: &mut Node, queries: Operand, [keys, values]: [&Operand; 2], lengths: &Lengths) -> node::Result<Operand> {
    let (of_queries, of_keys) = (n.dims(&queries)?, n.dims(keys)?);
    let ([batch, heads, length, size], [_, shared, rows, _]) = (of_queries.as_slice(), of_keys.as_slice()) else {
        return n.error("its inputs have to have heads");
    };
    let (Some(count), Some(known_size)) = (dims::floordiv(heads, shared).as_int(), size.as_int()) else {
        return n.error("its head size has to be known");
    };
    let group = PrimExpr::int64(count);
    let grouped = vec![batch.clone(), shared.clone(), dims::mul(&group, length), size.clone()];
    let scale = match n.attrs.float("scale")?.filter(|scale| *scale != 0.0) {
        Some(scale) => scale,
        None => (known_size as f64).powf(-0.5),
    };
    let scaled = n.with_scalar("multiply", &queries, scale)?;
    let scaled = n.reshape(scaled, grouped.clone())?;
    let transposed = n.call_with("permute_dims", [keys.clone()], &[("axes", vec![0i64, 1, 3, 2].into())])?;
    let scores = n.call("matmul", [scaled, transposed])?;
    let scores = n.reshape(scores, [batch, shared, &group, length, rows].map(Clone::clone).to_vec())?;
    let dtype = n.dtype(&scores)?;
    let scores = n.cast(scores, accumulator(dtype))?;
    let scores = capped(n, scores)?;
    let scores = biased(n, scores, [shared, &group], rows)?;
    let mask = visible(n, &queries, rows, lengths)?;
    let mask = mask_to_bias(n, mask, accumulator(dtype))?;
    let scores = n.call("add", [scores, mask])?;
    let soft = softmax(n, scores, [shared, &group])?;
    let soft = n.cast(soft, dtype)?;
    let soft = n.reshape(soft, vec![batch.clone(), shared.clone(), dims::mul(&group, length), rows.clone()])?;
    let y = n.call("matmul", [soft, values.clone()])?;
    let y = n.reshape(y, of_queries.clone())?;
    let y = n.call_with("permute_dims", [y], &[("axes", vec![0i64, 2, 1, 3].into())])?;
    n.reshape(y, vec![batch.clone(), length.clone(), dims::mul(heads, size)])
}

fn capped(n: &mut Node, scores: Operand) -> node::Result<Operand> {
    let cap = n.attrs.float_or("softcap", 0.0)?;
    if cap <= 0.0 {
        return Ok(scores);
    }
    let less = n.with_scalar("divide", &scores, cap)?;
    let tanh = n.call("tanh", [less])?;
    n.with_scalar("multiply", &tanh, cap)
}

/// Adds the bias, which has columns for the longest sequence; caches may have more rows, which are hidden.
fn biased(n: &mut Node, scores: Operand, [shared, group]: [&PrimExpr; 2], rows: &PrimExpr) -> node::Result<Operand> {
    let Some(bias) = n.optional(BIAS)? else { return Ok(scores) };
    let bias = n.cast(bias, n.dtype(&scores)?)?;
    let sizes = n.dims(&bias)?;
    let [batch, heads, length, columns] = sizes.as_slice() else {
        return n.error("its bias has to have 4 dimensions");
    };
    let missing = dims::max(&dims::sub(rows, columns), &0i64.into());
    let bias = if dims::is(&missing, 0) {
        bias
    } else {
        let zero = n.scalar_like(0.0, &bias)?;
        let shape = vec![batch.clone(), heads.clone(), length.clone(), missing];
        let more = n.call("full", [Operand::Shape(shape), zero])?;
        n.call_with("concat", [Operand::Tuple(vec![bias, more])], &[("axis", 3i64.into())])?
    };
    let one = PrimExpr::int64(1);
    let [shared, group] = if dims::is(heads, 1) { [&one, &one] } else { [shared, group] };
    let bias = n.reshape(bias, [batch, shared, group, length, rows].map(Clone::clone).to_vec())?;
    n.call("add", [scores, bias])
}

/// Returns which keys queries see, as (batch, 1, 1, length, rows).
fn visible(n: &mut Node, queries: &Operand, rows: &PrimExpr, lengths: &Lengths) -> node::Result<Operand> {
    let one = || PrimExpr::int64(1);
    let (length, batch) = (n.dims(queries)?[2].clone(), product(&n.dims(&lengths.total)?));
    let columns = n.arange(rows.clone())?;
    let window = n.attrs.int_or("local_window_size", -1)?;
    if n.attrs.int_or("causal", 1)? == 0 {
        if window >= 0 {
            return n.error("its `local_window_size` has to be -1 where it is not causal");
        }
        let total = n.reshape(lengths.total.clone(), vec![batch, one(), one(), one(), one()])?;
        return n.call("less", [columns, total]);
    }
    let last = positions(n, queries, lengths)?;
    let last = n.reshape(last, vec![batch, one(), one(), length, one()])?;
    let visible = n.call("less_equal", [columns.clone(), last.clone()])?;
    if window < 0 {
        return Ok(visible);
    }
    let before = n.with_scalar("subtract", &last, window as f64)?;
    let is_near = n.call("greater", [columns, before])?;
    n.call("logical_and", [visible, is_near])
}

/// Softmax over keys; sinks, or zeros, are one more score of each head.
fn softmax(n: &mut Node, scores: Operand, [shared, group]: [&PrimExpr; 2]) -> node::Result<Operand> {
    let sinks = match n.optional(SINKS)? {
        Some(sinks) => {
            let sinks = n.cast(sinks, n.dtype(&scores)?)?;
            let one = PrimExpr::int64(1);
            n.reshape(sinks, [&one, shared, group, &one, &one].map(Clone::clone).to_vec())?
        }
        None if n.attrs.int_or("smooth_softmax", 0)? > 0 => n.scalar_like(0.0, &scores)?,
        None => return n.call_with("nn.softmax", [scores], &[("axis", (-1i64).into())]),
    };
    let over_keys = &[("axis", vec![-1i64].into()), ("keepdims", true.into())];
    let highest = n.call_with("max", [scores.clone()], over_keys)?;
    let highest = n.call("maximum", [highest, sinks.clone()])?;
    let exp = |n: &mut Node, x: Operand| -> node::Result<Operand> {
        let x = n.call("subtract", [x, highest.clone()])?;
        n.call("exp", [x])
    };
    let (powers, more) = (exp(n, scores)?, exp(n, sinks)?);
    let sum = n.call_with("sum", [powers.clone()], over_keys)?;
    let sum = n.call("add", [sum, more])?;
    n.call("divide", [powers, sum])
}
