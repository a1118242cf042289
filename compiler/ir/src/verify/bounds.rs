//! Finds indices of kernels that are certainly out of bounds.
//!
//! Only accesses in every iteration of a loop are checked, not those under conditions or in loops that may end early.
//! The rest is checked when kernels are lowered, or when they run.

use super::kernel::Kernel;
use crate::{
    Name, PrimExpr,
    bounds::Scope,
    prim::{BinaryOp, PrimKind},
    tir::{Block, Buffer, Stmt, StmtKind},
};
use hammock_diagnostics::{Span, codes};

/// An out-of-bounds index.
struct OutOfBounds {
    span: Span,
    buffer: Name,
    message: String,
    help: String,
}

impl Kernel<'_> {
    /// Reports the kernel's indices that are certainly out of bounds.
    pub(super) fn bounds(&mut self) {
        let mut checker = BoundsChecker { scope: Scope::of(self.func), span: self.func.span, found: Vec::new() };
        checker.stmt(&self.func.body);
        for OutOfBounds { span, buffer, message, help } in checker.found {
            self.span = span;
            self.error(codes::OUT_OF_BOUNDS, message).access(&buffer).help(help);
        }
    }
}

struct BoundsChecker {
    scope: Scope,
    span: Span,
    found: Vec<OutOfBounds>,
}

impl BoundsChecker {
    fn stmt(&mut self, stmt: &Stmt) {
        let outside = self.span;
        if !stmt.span.is_none() {
            self.span = stmt.span;
        }
        match &stmt.kind {
            StmtKind::Seq(stmts) => {
                let open = stmts.iter().take_while(|s| !may_skip_rest(s)).count();
                stmts[..open].iter().for_each(|s| self.stmt(s));
            }
            StmtKind::For(l) if !may_skip_rest(&l.body) => {
                self.expr(&l.min);
                self.expr(&l.extent);
                if self.scope.is_empty_loop(&l.extent) {
                    return;
                }
                let around = self.scope.clone();
                self.scope.enter_loop(l);
                self.stmt(&l.body);
                self.scope = around;
            }
            StmtKind::Block(block) if block.predicate.is_none() => self.block(block),
            StmtKind::Store { buffer, indices, value, predicate } => {
                self.expr(value);
                indices.iter().for_each(|i| self.expr(i));
                if predicate.is_none() {
                    self.access(buffer, indices);
                }
            }
            StmtKind::Bind(var, value) => {
                self.expr(value);
                self.scope.bind(var, value);
            }
            StmtKind::Evaluate(e) | StmtKind::Return(e) | StmtKind::If(e, ..) => self.expr(e),
            _ => {}
        }
        self.span = outside;
    }

    fn block(&mut self, block: &Block) {
        let around = self.scope.clone();
        let mut inside = true;
        for axis in &block.axes {
            inside &= self.scope.enter_axis(axis);
        }
        // Axes outside their domains are a different error.
        if inside {
            block.init.iter().chain([&block.body]).for_each(|s| self.stmt(s));
        }
        self.scope = around;
    }

    /// Checks the operands that are evaluated whenever the expression is.
    fn expr(&mut self, e: &PrimExpr) {
        match e.kind() {
            PrimKind::Load(buffer, indices, mask) => {
                indices.iter().for_each(|i| self.expr(i));
                if mask.is_none() {
                    self.access(buffer, indices);
                }
            }
            PrimKind::Select(c, ..) => self.expr(c),
            PrimKind::Binary(BinaryOp::And | BinaryOp::Or, a, _) => self.expr(a),
            PrimKind::Call(call) if e.as_intrin("if_then_else").is_some() => {
                call.args.iter().take(1).for_each(|c| self.expr(c))
            }
            PrimKind::Let(..) | PrimKind::Reduce(_) => {}
            _ => e.each_child(&mut |c| self.expr(c)),
        }
    }

    fn access(&mut self, buffer: &Buffer, indices: &[PrimExpr]) {
        for (axis, (index, extent)) in indices.iter().zip(&buffer.shape).enumerate() {
            let ends = ends(index);
            let Some(at) = ends.iter().find_map(|end| self.scope.out_of_bounds_value(end, extent)) else { continue };
            let help = advice(index, &at, extent);
            let (name, at, extent) = (&buffer.name, plain(&at), plain(extent));
            let message =
                format!("index {at} is out of bounds for dimension {axis} of `{name}`, whose size is {extent}");
            self.found.push(OutOfBounds { span: self.span, buffer: name.clone(), message, help });
        }
    }
}

/// The range of valid indices, and a loop variable that exceeds it.
fn advice(index: &PrimExpr, at: &PrimExpr, extent: &PrimExpr) -> String {
    if at.as_int().is_some_and(|at| at < 0) {
        return "indices count from 0; negative ones do not count from the end".to_owned();
    }
    let valid = match extent.as_int() {
        Some(0) => "the dimension is empty".to_owned(),
        Some(extent) => format!("valid indices are 0 to {}", extent - 1),
        None => format!("valid indices are 0 to {extent} - 1"),
    };
    match index.as_var() {
        Some(var) => format!("`{}` reaches {}; {valid}", var.name(), plain(at)),
        None => valid,
    }
}

/// Text of an index or size, without the dtype of constants.
fn plain(e: &PrimExpr) -> String {
    e.as_int().map_or_else(|| e.to_string(), |v| v.to_string())
}

/// First and last scalar index of an index; for vectors, only of ramps.
fn ends(index: &PrimExpr) -> Vec<PrimExpr> {
    match index.kind() {
        PrimKind::Ramp(base, stride) if base.dtype().is_scalar() => {
            let reach = stride * PrimExpr::int(i64::from(index.dtype().lanes) - 1, stride.dtype());
            vec![base.clone(), base + reach]
        }
        PrimKind::Broadcast(one) if one.dtype().is_scalar() => vec![one.clone()],
        _ if index.dtype().is_scalar() => vec![index.clone()],
        _ => Vec::new(),
    }
}

/// Returns true if the statement may skip those that follow, or the next iteration.
fn may_skip_rest(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.walk(&mut |s| {
        found |= matches!(
            s.kind,
            StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) | StmtKind::Assert(..) | StmtKind::While(..)
        );
    });
    found
}
