//! Packed layouts of weights, which kernels use without packing at each call.

use hammock_ir::{DType, PrimExpr};

/// Packing of a parameter before a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedParam {
    /// Index of the parameter.
    pub param: usize,
    /// Layout over the dimensions of its buffer.
    pub layout: PackedLayout,
}

/// Packed layout of a buffer: `[N / block, …, block]`; with packed groups, `[N / block, …, K / size, …, block, size]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedLayout {
    /// Dimension that is divided into blocks.
    pub dim: usize,
    /// Elements of a block.
    pub block: i64,
    /// Packed groups along another dimension, for dot instructions.
    pub groups: Option<PackedGroups>,
}

/// Packed groups along a reduction axis: elements of 32 bits together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedGroups {
    /// Dimension of the reduction axis.
    pub dim: usize,
    /// Elements of a group.
    pub size: i64,
    /// True if the other operand should have its [sign bit flipped](crate::dots::NarrowOperand::sign_flipped): dot
    /// instructions multiply signed by unsigned bytes, and here both operands are signed, or both unsigned.
    pub flip_sign: bool,
}

impl PackedLayout {
    /// Returns the dimensions that are not blocked; they come between the block index and the index in the block.
    fn others(&self, ndim: usize) -> impl Iterator<Item = usize> {
        let dim = self.dim;
        (0..ndim).filter(move |at| *at != dim)
    }

    /// Returns the size of packed groups along a dimension.
    fn group_size(&self, dim: usize) -> Option<i64> {
        self.groups.filter(|groups| groups.dim == dim).map(|groups| groups.size)
    }

    /// Returns the shape of the packed buffer.
    pub fn shape(&self, sizes: &[i64]) -> Vec<i64> {
        let steps = |size: i64, step: i64| (size + step - 1) / step;
        let others = self.others(sizes.len()).map(|at| steps(sizes[at], self.group_size(at).unwrap_or(1)));
        let lanes = self.groups.map(|groups| groups.size);
        [steps(sizes[self.dim], self.block)].into_iter().chain(others).chain([self.block]).chain(lanes).collect()
    }

    /// Returns the packed indices of an element.
    pub fn pack(&self, indices: &[PrimExpr]) -> Vec<PrimExpr> {
        let own = |at: usize| indices[at].clone().cast(DType::INT64);
        let others = self.others(indices.len()).map(|at| match self.group_size(at) {
            Some(size) => own(at).floordiv(size),
            None => indices[at].clone(),
        });
        let lane = self.groups.map(|groups| own(groups.dim).floormod(groups.size));
        let (block, position) = (own(self.dim).floordiv(self.block), own(self.dim).floormod(self.block));
        [block].into_iter().chain(others).chain([position]).chain(lane).collect()
    }

    /// Returns the original indices of a packed element, and the condition that it is not padding. `sizes` are those of
    /// the original buffer.
    pub fn unpack(&self, at: &[PrimExpr], sizes: &[i64]) -> (Vec<PrimExpr>, Option<PrimExpr>) {
        let PackedLayout { dim, block, groups } = *self;
        let others = sizes.len();
        let mut from: Vec<PrimExpr> = at[1..others].to_vec();
        from.insert(dim, at[0].clone() * block + at[others].clone());
        if let Some(groups) = groups {
            from[groups.dim] = from[groups.dim].clone() * groups.size + at[others + 1].clone();
        }
        let divided = [(dim, block)].into_iter().chain(groups.map(|groups| (groups.dim, groups.size)));
        let uneven = divided.filter(|(dim, step)| sizes[*dim] % step != 0);
        let inside = uneven.map(|(dim, _)| from[dim].clone().lt(sizes[dim])).reduce(PrimExpr::and);
        (from, inside)
    }
}
