//! Attention with subgraphs that modify scores and probabilities.

use super::{Op, Result, op};
use crate::{
    node::{self, Node},
    value::Value,
};
use hammock_ir::{DType, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] = &[op("FlexAttention", attention)
    .in_domain("ai.onnx.preview")
    .attributes("prob_mod scale score_mod softmax_precision")];

fn attention(n: &mut Node) -> Result {
    let (q, k, v) = (n.input(0)?, n.input(1)?, n.input(2)?);
    let (queries, keys) = (n.dims(&q)?, n.dims(&k)?);
    if queries.len() != 4 || keys.len() != 4 {
        return n.error("its inputs have to have 4 dimensions");
    }
    let dtype = n.dtype(&q)?;
    let scale = match (n.attrs.float("scale")?, queries[3].as_int()) {
        (Some(scale), _) => scale.sqrt(),
        (None, Some(size)) => (size as f64).powf(-0.25),
        (None, None) => return n.error("its head size has to be known when the model is compiled"),
    };
    let repeats = dims::floordiv(&queries[1], &keys[1]).as_int().filter(|repeats| *repeats >= 1);
    let Some(repeats) = repeats else { return n.error("its numbers of heads have to be known") };
    let repeat_heads = |n: &mut Node, x: Operand| match repeats {
        1 => Ok(x),
        _ => n.call_with("repeat", [x], &[("repeats", repeats.into()), ("axis", 1i64.into())]),
    };
    let (k, v) = (repeat_heads(n, k)?, repeat_heads(n, v)?);
    let transposed = n.call_with("permute_dims", [k], &[("axes", vec![0i64, 1, 3, 2].into())])?;
    let (left, right) = (n.with_scalar("multiply", &q, scale)?, n.with_scalar("multiply", &transposed, scale)?);
    let scores = n.call("matmul", [left, right])?;
    let precision = match n.attrs.int("softmax_precision")? {
        Some(number) => n.dtype_from_code(number)?,
        None if dtype.bits > 32 => dtype,
        None => DType::FLOAT32,
    };
    let scores = n.cast(scores, precision)?;
    let scores = apply_modifier(n, "score_mod", scores)?;
    let soft = n.call_with("nn.softmax", [scores], &[("axis", (-1i64).into())])?;
    let soft = apply_modifier(n, "prob_mod", soft)?;
    let own = n.dtype(&v)?;
    let v = n.cast(v, precision)?;
    let y = n.call("matmul", [soft, v])?;
    Ok(n.cast(y, own)?.into())
}

/// Applies a subgraph to a tensor, if the node has it.
fn apply_modifier(n: &mut Node, graph: &str, x: Operand) -> node::Result<Operand> {
    if !n.attrs.has(graph) {
        return Ok(x);
    }
    let graph = n.attrs.graph(graph)?;
    match n.importer.import_subgraph(graph, vec![Value::Operand(x)])?.as_slice() {
        [value] => n.importer.build.operand(value),
        _ => n.error("its graphs have to have one result"),
    }
}
