//! Transposes: tiles in shared memory make both loads and stores coalesced.

use super::{Loops, Rule, vectors};
use crate::schedule::{Loop, LoopKind, Staged};
use hammock_ir::prim::PrimKind;
use hammock_loopnest::{
    Stage,
    access::{is_contiguous, is_copyable, parts, size, spatial, store_axis},
};

/// Edge of a tile along rows of whole sectors.
const TILE: i64 = 32;
/// Edge of a tile along the rows that it loads, if these are not of whole sectors: the sectors at both ends are loaded by
/// the blocks of the next tiles too, and are a small part then.
const LONG_TILE: i64 = 128;
/// Maximum extent of rows that a tile has as a whole, so that a block accesses contiguous memory wherever they begin.
const MAX_WHOLE: i64 = 128;
/// Maximum bytes of a tile, so that an SM holds several.
const MAX_TILE_BYTES: i64 = 32 << 10;
/// Bytes of a sector, the unit of transfers with memory.
const SECTOR_BYTES: i64 = 32;
/// Rows of a tile that the threads of a block access at once.
const ROWS: i64 = 8;
/// Banks of shared memory, and the bytes of a word of one.
const BANKS: i64 = 32;
const BANK_BYTES: i64 = 4;

/// See the module's documentation.
pub static RULE: Rule = Rule {
    name: "transpose",
    class: "transpose",
    why: "tiles in shared memory coalesce loads and stores",
    doc: "Matches element-wise stages with a load that is contiguous along another axis than the stores. A block copies a \
          tile of 32 x 32 elements to shared memory, whose rows are padded against bank conflicts, and computes results \
          from there. Where rows begin in the middle of a sector of 32 bytes, tiles have whole rows of up to 128 \
          elements, and otherwise 128 of a row that they load.",
    plan: |stage, _| plan(stage),
};

fn plan(stage: &Stage) -> Option<Loops> {
    let stored = store_axis(stage).filter(|_| !stage.reduces())?;
    let parts = parts(stage);
    let is_crossed = |load: &&&hammock_ir::PrimExpr| {
        let read = vectors::contiguous_axis(stage, load);
        let is_load = matches!(load.kind(), PrimKind::Load(..));
        let both = || load.uses(&stage.axes[stored].var) && !is_contiguous(load, &stage.axes[stored].var);
        is_load && read.is_some_and(|axis| axis != stored && !stage.axes[axis].reduce) && both()
    };
    let part = parts.iter().find(is_crossed)?;
    let read = vectors::contiguous_axis(stage, part)?;
    let is_long = |axis: usize| size(&stage.axes[axis].extent) >= ROWS;
    if !is_long(read) || !is_long(stored) || !is_copyable(stage, part) {
        return None;
    }
    let load = parts.iter().position(|other| std::ptr::eq(*other, *part))?;
    let others: Vec<usize> = spatial(stage).filter(|axis| ![read, stored].contains(axis)).collect();
    let bytes = part.dtype().bytes() as i64;
    let is_ragged = |axis: usize| stage.axes[axis].extent.as_int().is_none_or(|n| n * bytes % SECTOR_BYTES != 0);
    let whole = |axis: usize| stage.axes[axis].extent.as_int().filter(|n| *n <= MAX_WHOLE && is_ragged(axis));
    let rows = match whole(read) {
        Some(extent) => (extent + ROWS - 1) / ROWS * ROWS,
        None if is_ragged(read) => LONG_TILE,
        None => TILE,
    };
    let fits = |columns: &i64| columns * padded(rows, *columns, bytes) * bytes <= MAX_TILE_BYTES;
    let columns = whole(stored).filter(fits).unwrap_or(TILE);
    let block = |axis, step| Loop { axis, step, kind: LoopKind::Block };
    let thread = |axis| Loop { axis, step: 1, kind: LoopKind::Thread };
    let mut loops: Vec<Loop> = others.into_iter().map(|axis| block(axis, 1)).collect();
    loops.extend([block(read, rows), block(stored, columns)]);
    let mut staged = Staged::new(load, loops.len(), vec![stored, read]);
    staged.padded.insert(read, padded(rows, columns, bytes));
    staged.copy = super::cooperative_copy(vec![thread(0), thread(1)]);
    loops.extend([Loop { axis: read, step: ROWS, kind: LoopKind::Unrolled }, thread(read), thread(stored)]);
    Some(Loops { loops, staged: vec![staged] })
}

/// Returns the length of a row of the tile in shared memory, in elements: an odd number of words, so that elements of a
/// column are in different banks. Threads that have read the last element of a column, of an odd number, go on in the
/// bank behind it.
fn padded(rows: i64, columns: i64, bytes: i64) -> i64 {
    let follows = |length: &i64| columns * length % BANKS == 1;
    let is_word = bytes == BANK_BYTES && columns % BANKS != 0;
    let following = (rows..rows + BANKS).find(follows).filter(|_| is_word);
    following.unwrap_or(rows + (BANK_BYTES / bytes).max(1))
}
