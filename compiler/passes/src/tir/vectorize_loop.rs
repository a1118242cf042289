//! VectorizeLoop: turns loops of kind `T.vectorized` into vector operations.
//!
//! A value that varies with the loop becomes a vector with one lane per iteration; affine expressions of the loop
//! variable become ramps, and invariant values are broadcast where needed. A statement without a vector form, such as
//! one under a varying condition, is run once per lane. If vectorization is disabled, loops become serial.

use super::{each_kernel, misplaced, take};
use crate::{Context, OptionKind, Pass, PassOption};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module, Name, PrimExpr, Span,
    arith::Analyzer,
    prim::{BinaryOp, PrimCallee, PrimKind, Substitution, Var, binary, intrinsics},
    tir::{Buffer, ForKind, Loop, Stmt, StmtKind, fresh},
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "tirx.VectorizeLoop",
    doc: "Turns vectorized loops into vector operations",
    options: &[PassOption {
        name: "enable_vectorize",
        kind: OptionKind::Bool,
        default: "true",
        doc: "Vectorize; otherwise the loops become serial",
    }],
    run,
};

/// Maximum number of lanes.
const MAX_LANES: i64 = 1 << 12;

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let enabled = context.options.is_on("enable_vectorize");
    each_kernel(module, |name, kernel| {
        let body = take(&mut kernel.body);
        kernel.body = if enabled { vectorize(name, body)? } else { super::map(body, &mut serial) };
        Ok(())
    })
}

fn serial(mut stmt: Stmt) -> Stmt {
    if let StmtKind::For(l) = &mut stmt.kind
        && l.kind == ForKind::Vectorized
    {
        l.kind = ForKind::Serial;
    }
    stmt
}

/// Vectorizes the loops of a statement, inner ones first.
fn vectorize(kernel: &Name, mut stmt: Stmt) -> Result<Stmt, Diagnostic> {
    let mut failed = None;
    stmt.each_child_mut(&mut |child| match vectorize(kernel, take(child)) {
        Ok(new) => *child = new,
        Err(error) => failed = failed.take().or(Some(error)),
    });
    if let Some(error) = failed {
        return Err(error);
    }
    match stmt.kind {
        StmtKind::For(l) if l.kind == ForKind::Vectorized => of_loop(kernel, *l, stmt.span),
        _ => Ok(stmt),
    }
}

fn of_loop(kernel: &Name, l: Loop, span: Span) -> Result<Stmt, Diagnostic> {
    let wrong = |why: &str, help: &str| Err(misplaced(&PASS, kernel, why, help, span));
    let lanes = match l.extent.as_int() {
        Some(lanes) if (1..=MAX_LANES).contains(&lanes) && l.step.is_none() && l.min.as_int() == Some(0) => {
            lanes as u16
        }
        _ => {
            let help = format!(
                "a loop of such kind runs from 0 to a constant of at most {MAX_LANES}; split the loop, or write `range`"
            );
            return wrong("a loop to vectorize has other bounds", &help);
        }
    };
    let (mut blocks, mut across) = (false, false);
    l.body.walk(&mut |stmt| {
        blocks |= matches!(stmt.kind, StmtKind::Block(_));
        if let StmtKind::Store { indices, .. } = &stmt.kind {
            across |= crosses(indices, &l.var);
        }
        stmt.each_expr(&mut |e| {
            e.walk(&mut |e| across |= matches!(e.kind(), PrimKind::Load(_, indices, _) if crosses(indices, &l.var)));
        });
    });
    if blocks {
        return wrong("a loop to vectorize has blocks", "run pass `s_tir.LowerOpaqueBlock` first");
    }
    if across {
        return wrong(
            "a vector would lie across a dimension that is not the last",
            "run pass `tirx.FlattenBuffer` first",
        );
    }
    if lanes == 1 {
        return Ok(fresh::replace(&l.body, Substitution::from_iter([(l.var, l.min)])));
    }
    let vectorizer = Vectorizer { var: &l.var, lanes };
    Ok(vectorizer.stmt(l.body.clone()))
}

/// Returns true if an index other than the last one varies with the loop.
fn crosses(indices: &[PrimExpr], var: &Var) -> bool {
    indices.split_last().is_some_and(|(_, others)| others.iter().any(|index| index.uses(var)))
}

struct Vectorizer<'a> {
    var: &'a Var,
    lanes: u16,
}

impl Vectorizer<'_> {
    /// Returns the statement for all iterations at once.
    fn stmt(&self, stmt: Stmt) -> Stmt {
        if let StmtKind::Seq(stmts) = stmt.kind {
            return self.sequence(stmts).at(stmt.span);
        }
        match self.as_vectors(&stmt) {
            Some(vectors) => vectors.at(stmt.span),
            None => self.scalarize(stmt),
        }
    }

    /// Statements after a declaration that varies are a part of its loop.
    fn sequence(&self, stmts: Vec<Stmt>) -> Stmt {
        let mut done = Vec::with_capacity(stmts.len());
        let mut rest = stmts.into_iter();
        while let Some(stmt) = rest.next() {
            let needs_loop = stmt.declares() && self.as_vectors(&stmt).is_none();
            if needs_loop {
                done.push(self.scalarize(Stmt::seq(std::iter::once(stmt).chain(rest))));
                break;
            }
            done.push(self.stmt(stmt));
        }
        Stmt::seq(done)
    }

    fn scalarize(&self, stmt: Stmt) -> Stmt {
        let var = self.var.fresh();
        let span = stmt.span;
        let body = fresh::copy(&stmt, Substitution::from_iter([(self.var.clone(), var.expr())]));
        Stmt::serial(var.clone(), PrimExpr::int(i64::from(self.lanes), var.dtype()), body).at(span)
    }

    /// Returns the statement on vectors; `None` if it has no such form.
    fn as_vectors(&self, stmt: &Stmt) -> Option<Stmt> {
        let kind = match &stmt.kind {
            StmtKind::Store { buffer, indices, value, predicate: None } => self.store(buffer, indices, value)?,
            StmtKind::For(l) if ![&l.min, &l.extent].iter().any(|e| self.varies(e)) && l.step.is_none() => {
                StmtKind::For(Box::new(Loop { body: self.stmt(l.body.clone()), ..(**l).clone() }))
            }
            StmtKind::If(condition, then, otherwise) if !self.varies(condition) => {
                let then = self.stmt((**then).clone());
                let otherwise = otherwise.as_ref().map(|stmt| Box::new(self.stmt((**stmt).clone())));
                StmtKind::If(condition.clone(), Box::new(then), otherwise)
            }
            StmtKind::Seq(stmts) => return Some(self.sequence(stmts.clone())),
            StmtKind::Decl(_) => stmt.kind.clone(),
            StmtKind::Bind(var, value) if !self.varies(value) => StmtKind::Bind(var.clone(), value.clone()),
            StmtKind::Evaluate(e) if !self.varies(e) && !super::has_effects(e) => stmt.kind.clone(),
            _ => return None,
        };
        Some(Stmt::new(kind))
    }

    fn store(&self, buffer: &Buffer, indices: &[PrimExpr], value: &PrimExpr) -> Option<StmtKind> {
        let (last, others) = indices.split_last()?;
        if !self.varies(last) || buffer.dtype.is_vector() {
            // all iterations write to the same element
            let reads_itself = value.any(&mut |e| matches!(e.kind(), PrimKind::Load(from, ..) if from == buffer));
            let once = !self.varies(value) && !self.varies(last) && !reads_itself && !super::has_effects(value);
            let (indices, value) = (indices.to_vec(), value.clone());
            return once.then(|| StmtKind::Store { buffer: buffer.clone(), indices, value, predicate: None });
        }
        let value = self.expr(value)?;
        let value = self.broadcast(value);
        let indices = others.iter().cloned().chain([self.expr(last)?]).collect();
        Some(StmtKind::Store { buffer: buffer.clone(), indices, value, predicate: None })
    }

    /// Returns the values of an expression: a vector if they vary, otherwise the scalar. `None` if there is no vector
    /// form.
    fn expr(&self, e: &PrimExpr) -> Option<PrimExpr> {
        if !self.varies(e) {
            return Some(e.clone());
        }
        if e.dtype().is_vector() {
            return None;
        }
        match e.kind() {
            PrimKind::Var(_) => {
                let (zero, one) = (PrimExpr::int(0, e.dtype()), PrimExpr::int(1, e.dtype()));
                Some(PrimExpr::ramp(zero, one, self.lanes))
            }
            PrimKind::Binary(op, a, b) => Some(self.binary(*op, self.expr(a)?, self.expr(b)?)),
            PrimKind::Load(buffer, indices, None) if !buffer.dtype.is_vector() => {
                let (last, others) = indices.split_last()?;
                let indices = others.iter().cloned().chain([self.expr(last)?]).collect();
                Some(PrimExpr::load(buffer, indices))
            }
            PrimKind::Cast(value) => Some(self.expr(value)?.cast(e.dtype().with_lanes(self.lanes))),
            PrimKind::Not(value) => Some(self.expr(value)?.not()),
            PrimKind::Select(condition, then, otherwise) => {
                let [condition, then, otherwise] = [condition, then, otherwise].map(|e| self.expr(e));
                Some(self.broadcast(condition?).select(self.broadcast(then?), self.broadcast(otherwise?)))
            }
            PrimKind::Call(call) => match &call.callee {
                PrimCallee::Intrin(name) if intrinsics::lanes(name).is_some() => {
                    let args = call.args.iter().map(|arg| Some(self.broadcast(self.expr(arg)?)));
                    let args = args.collect::<Option<_>>()?;
                    let ty = e.dtype().with_lanes(self.lanes);
                    Some(PrimExpr::call(call.callee.clone(), args, call.attrs.clone(), ty))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn binary(&self, op: BinaryOp, a: PrimExpr, b: PrimExpr) -> PrimExpr {
        let ramp = |e: &PrimExpr| match e.kind() {
            PrimKind::Ramp(base, step) => Some((base.clone(), step.clone())),
            _ => None,
        };
        let linear = match (op, ramp(&a), ramp(&b)) {
            (BinaryOp::Add, Some((base, step)), None) if b.dtype().is_scalar() => Some((base + &b, step)),
            (BinaryOp::Add, None, Some((base, step))) if a.dtype().is_scalar() => Some((&a + base, step)),
            (BinaryOp::Sub, Some((base, step)), None) if b.dtype().is_scalar() => Some((base - &b, step)),
            (BinaryOp::Mul, Some((base, step)), None) if b.dtype().is_scalar() => Some((base * &b, step * &b)),
            (BinaryOp::Mul, None, Some((base, step))) if a.dtype().is_scalar() => Some((&a * base, &a * step)),
            _ => None,
        };
        match linear {
            Some((base, step)) => {
                let analyzer = Analyzer::new();
                PrimExpr::ramp(analyzer.simplify(&base), analyzer.simplify(&step), self.lanes)
            }
            None => binary(op, self.broadcast(a), self.broadcast(b)),
        }
    }

    fn broadcast(&self, e: PrimExpr) -> PrimExpr {
        if e.dtype().is_scalar() { e.broadcast(self.lanes) } else { e }
    }

    /// Returns true if an expression varies with the loop.
    fn varies(&self, e: &PrimExpr) -> bool {
        e.uses(self.var)
    }
}
