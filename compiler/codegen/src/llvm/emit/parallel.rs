//! Parallel loops: the body is outlined as a function over a range of iterations, which the runtime's thread pool
//! calls.
//!
//! Each loop becomes two functions. The outer one has the pool's signature and unpacks the captured values from memory;
//! the inner one takes them as parameters, so that pointer attributes (alignment, noalias) still hold.
//!
//! Perfectly nested parallel loops are collapsed into one range of iterations, in loop order.

use super::{
    Emitter, Function, Linkage, Result, Ty, Unsupported, Value, min_max, min_max::Version, stmt::leaves_early,
};
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::{PrimKind, Var},
    tir::{Buffer, ForKind, Loop, Stmt, StmtKind},
};
use rustc_hash::FxHashSet;

/// Loop annotation: number of iterations below which one thread runs them all.
pub const GRAIN: &str = "grain";

impl Emitter<'_, '_> {
    pub(super) fn parallel_loop(&mut self, l: &Loop) -> Result<()> {
        if contains_return(&l.body) {
            return Err(Unsupported::Form("a return inside a parallel loop"));
        }
        let (min, extent) = (self.value(&l.min)?, self.index(&l.extent)?);
        if l.step.as_ref().is_some_and(|s| s.as_int() != Some(1)) {
            return Err(Unsupported::Form("a parallel loop with a step"));
        }
        let mut captured = self.captured([&l.body]);
        if min.as_int().is_none() {
            let start = Var::new("start", l.var.ty().clone());
            self.vars.insert(start.clone(), min.clone());
            captured.push(start);
        }
        let number = self.kernel.parallel_loops;
        self.kernel.parallel_loops += 1;
        let name = format!("{}.parallel{number}", self.kernel.name);
        let nest = nest(l);
        let extent = if nest.len() > 1 { self.index(&iterations(&nest))? } else { extent };
        let is_distinct = |data: &Var| captured.contains(data) && self.distinct.contains(data);
        let is_watched = nest.last().is_some_and(|l| min_max::is_watched(&l.body, is_distinct));
        let version = if is_watched { Version::Fast } else { Version::Only };
        self.outline_body(&nest, &format!("{name}.body"), &captured, &min, version)?;
        if is_watched {
            self.outline_body(&nest, &format!("{name}.nan"), &captured, &min, Version::Careful)?;
        }
        let (context, offsets) = self.store_captured(&captured);
        self.outline_unpacking(&name, &captured, &offsets, is_watched)?;
        let grain = l.annotations.get(GRAIN).and_then(|g| g.as_int()).unwrap_or(1).max(1);
        self.parallel_for(&Value::global(&name), &context, &extent, &Value::i64(grain));
        Ok(())
    }

    /// Returns the variables that statements capture, in order of first use.
    pub(super) fn captured<'s>(&self, stmts: impl IntoIterator<Item = &'s Stmt>) -> Vec<Var> {
        let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
        for stmt in stmts {
            each_var(stmt, &mut |var| {
                if self.vars.contains_key(var) && seen.insert(var) {
                    found.push(var.clone());
                }
            });
        }
        found
    }

    /// Outlines the iterations of a range as a function of the captured values.
    fn outline_body(
        &mut self,
        nest: &[&Loop],
        name: &str,
        captured: &[Var],
        min: &Value,
        version: Version,
    ) -> Result<()> {
        let (mut inner, values) = self.outline(name, &[Ty::I64, Ty::I64], captured);
        inner.may_lose_nan = version == Version::Fast;
        let (begin, end) = (values[0].clone(), values[1].clone());
        if let [l] = nest {
            let min = if min.as_int().is_some() { min.clone() } else { values[values.len() - 1].clone() };
            let begin = inner.f.convert("trunc", &begin, min.ty);
            let end = inner.f.convert("trunc", &end, min.ty);
            let begin = inner.f.binary("add", &begin, &min);
            let end = inner.f.binary("add", &end, &min);
            inner.counted(l, &begin, &end, &Value::int(1, min.ty))?;
        } else {
            let range = [("begin", begin), ("end", end)].map(|(name, value)| {
                let var = Var::int64(name);
                inner.vars.insert(var.clone(), value);
                var.expr()
            });
            inner.stmt(&part(nest, range))?;
        }
        inner.f.ret(&Value::int(0, Ty::I32));
        let mut f = inner.f;
        if version != Version::Only {
            f.forbid_inlining();
        }
        self.kernel.module.add(f);
        Ok(())
    }

    /// Stores the captured values; returns their memory and offsets.
    fn store_captured(&mut self, captured: &[Var]) -> (Value, Vec<u64>) {
        let mut size = 0u64;
        let mut offsets = Vec::new();
        for var in captured {
            let bytes = stored_bytes(self.vars[var].ty);
            size = size.next_multiple_of(bytes);
            offsets.push(size);
            size += bytes;
        }
        let context = self.f.slot(size.max(1), 64);
        for (var, &offset) in captured.iter().zip(&offsets) {
            let value = self.vars[var].clone();
            self.store_field(&context, offset as usize, &value);
        }
        (context, offsets)
    }

    /// Emits the function with the pool's signature.
    fn outline_unpacking(&mut self, name: &str, captured: &[Var], offsets: &[u64], is_watched: bool) -> Result<()> {
        let params = [(Ty::PTR, ""), (Ty::I64, ""), (Ty::I64, "")];
        let (mut f, values) = Function::new(name, Linkage::Internal, Ty::I32, &params);
        let mut args = vec![values[1].clone(), values[2].clone()];
        for (var, &offset) in captured.iter().zip(offsets) {
            let ty = self.vars[var].ty;
            let at = f.address(&values[0], Ty::I8, &Value::i64(offset as i64));
            args.push(f.load(ty, &at, ty.lane_bytes()));
        }
        let args: Vec<&Value> = args.iter().collect();
        let body = format!("{name}.body");
        if is_watched {
            min_max::call_watching(self.kernel, &mut f, [&body, &format!("{name}.nan")], &args)?;
        } else {
            let status = f.call(&Value::global(&body), Ty::I32, &args);
            f.ret(&status);
        }
        self.kernel.module.add(f);
        Ok(())
    }
}

/// Returns a parallel loop and those perfectly nested in it, whose extents are the same in all iterations.
fn nest(outermost: &Loop) -> Vec<&Loop> {
    let mut nest = vec![outermost];
    let plain = |l: &Loop| {
        l.kind == ForKind::Parallel
            && l.min.as_int() == Some(0)
            && l.step.is_none()
            && l.var.dtype() == DType::INT64
            && !leaves_early(&l.body)
    };
    while let Some(l) = nest.last().copied()
        && let StmtKind::For(inner) = &l.body.kind
        && plain(l)
        && plain(inner)
        && !nest.iter().any(|outer| inner.extent.uses(&outer.var))
    {
        nest.push(inner);
    }
    nest
}

/// Number of iterations of a loop nest.
fn iterations(nest: &[&Loop]) -> PrimExpr {
    let count = |l: &&Loop| l.extent.clone().max(PrimExpr::int64(0));
    nest.iter().map(count).reduce(|all, count| all * count).unwrap_or_else(|| PrimExpr::int64(1))
}

/// Returns the iterations of a range as nested loops, which avoids a division per iteration.
fn part(nest: &[&Loop], [begin, end]: [PrimExpr; 2]) -> Stmt {
    let (l, inner) = (nest[0], &nest[1..]);
    if inner.is_empty() {
        let kind = ForKind::Serial;
        return Stmt::new(StmtKind::For(Box::new(Loop { min: begin.clone(), extent: end - begin, kind, ..l.clone() })));
    }
    let each = iterations(inner);
    let first = begin.clone().floordiv(each.clone());
    let last = (&end - PrimExpr::int64(1)).floordiv(each.clone());
    let start = l.var.expr() * each.clone();
    let from = Var::int64("from");
    let to = Var::int64("to");
    let body = Stmt::seq([
        Stmt::new(StmtKind::Bind(from.clone(), (begin - &start).max(PrimExpr::int64(0)))),
        Stmt::new(StmtKind::Bind(to.clone(), (end - start).min(each))),
        part(inner, [from.expr(), to.expr()]),
    ]);
    let extent = last - &first + PrimExpr::int64(1);
    Stmt::new(StmtKind::For(Box::new(Loop {
        var: l.var.clone(),
        min: first,
        extent,
        step: None,
        kind: ForKind::Serial,
        annotations: Attrs::new(),
        body,
    })))
}

/// Size in bytes of a captured value: a power of two, for alignment.
fn stored_bytes(ty: Ty) -> u64 {
    (ty.lane_bytes() * u64::from(ty.lanes)).next_power_of_two().max(8)
}

pub(super) fn contains_return(body: &Stmt) -> bool {
    let mut found = false;
    body.walk(&mut |s| found |= matches!(s.kind, StmtKind::Return(_)));
    found
}

/// Calls `f` on each variable used in a statement, including the pointers of buffers.
pub(super) fn each_var<'a>(stmt: &'a Stmt, f: &mut dyn FnMut(&'a Var)) {
    stmt.walk(&mut |s| {
        match &s.kind {
            StmtKind::Store { buffer, .. } | StmtKind::Decl(buffer) => each_buffer_var(buffer, f),
            StmtKind::Alloc(buffer, _) => buffer.each_expr(&mut |e| e.each_var(&mut |v| f(v))),
            _ => {}
        }
        s.each_expr(&mut |e| each_expr_var(e, f));
    });
}

fn each_expr_var<'a>(e: &'a PrimExpr, f: &mut dyn FnMut(&'a Var)) {
    e.walk(&mut |e| match e.kind() {
        PrimKind::Var(v) => f(v),
        PrimKind::Load(buffer, ..) => each_buffer_var(buffer, f),
        _ => {}
    });
}

fn each_buffer_var<'a>(buffer: &'a Buffer, f: &mut dyn FnMut(&'a Var)) {
    f(&buffer.data);
    buffer.each_expr(&mut |e| each_expr_var(e, f));
}
