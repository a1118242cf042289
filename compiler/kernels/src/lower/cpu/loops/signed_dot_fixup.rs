//! Zero-point shift for int8 dot products whose operands have the same signedness: `vpdpbusd` needs one unsigned and
//! one signed operand.
//!
//! The operand that is broadcast along the results is shifted by 128, which flips its sign bits. Accumulators start at
//! the compensation term, 128 times the column sums of the other operand, computed once when that one is packed.
//! Integers wrap, so the result is exact.

use super::nest::{Nest, SignFlip};
use crate::schedule::{Loop, StagePlan, cpu::MAX_LANES};
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::{
        Var,
        flat::{Dot, PACKED_DTYPE},
    },
    tir::{Buffer, Stmt, StmtKind},
};
use hammock_loopnest::{Axis, Stage, dots};

/// Four int8 ones.
const ONES: i64 = 0x0101_0101;
/// Sign bits of four int8 values.
const SIGNS: i64 = 0x8080_8080;

impl SignFlip {
    /// Returns the operand to flip if the other one, which varies along the results, is packed.
    pub fn for_packed(nest: &Nest, copied: &PrimExpr) -> Option<SignFlip> {
        let (_, Dot::Bytes(signed)) = nest.dot? else { return None };
        let factors = dots::narrow_operands(nest.stage)?;
        let along = nest.plan.vector().is_some_and(|l| copied.uses(&nest.stage.axes[l.axis].var));
        let other = factors.iter().position(|factor| hammock_loopnest::index::same_expr(factor.load, copied))?;
        let is_unflipped = !factors[other].sign_flipped;
        let wanted =
            nest.choice.target.int8_dot && signed[0] == signed[1] && along && nest.stage.init.is_some() && is_unflipped;
        let operand = 1 - other;
        let mut flipped = signed;
        flipped[operand] = !signed[operand];
        wanted.then_some(SignFlip { operand, dot: Dot::Bytes(flipped) })
    }

    /// Flips the sign bits of a packed group.
    pub fn flip_signs(group: PrimExpr) -> PrimExpr {
        PrimExpr::intrin("bitwise_xor", vec![group, PrimExpr::int(SIGNS, PACKED_DTYPE)], PACKED_DTYPE)
    }

    /// Computes the column sums of a packed operand. Returns the statements, and the initial value of the accumulator
    /// at `index`. `reduced` marks the reduction axes of the packed operand.
    pub fn compensation(
        self,
        nest: &Nest,
        copy: &Stage,
        reduced: &[bool],
        start: &PrimExpr,
        index: &[PrimExpr],
    ) -> (Vec<Stmt>, PrimExpr) {
        let Dot::Bytes(signed) = self.dot else { unreachable!("only int8 operands are flipped") };
        let is_result = |at: &usize| !reduced[*at];
        let results: Vec<usize> = (0..reduced.len()).filter(is_result).collect();
        let shape = results.iter().map(|at| copy.buffer.shape[*at].clone()).collect();
        let sums = Buffer::scoped("column_sums", shape, DType::INT32, &*copy.buffer.scope);
        let vars: Vec<Var> = copy.axes.iter().map(|axis| axis.var.fresh()).collect();
        let axis = |(at, axis): (usize, &Axis)| Axis {
            var: vars[at].clone(),
            extent: axis.extent.clone(),
            reduce: reduced[at],
        };
        let indices: Vec<PrimExpr> = results.iter().map(|at| vars[*at].expr()).collect();
        let group = PrimExpr::load(&copy.buffer, vars.iter().map(Var::expr).collect());
        let (ones, own) = (PrimExpr::int(ONES, PACKED_DTYPE), PrimExpr::load(&sums, indices.clone()));
        let factors = if signed[1 - self.operand] { [ones, group] } else { [group, ones] };
        let add = Dot::Bytes([false, true]).intrinsic();
        let value = PrimExpr::intrin(add, factors.into_iter().chain([own]).collect(), DType::INT32);
        let axes = copy.axes.iter().enumerate().map(axis).collect();
        let stage = Stage::new(format!("{}_column_sums", copy.name), axes, sums.clone(), indices, value)
            .with_init(Some(PrimExpr::int32(0)));
        let mut loops: Vec<Loop> = results.iter().map(|at| Loop::serial(*at)).collect();
        loops.last_mut().into_iter().for_each(|last| last.step = MAX_LANES);
        loops.extend((0..reduced.len()).filter(|at| reduced[*at]).map(Loop::serial));
        loops.extend(results.last().map(|last| Loop::vector(*last)));
        let plan = StagePlan::new("vertical-reduction", loops);
        let alloc = Stmt::new(StmtKind::Alloc(sums.clone(), Attrs::new()));
        let index = results.iter().map(|at| index[*at].clone()).collect();
        let own = PrimExpr::load(&sums, index) * PrimExpr::int32(128);
        let start = start.clone();
        // An operand that is signed now was unsigned: 128 was subtracted.
        let start = if signed[self.operand] {
            start + own.cast(nest.stage.buffer.dtype)
        } else {
            start - own.cast(nest.stage.buffer.dtype)
        };
        (vec![alloc, Nest::loops(&stage, &plan, nest.choice)], start)
    }
}
