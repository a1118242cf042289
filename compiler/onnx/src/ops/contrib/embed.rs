//! Sums of embeddings, normalized.

use super::{
    super::{Op, Result},
    op,
};
use crate::node::{self, Node};
use hammock_ir::{DType, PrimExpr, relax::Operand};

pub const OPS: &[Op] = &[op("EmbedLayerNormalization", embed).attributes("epsilon mask_index_type")];

/// Inputs: ids of tokens and segments (optional), embeddings of tokens, positions and segments (optional), scale, shift,
/// mask and positions (both optional). Results: the normalized sum, the number of visible tokens of each sequence, and the
/// sum.
fn embed(n: &mut Node) -> Result {
    let ids = n.input(0)?;
    let dims = n.dims(&ids)?;
    let [batch, length] = dims.as_slice() else { return n.error("its ids have to have 2 dimensions") };
    let words = rows(n, 2, ids)?;
    let positions = match n.optional(8)? {
        Some(positions) => rows(n, 3, positions)?,
        None => {
            let all = n.input(3)?;
            let prims = |e: PrimExpr| Operand::Tuple(vec![Operand::Prim(e)]);
            let bounds = [prims(0i64.into()), prims(0i64.into()), prims(length.clone()), prims(1i64.into())];
            n.call("strided_slice", [&[all][..], &bounds].concat())?
        }
    };
    let mut sum = n.call("add", [words, positions])?;
    if let Some(segments) = n.optional(1)? {
        let segments = rows(n, 4, segments)?;
        sum = n.call("add", [sum, segments])?;
    }
    let (scale, shift) = (n.input(5)?, n.input(6)?);
    let y = n.layer_norm(sum.clone(), scale, shift, 1e-12)?;
    if n.outputs == 1 {
        return Ok(y.into());
    }
    let visible = match n.optional(7)?.filter(|_| n.attrs.int_or("mask_index_type", 1).is_ok_and(|kind| kind == 1)) {
        Some(mask) => {
            let mask = n.cast(mask, DType::INT32)?;
            n.call_with("sum", [mask], &[("axis", vec![1i64].into())])?
        }
        None => n.call("full", [Operand::Shape(vec![batch.clone()]), node::scalar(0.0, DType::INT32)?])?,
    };
    Ok(vec![y, visible, sum].into())
}

/// Returns rows of the table at an input.
fn rows(n: &mut Node, table: usize, ids: Operand) -> node::Result<Operand> {
    let table = n.input(table)?;
    n.call_with("take", [table, ids], &[("axis", 0i64.into())])
}
