//! Products of bytes that are both signed, or both unsigned, for an instruction that multiplies unsigned bytes with signed
//! ones.
//!
//! The factor that is the same along the results is moved by 128, which is its sign bit turned over. What that adds to a
//! sum does not depend on the row: 128 times all numbers of the other factor. It is added up once for each copy of that
//! factor, and taken off what sums start from. Integers wrap, so nothing is lost.

use super::nest::{self, Nest};
use crate::{
    plan::{Loop, StagePlan},
    rules::MAX_LANES,
    stage::{
        Axis, Stage,
        dots::{self, Dot},
    },
};
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::Var,
    tir::{Buffer, Stmt, StmtKind},
};

/// Bytes that are all one.
const ONES: i64 = 0x0101_0101;
/// The sign bits of bytes.
const SIGNS: i64 = 0x8080_8080;

/// A factor that is moved.
#[derive(Clone, Copy)]
pub struct Moved {
    /// Which of the two.
    pub factor: usize,
    /// What is added to sums then.
    pub dot: Dot,
}

impl Moved {
    /// The factor to move where another one, along the results, is copied.
    pub fn of(nest: &Nest, copied: &PrimExpr) -> Option<Moved> {
        let (_, Dot::Bytes(signed)) = nest.dot? else { return None };
        let factors = dots::narrow(nest.stage)?;
        let along = nest.plan.vector().is_some_and(|l| copied.uses(&nest.stage.axes[l.axis].var));
        let other = factors.iter().position(|factor| crate::index::same_expr(factor.load, copied))?;
        let as_it_is = !factors[other].moved;
        let wanted =
            nest.choice.target.int8_dot && signed[0] == signed[1] && along && nest.stage.init.is_some() && as_it_is;
        let factor = 1 - other;
        let mut moved = signed;
        moved[factor] = !signed[factor];
        wanted.then_some(Moved { factor, dot: Dot::Bytes(moved) })
    }

    /// A word of the moved factor.
    pub fn word(word: PrimExpr) -> PrimExpr {
        PrimExpr::intrin("bitwise_xor", vec![word, PrimExpr::int(SIGNS, dots::WORD)], dots::WORD)
    }

    /// Adds up the numbers of a copy in words for each result: the statements, and what a sum starts from at some place.
    /// `reduced` says which of the copy's axes are summed up.
    pub fn sums(
        self,
        nest: &Nest,
        copy: &Stage,
        reduced: &[bool],
        start: &PrimExpr,
        place: &[PrimExpr],
    ) -> (Vec<Stmt>, PrimExpr) {
        let Dot::Bytes(signed) = self.dot else { unreachable!("only bytes are moved") };
        let kept = |at: &usize| !reduced[*at];
        let results: Vec<usize> = (0..reduced.len()).filter(kept).collect();
        let shape = results.iter().map(|at| copy.buffer.shape[*at].clone()).collect();
        let sums = Buffer::scoped("moved", shape, DType::INT32, &*copy.buffer.scope);
        let vars: Vec<Var> = copy.axes.iter().map(|axis| axis.var.fresh()).collect();
        let axis = |(at, axis): (usize, &Axis)| Axis {
            var: vars[at].clone(),
            extent: axis.extent.clone(),
            reduce: reduced[at],
        };
        let indices: Vec<PrimExpr> = results.iter().map(|at| vars[*at].expr()).collect();
        let word = PrimExpr::load(&copy.buffer, vars.iter().map(Var::expr).collect());
        let (ones, own) = (PrimExpr::int(ONES, dots::WORD), PrimExpr::load(&sums, indices.clone()));
        let factors = if signed[1 - self.factor] { [ones, word] } else { [word, ones] };
        let add = Dot::Bytes([false, true]).intrinsic();
        let stage = Stage {
            name: format!("{}_moved", copy.name),
            axes: copy.axes.iter().enumerate().map(axis).collect(),
            buffer: sums.clone(),
            indices,
            value: PrimExpr::intrin(add, factors.into_iter().chain([own]).collect(), DType::INT32),
            init: Some(PrimExpr::int32(0)),
            epilogue: None,
            place: None,
            part: None,
            regions: false,
        };
        let mut loops: Vec<Loop> = results.iter().map(|at| Loop::serial(*at)).collect();
        loops.last_mut().into_iter().for_each(|last| last.step = MAX_LANES);
        loops.extend((0..reduced.len()).filter(|at| reduced[*at]).map(Loop::serial));
        loops.extend(results.last().map(|last| Loop::vector(*last)));
        let plan = StagePlan::new("lanes-of-results", loops);
        let alloc = Stmt::new(StmtKind::Alloc(sums.clone(), Attrs::new()));
        let place = results.iter().map(|at| place[*at].clone()).collect();
        let own = PrimExpr::load(&sums, place) * PrimExpr::int32(128);
        let start = start.clone();
        // A factor that is signed now was unsigned before: 128 was taken off.
        let start = if signed[self.factor] {
            start + own.cast(nest.stage.buffer.dtype)
        } else {
            start - own.cast(nest.stage.buffer.dtype)
        };
        (vec![alloc, nest::loops(&stage, &plan, nest.choice)], start)
    }
}
