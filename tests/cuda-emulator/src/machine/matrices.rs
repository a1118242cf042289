//! `ldmatrix`, `stmatrix`, `movmatrix` and `mma`: all lanes of a warp together.
use super::{
    Grid, Outcome,
    block::Block,
    execute::Turn,
    spaces::{ThreadAccess, resolve},
    stop,
    warp::{Step, Warp},
};
use crate::{
    fault::FaultKind,
    lanes::Lanes,
    matrix::{load_matrices, store_matrices, transpose_matrix},
    ptx::op::{Address, Op, Source, Space},
    shadow::AccessKind,
};

/// Bytes of a row of a matrix of 8 × 8 elements of 16 bits.
const ROW: usize = 16;

impl Grid<'_> {
    pub(super) fn matrices(&mut self, block: &mut Block, warp: &mut Warp, turn: Turn<'_>) -> Outcome<Step> {
        let needed = warp.live();
        if !self.gather(warp, turn, needed) {
            return Ok(Step::Continue);
        }
        if turn.mask != u32::MAX {
            let message = format!("only lanes {:#010x} execute it, and it needs all 32", turn.mask);
            return stop(turn.first_lane(), FaultKind::DivergentWarp(message));
        }
        match &turn.instruction.op {
            Op::LoadMatrix { dst, address, transpose } => {
                let rows = self.load_rows(block, warp, turn, *address, 8 * dst.len())?;
                let registers = load_matrices(&rows, *transpose);
                for (&dst, values) in dst.iter().zip(&registers) {
                    warp.write(dst, u32::MAX, values);
                }
            }
            Op::StoreMatrix { src, address, transpose } => {
                let registers = self.read_all(block, warp, src);
                let rows = store_matrices(&registers, *transpose);
                self.store_rows(block, warp, turn, *address, &rows[..8 * src.len()])?;
            }
            Op::TransposeMatrix { dst, a } => {
                let values = transpose_matrix(&self.read(block, warp, *a));
                warp.write(*dst, u32::MAX, &values);
            }
            Op::Mma { mma, d, a, b, c } => {
                let [a, b, c] = [a, b, c].map(|fragment| self.read_all(block, warp, fragment));
                let result = mma.multiply(&a, &b, &c);
                for (&dst, values) in d.iter().zip(&result) {
                    warp.write(dst, u32::MAX, values);
                }
                self.counters.mma += 1;
            }
            other => return self.trap(0, format!("no instruction on matrices: {other:?}")),
        }
        warp.splits[turn.split].pc += 1;
        Ok(Step::Continue)
    }

    fn read_all(&self, block: &Block, warp: &Warp, sources: &[Source]) -> Vec<Lanes> {
        sources.iter().map(|&source| self.read(block, warp, source)).collect()
    }

    /// The offsets in shared memory of the rows that the first `count` lanes address.
    fn rows(&self, block: &Block, warp: &Warp, address: Address, count: usize) -> Outcome<Lanes> {
        let mut addresses = self.addresses(block, warp, address);
        for (lane, address_of_lane) in addresses.iter_mut().enumerate().take(count) {
            let (space, offset) = resolve(address.space, *address_of_lane);
            if space != Space::Shared {
                return self.trap(lane, "an address that is not in shared memory");
            }
            *address_of_lane = offset;
        }
        Ok(addresses)
    }

    /// Loads rows. Each is read by the lane that addresses it.
    fn load_rows(
        &mut self,
        block: &mut Block,
        warp: &Warp,
        turn: Turn<'_>,
        address: Address,
        count: usize,
    ) -> Outcome<Vec<[u8; ROW]>> {
        let offsets = self.rows(block, warp, address, count)?;
        let mut rows = vec![[0; ROW]; count];
        for (lane, row) in rows.iter_mut().enumerate() {
            let thread = block.thread(warp.index, lane);
            let by = ThreadAccess { thread, lane, kind: AccessKind::Read, line: turn.instruction.line };
            self.load(block, by, Space::Shared, offsets[lane], row)?;
        }
        self.count_access(u32::MAX >> (32 - count), Space::Shared, &offsets, (ROW as u32, None));
        Ok(rows)
    }

    fn store_rows(
        &mut self,
        block: &mut Block,
        warp: &Warp,
        turn: Turn<'_>,
        address: Address,
        rows: &[[u8; ROW]],
    ) -> Outcome<()> {
        let offsets = self.rows(block, warp, address, rows.len())?;
        for (lane, row) in rows.iter().enumerate() {
            let thread = block.thread(warp.index, lane);
            let by = ThreadAccess { thread, lane, kind: AccessKind::Write, line: turn.instruction.line };
            self.store(block, by, Space::Shared, offsets[lane], row)?;
        }
        self.count_access(u32::MAX >> (32 - rows.len()), Space::Shared, &offsets, (ROW as u32, None));
        Ok(())
    }
}
