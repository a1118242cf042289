//! Zero points of integer contractions: the sums of the other operand that they multiply, computed once, before the loops
//! of a stage.

use super::nest::Nest;
use crate::schedule::{ScheduleContext, cpu::inner_plan};
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::{BinaryOp, Var, binary},
    tir::{Buffer, Stmt, StmtKind},
};
use hammock_loopnest::{Axis, ScaleGroups, Stage, steps, substitution};

/// Product of a zero point and the sum of the other operand.
pub struct ZeroPointProduct {
    /// Statements that compute the sums of the other operand.
    pub stmts: Vec<Stmt>,
    /// Its value for the part of a reduction that begins at a position of the axes.
    pub value: PrimExpr,
}

impl ZeroPointProduct {
    /// Returns the product for the parts of a stage's reduction, if there is a zero point.
    pub fn of(stage: &Stage, groups: &ScaleGroups, part: i64, choice: ScheduleContext) -> Option<ZeroPointProduct> {
        let zero = groups.zero.as_ref()?;
        let own = &stage.axes[groups.axis];
        let used: Vec<&Axis> =
            stage.axes.iter().filter(|axis| axis.var != own.var && zero.operand.uses(&axis.var)).collect();
        let mut axes: Vec<Axis> = used.iter().map(|axis| Axis { reduce: false, ..axis.fresh() }).collect();
        let number = Var::new("part", own.var.dtype());
        axes.push(Axis::spatial(number.clone(), steps(&own.extent, part)));
        let element = Axis { extent: PrimExpr::int64(part), ..own.fresh() };
        let position = number.expr() * PrimExpr::int(part, own.var.dtype()) + element.var.expr();
        let from: Vec<Axis> = used.iter().map(|axis| (*axis).clone()).chain([own.clone()]).collect();
        let to = axes[..used.len()].iter().map(|axis| axis.var.expr()).chain([position]).collect::<Vec<_>>();
        let operand = zero.operand.substitute(&substitution(&from, &to));
        let shape = axes.iter().map(|axis| axis.extent.clone()).collect();
        let sums = Buffer::scoped("operand_sums", shape, DType::INT32, "global");
        let indices: Vec<PrimExpr> = axes.iter().map(|axis| axis.var.expr()).collect();
        let value = PrimExpr::load(&sums, indices.clone()) + operand;
        axes.push(element);
        let stage = Stage::new("operand_sums", axes, sums.clone(), indices, value).with_init(Some(PrimExpr::int32(0)));
        let alloc = Stmt::new(StmtKind::Alloc(sums.clone(), Attrs::new()));
        let loops = Nest::loops(&stage, &inner_plan(&stage, choice), choice);
        let part = binary(BinaryOp::FloorDiv, own.var.expr(), PrimExpr::int(part, own.var.dtype()));
        let at = used.iter().map(|axis| axis.var.expr()).chain([part]).collect();
        Some(ZeroPointProduct { stmts: vec![alloc, loops], value: zero.value.clone() * PrimExpr::load(&sums, at) })
    }
}
