//! Rotary embeddings.

use super::{Op, Result, attention::head_count, op};
use crate::node::{self, Node};
use hammock_ir::{PrimExpr, relax::Operand};
use hammock_ops::dims;

pub const OPS: &[Op] = &[op("RotaryEmbedding", standard).attributes("interleaved num_heads rotary_embedding_dim")];

/// Inputs: data, cosines, sines and positions. Without positions, the angles are those of each element.
fn standard(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let x = Heads::of(n, x, |n| head_count(n, "num_heads"))?;
    let rotation = Rotation::of(n, &x.data, "interleaved", n.attrs.int_or("rotary_embedding_dim", 0)?)?;
    let angles = |n: &mut Node, at: usize| -> node::Result<Operand> {
        let mut table = n.input(at)?;
        if let Some(positions) = n.optional(3)? {
            table = n.call_with("take", [table, positions], &[("axis", 0i64.into())])?;
        }
        x.broadcast(n, table)
    };
    let (cos, sin) = (angles(n, 1)?, angles(n, 2)?);
    let y = n.rotate(&x.data, &cos, &sin, &rotation)?;
    x.restore(n, y).map(Into::into)
}

/// Data with an axis for heads.
pub(super) struct Heads {
    /// (batch, heads, length, head size), or (batch, length, heads, head size) if they were flat.
    pub(super) data: Operand,
    /// Dimensions of (batch, length, heads * head size).
    flat: Option<Vec<PrimExpr>>,
}

impl Heads {
    /// Splits data of 3 dimensions into heads.
    pub(super) fn of(n: &mut Node, x: Operand, count: impl FnOnce(&Node) -> node::Result<i64>) -> node::Result<Heads> {
        let sizes = n.dims(&x)?;
        match sizes.as_slice() {
            [batch, length, hidden] => {
                let count = count(n)?;
                let size = dims::floordiv(hidden, &count.into());
                let data = n.reshape(x, vec![batch.clone(), length.clone(), count.into(), size])?;
                Ok(Heads { data, flat: Some(sizes) })
            }
            [_, _, _, _] => Ok(Heads { data: x, flat: None }),
            _ => n.error("its input has to have 3 or 4 dimensions"),
        }
    }

    /// Reshapes angles of (batch, length, pairs) so that they broadcast.
    pub(super) fn broadcast(&self, n: &mut Node, angles: Operand) -> node::Result<Operand> {
        let mut shape = n.dims(&angles)?;
        if shape.len() != 3 {
            return n.error("its angles have to be of 3 dimensions, or of 2 with positions");
        }
        shape.insert(if self.flat.is_some() { 2 } else { 1 }, 1i64.into());
        n.reshape(angles, shape)
    }

    /// Size of the axis of positions.
    pub(super) fn length(&self, n: &Node) -> node::Result<PrimExpr> {
        Ok(n.dims(&self.data)?.swap_remove(if self.flat.is_some() { 1 } else { 2 }))
    }

    /// Returns rotated data in the shape of the input.
    pub(super) fn restore(&self, n: &mut Node, y: Operand) -> node::Result<Operand> {
        match &self.flat {
            Some(sizes) => n.reshape(y, sizes.clone()),
            None => Ok(y),
        }
    }
}

/// What is rotated: pairs of the first elements of each head.
#[derive(Clone, Copy)]
pub(super) struct Rotation {
    /// Number of elements.
    dim: i64,
    /// Head size.
    size: i64,
    /// True if pairs are adjacent; otherwise, their elements are in two halves.
    is_interleaved: bool,
}

impl Rotation {
    /// Returns the rotation of data whose last axis is the head size; a `dim` of zero rotates all of it.
    pub(super) fn of(n: &Node, x: &Operand, interleaved: &str, dim: i64) -> node::Result<Rotation> {
        let Some(size) = n.dims(x)?.last().and_then(PrimExpr::as_int) else {
            return n.error("its head size has to be known");
        };
        let dim = if dim == 0 { size } else { dim };
        if dim < 0 || dim > size || dim % 2 != 0 {
            return n.error(format!("it cannot rotate {dim} of the {size} elements of a head"));
        }
        Ok(Rotation { dim, size, is_interleaved: n.attrs.flag(interleaved)? })
    }
}

impl Node<'_, '_> {
    /// Rotates pairs of elements of the last axis by angles, which broadcast.
    pub(super) fn rotate(
        &mut self,
        x: &Operand,
        cos: &Operand,
        sin: &Operand,
        rotation: &Rotation,
    ) -> node::Result<Operand> {
        let Rotation { dim, size, is_interleaved } = *rotation;
        let sizes = self.dims(x)?;
        let last = sizes.len() - 1;
        let slice = |n: &mut Self, begin: i64, end: i64, step: i64| {
            n.strided_slice(x.clone(), last, begin.into(), end.into(), step)
        };
        let (a, b) = match is_interleaved {
            true => (slice(self, 0, dim, 2)?, slice(self, 1, dim, 2)?),
            false => (slice(self, 0, dim / 2, 1)?, slice(self, dim / 2, dim, 1)?),
        };
        let multiply = |n: &mut Self, x: &Operand, y: &Operand| n.call("multiply", [x.clone(), y.clone()]);
        let (ca, sb) = (multiply(self, cos, &a)?, multiply(self, sin, &b)?);
        let (sa, cb) = (multiply(self, sin, &a)?, multiply(self, cos, &b)?);
        let mut parts = vec![self.call("subtract", [ca, sb])?, self.call("add", [sa, cb])?];
        if is_interleaved {
            let mut shape = sizes.clone();
            shape[last] = dim.into();
            let stacked = self.call_with("stack", [Operand::Tuple(parts)], &[("axis", (-1i64).into())])?;
            parts = vec![self.reshape(stacked, shape)?];
        }
        if dim < size {
            parts.push(slice(self, dim, size, 1)?);
        }
        match parts.as_slice() {
            [one] => Ok(one.clone()),
            _ => self.call_with("concat", [Operand::Tuple(parts)], &[("axis", (-1i64).into())]),
        }
    }
}
