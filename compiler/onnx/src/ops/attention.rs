//! Attention.

use super::{Op, Result, op};
use crate::node::{self, Node, product};
use hammock_ir::{DType, PrimExpr, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] = &[op("Attention", attention).attributes(
    "is_causal kv_num_heads left_window_size@25 q_num_heads qk_matmul_output_mode right_window_size@25 \
         scale softcap softmax_precision",
)];

/// The number of heads, which an attribute has to give.
pub(super) fn head_count(n: &Node, name: &str) -> node::Result<i64> {
    match n.attrs.int(name)?.filter(|count| *count > 0) {
        Some(count) => Ok(count),
        None => n.error(format!("its `{name}` is missing")),
    }
}

/// Returns (batch, length, heads * head size) as (batch, heads, length, head size), with as many heads as an attribute
/// says; inputs of 4 dimensions are that already.
pub(super) fn split_heads(n: &mut Node, x: Operand, name: &str) -> node::Result<Operand> {
    let sizes = n.dims(&x)?;
    let [batch, length, hidden] = match sizes.as_slice() {
        [_, _, _, _] => return Ok(x),
        [batch, length, hidden] => [batch, length, hidden],
        _ => return n.error("its inputs have to have 3 or 4 dimensions"),
    };
    let count = head_count(n, name)?;
    let size = dims::floordiv(hidden, &PrimExpr::int64(count));
    let split = n.reshape(x, vec![batch.clone(), length.clone(), count.into(), size])?;
    n.call_with("permute_dims", [split], &[("axes", vec![0i64, 2, 1, 3].into())])
}

/// Query heads, in groups that share a head of keys and values. The queries of a group are rows of one matrix, so keys and
/// values are read once.
struct Heads<'s> {
    /// Sizes of the queries: (batch, heads, length, head size).
    sizes: &'s [PrimExpr],
    /// Number of heads of keys and values.
    shared: &'s PrimExpr,
    /// Number of query heads of a group.
    group: i64,
}

impl<'s> Heads<'s> {
    fn of(n: &Node, queries: &'s [PrimExpr], keys: &'s [PrimExpr]) -> node::Result<Self> {
        let (count, shared) = (&queries[1], &keys[1]);
        let group = dims::floordiv(count, shared).as_int().filter(|group| *group >= 1);
        let Some(group) = group else { return n.error("its numbers of heads have to be known") };
        if dims::equal(&dims::mul(&group.into(), shared), count) == Some(false) {
            return n.error("its query heads cannot share its heads of keys and values evenly");
        }
        Ok(Heads { sizes: queries, shared, group })
    }

    /// Joins the queries of each group.
    fn join(&self, n: &mut Node, x: Operand) -> node::Result<Operand> {
        let [batch, _, length, _] = self.sizes else { return Ok(x) };
        self.reshape(n, x, [batch.clone(), self.shared.clone(), dims::mul(&self.group.into(), length)])
    }

    /// Returns joined queries by heads again.
    fn split(&self, n: &mut Node, x: Operand) -> node::Result<Operand> {
        let [batch, heads, length, _] = self.sizes else { return Ok(x) };
        self.reshape(n, x, [batch.clone(), heads.clone(), length.clone()])
    }

    /// Changes all sizes but the last.
    fn reshape(&self, n: &mut Node, x: Operand, sizes: [PrimExpr; 3]) -> node::Result<Operand> {
        let own = n.dims(&x)?;
        if sizes.iter().zip(&own).all(|(size, own)| dims::equal(size, own) == Some(true)) {
            return Ok(x);
        }
        let columns = own[3].clone();
        n.reshape(x, sizes.into_iter().chain([columns]).collect())
    }
}

fn attention(n: &mut Node) -> Result {
    let inputs = [n.input(0)?, n.input(1)?, n.input(2)?];
    let flat = n.rank(&inputs[0])? == 3;
    let [q, k, v] = inputs;
    let q = split_heads(n, q, "q_num_heads")?;
    let (k, v) = (split_heads(n, k, "kv_num_heads")?, split_heads(n, v, "kv_num_heads")?);
    let (past_key, past_value) = (n.optional(4)?, n.optional(5)?);
    let before = match &past_key {
        Some(past) if n.rank(past)? == 4 => n.dims(past)?[2].clone(),
        Some(_) => return n.error("its past has to have 4 dimensions"),
        None => PrimExpr::int64(0),
    };
    let (k, v) = (append_past(n, past_key, k)?, append_past(n, past_value, v)?);
    let (sizes, keys) = (n.dims(&q)?, n.dims(&k)?);
    let dtype = n.dtype(&q)?;
    let scale = match n.attrs.float("scale")? {
        Some(scale) => scale,
        None => match sizes[3].as_int() {
            Some(size) => (size as f64).powf(-0.5),
            None => return n.error("its head size has to be known when the model is compiled"),
        },
    };
    let heads = Heads::of(n, &sizes, &keys)?;
    let scaled = n.with_scalar("multiply", &q, scale)?;
    let scaled = heads.join(n, scaled)?;
    let transposed = n.call_with("permute_dims", [k.clone()], &[("axes", vec![0i64, 1, 3, 2].into())])?;
    let plain = n.call("matmul", [scaled, transposed])?;
    let bias = bias(n, &sizes[2], &keys[2], &before, dtype)?;
    // A bias is for each head.
    let plain = if bias.is_some() { heads.split(n, plain)? } else { plain };
    let cap = n.attrs.float_or("softcap", 0.0)?;
    let capped = if cap > 0.0 {
        let less = n.with_scalar("divide", &plain, cap)?;
        let tanh = n.call("tanh", [less])?;
        n.with_scalar("multiply", &tanh, cap)?
    } else {
        plain.clone()
    };
    let biased = match &bias {
        Some(bias) => n.call("add", [capped.clone(), bias.clone()])?,
        None => capped.clone(),
    };
    let precise = match n.attrs.int("softmax_precision")? {
        Some(number) => {
            let precision = n.dtype_from_code(number)?;
            n.cast(biased.clone(), precision)?
        }
        None => biased.clone(),
    };
    let soft = n.call_with("nn.softmax", [precise], &[("axis", (-1i64).into())])?;
    let mut soft = n.cast(soft, dtype)?;
    if let Some(bias) = bias.filter(|_| n.given(3).is_some() || n.given(6).is_some()) {
        // A query whose keys are all masked attends to nothing: zero instead of NaN.
        let most = n.call_with("max", [bias], &[("axis", vec![-1i64].into()), ("keepdims", true.into())])?;
        let hidden = n.with_scalar("equal", &most, f64::NEG_INFINITY)?;
        let zero = n.scalar_like(0.0, &soft)?;
        soft = n.call("where", [hidden, zero, soft])?;
    }
    let weights = heads.join(n, soft.clone())?;
    let y = n.call("matmul", [weights, v.clone()])?;
    let mut y = heads.split(n, y)?;
    if flat {
        let size = dims::mul(&sizes[1], &n.dims(&y)?[3]);
        y = n.call_with("permute_dims", [y], &[("axes", vec![0i64, 2, 1, 3].into())])?;
        y = n.reshape(y, vec![sizes[0].clone(), sizes[2].clone(), size])?;
    }
    let scores = match (n.attrs.int_or("qk_matmul_output_mode", 0)?, n.opset) {
        (0, _) => plain,
        (1, _) => capped,
        (2, _) => biased,
        _ => soft,
    };
    let scores = heads.split(n, scores)?;
    Ok(vec![y, k, v, scores].into())
}

/// Appends keys or values to the past ones.
pub(super) fn append_past(n: &mut Node, past: Option<Operand>, new: Operand) -> node::Result<Operand> {
    match past {
        Some(past) => n.call_with("concat", [Operand::Tuple(vec![past, new])], &[("axis", 2i64.into())]),
        None => Ok(new),
    }
}

/// Returns the attention bias, which is added to the scores: zero for visible keys, minus infinity for masked ones, and
/// the mask itself if it is a float tensor.
fn bias(
    n: &mut Node,
    queries: &PrimExpr,
    keys: &PrimExpr,
    before: &PrimExpr,
    dtype: DType,
) -> node::Result<Option<Operand>> {
    let mut biases = Vec::new();
    if let Some(mask) = n.optional(3)? {
        let mask = extend_mask(n, mask, keys)?;
        biases.push(if n.dtype(&mask)? == DType::BOOL { mask_to_bias(n, mask, dtype)? } else { mask });
    }
    let (left, right) = (n.attrs.int_or("left_window_size", -1)?, n.attrs.int_or("right_window_size", -1)?);
    let right = if n.attrs.flag("is_causal")? { if right < 0 { 0 } else { right.min(0) } } else { right };
    if left >= 0 || right >= 0 {
        // Distance of a key behind its query.
        let positions = n.arange(queries.clone())?;
        let rows = n.reshape(positions, vec![queries.clone(), 1i64.into()])?;
        let columns = n.arange(keys.clone())?;
        let offset = match n.optional(6)? {
            Some(lengths) if n.given(4).is_none() => {
                let lengths = n.cast(lengths, DType::INT64)?;
                let lengths = {
                    let count = product(&n.dims(&lengths)?);
                    n.reshape(lengths, vec![count, 1i64.into(), 1i64.into(), 1i64.into()])?
                };
                let queries = n.dims_vector(std::slice::from_ref(queries))?;
                n.call("subtract", [lengths, queries])?
            }
            _ => n.dims_vector(std::slice::from_ref(before))?,
        };
        let rows = n.call("add", [rows, offset])?;
        let behind = n.call("subtract", [rows, columns])?;
        for (limit, op, sign) in [(left, "less_equal", 1.0), (right, "greater_equal", -1.0)] {
            if limit >= 0 {
                let seen = n.with_scalar(op, &behind, sign * limit as f64)?;
                biases.push(mask_to_bias(n, seen, dtype)?);
            }
        }
    }
    if let Some(lengths) = n.optional(6)? {
        let lengths = n.cast(lengths, DType::INT64)?;
        let count = product(&n.dims(&lengths)?);
        let lengths = n.reshape(lengths, vec![count, 1i64.into(), 1i64.into(), 1i64.into()])?;
        let columns = n.arange(keys.clone())?;
        let seen = n.call("less", [columns, lengths])?;
        biases.push(mask_to_bias(n, seen, dtype)?);
    }
    let mut biases = biases.into_iter();
    let Some(first) = biases.next() else { return Ok(None) };
    biases.try_fold(first, |sum, term| n.call("add", [sum, term])).map(Some)
}

/// Returns zero where keys are seen, and minus infinity elsewhere.
pub(super) fn mask_to_bias(n: &mut Node, seen: Operand, dtype: DType) -> node::Result<Operand> {
    let (zero, low) = (node::scalar(0.0, dtype)?, node::scalar(f64::NEG_INFINITY, dtype)?);
    n.call("where", [seen, zero, low])
}

/// Extends a mask that is shorter than the keys; keys beyond its end are masked.
fn extend_mask(n: &mut Node, mask: Operand, keys: &PrimExpr) -> node::Result<Operand> {
    let sizes = n.dims(&mask)?;
    let Some(last) = sizes.last() else { return Ok(mask) };
    let Some(missing) = dims::sub(keys, last).as_int().filter(|missing| *missing > 0 && !dims::is(last, 1)) else {
        return Ok(mask);
    };
    let is_bool = n.dtype(&mask)? == DType::BOOL;
    let fill = node::scalar(if is_bool { 0.0 } else { f64::NEG_INFINITY }, n.dtype(&mask)?)?;
    let axis = sizes.len() - 1;
    let mut shape = sizes.clone();
    shape[axis] = missing.into();
    let fill = n.call("full", [Operand::Shape(shape), fill])?;
    n.call_with("concat", [Operand::Tuple(vec![mask, fill])], &[("axis", (axis as i64).into())])
}
