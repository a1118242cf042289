//! CanonicalizeLoop: normalizes loops to start at zero with step one.
//!
//! Uses of the variable of a loop with another start or step become affine expressions of the new one.

use super::{each_kernel, misplaced};
use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, PrimExpr, Span,
    arith::{self, Analyzer},
    prim::{BinaryOp, Substitution},
    tir::{Stmt, StmtKind, fresh},
};

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "s_tir.CanonicalizeLoop", doc: "Normalizes loops to start at zero with step one", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |name, kernel| {
        let mut values = Substitution::default();
        normalize(&mut kernel.body, &mut values).map_err(|span| {
            let help = "write the loop so that its step is a positive constant";
            misplaced(&PASS, name, "the step of a loop may be zero or negative", help, span)
        })?;
        if !values.is_empty() {
            kernel.body = fresh::replace(&kernel.body, values);
        }
        Ok(())
    })
}

/// Normalizes loops, outer ones first, and records the values of their variables; fails at a loop whose step may not
/// be positive.
fn normalize(stmt: &mut Stmt, values: &mut Substitution) -> Result<(), Span> {
    if let StmtKind::For(l) = &mut stmt.kind
        && (l.step.is_some() || l.min.as_int() != Some(0))
    {
        let one = || PrimExpr::int(1, l.var.dtype());
        let step = l.step.take().unwrap_or_else(one);
        if !Analyzer::new().prove_ge(&step, &one()) {
            return Err(stmt.span);
        }
        let scaled = arith::binary(BinaryOp::Mul, l.var.expr(), step.clone());
        values.insert(l.var.clone(), arith::binary(BinaryOp::Add, scaled, l.min.substitute(values)));
        let rounded = arith::binary(BinaryOp::Add, l.extent.clone(), arith::binary(BinaryOp::Sub, step.clone(), one()));
        l.extent = Analyzer::new().simplify(&arith::binary(BinaryOp::FloorDiv, rounded, step));
        l.min = PrimExpr::int(0, l.var.dtype());
    }
    let mut result = Ok(());
    stmt.each_child_mut(&mut |child| {
        if result.is_ok() {
            result = normalize(child, values);
        }
    });
    result
}
