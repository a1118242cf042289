//! Rotary embeddings with tables of angles.

use super::{
    super::{
        Op, Result,
        attention::head_count,
        rotary::{Heads, Rotation},
    },
    op,
};
use crate::node::{self, Node};
use hammock_ir::{DType, PrimExpr, relax::Operand};

pub const OPS: &[Op] =
    &[op("RotaryEmbedding", rotary).attributes("interleaved is_packed_batching num_heads rotary_embedding_dim scale")];

/// Inputs: data, positions, cosines and sines. One position is that of the first element.
fn rotary(n: &mut Node) -> Result {
    let (x, positions) = (n.input(0)?, n.input(1)?);
    let dim = n.attrs.int_or("rotary_embedding_dim", 0)?;
    let heads = match (n.attrs.int_or("num_heads", 0)?, dim) {
        (0, 0) => None,
        _ => Some(head_count(n, "num_heads")?),
    };
    let cos = n.input(2)?;
    let pairs = n.dims(&cos)?.last().and_then(PrimExpr::as_int);
    let x = Heads::of(n, x.clone(), |n| match (heads, n.dims(&x)?[2].as_int(), pairs) {
        (Some(heads), ..) => Ok(heads),
        (None, Some(hidden), Some(pairs)) if pairs > 0 && hidden % (2 * pairs) == 0 => Ok(hidden / (2 * pairs)),
        _ => n.error("its `num_heads` is missing, and its tables do not say the head size"),
    })?;
    let rotation = Rotation::of(n, &x.data, "interleaved", dim)?;
    let length = x.length(n)?;
    let positions = n.positions_from(positions, length)?;
    let (cos, sin) = (n.angles(2, &positions)?, n.angles(3, &positions)?);
    let (cos, sin) = (x.broadcast(n, cos)?, x.broadcast(n, sin)?);
    let y = n.rotate(&x.data, &cos, &sin, &rotation)?;
    x.restore(n, y).map(Into::into)
}

impl Node<'_, '_> {
    /// Returns (batch, length) positions; a vector with one element has the first of consecutive ones.
    pub(super) fn positions_from(&mut self, positions: Operand, length: PrimExpr) -> node::Result<Operand> {
        if self.rank(&positions)? == 2 {
            return Ok(positions);
        }
        let first = self.cast(positions, DType::INT64)?;
        let first = self.reshape(first, vec![1i64.into(), 1i64.into()])?;
        let steps = self.arange(length.clone())?;
        let steps = self.reshape(steps, vec![1i64.into(), length])?;
        self.call("add", [first, steps])
    }

    /// Returns the rows of a table of angles at positions.
    pub(super) fn angles(&mut self, table: usize, positions: &Operand) -> node::Result<Operand> {
        let table = self.input(table)?;
        if self.rank(&table)? != 2 {
            return self.error("its tables of angles have to have 2 dimensions");
        }
        self.call_with("take", [table, positions.clone()], &[("axis", 0i64.into())])
    }
}
