//! Divisors that are the same for many elements: each is inverted once, and elements are multiplied.
//!
//! Where the inverse would not be a normal number, elements are divided after all: a product with infinity or with a
//! denormal inverse would be far from the quotient.

use super::nest::{At, Nest};
use crate::{
    index::same_expr,
    plan::StagePlan,
    stage::{Stage, access::common_divisor, substitution},
};
use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind, Var},
    tir::{Stmt, StmtKind},
};

/// A divisor that is inverted.
pub struct Quotient {
    /// Inside how many loops.
    pub inside: usize,
    divisor: PrimExpr,
}

impl Quotient {
    /// What a plan inverts.
    pub fn of(stage: &Stage, plan: &StagePlan) -> Option<Quotient> {
        let vector = plan.vector().filter(|_| plan.inverts)?;
        let divisor = common_divisor(stage, vector.axis)?;
        Some(Quotient { inside: plan.known(stage, divisor)?, divisor: divisor.clone() })
    }
}

/// The loops inside, once with products and once with quotients.
pub fn loops(nest: &Nest, quotient: &Quotient, at: &At) -> Stmt {
    let dtype = quotient.divisor.dtype();
    let (divisor, inverse) = (Var::new("divisor", dtype), Var::new("inverse", dtype));
    let inside = |op, by: &Var| {
        let value = divided(&nest.stage.value, &quotient.divisor, op, &by.expr());
        let stage = Stage { value, ..nest.stage.clone() };
        Nest { stage: &stage, quotient: None, ..*nest }.level(quotient.inside, at)
    };
    let magnitude = divisor.expr().unary("fabs");
    let exponent = if dtype.bits == 32 { 126 } else { 1022 };
    let bound = |exponent: i32| PrimExpr::constant(2f64.powi(exponent), dtype);
    let normal = bound(-exponent).le(magnitude.clone()).and(magnitude.le(bound(exponent)));
    let one = PrimExpr::constant(1.0, dtype);
    let inverted = vec![bind(&inverse, one / divisor.expr()), inside(BinaryOp::Mul, &inverse)];
    let divides = inside(BinaryOp::Div, &divisor);
    let choice = StmtKind::If(normal, Box::new(Stmt::seq(inverted)), Some(Box::new(divides)));
    let value = quotient.divisor.substitute(&substitution(&nest.stage.axes, &at.position));
    let all = Stmt::seq(vec![bind(&divisor, value), Stmt::new(choice)]);
    // Where there are no elements, there need not be a divisor.
    let sizes = at.left.iter().filter(|size| size.as_int().is_none());
    sizes.fold(all, |all, size| Stmt::new(StmtKind::If(PrimExpr::int64(0).lt(size), Box::new(all), None)))
}

fn bind(var: &Var, value: PrimExpr) -> Stmt {
    Stmt::new(StmtKind::Bind(var.clone(), value))
}

/// A value with `_ / divisor` replaced by `_ op by`.
fn divided(value: &PrimExpr, divisor: &PrimExpr, op: BinaryOp, by: &PrimExpr) -> PrimExpr {
    match value.kind() {
        PrimKind::Binary(BinaryOp::Div, a, b) if same_expr(b, divisor) => {
            hammock_ir::prim::binary(op, divided(a, divisor, op, by), by.clone())
        }
        _ => value.map_children(&mut |child| divided(child, divisor, op, by)),
    }
}
