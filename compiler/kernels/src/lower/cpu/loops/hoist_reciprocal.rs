//! Hoisted reciprocals: divisions by a loop-invariant divisor become multiplications by its reciprocal.
//!
//! The loops are emitted twice (unswitched). They divide if the reciprocal would not be a normal number, because
//! multiplying by infinity or by a denormal reciprocal is inaccurate.

use super::nest::{Domain, HoistedDivisor, Nest};
use crate::schedule::StagePlan;
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Var},
    tir::{Stmt, StmtKind},
};
use hammock_loopnest::{Stage, access::invariant_divisor, index::same_expr, substitution};

impl HoistedDivisor {
    /// Returns the divisor that a plan hoists.
    pub fn of(stage: &Stage, plan: &StagePlan) -> Option<HoistedDivisor> {
        let vector = plan.vector().filter(|_| plan.hoists_reciprocal)?;
        let divisor = invariant_divisor(stage, vector.axis)?;
        Some(HoistedDivisor { depth: plan.hoist_depth(stage, divisor)?, divisor: divisor.clone() })
    }
}

/// Returns the loops inside, once with multiplications and once with divisions.
pub fn divisor_loops(nest: &Nest, hoisted: &HoistedDivisor, at: &Domain) -> Stmt {
    let dtype = hoisted.divisor.dtype();
    let (divisor, reciprocal) = (Var::new("divisor", dtype), Var::new("reciprocal", dtype));
    let inside = |op, by: &Var| {
        let value = replace_divisions(&nest.stage.value, &hoisted.divisor, op, &by.expr());
        let stage = Stage { value, ..nest.stage.clone() };
        Nest { stage: &stage, divisor: None, ..*nest }.level(hoisted.depth, at)
    };
    let magnitude = divisor.expr().unary("fabs");
    let exponent = if dtype.bits == 32 { 126 } else { 1022 };
    let bound = |exponent: i32| PrimExpr::constant(2f64.powi(exponent), dtype);
    let normal = bound(-exponent).le(magnitude.clone()).and(magnitude.le(bound(exponent)));
    let one = PrimExpr::constant(1.0, dtype);
    let by_reciprocal = vec![bind(&reciprocal, one / divisor.expr()), inside(BinaryOp::Mul, &reciprocal)];
    let by_division = inside(BinaryOp::Div, &divisor);
    let choice = StmtKind::If(normal, Box::new(Stmt::seq(by_reciprocal)), Some(Box::new(by_division)));
    let value = hoisted.divisor.substitute(&substitution(&nest.stage.axes, &at.position));
    let all = Stmt::seq(vec![bind(&divisor, value), Stmt::new(choice)]);
    // Without elements the divisor need not exist.
    let sizes = at.extents.iter().filter(|size| size.as_int().is_none());
    sizes.fold(all, |all, size| Stmt::new(StmtKind::If(PrimExpr::int64(0).lt(size), Box::new(all), None)))
}

fn bind(var: &Var, value: PrimExpr) -> Stmt {
    Stmt::new(StmtKind::Bind(var.clone(), value))
}

/// Replaces `_ / divisor` in a value by `_ op by`.
fn replace_divisions(value: &PrimExpr, divisor: &PrimExpr, op: BinaryOp, by: &PrimExpr) -> PrimExpr {
    match value.kind() {
        PrimKind::Binary(BinaryOp::Div, a, b) if same_expr(b, divisor) => {
            hammock_ir::prim::binary(op, replace_divisions(a, divisor, op, by), by.clone())
        }
        _ => value.map_children(&mut |child| replace_divisions(child, divisor, op, by)),
    }
}
