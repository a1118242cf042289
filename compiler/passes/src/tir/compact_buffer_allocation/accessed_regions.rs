//! Accessed region of each buffer.

use super::{
    super::index_bounds::{
        LoopRange, Span, affine_extremum, as_less_than, bounds_of, coefficient, conjuncts, minus_one, plus_one,
    },
    is_same,
};
use hammock_ir::{
    Name, PrimExpr,
    arith::{self, Analyzer},
    prim::{BinaryOp, PrimKind, Substitution, Var},
    tir::{AttrNode, Block, Buffer, ForKind, Stmt, StmtKind},
};
use rustc_hash::FxHashMap;

/// A region of a buffer: first index and extent, by dimension.
type AccessedRegion = Vec<(PrimExpr, PrimExpr)>;

/// A loop around a statement.
struct EnclosingLoop {
    range: LoopRange,
    /// Thread axis that it is bound to.
    thread: Option<Name>,
}

/// Analysis of accessed regions.
pub(super) struct AccessedRegions {
    strict: bool,
    analyzer: Analyzer,
    loops: Vec<EnclosingLoop>,
    conditions: Vec<PrimExpr>,
    /// Values of variables.
    values: Substitution,
    /// Buffers in scope, with the number of loops around their allocations and the bounds of the accesses so far;
    /// `None` if unknown.
    open: FxHashMap<Buffer, (usize, Option<Vec<Option<Span>>>)>,
    by_data: FxHashMap<Var, Buffer>,
    found: FxHashMap<Buffer, AccessedRegion>,
}

impl AccessedRegions {
    /// Returns the regions of all buffers that become smaller.
    pub fn of(body: &Stmt, strict: bool) -> FxHashMap<Buffer, AccessedRegion> {
        let mut parts = AccessedRegions {
            strict,
            analyzer: Analyzer::new(),
            loops: Vec::new(),
            conditions: Vec::new(),
            values: Substitution::default(),
            open: FxHashMap::default(),
            by_data: FxHashMap::default(),
            found: FxHashMap::default(),
        };
        parts.stmt(body);
        parts.found
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For(l) => {
                self.exprs(stmt);
                let thread = match &l.kind {
                    ForKind::ThreadBinding(thread) => Some(thread.clone()),
                    _ => None,
                };
                let extent = match l.step {
                    None => l.extent.substitute(&self.values),
                    // the values are unknown
                    Some(_) => return self.opaque_loop(stmt),
                };
                self.inside(&l.var, &l.min.substitute(&self.values), &extent, thread, &l.body);
            }
            StmtKind::Attr { node: AttrNode::Thread(axis), value, body, .. } => {
                self.exprs(stmt);
                let min = PrimExpr::int(0, axis.var.dtype());
                let extent = arith::cast(value.clone(), axis.var.dtype());
                self.inside(&axis.var, &min, &extent, Some(axis.thread.clone()), body);
            }
            StmtKind::If(condition, then, otherwise) => {
                self.expr(condition);
                self.under(condition, |parts| parts.stmt(then));
                if let Some(otherwise) = otherwise {
                    self.under(&inverse(condition), |parts| parts.stmt(otherwise));
                }
            }
            StmtKind::Block(block) => match &block.predicate {
                Some(predicate) => self.under(predicate, |parts| parts.block(block)),
                None => self.block(block),
            },
            StmtKind::Seq(stmts) => {
                for stmt in stmts {
                    self.stmt(stmt);
                }
                for stmt in stmts {
                    if let StmtKind::Alloc(buffer, _) = &stmt.kind {
                        self.close(buffer);
                    }
                }
            }
            StmtKind::Alloc(buffer, _) => self.open(buffer),
            StmtKind::Decl(alias) => self.whole(&alias.data),
            StmtKind::Store { buffer, indices, .. } => {
                self.exprs(stmt);
                self.point(buffer, indices);
            }
            StmtKind::Bind(var, value) => {
                self.expr(value);
                self.value(var, value);
            }
            StmtKind::While(..) => self.opaque_loop(stmt),
            _ => {
                self.exprs(stmt);
                stmt.each_child(&mut |child| self.stmt(child));
            }
        }
    }

    /// Visits a loop whose iterations are unknown.
    fn opaque_loop(&mut self, stmt: &Stmt) {
        self.exprs(stmt);
        if let StmtKind::For(l) = &stmt.kind {
            // an index that uses it may be anything
            let (min, max) = (i64::from(i32::MIN), i64::from(i32::MAX));
            let number = |v| PrimExpr::int(v, l.var.dtype());
            let range = LoopRange { var: l.var.clone(), min: number(min), last: number(max) };
            self.loops.push(EnclosingLoop { range, thread: None });
            self.stmt(&l.body);
            self.loops.pop();
        } else {
            stmt.each_child(&mut |child| self.stmt(child));
        }
    }

    fn inside(&mut self, var: &Var, min: &PrimExpr, extent: &PrimExpr, thread: Option<Name>, body: &Stmt) {
        self.analyzer.bind(var, min, extent);
        self.loops.push(EnclosingLoop { range: LoopRange::new(var, min, extent), thread });
        self.stmt(body);
        self.loops.pop();
    }

    fn under(&mut self, condition: &PrimExpr, f: impl FnOnce(&mut Self)) {
        let known = self.conditions.len();
        let condition = condition.substitute(&self.values);
        self.conditions.extend(conjuncts(&condition).into_iter().cloned());
        f(self);
        self.conditions.truncate(known);
    }

    fn block(&mut self, block: &Block) {
        block.alloc_buffers.iter().for_each(|buffer| self.open(buffer));
        for matched in &block.match_buffers {
            self.access(&matched.source.buffer, &matched.source.ranges);
        }
        self.stmt(&block.body);
        block.alloc_buffers.iter().for_each(|buffer| self.close(buffer));
    }

    fn exprs(&mut self, stmt: &Stmt) {
        if !matches!(stmt.kind, StmtKind::Block(_)) {
            stmt.each_expr(&mut |e| self.expr(e));
        }
    }

    fn expr(&mut self, e: &PrimExpr) {
        match e.kind() {
            PrimKind::Load(buffer, indices, _) => self.point(buffer, indices),
            PrimKind::Var(var) => self.whole(var),
            PrimKind::Let(var, value, _) => self.value(var, value),
            _ => {}
        }
        match e.as_intrin("if_then_else").map(|call| &call.args[..]) {
            Some([condition, then, otherwise]) => {
                self.expr(condition);
                self.under(condition, |parts| parts.expr(then));
                self.under(&inverse(condition), |parts| parts.expr(otherwise));
            }
            _ => e.each_child(&mut |child| self.expr(child)),
        }
    }

    fn value(&mut self, var: &Var, value: &PrimExpr) {
        let value = value.substitute(&self.values);
        self.values.insert(var.clone(), value);
    }

    fn open(&mut self, buffer: &Buffer) {
        let unchanged = buffer.elem_offset.is_some() || buffer.is_local_scalar();
        let nothing = if unchanged { Some(vec![None; buffer.ndim()]) } else { None };
        self.open.insert(buffer.clone(), (self.loops.len(), nothing));
        self.by_data.insert(buffer.data.clone(), buffer.clone());
    }

    /// Records an access of a whole buffer, which therefore stays.
    fn whole(&mut self, data: &Var) {
        let Some(buffer) = self.by_data.get(data) else { return };
        if let Some((_, part)) = self.open.get_mut(buffer) {
            *part = Some(vec![None; buffer.ndim()]);
        }
    }

    fn point(&mut self, buffer: &Buffer, indices: &[PrimExpr]) {
        let ranges: Vec<_> = indices.iter().map(|i| (i.clone(), PrimExpr::int(1, i.dtype().element()))).collect();
        match self.open.contains_key(buffer) {
            true => self.access(buffer, &ranges),
            false => self.whole(&buffer.data),
        }
    }

    fn access(&mut self, buffer: &Buffer, ranges: &[(PrimExpr, PrimExpr)]) {
        let Some((depth, _)) = self.open.get(buffer) else { return };
        let relaxed = self.loops.iter().enumerate().rev().filter(|(i, around)| {
            i >= depth || around.thread.as_ref().is_some_and(|thread| is_shared(&buffer.scope, thread))
        });
        let mut relaxed: Vec<LoopRange> = relaxed.map(|(_, around)| around.range.clone()).collect();
        for i in 0..relaxed.len() {
            relaxed[i] = self.narrowed(&relaxed, i);
        }
        let spans: Vec<Option<Span>> = ranges.iter().map(|range| self.span(range, &relaxed)).collect();
        let Some((_, part)) = self.open.get_mut(buffer) else { return };
        *part = Some(match part.take() {
            None => spans,
            Some(part) => part.into_iter().zip(spans).map(|(a, b)| hull(&self.analyzer, a?, b?)).collect(),
        });
    }

    /// Returns the bounds of an index.
    fn span(&self, (min, extent): &(PrimExpr, PrimExpr), loops: &[LoopRange]) -> Option<Span> {
        let (min, extent) = (min.substitute(&self.values), extent.substitute(&self.values));
        if min.dtype().is_vector() {
            return None;
        }
        let (low, mut high) = bounds_of(&(min.clone(), extent.clone()), loops)?;
        for (index, end) in self.conditions.iter().filter_map(as_less_than) {
            // `index < end` equals that for an index at a constant distance
            let distance = self.analyzer.simplify(&arith::binary(BinaryOp::Sub, min.clone(), index));
            let max = arith::binary(BinaryOp::Add, minus_one(&end), distance);
            let known = extent.as_int() == Some(1) && !loops.iter().any(|l| max.uses(&l.var));
            if known && self.analyzer.prove_le(&max, &high) {
                high = max;
            }
        }
        let varies = |e: &PrimExpr| e.any(&mut |e| matches!(e.kind(), PrimKind::Load(..) | PrimKind::Call(_)));
        let relaxed = |e: &PrimExpr| loops.iter().any(|l| e.uses(&l.var));
        let known = ![&low, &high].into_iter().any(|e| varies(e) || relaxed(e));
        known.then_some((low, high))
    }

    /// Returns the range of a loop for which the conditions can hold, if it is known to be smaller.
    fn narrowed(&self, loops: &[LoopRange], i: usize) -> LoopRange {
        let mut l = loops[i].clone();
        for (a, b) in self.conditions.iter().filter_map(as_less_than) {
            let excess = plus_one(&arith::binary(BinaryOp::Sub, a, b));
            if !excess.uses(&l.var) {
                continue;
            }
            // factor * l + rest <= 0
            let Some(factor) = coefficient(&excess, &l.var) else { continue };
            let others: Vec<LoopRange> = loops.iter().filter(|other| other.var != l.var).cloned().collect();
            let zero = Substitution::from_iter([(l.var.clone(), PrimExpr::int(0, l.var.dtype()))]);
            let Some(rest) = affine_extremum(&excess.substitute(&zero), &others, true) else { continue };
            if others.iter().any(|other| rest.uses(&other.var)) || rest.has_loads() {
                continue;
            }
            let divided = |e: PrimExpr| {
                let by = PrimExpr::int(factor.saturating_abs(), e.dtype());
                self.analyzer.simplify(&arith::binary(BinaryOp::FloorDiv, e, by))
            };
            if factor > 0 {
                let max = divided(arith::neg(rest));
                let constant = self.analyzer.interval(&max).max;
                if self.analyzer.prove_le(&max, &l.last) {
                    l.last = max;
                } else if l.last.as_int().is_some_and(|last| constant < last) {
                    l.last = PrimExpr::int(constant, l.last.dtype());
                }
            } else {
                let min = arith::neg(divided(arith::neg(rest)));
                let constant = self.analyzer.interval(&min).min;
                if self.analyzer.prove_ge(&min, &l.min) {
                    l.min = self.analyzer.simplify(&min);
                } else if l.min.as_int().is_some_and(|min| constant > min) {
                    l.min = PrimExpr::int(constant, l.min.dtype());
                }
            }
        }
        l
    }

    /// Returns true if an extent is at most a size, unless the size is zero.
    fn is_at_most(&self, extent: &PrimExpr, size: &PrimExpr) -> bool {
        !self.loops.iter().any(|around| extent.uses(&around.range.var) || size.uses(&around.range.var))
            && Analyzer::with_default_min(1).prove_le(extent, size)
    }

    /// Closes a buffer's scope and records its region, if all accesses are known.
    fn close(&mut self, buffer: &Buffer) {
        let Some((_, Some(part))) = self.open.remove(buffer) else { return };
        let whole = |size: &PrimExpr| (PrimExpr::int(0, size.dtype()), size.clone());
        let dims = part.into_iter().zip(&buffer.shape);
        let part: AccessedRegion =
            dims.map(|(span, size)| span.and_then(|span| self.dimension(span, size)).unwrap_or(whole(size))).collect();
        let same = |((min, extent), size): (&(PrimExpr, PrimExpr), &PrimExpr)| {
            min.as_int() == Some(0) && is_same(&self.analyzer, extent, size)
        };
        if !part.iter().zip(&buffer.shape).all(same) {
            self.found.insert(buffer.clone(), part);
        }
    }

    fn dimension(&self, (low, high): Span, size: &PrimExpr) -> Option<(PrimExpr, PrimExpr)> {
        let simple = |e: PrimExpr| self.analyzer.simplify(&e);
        let mut extent = simple(arith::binary(BinaryOp::Sub, plus_one(&high), low.clone()));
        let mut min = simple(low);
        if self.strict {
            let zero = PrimExpr::int(0, min.dtype());
            if !self.analyzer.prove_ge(&min, &zero) {
                min = simple(arith::binary(BinaryOp::Max, min, zero));
            }
            let (wide, all) = arith::match_types(extent.clone(), size.clone());
            if !self.analyzer.prove_le(&wide, &all) && !self.is_at_most(&wide, &all) {
                extent = simple(arith::binary(BinaryOp::Min, all, wide));
            }
        }
        if self.loops.iter().any(|around| extent.uses(&around.range.var)) {
            let max = self.analyzer.interval(&extent).max;
            extent = PrimExpr::int(Some(max).filter(|max| *max < i64::from(i32::MAX))?, extent.dtype());
        }
        (extent.as_int() > Some(0) || extent.as_int().is_none()).then_some((min, extent))
    }
}

/// Returns the negation of a condition.
fn inverse(condition: &PrimExpr) -> PrimExpr {
    match (condition.kind(), as_less_than(condition)) {
        (PrimKind::Binary(BinaryOp::Or, a, b), _) => inverse(a).and(inverse(b)),
        (_, Some((a, b))) => arith::binary(BinaryOp::Le, b, a),
        _ => condition.clone().not(),
    }
}

/// Returns the hull of two ranges, if it is known which ends are further out.
fn hull(analyzer: &Analyzer, a: Span, b: Span) -> Option<Span> {
    let first = |a: PrimExpr, b: PrimExpr| {
        if analyzer.prove_le(&a, &b) { Some((a, b)) } else { analyzer.prove_le(&b, &a).then_some((b, a)) }
    };
    Some((first(a.0, b.0)?.0, first(a.1, b.1)?.1))
}

/// Returns true if threads share memory of a scope: a buffer in it contains the accesses of all of them.
fn is_shared(scope: &str, thread: &str) -> bool {
    match scope.split('.').next() {
        Some("global") => true,
        Some("shared") => !thread.starts_with("blockIdx"),
        Some("warp") => thread == "threadIdx.x",
        _ => false,
    }
}
