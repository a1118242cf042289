//! Software pipeline: copies of operands run ahead of the iteration that uses them.
//!
//! Shared memory has several tiles of each operand. Before the loop, all tiles but one are on their way. An iteration
//! waits for its own tile, starts the copy of the tile that its predecessor used, and computes. One barrier an iteration is
//! enough: after it, all threads see the tile, and none uses the predecessor's.

use super::{
    Position,
    copies::{self, Tile},
    scaled,
    thread::ThreadCode,
};
use crate::{
    lower::gpu::loops::{barrier, guarded},
    schedule::LoopKind,
};
use hammock_ir::{
    DType, PrimExpr,
    prim::Var,
    tir::{ForKind, Stmt, StmtKind},
};

/// Returns the number of stages of the copies to be made inside of `number` loops, if they run ahead.
pub fn stages(code: &ThreadCode, number: usize) -> Option<i64> {
    let mut own =
        code.plan.staged.iter().zip(&code.copied).filter(|(staged, copied)| staged.inside == number && !**copied);
    own.next().map(|(staged, _)| staged.stages).filter(|stages| *stages > 1)
}

/// Returns the loop inside of `number` others with copies in stages, from a position on. `body` gets the position of an iteration.
pub fn pipelined(
    code: &ThreadCode,
    (number, from): (usize, &Position),
    stages: i64,
    body: &dyn Fn(&ThreadCode, Position) -> Stmt,
) -> Stmt {
    let l = &code.plan.loops[number];
    let count = code.trip_count(number);
    let mut all = copies::due(code, number + 1);
    all.iter_mut().for_each(|(_, copy)| copy.add_stages(stages));
    let start = |iteration: PrimExpr| {
        let at = from.moved(l.axis, scaled(iteration.clone(), l.step));
        let tile = Tile { from: &at, slot: Some(iteration.clone().floormod(PrimExpr::int64(stages))) };
        let copied = Stmt::seq(all.iter().map(|(_, copy)| copy.stmt(&tile)).collect::<Vec<_>>());
        let is_inside = iteration.as_int().zip(count.as_int()).is_some_and(|(own, count)| own < count);
        let copied = if is_inside { copied } else { guarded(iteration.lt(count.clone()), copied) };
        Stmt::seq([copied, call("ptx_commit_group", Vec::new())])
    };
    let var = Var::int64(code.stage.axes[l.axis].var.name().clone());
    let at = from.moved(l.axis, scaled(var.expr(), l.step));
    let mut reader = code.clone();
    let tile = Tile { from: &at, slot: Some(var.expr().floormod(PrimExpr::int64(stages))) };
    all.iter().for_each(|(index, copy)| copy.replace(&mut reader, *index, &tile));
    let iteration = [
        call("ptx_wait_group", vec![PrimExpr::int32(stages as i32 - 2)]),
        barrier(),
        start(&var.expr() + PrimExpr::int64(stages - 1)),
        body(&reader, at.clone()),
    ];
    // The next time, copies must not overtake this one's last iterations.
    let is_repeated = code.plan.loops[..number].iter().any(|l| l.kind == LoopKind::Serial);
    let stmts = all.iter().map(|(_, copy)| copy.allocation());
    let stmts = stmts.chain((0..stages - 1).map(|stage| start(PrimExpr::int64(stage))));
    let body = Stmt::new(StmtKind::Seq(iteration.into()));
    let stmts = stmts.chain([Stmt::for_kind(var.clone(), count.clone(), ForKind::Serial, body)]);
    Stmt::new(StmtKind::Seq(stmts.chain(is_repeated.then(barrier)).collect()))
}

/// Returns a statement that calls an intrinsic without a result.
pub fn call(name: &'static str, args: Vec<PrimExpr>) -> Stmt {
    Stmt::new(StmtKind::Evaluate(PrimExpr::intrin(name, args, DType::VOID)))
}
