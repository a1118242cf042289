//! Simplification of flat code: indices, bounds and conditions over loop variables, single-iteration loops, constant
//! branches.

use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, PrimKind, Substitution, Var, binary, check},
    tir::{Loop, Stmt, StmtKind},
};
use hammock_loopnest::index::Simplifier;

/// Simplifies a body. `sizes` are non-negative variables.
pub fn simplify(stmt: Stmt, sizes: &[Var]) -> Stmt {
    let mut simplifier = Simplifier::default();
    sizes.iter().for_each(|v| simplifier.at_least(v, 0));
    StmtSimplifier { simplifier }.stmt(stmt)
}

struct StmtSimplifier {
    simplifier: Simplifier,
}

impl StmtSimplifier {
    fn stmt(&mut self, stmt: Stmt) -> Stmt {
        let span = stmt.span;
        let kind = match stmt.kind {
            StmtKind::Seq(stmts) => return Stmt::seq(stmts.into_iter().map(|s| self.stmt(s))).at(span),
            StmtKind::For(l) => return self.for_loop(*l).at(span),
            StmtKind::If(condition, then, otherwise) => return self.branch(&condition, *then, otherwise).at(span),
            StmtKind::While(condition, body) => StmtKind::While(self.expr(&condition), Box::new(self.stmt(*body))),
            StmtKind::Store { buffer, indices, value, predicate } => StmtKind::Store {
                indices: self.access(&indices),
                value: self.expr(&value),
                predicate: predicate.map(|p| self.expr(&p)),
                buffer,
            },
            StmtKind::Evaluate(e) => StmtKind::Evaluate(self.expr(&e)),
            StmtKind::Bind(var, value) => StmtKind::Bind(var, self.expr(&value)),
            StmtKind::Assert(e, kind, message) => StmtKind::Assert(self.expr(&e), kind, message),
            StmtKind::Return(e) => StmtKind::Return(self.expr(&e)),
            StmtKind::Attr { node, key, value, body } => {
                StmtKind::Attr { node, key, value: self.expr(&value), body: Box::new(self.stmt(*body)) }
            }
            kind @ (StmtKind::Alloc(..)
            | StmtKind::Decl(_)
            | StmtKind::Block(_)
            | StmtKind::Break
            | StmtKind::Continue) => kind,
        };
        Stmt { kind, span }
    }

    fn for_loop(&mut self, mut l: Loop) -> Stmt {
        l.min = self.simplifier.value(&l.min);
        l.extent = self.simplifier.value(&l.extent);
        l.step = l.step.map(|s| self.simplifier.value(&s)).filter(|s| s.as_int() != Some(1));
        match l.extent.as_int() {
            Some(n) if n <= 0 && l.step.as_ref().is_none_or(|s| s.as_int().is_some_and(|s| s > 0)) => {
                return keep_checks([&l.min]);
            }
            Some(1) if l.step.is_none() && !l.body.jumps() => {
                let value = Substitution::from_iter([(l.var.clone(), l.min.clone())]);
                l.body.substitute(&value);
                return self.stmt(l.body);
            }
            _ => {}
        }
        self.simplifier.learn(&l.var, &l.min, &l.extent);
        l.body = self.stmt(l.body);
        if l.body.is_nop() { keep_checks([&l.min, &l.extent]) } else { Stmt::new(StmtKind::For(Box::new(l))) }
    }

    fn branch(&mut self, condition: &PrimExpr, then: Stmt, otherwise: Option<Box<Stmt>>) -> Stmt {
        let condition = self.expr(condition);
        let otherwise = otherwise.map_or_else(Stmt::nop, |s| *s);
        match condition.as_int() {
            Some(0) => self.stmt(otherwise),
            Some(_) => self.stmt(then),
            None => {
                let (then, otherwise) = (self.stmt(then), self.stmt(otherwise));
                if then.is_nop() && otherwise.is_nop() {
                    return keep_checks([&condition]);
                }
                let otherwise = (!otherwise.is_nop()).then(|| Box::new(otherwise));
                Stmt::new(StmtKind::If(condition, Box::new(then), otherwise))
            }
        }
    }

    fn access(&self, indices: &[PrimExpr]) -> Vec<PrimExpr> {
        indices.iter().map(|i| self.index(i)).collect()
    }

    /// Simplifies an index: a scalar as a polynomial, a ramp by its base and stride.
    fn index(&self, e: &PrimExpr) -> PrimExpr {
        match e.kind() {
            _ if e.dtype() == DType::INT64 => self.simplifier.index(&self.expr(e)),
            PrimKind::Ramp(base, stride) => PrimExpr::ramp(self.index(base), self.index(stride), e.dtype().lanes),
            _ => self.expr(e),
        }
    }

    /// Simplifies the load indices, the conditions and the positions in a value; other arithmetic is unchanged.
    fn expr(&self, e: &PrimExpr) -> PrimExpr {
        match e.kind() {
            PrimKind::Load(buffer, indices, mask) => {
                PrimExpr::load_masked(buffer, self.access(indices), mask.as_ref().map(|m| self.expr(m)))
            }
            PrimKind::Select(c, a, b) => self.select(c, a, b, |c, a, b| c.select(a, b)),
            PrimKind::Call(call) => match (e.as_intrin("if_then_else"), call.args.as_slice()) {
                (Some(_), [c, a, b]) => self.select(c, a, b, |c, a, b| c.if_then_else(a, b)),
                _ => e.map_children(&mut |c| self.expr(c)),
            },
            PrimKind::Binary(..) | PrimKind::Not(_) if e.dtype() == DType::BOOL => self.condition(e),
            PrimKind::Cast(position) if is_position(position) => cast(self.simplifier.index(position), e.dtype()),
            _ => e.map_children(&mut |c| self.expr(c)),
        }
    }

    fn select(
        &self,
        condition: &PrimExpr,
        then: &PrimExpr,
        otherwise: &PrimExpr,
        build: impl FnOnce(PrimExpr, PrimExpr, PrimExpr) -> PrimExpr,
    ) -> PrimExpr {
        let condition = self.expr(condition);
        match condition.as_int() {
            Some(0) => self.expr(otherwise),
            Some(_) => self.expr(then),
            None => build(condition, self.expr(then), self.expr(otherwise)),
        }
    }

    fn condition(&self, e: &PrimExpr) -> PrimExpr {
        if let Some(truth) = self.simplifier.truth(e) {
            return PrimExpr::bool(truth);
        }
        match e.kind() {
            PrimKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                let neutral = i64::from(*op == BinaryOp::And);
                match (a.as_int(), b.as_int()) {
                    (Some(v), _) if v == neutral => b,
                    (_, Some(v)) if v == neutral => a,
                    _ => binary(*op, a, b),
                }
            }
            _ => self.simplifier.inner(&e.map_children(&mut |c| self.expr(c))),
        }
    }
}

/// Returns true if an expression is computed from loop variables and sizes alone, such as a shift count.
fn is_position(e: &PrimExpr) -> bool {
    e.dtype() == DType::INT64 && !e.is_data() && matches!(e.kind(), PrimKind::Binary(..)) && check::count(e) == 0
}

/// Converts a position, at compile time if it is a constant that fits any integer.
fn cast(position: PrimExpr, dtype: DType) -> PrimExpr {
    match position.as_int().filter(|value| dtype.is_integer() && dtype.is_scalar() && (0..=127).contains(value)) {
        Some(value) => PrimExpr::int(value, dtype),
        None => position.cast(dtype),
    }
}

/// Replaces a statement without effect by those of its expressions that contain checks.
fn keep_checks<'a>(exprs: impl IntoIterator<Item = &'a PrimExpr>) -> Stmt {
    let open = exprs.into_iter().filter(|e| check::count(e) > 0);
    Stmt::seq(open.map(|e| Stmt::new(StmtKind::Evaluate(e.clone()))))
}
