//! Broadcasting before version 7 of the operator set: only if `broadcast` is set, with operands aligned at `axis`.

use crate::node::{self, Node, shown_size};
use hammock_ir::{PrimExpr, relax::Operand};
use hammock_ops::dims;

/// First version with numpy's broadcasting.
const NUMPY_BROADCAST_SINCE: i64 = 7;

impl Node<'_, '_> {
    /// True if attributes align the operands.
    pub(super) fn is_aligned_by_attributes(&self) -> bool {
        self.opset < NUMPY_BROADCAST_SINCE && (self.attrs.has("broadcast") || self.attrs.has("axis"))
    }

    /// Reshapes the second operand of an elementwise operator so that it broadcasts to the first by numpy's rules.
    pub(super) fn align_operand(&mut self, x: &Operand, y: Operand) -> node::Result<Operand> {
        if self.opset >= NUMPY_BROADCAST_SINCE {
            return Ok(y);
        }
        let (own, other) = (self.dims(x)?, self.dims(&y)?);
        let is_same = |own: &[PrimExpr]| {
            own.len() == other.len() && own.iter().zip(&other).all(|(a, b)| dims::equal(a, b) != Some(false))
        };
        if !self.attrs.flag("broadcast")? {
            return if is_same(&own) {
                Ok(y)
            } else {
                self.misaligned_error(&own, &other, "has no attribute `broadcast`")
            };
        }
        let free = own.len() as i64 - other.len() as i64;
        let axis = match self.attrs.int("axis")? {
            Some(axis) => axis + if axis < 0 { own.len() as i64 } else { 0 },
            None => free,
        };
        if !(0..=free).contains(&axis) {
            // A single element broadcasts at any axis.
            let is_single = other.iter().all(|size| dims::is(size, 1));
            return match is_single {
                true => self.reshape(y, Vec::new()),
                false => self.misaligned_error(&own, &other, "has them aligned at an axis where they do not fit"),
            };
        }
        let mut shape = other;
        shape.resize(own.len() - axis as usize, PrimExpr::int64(1));
        self.reshape(y, shape)
    }

    fn misaligned_error<T>(&self, x: &[PrimExpr], y: &[PrimExpr], why: &str) -> node::Result<T> {
        let text = |shape: &[PrimExpr]| shape.iter().map(shown_size).collect::<Vec<_>>().join(", ");
        let (x, y) = (text(x), text(y));
        self.error(format!("its operands have the shapes ({x}) and ({y}), but it {why}"))
    }
}
