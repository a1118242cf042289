//! Packed layout of a weight.

use crate::PackedParam;
use hammock_ir::{DType, PrimExpr};

/// Packed layout of a buffer.
pub struct Layout {
    /// Blocks and packed groups.
    pub packed: PackedParam,
    /// Sizes of the buffer.
    pub sizes: Vec<i64>,
}

impl Layout {
    /// Returns the dimensions that are not blocked; they come between the block index and the index in the block.
    fn others(&self) -> impl Iterator<Item = usize> {
        let dim = self.packed.dim;
        (0..self.sizes.len()).filter(move |at| *at != dim)
    }

    /// Returns the size of packed groups along a dimension.
    fn group_len(&self, dim: usize) -> Option<i64> {
        self.packed.group.filter(|group| group.dim == dim).map(|group| group.len)
    }

    /// Returns the shape of the packed buffer.
    pub fn shape(&self) -> Vec<i64> {
        let PackedParam { dim, block, group, .. } = self.packed;
        let steps = |size: i64, step: i64| (size + step - 1) / step;
        let others = self.others().map(|at| steps(self.sizes[at], self.group_len(at).unwrap_or(1)));
        let lanes = group.map(|group| group.len);
        [steps(self.sizes[dim], block)].into_iter().chain(others).chain([block]).chain(lanes).collect()
    }

    /// Returns the packed indices of an element.
    pub fn pack(&self, indices: Vec<PrimExpr>) -> Vec<PrimExpr> {
        let PackedParam { dim, block, group, .. } = self.packed;
        let own = |at: usize| indices[at].clone().cast(DType::INT64);
        let others = self.others().map(|at| match self.group_len(at) {
            Some(len) => own(at).floordiv(len),
            None => indices[at].clone(),
        });
        let lane = group.map(|group| own(group.dim).floormod(group.len));
        [own(dim).floordiv(block)].into_iter().chain(others).chain([own(dim).floormod(block)]).chain(lane).collect()
    }

    /// Returns the original indices of a packed element, and the condition that it is not padding.
    pub fn unpack(&self, at: &[PrimExpr]) -> (Vec<PrimExpr>, Option<PrimExpr>) {
        let PackedParam { dim, block, group, .. } = self.packed;
        let others = self.sizes.len();
        let mut from: Vec<PrimExpr> = at[1..others].to_vec();
        from.insert(dim, at[0].clone() * block + at[others].clone());
        if let Some(group) = group {
            from[group.dim] = from[group.dim].clone() * group.len + at[others + 1].clone();
        }
        let divided = [(dim, block)].into_iter().chain(group.map(|group| (group.dim, group.len)));
        let uneven = divided.filter(|(dim, step)| self.sizes[*dim] % step != 0);
        let inside = uneven.map(|(dim, _)| from[dim].clone().lt(self.sizes[dim])).reduce(PrimExpr::and);
        (from, inside)
    }
}
