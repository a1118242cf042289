//! Split rows: blocks of a GPU run an online softmax on parts of a row, and others combine their maxima and sums.
//!
//! After Dao et al., "Flash-Decoding for long-context inference" (2023).

use super::tile::{OnlineTile, Running, shift};
use crate::{Axis, Stage};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, Var, binary},
    tir::Buffer,
};

/// The maxima and sums of parts of rows, in global memory: for each block of rows, and each split.
pub struct Partials {
    max: Buffer,
    sums: Vec<Buffer>,
}

/// Stages that combine partial results, and their buffers.
pub struct Combination {
    /// The stages.
    pub stages: Vec<Stage>,
    /// Buffers of the block, beside those of its tile.
    pub buffers: Vec<Buffer>,
}

impl Partials {
    /// Returns the buffers.
    pub fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        [&self.max].into_iter().chain(&self.sums)
    }
}

impl OnlineTile {
    /// Returns buffers for the partial results of `splits` splits of `blocks` blocks of rows.
    pub fn partials(&self, blocks: &PrimExpr, splits: i64) -> Partials {
        let partial = |running: &Running| {
            let own = running.axes.iter().map(|axis| axis.extent.clone());
            let shape = [blocks.clone(), PrimExpr::int64(splits)].into_iter().chain(own).collect();
            Buffer::new(format!("{}_partial", running.buffer.name), shape, running.buffer.dtype)
        };
        Partials { max: partial(&self.max[0]), sums: self.sums.iter().map(partial).collect() }
    }

    /// Returns the stages that store the partial results of a split.
    pub fn store_partials(&self, partials: &Partials, (block, split): (&PrimExpr, &PrimExpr)) -> Vec<Stage> {
        let store = |(running, to): (&Running, &Buffer)| {
            let at = partial_indices(running, block, split);
            Stage::new(format!("store_{}", to.name), running.axes.clone(), to.clone(), at, running.load())
        };
        [(&self.max[0], &partials.max)].into_iter().chain(self.sums.iter().zip(&partials.sums)).map(store).collect()
    }

    /// Returns the stages that combine the partial results of `count` splits, which are up to `splits`.
    pub fn combine(&self, partials: &Partials, block: &PrimExpr, count: &PrimExpr, splits: i64) -> Combination {
        let max = &self.max[1];
        let of_rows = max.row.iter().map(|_| max.axes[0].extent.clone());
        let sizes = of_rows.chain([PrimExpr::int64(splits)]).collect();
        let factor = Buffer::new("split_rescale", sizes, max.buffer.dtype);
        let split = split_axis(count, false);
        let value = load_partial(max, &partials.max, block, &split) - shift(max.load());
        let axes = max.axes.iter().cloned().chain([split.clone()]).collect();
        let at = max.row.iter().cloned().chain([split.var.expr()]).collect();
        let factors = Stage::new("split_rescale", axes, factor.clone(), at, value.unary("exp"));
        let lowest = PrimExpr::float(f64::NEG_INFINITY, max.buffer.dtype);
        let maximum = reduce(max, BinaryOp::Max, lowest, count, |split| load_partial(max, &partials.max, block, split));
        let sums = self.sums.iter().zip(&partials.sums).map(|(sum, partial)| {
            let zero = PrimExpr::constant(0.0, sum.buffer.dtype);
            reduce(sum, BinaryOp::Add, zero, count, |split| {
                let at = sum.row.iter().cloned().chain([split.var.expr()]).collect();
                load_partial(sum, partial, block, split) * PrimExpr::load(&factor, at)
            })
        });
        Combination { stages: [maximum, factors].into_iter().chain(sums).collect(), buffers: vec![factor] }
    }
}

/// Returns the axis along splits.
fn split_axis(count: &PrimExpr, reduce: bool) -> Axis {
    Axis { var: Var::int64("split"), extent: count.clone(), reduce }
}

/// Returns the stage that reduces a value of each split.
fn reduce(
    running: &Running,
    op: BinaryOp,
    init: PrimExpr,
    count: &PrimExpr,
    value: impl Fn(&Axis) -> PrimExpr,
) -> Stage {
    let split = split_axis(count, true);
    let value = binary(op, running.load(), value(&split));
    let axes = running.axes.iter().cloned().chain([split]).collect();
    let name = format!("combine_{}", running.buffer.name);
    Stage::new(name, axes, running.buffer.clone(), running.at.clone(), value).with_init(Some(init))
}

fn load_partial(running: &Running, partial: &Buffer, block: &PrimExpr, split: &Axis) -> PrimExpr {
    PrimExpr::load(partial, partial_indices(running, block, &split.var.expr()))
}

/// Returns the indices of a running value in the buffer of its partial results.
fn partial_indices(running: &Running, block: &PrimExpr, split: &PrimExpr) -> Vec<PrimExpr> {
    let own = running.axes.iter().map(|axis| axis.var.expr());
    [block.clone(), split.clone()].into_iter().chain(own).collect()
}
