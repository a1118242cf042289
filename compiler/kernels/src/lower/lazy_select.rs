//! Makes a select lazy if the operand that is not selected must not be evaluated.
//!
//! `T.Select` and `and` may evaluate all operands, yet programs guard accesses with them. If an operand has an access
//! that is not provably in bounds, an integer division or a checked operand, the select becomes `T.if_then_else`. This
//! runs before flattening, while indices can be compared with the dimensions one by one.

use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, PrimKind, Var, binary, check},
    tir::{Buffer, Stmt, StmtKind},
};
use hammock_loopnest::index::{Simplifier, same_expr};
use rustc_hash::FxHashMap;

/// Makes the selects of a body lazy where necessary.
pub fn make_lazy(body: &mut Stmt) {
    let mut selects = LazySelects::default();
    selects.learn(body);
    body.map_exprs(&mut |e| selects.expr(e));
}

#[derive(Default)]
struct LazySelects {
    simplifier: Simplifier,
    /// Extents of variables that start at zero.
    extents: FxHashMap<Var, PrimExpr>,
}

impl LazySelects {
    fn learn(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For(l) => self.learn_range(&l.var, &l.min, &l.extent),
            StmtKind::Block(b) => b.axes.iter().for_each(|a| self.learn_range(&a.var, &a.dom.0, &a.dom.1)),
            _ => {}
        }
        stmt.each_child(&mut |s| self.learn(s));
    }

    fn learn_range(&mut self, var: &Var, min: &PrimExpr, extent: &PrimExpr) {
        self.simplifier.learn(var, min, extent);
        if min.as_int() == Some(0) {
            self.extents.insert(var.clone(), extent.clone());
        }
    }

    fn expr(&self, e: &PrimExpr) -> PrimExpr {
        let e = e.map_children(&mut |c| self.expr(c));
        match e.kind() {
            PrimKind::Select(c, a, b) if c.dtype().is_scalar() && !(self.is_safe(a) && self.is_safe(b)) => {
                c.clone().if_then_else(a.clone(), b.clone())
            }
            PrimKind::Binary(BinaryOp::And, a, b) if e.dtype().is_scalar() && !self.is_safe(b) => {
                a.clone().if_then_else(b.clone(), PrimExpr::bool(false))
            }
            PrimKind::Binary(BinaryOp::Or, a, b) if e.dtype().is_scalar() && !self.is_safe(b) => {
                a.clone().if_then_else(PrimExpr::bool(true), b.clone())
            }
            _ => e,
        }
    }

    /// Returns true if an expression can be evaluated unconditionally.
    fn is_safe(&self, e: &PrimExpr) -> bool {
        !e.any(&mut |x| match x.kind() {
            PrimKind::Load(buffer, indices, _) => !self.is_inside(buffer, indices),
            PrimKind::Binary(op, _, divisor) if check::divides(*op) && !x.dtype().is_floating() => {
                divisor.as_int().is_none_or(|d| d == 0)
            }
            PrimKind::Call(call) => check::is_check(x) || call.runs_function(),
            _ => false,
        })
    }

    fn is_inside(&self, buffer: &Buffer, indices: &[PrimExpr]) -> bool {
        indices.iter().zip(&buffer.shape).all(|(index, extent)| self.is_below(index, extent))
    }

    /// Returns true if `0 <= index < extent` always.
    fn is_below(&self, index: &PrimExpr, extent: &PrimExpr) -> bool {
        let known = index.as_var().and_then(|v| self.extents.get(v));
        if known.is_some_and(|e| same_expr(&self.simplifier.index(e), &self.simplifier.index(extent))) {
            return true;
        }
        let zero = PrimExpr::int64(0);
        let holds = |op, a: &PrimExpr, b: &PrimExpr| {
            let (a, b) = (a.clone().cast(DType::INT64), b.clone().cast(DType::INT64));
            self.simplifier.truth(&binary(op, a, b)) == Some(true)
        };
        index.dtype().is_scalar() && holds(BinaryOp::Ge, index, &zero) && holds(BinaryOp::Lt, index, extent)
    }
}
