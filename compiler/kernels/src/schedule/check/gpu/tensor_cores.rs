//! Loops of tensor cores: what `ldmatrix` and `mma.sync` need.

use super::{Check, Checked, Item, violation};
use crate::schedule::{
    Loop, LoopKind, Staged,
    gpu::{
        copy_extents, copy_shape,
        tensor_cores::{MMA_TILE, can_transpose, matrix_row, mma_depth, operands},
    },
};
use hammock_ir::{DType, PrimExpr};
use hammock_loopnest::{access::parts, index::same_expr};

/// Loops of a warp: steps over the reduction and tiles, then an `mma.sync`.
const WARP_LOOPS: usize = 6;

impl Check<'_> {
    /// Checks the loops over warps, and those that tensor cores compute.
    pub(super) fn check_mma(&self) -> Checked {
        let loops = &self.plan.loops;
        let is_own = |l: &Loop| matches!(l.kind, LoopKind::Warp | LoopKind::Mma);
        let Some(first) = loops.iter().position(is_own) else { return Ok(()) };
        let Some(operands) = operands(self.stage, &self.ctx) else {
            let message = "tensor cores do not compute this stage: from sm_80 on, they multiply float16 or bfloat16 with \
                           sums of float32, 8-bit integers with sums of int32, and float32 with --allow-tf32";
            return violation(Item::Loop(first), message, "leave out `warp` and `mma`");
        };
        let depth = mma_depth(operands[0].dtype());
        let Some((axes, warps)) = self.warp_loops(depth) else {
            let message = "`mma` loops are the innermost ones of a warp";
            let help = format!(
                "write `M by 16 warp, N by 16 warp, K by {depth} unrolled, M by 16 unrolled, N by 8 unrolled, M mma, N mma, \
                 K mma` with other steps of `warp`"
            );
            return violation(Item::Loop(first), message, help);
        };
        let outer = &loops[..warps];
        if let Some(other) = outer.iter().position(|l| !matches!(l.kind, LoopKind::Block | LoopKind::Serial)) {
            let message = "around the loops over warps are `block` and serial loops only";
            return violation(Item::Loop(other), message, "change its kind");
        }
        self.check_tiles(axes, depth, warps)?;
        self.check_operands(operands, axes, warps)
    }

    /// Returns the axes of rows, columns and the reduction, and the number of loops around those over warps.
    fn warp_loops(&self, mma_k: i64) -> Option<([usize; 3], usize)> {
        let loops = &self.plan.loops;
        let own = loops.len().checked_sub(WARP_LOOPS)?;
        let axes @ [m, n, k] = self.plan.mma_axes()?;
        let is_tile =
            |l: &Loop, axis: usize, step: i64| l.axis == axis && l.step == step && l.kind == LoopKind::Unrolled;
        let [mma_m, mma_n] = MMA_TILE;
        let tiles = [(k, mma_k), (m, mma_m), (n, mma_n)];
        let has_tiles = loops[own..].iter().zip(tiles).all(|(l, (axis, step))| is_tile(l, axis, step));
        let is_contraction =
            m != n && self.stage.axes[k].reduce && ![m, n].map(|axis| self.stage.axes[axis].reduce).contains(&true);
        let is_warp = |l: &Loop| l.kind == LoopKind::Warp && [m, n].contains(&l.axis);
        let warps = own - loops[..own].iter().rev().take_while(|l| is_warp(l)).count();
        (has_tiles && is_contraction && warps < own).then_some((axes, warps))
    }

    /// Checks that a warp has whole tiles.
    fn check_tiles(&self, [m, n, k]: [usize; 3], mma_k: i64, warps: usize) -> Checked {
        let tiles = self.plan.loops.len() - WARP_LOOPS;
        let [mma_m, mma_n] = MMA_TILE;
        // `ldmatrix` loads the operands of two tiles of columns at once.
        for (axis, inside, step) in [(m, tiles, mma_m), (n, tiles, 2 * mma_n), (k, warps, mma_k)] {
            if self.plan.range(axis, inside).is_none_or(|range| range % step != 0) {
                let name = &self.names[axis];
                let message = format!("tiles of a warp are not whole along `{name}`");
                return violation(Item::Plan, message, format!("write `{name} by N` with a multiple of {step} before"));
            }
        }
        Ok(())
    }

    /// Checks that both operands are copied before the loops over warps.
    fn check_operands(&self, operands: [&PrimExpr; 2], [m, n, k]: [usize; 3], warps: usize) -> Checked {
        let parts = parts(self.stage);
        let (m_var, n_var) = (&self.stage.axes[m].var, &self.stage.axes[n].var);
        let mut has = [false; 2];
        for (index, staged) in self.plan.staged.iter().enumerate() {
            let part = parts[staged.load];
            let own = if part.uses(m_var) { m } else { n };
            let is_operand = operands.iter().any(|operand| same_expr(operand, part));
            let is_tile = staged.inside == warps
                && staged.axes.len() == 2
                && staged.axes.contains(&k)
                && staged.axes.contains(&own);
            if !is_operand
                || !is_tile
                || !self.has_matrix_rows(staged, part.dtype(), k)
                || part.uses(m_var) == part.uses(n_var)
            {
                let message =
                    "tensor cores read this operand from tiles whose rows are multiples of 16 bytes".to_owned();
                let help = "copy it before the first `warp`, along its axis of results and the reduction, padded to a multiple of 16 bytes; rows of 8-bit integers go along the reduction";
                return violation(Item::Copy(index), message, help);
            }
            has[usize::from(own == n)] = true;
        }
        match has {
            [true, true] => Ok(()),
            _ => violation(Item::Plan, "tensor cores read operands from shared memory", "add a `copy of` each operand"),
        }
    }

    /// Returns true if `ldmatrix` loads rows of a copy: aligned ones, which go along the reduction unless it transposes.
    fn has_matrix_rows(&self, staged: &Staged, dtype: DType, k: usize) -> bool {
        let extents = copy_extents(self.stage, self.plan, staged);
        let row = extents.and_then(|extents| copy_shape(staged, &extents).last().copied());
        let is_aligned = row.is_some_and(|row| row % matrix_row(dtype) == 0);
        is_aligned && (can_transpose(dtype) || staged.axes.last() == Some(&k))
    }
}
