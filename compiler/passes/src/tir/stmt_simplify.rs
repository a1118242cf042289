//! StmtSimplify: simplifies indices, sizes and conditions, and removes branches that are never taken.
//!
//! Stores of an element to itself are removed too. The ranges of loop variables and block axes are used, sizes are
//! assumed to be nonnegative, and inside a branch its condition holds. Only expressions over such variables are
//! simplified: arithmetic on elements and scalar parameters stays as written, because integers may wrap there.

use super::{each_kernel, is_element, take};
use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    DType, Module, PrimExpr,
    arith::{Analyzer, Interval},
    bounds::LARGEST_SIZE,
    prim::{BinaryOp, PrimKind, Var},
    tir::{Block, Loop, PrimFunc, Stmt, StmtKind},
};
use rustc_hash::FxHashSet;

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "tirx.StmtSimplify", doc: "Simplifies indices, sizes and conditions of kernels", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |_, kernel| {
        let known = Facts::of(kernel);
        kernel.body = known.stmt(take(&mut kernel.body));
        Ok(())
    })
}

/// Known facts at a statement.
#[derive(Clone)]
struct Facts {
    analyzer: Analyzer,
    /// Variables of loops, axes and sizes.
    vars: FxHashSet<Var>,
}

impl Facts {
    fn of(kernel: &PrimFunc) -> Self {
        let mut known = Facts { analyzer: Analyzer::new(), vars: FxHashSet::default() };
        for size in kernel.buffers().flat_map(|buffer| &buffer.shape).filter_map(PrimExpr::as_var) {
            known.analyzer.bound(size, Interval::new(0, LARGEST_SIZE));
            known.vars.insert(size.clone());
        }
        known
    }

    fn stmt(&self, stmt: Stmt) -> Stmt {
        let span = stmt.span;
        match stmt.kind {
            StmtKind::Seq(stmts) => Stmt::seq(stmts.into_iter().map(|stmt| self.stmt(stmt))).at(span),
            StmtKind::For(l) => self.of_loop(*l).at(span),
            StmtKind::If(condition, then, otherwise) => self.branch(&condition, *then, otherwise).at(span),
            StmtKind::Block(block) => self.block(*block).at(span),
            StmtKind::Store { buffer, indices, value, predicate } => {
                let indices: Vec<PrimExpr> = indices.iter().map(|index| self.expr(index)).collect();
                let (value, predicate) = (self.expr(&value), predicate.map(|mask| self.expr(&mask)));
                if is_element(&buffer, &indices, predicate.as_ref(), &value) {
                    return Stmt::nop();
                }
                Stmt::new(StmtKind::Store { buffer, indices, value, predicate }).at(span)
            }
            mut kind => {
                match &mut kind {
                    StmtKind::While(e, _)
                    | StmtKind::Evaluate(e)
                    | StmtKind::Bind(_, e)
                    | StmtKind::Assert(e, ..)
                    | StmtKind::Return(e) => *e = self.expr(e),
                    _ => {}
                }
                let mut stmt = Stmt::new(kind).at(span);
                stmt.each_child_mut(&mut |child| *child = self.stmt(take(child)));
                stmt
            }
        }
    }

    fn of_loop(&self, mut l: Loop) -> Stmt {
        (l.min, l.extent) = (self.expr(&l.min), self.expr(&l.extent));
        let mut inner = self.clone();
        if l.step.is_none() {
            inner.bind(&l.var, &l.min, &l.extent);
        }
        l.body = inner.stmt(l.body);
        Stmt::new(StmtKind::For(Box::new(l)))
    }

    fn block(&self, mut block: Block) -> Stmt {
        let mut inner = self.clone();
        for axis in &mut block.axes {
            axis.binding = self.expr(&axis.binding);
            axis.dom = (self.expr(&axis.dom.0), self.expr(&axis.dom.1));
            inner.bind(&axis.var, &axis.dom.0, &axis.dom.1);
        }
        block.predicate = block.predicate.map(|predicate| self.expr(&predicate)).filter(|p| p.as_int() != Some(1));
        for region in block.reads.iter_mut().flatten().chain(block.writes.iter_mut().flatten()) {
            for (min, extent) in &mut region.ranges {
                (*min, *extent) = (inner.expr(min), inner.expr(extent));
            }
        }
        block.init = block.init.map(|init| inner.stmt(init));
        block.body = inner.stmt(block.body);
        block.into()
    }

    fn branch(&self, condition: &PrimExpr, then: Stmt, otherwise: Option<Box<Stmt>>) -> Stmt {
        let condition = self.expr(condition);
        match condition.as_int() {
            Some(0) => otherwise.map_or_else(Stmt::nop, |otherwise| self.stmt(*otherwise)),
            Some(_) => self.stmt(then),
            None => {
                let mut inner = self.clone();
                if self.is_over_known(&condition) {
                    inner.analyzer.assume(&condition);
                }
                let then = Box::new(inner.stmt(then));
                Stmt::new(StmtKind::If(condition, then, otherwise.map(|stmt| Box::new(self.stmt(*stmt)))))
            }
        }
    }

    /// Records the range of a variable.
    fn bind(&mut self, var: &Var, min: &PrimExpr, extent: &PrimExpr) {
        if self.is_over_known(min) && self.is_over_known(extent) {
            self.analyzer.bind(var, min, extent);
            self.vars.insert(var.clone());
        }
    }

    /// Simplifies the largest subexpressions over known variables.
    fn expr(&self, e: &PrimExpr) -> PrimExpr {
        let subexpr = self.subexpr(e);
        self.simple(subexpr)
    }

    /// Returns true if an expression is arithmetic over known variables that does not wrap.
    fn is_over_known(&self, e: &PrimExpr) -> bool {
        matches!(self.subexpr(e), Subexpr::Known(_))
    }

    fn subexpr(&self, e: &PrimExpr) -> Subexpr {
        let is_known = match e.kind() {
            PrimKind::Int(_) => true,
            PrimKind::Var(var) => self.vars.contains(var),
            PrimKind::Float(_) | PrimKind::Str(_) => false,
            _ => return self.operation(e),
        };
        if is_known { Subexpr::Known(e.clone()) } else { Subexpr::Other(e.clone()) }
    }

    fn operation(&self, e: &PrimExpr) -> Subexpr {
        let mut operands = Vec::new();
        e.each_child(&mut |child| operands.push(self.subexpr(child)));
        let is_arithmetic =
            matches!(e.kind(), PrimKind::Binary(..) | PrimKind::Not(_) | PrimKind::Select(..) | PrimKind::Cast(_));
        let of_known =
            operands.iter().all(|operand| matches!(operand, Subexpr::Known(operand) if is_simple(operand.dtype())));
        if is_arithmetic && of_known && is_simple(e.dtype()) && self.fits(e) {
            return Subexpr::Known(e.clone());
        }
        let mut operands = operands.into_iter();
        let e =
            e.map_children(&mut |child| operands.next().map_or_else(|| child.clone(), |subexpr| self.simple(subexpr)));
        Subexpr::Other(as_less_than(fold_conditional(e)))
    }

    fn fits(&self, e: &PrimExpr) -> bool {
        e.dtype() == DType::BOOL || self.analyzer.interval(e).is_within(Interval::of_dtype(e.dtype()))
    }

    fn simple(&self, subexpr: Subexpr) -> PrimExpr {
        match subexpr {
            Subexpr::Known(e) if matches!(e.kind(), PrimKind::Int(_) | PrimKind::Var(_)) => e,
            Subexpr::Known(e) => as_less_than(self.analyzer.simplify(&e)),
            Subexpr::Other(e) => e,
        }
    }
}

/// A subexpression.
enum Subexpr {
    /// Arithmetic over known variables that does not wrap, not simplified yet.
    Known(PrimExpr),
    /// Anything else, with its subexpressions simplified.
    Other(PrimExpr),
}

/// Replaces a conditional expression whose condition is constant by the chosen value.
fn fold_conditional(e: PrimExpr) -> PrimExpr {
    let choice = match e.kind() {
        PrimKind::Select(condition, a, b) => Some((condition, a, b)),
        PrimKind::Call(call) if e.as_intrin("if_then_else").is_some() => match &call.args[..] {
            [condition, a, b] => Some((condition, a, b)),
            _ => None,
        },
        _ => None,
    };
    match choice.map(|(condition, a, b)| (condition.as_int(), a, b)) {
        Some((Some(0), _, b)) => b.clone(),
        Some((Some(_), a, _)) => a.clone(),
        _ => e,
    }
}

/// Normalizes a comparison to less-than: `3 < i` for `i > 3`.
fn as_less_than(e: PrimExpr) -> PrimExpr {
    match e.kind() {
        PrimKind::Binary(BinaryOp::Gt, a, b) => b.clone().lt(a),
        PrimKind::Binary(BinaryOp::Ge, a, b) => b.clone().le(a),
        _ => e,
    }
}

/// Returns true if values of the dtype are conditions or index arithmetic.
fn is_simple(dtype: DType) -> bool {
    matches!(dtype, DType::BOOL | DType::INT32 | DType::INT64)
}
