//! Guards integer divisions and shifts: division by zero, and shifts by a negative count or by the width or more, stop
//! the kernel with an error, as they do in the reference interpreter.
//!
//! A divisor or count that is not proved to be valid is wrapped in an intrinsic ([`check::DIVISOR`], [`check::COUNT`])
//! that returns the same number or fails. Proofs come from constants, ranges of loops and sizes, the conditions around
//! the operation, and factors of the extents of enclosing loops, which cannot be zero when the body runs. This runs
//! early, while loops and indices are still those of the source.

use hammock_ir::{
    DType, PrimExpr, Span,
    arith::{Analyzer, Interval},
    bounds::LARGEST_SIZE,
    prim::{BinaryOp, PrimCall, PrimCallee, PrimKind, Substitution, Var, binary, check},
    tir::{Buffer, PrimFunc, Stmt, StmtKind},
};
use hammock_loopnest::index::same_expr;
use rustc_hash::FxHashSet;
use std::cell::RefCell;

/// Assumptions of proofs, which a kernel checks on entry.
#[derive(Default)]
pub struct Assumptions {
    /// Sizes that are at most [`LARGEST_SIZE`].
    pub bounded: Vec<PrimExpr>,
    /// Divisors over sizes whose computation must not wrap.
    pub exact: Vec<PrimExpr>,
}

/// Guards the divisions and shifts of a function. `locate` returns the source location of a span, for messages.
pub fn guard(func: &PrimFunc, body: &mut Stmt, locate: &dyn Fn(Span) -> Option<String>) -> Assumptions {
    let mut found = false;
    body.walk(&mut |s| s.each_expr(&mut |e| found |= e.any(&mut may_trap)));
    if !found {
        return Assumptions::default();
    }
    let assumed = RefCell::default();
    let mut facts = Facts {
        known: Analyzer::default(),
        extents: Vec::new(),
        conditions: Vec::new(),
        values: Substitution::default(),
        sizes: FxHashSet::default(),
        assumed: &assumed,
        locate,
        span: func.span,
    };
    for size in func.buffers().flat_map(|b| &b.shape) {
        if let Some(var) = size.as_var() {
            facts.known.bound(var, Interval::new(0, LARGEST_SIZE));
            facts.sizes.insert(var.clone());
        }
    }
    facts.stmt(body);
    assumed.into_inner()
}

/// Returns true if the node divides or shifts by anything but a valid constant.
fn may_trap(e: &PrimExpr) -> bool {
    match e.kind() {
        PrimKind::Binary(op, _, d) => divides(*op, e) && constant(d).is_none_or(|d| d == 0),
        PrimKind::Call(call) => {
            shift(call, e).is_some_and(|(_, count)| constant(count).is_none_or(|c| !in_width(c, e)))
        }
        _ => false,
    }
}

fn divides(op: BinaryOp, e: &PrimExpr) -> bool {
    check::divides(op) && !e.dtype().is_floating()
}

/// Returns the operand and the count of a shift.
fn shift<'e>(call: &'e PrimCall, e: &PrimExpr) -> Option<(&'e PrimExpr, &'e PrimExpr)> {
    let PrimCallee::Intrin(name) = &call.callee else { return None };
    match call.args.as_slice() {
        [x, count] if matches!(name.as_str(), "shift_left" | "shift_right") && !e.dtype().is_floating() => {
            Some((x, count))
        }
        _ => None,
    }
}

fn in_width(count: i64, e: &PrimExpr) -> bool {
    (0..i64::from(e.dtype().bits)).contains(&count)
}

/// Returns the value of a constant that is the same in all lanes.
fn constant(e: &PrimExpr) -> Option<i64> {
    match e.kind() {
        PrimKind::Broadcast(inner) => constant(inner),
        _ => e.as_int(),
    }
}

/// Facts that hold at a statement or expression.
#[derive(Clone)]
struct Facts<'a> {
    known: Analyzer,
    /// Extents of the enclosing loops, which are at least 1.
    extents: Vec<PrimExpr>,
    /// Conditions that are true.
    conditions: Vec<PrimExpr>,
    /// Values of axes and bound variables.
    values: Substitution,
    sizes: FxHashSet<Var>,
    assumed: &'a RefCell<Assumptions>,
    locate: &'a dyn Fn(Span) -> Option<String>,
    /// Source span of the statement.
    span: Span,
}

impl Facts<'_> {
    fn stmt(&mut self, stmt: &mut Stmt) {
        let outside = self.span;
        if !stmt.span.is_none() {
            self.span = stmt.span;
        }
        self.statement(stmt);
        self.span = outside;
    }

    fn statement(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::Seq(stmts) => {
                let mut inner = self.clone();
                *stmts = std::mem::take(stmts).into_iter().flat_map(|s| inner.in_sequence(s)).collect();
            }
            StmtKind::For(l) => {
                l.min = self.expr(&l.min);
                l.extent = self.expr(&l.extent);
                l.step = l.step.as_ref().map(|s| self.expr(s));
                let mut inner = self.clone();
                if l.step.as_ref().is_none_or(|s| s.as_int().is_some_and(|s| s > 0)) {
                    inner.enter(&l.var, &l.min, &l.extent);
                }
                inner.stmt(&mut l.body);
            }
            StmtKind::While(condition, body) => {
                *condition = self.expr(condition);
                self.in_branch(condition).stmt(body);
            }
            StmtKind::If(condition, then, otherwise) => {
                *condition = self.expr(condition);
                self.in_branch(condition).stmt(then);
                if let Some(otherwise) = otherwise {
                    self.in_branch(&negated(condition)).stmt(otherwise);
                }
            }
            StmtKind::Block(block) => {
                let mut inner = self.clone();
                for axis in &mut block.axes {
                    axis.binding = self.expr(&axis.binding);
                    inner.name(&axis.var, &axis.binding);
                }
                block.predicate = block.predicate.as_ref().map(|p| self.expr(p));
                if let Some(predicate) = &block.predicate {
                    inner = inner.in_branch(predicate);
                }
                block.init.iter_mut().for_each(|s| inner.stmt(s));
                inner.stmt(&mut block.body);
            }
            StmtKind::Attr { value, body, .. } => {
                *value = self.expr(value);
                self.stmt(body);
            }
            _ => stmt.map_exprs(&mut |e| self.expr(e)),
        }
    }

    /// Guards a statement of a sequence, after the checks of its declaration.
    fn in_sequence(&mut self, mut stmt: Stmt) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        if let StmtKind::Alloc(buffer, _) | StmtKind::Decl(buffer) = &stmt.kind {
            stmts = self.sizes(buffer).into_iter().map(|e| Stmt::new(StmtKind::Evaluate(e)).at(stmt.span)).collect();
        }
        self.stmt(&mut stmt);
        if let StmtKind::Bind(var, value) = &stmt.kind {
            let value = value.clone();
            self.name(var, &value);
        }
        stmts.push(stmt);
        stmts
    }

    /// Returns the sizes, strides and offset of a buffer that contain checks.
    fn sizes(&self, buffer: &Buffer) -> Vec<PrimExpr> {
        let mut checked = Vec::new();
        buffer.each_expr(&mut |e| {
            let size = self.expr(e);
            if size.any(&mut check::is_check) {
                checked.push(size);
            }
        });
        checked
    }

    fn expr(&self, e: &PrimExpr) -> PrimExpr {
        match e.kind() {
            PrimKind::Binary(op, a, b) if divides(*op, e) => {
                let (x, y) = (self.expr(a), self.expr(b));
                let is_safe = self.is_nonzero(b);
                binary(
                    *op,
                    x,
                    if is_safe { y } else { PrimExpr::intrin(check::DIVISOR, vec![y, self.line()], b.dtype()) },
                )
            }
            PrimKind::Binary(BinaryOp::And, a, b) => self.expr(a).and(self.under(a).expr(b)),
            PrimKind::Binary(BinaryOp::Or, a, b) => self.expr(a).or(self.under(&negated(a)).expr(b)),
            PrimKind::Select(c, a, b) => self.expr(c).select(self.under(c).expr(a), self.under(&negated(c)).expr(b)),
            PrimKind::Let(var, value, body) => {
                let mut inner = self.clone();
                inner.values.insert(var.clone(), value.substitute(&self.values));
                PrimExpr::bind(var.clone(), self.expr(value), inner.expr(body))
            }
            PrimKind::Call(call) => match (e.as_intrin("if_then_else"), call.args.as_slice(), shift(call, e)) {
                (Some(_), [c, a, b], _) => {
                    self.expr(c).if_then_else(self.under(c).expr(a), self.under(&negated(c)).expr(b))
                }
                (_, _, Some((x, count))) if !self.is_count(count, i64::from(e.dtype().bits)) => {
                    let width = PrimExpr::int64(e.dtype().bits.into());
                    let checked =
                        PrimExpr::intrin(check::COUNT, vec![self.expr(count), width, self.line()], count.dtype());
                    PrimExpr::call(call.callee.clone(), vec![self.expr(x), checked], call.attrs.clone(), e.ty().clone())
                }
                _ => e.map_children(&mut |c| self.expr(c)),
            },
            _ => e.map_children(&mut |c| self.expr(c)),
        }
    }

    /// Source location of the current statement, for messages.
    fn line(&self) -> PrimExpr {
        PrimExpr::str(check::suffix(self.locate, self.span))
    }

    /// Adds the facts that hold in the body of a loop.
    fn enter(&mut self, var: &Var, min: &PrimExpr, extent: &PrimExpr) {
        let (min, extent) = (min.substitute(&self.values), extent.substitute(&self.values));
        self.known.bind(var, &min, &extent);
        self.known.assume(&extent.clone().gt(PrimExpr::int(0, extent.dtype())));
        self.extents.push(extent);
    }

    /// Records the value of a variable, unless it can change.
    fn name(&mut self, var: &Var, value: &PrimExpr) {
        if !reads(value) {
            self.values.insert(var.clone(), value.substitute(&self.values));
        }
    }

    /// Returns the facts that hold in statements under a condition. Memory may change before the last of them.
    fn in_branch(&self, condition: &PrimExpr) -> Self {
        if reads(condition) { self.clone() } else { self.under(condition) }
    }

    /// Returns the facts that hold in an expression under a condition. Vector expressions are evaluated in all lanes.
    fn under(&self, condition: &PrimExpr) -> Self {
        let mut inner = self.clone();
        if condition.dtype().is_scalar() {
            inner.assume(&condition.substitute(&self.values));
        }
        inner
    }

    fn assume(&mut self, condition: &PrimExpr) {
        match condition.kind() {
            PrimKind::Binary(BinaryOp::And, a, b) => {
                self.assume(a);
                self.assume(b);
            }
            PrimKind::Binary(op, ..) if op.is_comparison() => {
                self.known.assume(condition);
                self.conditions.push(condition.clone());
            }
            _ => {}
        }
    }

    fn is_nonzero(&self, divisor: &PrimExpr) -> bool {
        self.proves_nonzero(&divisor.substitute(&self.values))
    }

    fn proves_nonzero(&self, d: &PrimExpr) -> bool {
        let zero = || PrimExpr::int(0, d.dtype());
        match d.kind() {
            PrimKind::Int(v) => return *v != 0,
            PrimKind::Broadcast(inner) => return self.proves_nonzero(inner),
            PrimKind::Select(c, a, b) if c.dtype().is_scalar() => {
                return self.under(c).proves_nonzero(a) && self.under(&negated(c)).proves_nonzero(b);
            }
            PrimKind::Cast(inner) if widens(inner, d) => return self.proves_nonzero(inner),
            _ => {}
        }
        self.proves(d, BinaryOp::Ne, 0)
            || (!self.known.interval(d).contains(0) || self.known.prove_ne(d, &zero()) || self.divides_extent(d))
                && self.is_exact(d)
    }

    /// Returns true if each factor is a positive number or a factor of an extent.
    fn divides_extent(&self, d: &PrimExpr) -> bool {
        let extents: Vec<&PrimExpr> = self.extents.iter().flat_map(factors).collect();
        factors(d).into_iter().all(|f| {
            f.as_int().is_some_and(|v| v > 0)
                || extents.iter().any(|e| same_expr(e, f))
                || self.known.interval(f).min > 0
        })
    }

    fn is_count(&self, count: &PrimExpr, width: i64) -> bool {
        self.proves_count(&count.substitute(&self.values), width)
    }

    fn proves_count(&self, c: &PrimExpr, width: i64) -> bool {
        match c.kind() {
            PrimKind::Int(v) => return (0..width).contains(v),
            PrimKind::Broadcast(inner) => return self.proves_count(inner, width),
            PrimKind::Select(x, a, b) if x.dtype().is_scalar() => {
                return self.under(x).proves_count(a, width) && self.under(&negated(x)).proves_count(b, width);
            }
            PrimKind::Cast(inner) if widens(inner, c) => return self.proves_count(inner, width),
            _ => {}
        }
        self.known.interval(c).is_within(Interval::new(0, width - 1)) && self.is_exact(c)
            || (c.dtype().is_uint() || self.proves(c, BinaryOp::Ge, 0)) && self.proves(c, BinaryOp::Lt, width)
    }

    /// Returns true if a condition that holds is exactly `x op value`.
    fn proves(&self, x: &PrimExpr, op: BinaryOp, value: i64) -> bool {
        self.conditions.iter().any(|condition| {
            let PrimKind::Binary(held, a, b) = condition.kind() else { return false };
            *held == op && same_expr(a, x) && b.as_int() == Some(value)
        })
    }

    /// Returns true if the expression cannot wrap, given the ranges of its variables; sizes are bounded by their limit.
    /// An expression over sizes alone may instead be checked on entry.
    fn is_exact(&self, e: &PrimExpr) -> bool {
        let mut of_sizes = true;
        let mut sized = false;
        e.each_var(&mut |v| {
            sized |= self.sizes.contains(v);
            of_sizes &= self.sizes.contains(v);
        });
        let mut assumed = self.assumed.borrow_mut();
        if !e.any(&mut |node| may_overflow(node) && !self.is_in_range(node)) {
            if sized && e.any(&mut may_overflow) {
                e.each_var(&mut |v| {
                    if self.sizes.contains(v) && !assumed.bounded.iter().any(|known| known.as_var() == Some(v)) {
                        assumed.bounded.push(v.expr());
                    }
                });
            }
            return true;
        }
        // Constants that large wrap for any sizes, which may be intended.
        let is_huge = |node: &PrimExpr| node.as_int().is_some_and(|v| v.unsigned_abs() > LARGEST_SIZE.unsigned_abs());
        let checkable = of_sizes && sized && e.dtype() == DType::INT64 && !reads(e) && !e.any(&mut |x| is_huge(x));
        if checkable && !assumed.exact.iter().any(|known| same_expr(known, e)) {
            assumed.exact.push(e.clone());
        }
        checkable
    }

    /// Returns true if the value of an expression is in the range of its dtype.
    fn is_in_range(&self, e: &PrimExpr) -> bool {
        let inside = match e.dtype().bits {
            // Values at the ends may have been clamped.
            64 => Interval::new(i64::MIN + 1, i64::MAX - 1),
            _ => Interval::of_dtype(e.dtype()),
        };
        self.known.interval(e).is_within(inside)
    }
}

/// Returns true if a node's value may exceed its operands.
fn may_overflow(e: &PrimExpr) -> bool {
    let shifts = || e.as_intrin("shift_left").is_some();
    e.dtype().is_integer()
        && (matches!(e.kind(), PrimKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..)) || shifts())
}

/// Returns true if a cast preserves the value.
fn widens(from: &PrimExpr, to: &PrimExpr) -> bool {
    let (from, to) = (from.dtype(), to.dtype());
    from.is_integer() && to.is_integer() && (from.is_uint() == to.is_uint() && from.bits <= to.bits)
}

/// Returns the factors of a multiplication.
pub(super) fn factors(e: &PrimExpr) -> Vec<&PrimExpr> {
    match e.kind() {
        PrimKind::Binary(BinaryOp::Mul, a, b) => factors(a).into_iter().chain(factors(b)).collect(),
        _ => vec![e],
    }
}

/// Returns the negation of a condition, or `True` if it is not simple.
fn negated(condition: &PrimExpr) -> PrimExpr {
    use BinaryOp::*;
    match condition.kind() {
        PrimKind::Not(inner) => inner.clone(),
        PrimKind::Binary(Or, a, b) => negated(a).and(negated(b)),
        PrimKind::Binary(op, a, b) => {
            let opposite = match op {
                Eq => Ne,
                Ne => Eq,
                Lt => Ge,
                Ge => Lt,
                Gt => Le,
                Le => Gt,
                _ => return PrimExpr::bool(true),
            };
            if a.dtype().is_floating() { PrimExpr::bool(true) } else { binary(opposite, a.clone(), b.clone()) }
        }
        _ => PrimExpr::bool(true),
    }
}

fn reads(e: &PrimExpr) -> bool {
    e.any(&mut |x| matches!(x.kind(), PrimKind::Load(..) | PrimKind::Call(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_interp::samples::{buffer, function};

    /// Counts the checks in `B[i] = value(i, n, A[i])` for `i` below `n * 3`.
    fn checks(value: impl FnOnce(PrimExpr, PrimExpr, PrimExpr) -> PrimExpr) -> usize {
        let n = Var::int64("n");
        let (a, b) = (buffer("A", &[n.expr()], DType::INT64), buffer("B", &[n.expr() * 3i64], DType::INT64));
        let i = Var::int64("i");
        let stored = Stmt::store(&b, vec![i.expr()], value(i.expr(), n.expr(), PrimExpr::load(&a, vec![i.expr()])));
        let mut func = function(&[&a, &b], &[], vec![Stmt::serial(i, n.expr() * 3i64, stored)]);
        let mut body = std::mem::replace(&mut func.body, Stmt::nop());
        super::guard(&func, &mut body, &|_| None);
        let mut count = 0;
        body.walk(&mut |s| s.each_expr(&mut |e| e.walk(&mut |x| count += usize::from(check::is_check(x)))));
        count
    }

    fn shift(a: PrimExpr, count: PrimExpr) -> PrimExpr {
        PrimExpr::intrin("shift_left", vec![a, count], DType::INT64)
    }

    #[test]
    fn only_unproved_operands_are_checked() {
        let zero = || PrimExpr::int64(0);
        assert_eq!(checks(|i, n, _| i.floordiv(n)), 0, "the loop runs only where n is 1 or more");
        assert_eq!(checks(|i, n, _| (&n + 1i64).floormod(i + 1i64)), 0);
        assert_eq!(checks(|i, _, _| i.floordiv(PrimExpr::int64(i64::MIN) * i64::MIN)), 1, "that is zero");
        assert_eq!(checks(|i, _, a| a.floordiv(i)), 1);
        assert_eq!(checks(|i, n, a| a.floordiv(n - i)), 1);
        assert_eq!(checks(|i, _, a| i.floordiv(a)), 1);
        assert_eq!(checks(|i, _, a| a.clone().ne(zero()).if_then_else(i.floordiv(a), zero())), 0);
        assert_eq!(checks(|i, _, a| a.clone().eq(zero()).select(zero(), i.floordiv(a))), 0);
        assert_eq!(checks(|i, _, a| i.floordiv(a.clone().eq(zero()).select(PrimExpr::int64(1), a))), 0);
        assert_eq!(checks(|i, _, a| shift(i, a.floormod(64i64))), 0);
        assert_eq!(checks(|i, _, a| shift(i, a.floormod(65i64))), 1);
        assert_eq!(checks(|i, _, a| shift(a, i)), 1);
        let narrow = |a: PrimExpr| a.floormod(8i64).cast(DType::UINT32);
        let scaled = |a: PrimExpr, bits: i64| (narrow(a) * PrimExpr::int(bits, DType::UINT32)).cast(DType::INT64);
        assert_eq!(checks(|i, _, a| shift(i, scaled(a, 4))), 0);
        assert_eq!(checks(|i, _, a| shift(i, scaled(a, 16))), 1);
        let wraps = |a: PrimExpr| (narrow(a) - PrimExpr::int(4, DType::UINT32)).cast(DType::INT64);
        assert_eq!(checks(|i, _, a| shift(i, wraps(a))), 1);
        let in_width = |a: &PrimExpr| a.clone().ge(zero()).and(a.clone().lt(64i64));
        assert_eq!(checks(|i, _, a| in_width(&a).if_then_else(shift(i, a), zero())), 0);
    }
}
