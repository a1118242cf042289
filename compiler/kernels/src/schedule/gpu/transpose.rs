//! Transposes: tiles in shared memory make both loads and stores coalesced.

use super::{Loops, Rule, vectors};
use crate::schedule::{Loop, LoopKind, Staged};
use hammock_ir::prim::PrimKind;
use hammock_loopnest::{
    Stage,
    access::{is_contiguous, is_copyable, parts, size, spatial, store_axis},
};

/// Edge of a tile.
const TILE: i64 = 32;
/// Rows of a tile that the threads of a block access at once.
const ROWS: i64 = 8;
/// Bytes of a word of a bank of shared memory.
const BANK_BYTES: i64 = 4;

/// See the module's documentation.
pub static RULE: Rule = Rule {
    name: "transpose",
    class: "transpose",
    why: "tiles in shared memory coalesce loads and stores",
    doc: "Matches element-wise stages with a load that is contiguous along another axis than the stores. A block copies a \
          tile of 32 x 32 elements to shared memory, whose rows are padded against bank conflicts, and computes results \
          from there.",
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
    let block = |axis, step| Loop { axis, step, kind: LoopKind::Block };
    let thread = |axis| Loop { axis, step: 1, kind: LoopKind::Thread };
    let mut loops: Vec<Loop> = others.into_iter().map(|axis| block(axis, 1)).collect();
    loops.extend([block(read, TILE), block(stored, TILE)]);
    let mut staged = Staged::new(load, loops.len(), vec![stored, read]);
    // Rows of an odd number of words: elements of a column are in different banks.
    staged.padded.insert(read, TILE + (BANK_BYTES / part.dtype().bytes() as i64).max(1));
    staged.copy = super::cooperative_copy(vec![thread(0), thread(1)]);
    loops.extend([Loop { axis: read, step: ROWS, kind: LoopKind::Unrolled }, thread(read), thread(stored)]);
    Some(Loops { loops, staged: vec![staged] })
}
