//! Definite initialization: proves that loads of fresh memory read elements that the kernel wrote before.
//!
//! A walk in program order collects the areas that are certainly written (`area.rs`). The area that a loop writes is
//! the union over its iterations; in a serial loop, each iteration also sees the writes of earlier ones. A conditional
//! statement writes nothing for certain, unless the condition only cuts off the tail of an index. `T.init` runs before
//! the body in the first iteration of the reduction axes, which must not be skipped. A load is reported unless written
//! areas cover it: "possible" means "not proven otherwise".

mod access;
mod area;
mod reduction;

use super::{AttrNode, Block, Buffer, ForKind, Loop, PrimFunc, Stmt, StmtKind, regions::Range};
use crate::{
    Name, PrimExpr,
    bounds::Scope,
    prim::{BinaryOp, PrimKind, Var},
};
use area::{Area, Iterations, add, cover};
use hammock_diagnostics::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum number of areas recorded for a buffer.
const MAX_AREAS: usize = 64;
/// Maximum depth of nested kernel calls that are analyzed.
const MAX_CALLS: usize = 8;

/// A load that may come before every write of its element.
pub struct PossibleRead {
    /// The reading statement.
    pub span: Span,
    /// The buffer read.
    pub buffer: Buffer,
    /// The pointer to the memory, which the kernel allocates or a parameter passes.
    pub memory: Var,
}

/// The loads of a kernel that may read uninitialized memory, the first per allocation: of memory that the kernel
/// allocates, and of `outputs`, parameters that are passed such memory. `kernel` looks up the kernels that it calls.
pub fn possible_reads<'a>(
    func: &'a PrimFunc,
    outputs: impl Iterator<Item = &'a Buffer>,
    kernel: &dyn Fn(&Name) -> Option<&'a PrimFunc>,
) -> Vec<PossibleRead> {
    reads_at(func, outputs, kernel, MAX_CALLS)
}

fn reads_at<'a>(
    func: &'a PrimFunc,
    outputs: impl Iterator<Item = &'a Buffer>,
    kernel: &dyn Fn(&Name) -> Option<&'a PrimFunc>,
    calls: usize,
) -> Vec<PossibleRead> {
    let outputs: Vec<&Buffer> = outputs.collect();
    if !may_read_fresh(func, &outputs) {
        return Vec::new();
    }
    let mut params: FxHashSet<Var> = func.params.iter().map(|p| p.var.clone()).collect();
    func.buffers().for_each(|b| b.each_expr(&mut |e| e.each_var(&mut |v| _ = params.insert(v.clone()))));
    let mut stored = FxHashSet::default();
    func.body.walk(&mut |s| {
        if let StmtKind::Store { buffer, .. } = &s.kind {
            stored.insert(buffer.data.clone());
        }
    });
    let mut walk = InitializationWalk {
        kernel,
        calls,
        scope: Scope::of(func),
        params,
        stored,
        views: FxHashMap::default(),
        fresh: FxHashMap::default(),
        written: FxHashMap::default(),
        loops: Vec::new(),
        conditions: Vec::new(),
        reports: true,
        span: func.span,
        found: Vec::new(),
    };
    outputs.into_iter().for_each(|buffer| walk.allocate(buffer));
    walk.stmt(&func.body);
    walk.found
}

/// Returns true if a kernel loads from memory that it allocates or that is passed for outputs, or passes it on.
fn may_read_fresh(func: &PrimFunc, outputs: &[&Buffer]) -> bool {
    let mut fresh: FxHashSet<&Var> = outputs.iter().map(|b| &b.data).collect();
    func.body.walk(&mut |s| match &s.kind {
        StmtKind::Alloc(buffer, _) => _ = fresh.insert(&buffer.data),
        StmtKind::Block(block) => {
            fresh.extend(block.alloc_buffers.iter().map(|b| &b.data));
            fresh.extend(block.match_buffers.iter().map(|m| &m.buffer.data));
        }
        _ => {}
    });
    let mut reads = false;
    func.body.walk(&mut |s| {
        let mut each = |e: &PrimExpr| {
            reads |= e.any(&mut |e| match e.kind() {
                PrimKind::Load(buffer, ..) => fresh.contains(&buffer.data),
                PrimKind::Var(var) => fresh.contains(var),
                _ => false,
            });
        };
        if !matches!(s.kind, StmtKind::Alloc(..) | StmtKind::Decl(_)) {
            s.each_expr(&mut each);
        }
    });
    reads
}

struct InitializationWalk<'a, 'k> {
    kernel: &'k dyn Fn(&Name) -> Option<&'a PrimFunc>,
    calls: usize,
    scope: Scope,
    /// Kernel-invariant scalars.
    params: FxHashSet<Var>,
    /// Memory that the kernel writes.
    stored: FxHashSet<Var>,
    /// Matched buffers, with the regions that they alias.
    views: FxHashMap<Buffer, (Buffer, Vec<Range>)>,
    /// Fresh memory, with the buffer that covers all of it.
    fresh: FxHashMap<Var, Buffer>,
    /// Areas of fresh memory that are certainly written.
    written: FxHashMap<Var, Vec<Area>>,
    /// Enclosing loops.
    loops: Vec<EnclosingLoop>,
    /// Enclosing conditions, each with the number of loops around it; `None` for unknown ones.
    conditions: Vec<(Option<PrimExpr>, usize)>,
    /// True if loads are checked; otherwise, only writes are collected.
    reports: bool,
    span: Span,
    found: Vec<PossibleRead>,
}

/// An enclosing loop; all expressions are int64, over the variables of the scope.
#[derive(Clone)]
struct EnclosingLoop {
    var: Var,
    min: PrimExpr,
    extent: PrimExpr,
    jumps: bool,
}

impl<'a> InitializationWalk<'a, '_> {
    fn stmt(&mut self, stmt: &'a Stmt) {
        let outside = self.span;
        if !stmt.span.is_none() {
            self.span = stmt.span;
        }
        match &stmt.kind {
            StmtKind::Seq(stmts) => stmts.iter().for_each(|s| self.stmt(s)),
            StmtKind::For(l) => self.for_loop(l),
            StmtKind::While(condition, body) => self.while_loop(condition, body),
            StmtKind::If(condition, then, otherwise) => self.branch(condition, then, otherwise.as_deref()),
            StmtKind::Block(block) => self.block(block),
            StmtKind::Store { buffer, indices, value, predicate } => {
                indices.iter().chain([value]).chain(predicate).for_each(|e| self.expr(e));
                if predicate.is_none() {
                    self.store(buffer, indices);
                }
            }
            StmtKind::Alloc(buffer, _) => self.allocate(buffer),
            StmtKind::Bind(var, value) => {
                self.expr(value);
                self.scope.bind(var, value);
            }
            StmtKind::Attr { node: AttrNode::Thread(axis), value, body, .. } => {
                self.expr(value);
                let min = PrimExpr::int(0, axis.var.dtype());
                let kind = ForKind::ThreadBinding(axis.var.name().clone());
                let annotations = Default::default();
                let (var, extent) = (axis.var.clone(), value.clone());
                let threads = Loop { var, min, extent, step: None, kind, annotations, body: Stmt::nop() };
                self.iterate(&threads, body);
            }
            StmtKind::Attr { value, body, .. } => {
                self.expr(value);
                self.stmt(body);
            }
            StmtKind::Evaluate(e) | StmtKind::Assert(e, ..) | StmtKind::Return(e) => self.expr(e),
            StmtKind::Decl(_) | StmtKind::Break | StmtKind::Continue => {}
        }
        self.span = outside;
    }

    fn for_loop(&mut self, l: &'a Loop) {
        [&l.min, &l.extent].into_iter().chain(&l.step).for_each(|e| self.expr(e));
        if !self.scope.is_empty_loop(&l.extent) {
            self.iterate(l, &l.body);
        }
    }

    /// Walks a loop, whose body is passed separately.
    fn iterate(&mut self, l: &Loop, body: &'a Stmt) {
        let (min, extent) = (self.value(&l.min), self.value(&l.extent));
        let (outer, before) = (self.scope.clone(), self.written.clone());
        self.scope.enter_loop(l);
        let var = self.scope.wide(&l.var.expr());
        let (Some(var), true) = (var.as_var().cloned(), is_stable(&min) && is_stable(&extent)) else {
            self.conditional(None, body);
            self.scope = outer;
            return;
        };
        self.loops.push(EnclosingLoop {
            var: var.clone(),
            min: min.clone(),
            extent: extent.clone(),
            jumps: body.jumps(),
        });
        let inner = self.scope.clone();
        let sweeps = l.step.is_none() && !body.jumps();
        if self.reports {
            self.reports = false;
            self.stmt(body);
            self.reports = true;
            let new = self.new_areas(&before);
            if sweeps && matches!(l.kind, ForKind::Serial | ForKind::Unrolled) {
                self.sweep(&new, &Iterations { var: &var, begin: min.clone(), end: var.expr() });
            }
            self.scope = inner;
        }
        self.stmt(body);
        let new = self.new_areas(&before);
        self.loops.pop();
        self.scope = outer;
        if sweeps {
            let end = add(min.clone(), extent);
            self.sweep(&new, &Iterations { var: &var, begin: min, end });
        }
    }

    /// Removes and returns the areas added to memory that existed `before`.
    fn new_areas(&mut self, before: &FxHashMap<Var, Vec<Area>>) -> Vec<(Var, Area)> {
        let after = std::mem::replace(&mut self.written, before.clone());
        let mut new = Vec::new();
        for (memory, areas) in after {
            let known = before.get(&memory).map_or(areas.len(), Vec::len);
            new.extend(areas.into_iter().skip(known).map(|area| (memory.clone(), area)));
        }
        new
    }

    /// Adds the union of areas over the iterations of a loop.
    fn sweep(&mut self, areas: &[(Var, Area)], loops: &Iterations) {
        for (memory, area) in areas {
            let sizes = self.sizes(memory);
            if let Some(area) = area.over(loops, &sizes, self.scope.analyzer()) {
                self.add(memory.clone(), area, true);
            }
        }
    }

    fn while_loop(&mut self, condition: &'a PrimExpr, body: &'a Stmt) {
        self.expr(condition);
        self.conditional(None, body);
    }

    /// Walks a statement that may not run.
    fn conditional(&mut self, condition: Option<PrimExpr>, body: &'a Stmt) {
        let (scope, before) = (self.scope.clone(), self.written.clone());
        self.conditions.push((condition, self.loops.len()));
        self.stmt(body);
        self.conditions.pop();
        (self.scope, self.written) = (scope, before);
    }

    fn branch(&mut self, condition: &'a PrimExpr, then: &'a Stmt, otherwise: Option<&'a Stmt>) {
        self.expr(condition);
        let (scope, before) = (self.scope.clone(), self.written.clone());
        self.learn(condition, true);
        self.conditions.push((Some(condition.clone()), self.loops.len()));
        self.stmt(then);
        self.conditions.pop();
        let new = self.new_areas(&before);
        self.scope = scope;
        let Some(otherwise) = otherwise else {
            self.add_clipped(new, condition);
            return;
        };
        let scope = self.scope.clone();
        self.learn(condition, false);
        self.conditions.push((Some(condition.clone().not()), self.loops.len()));
        self.stmt(otherwise);
        self.conditions.pop();
        let others = self.new_areas(&before);
        self.scope = scope;
        // Both branches write an area that each of them covers.
        let covered = |area: &(Var, Area), others: &[(Var, Area)]| {
            let own: Vec<Area> = others.iter().filter(|(m, _)| *m == area.0).map(|(_, a)| a.clone()).collect();
            cover(&own, &area.1, &self.sizes(&area.0), self.scope.analyzer())
        };
        let both: Vec<(Var, Area)> = new.iter().filter(|area| covered(area, &others)).cloned().collect();
        let both: Vec<_> = both.into_iter().chain(others.iter().filter(|area| covered(area, &new)).cloned()).collect();
        both.into_iter().for_each(|(memory, area)| self.add(memory, area, false));
    }

    /// Records that a condition holds, or does not: of two unequal values, one may be known to be the smaller.
    fn learn(&mut self, condition: &PrimExpr, holds: bool) {
        if holds {
            self.scope.assume(condition)
        } else {
            self.scope.assume_not(condition)
        }
        let unequal = if holds { BinaryOp::Ne } else { BinaryOp::Eq };
        match condition.kind() {
            PrimKind::Binary(op, a, b) if *op == unequal => {
                if self.scope.proves_le(b, a) {
                    self.scope.assume(&a.clone().gt(b));
                } else if self.scope.proves_le(a, b) {
                    self.scope.assume(&a.clone().lt(b));
                }
            }
            PrimKind::Binary(op, a, b) if *op == if holds { BinaryOp::And } else { BinaryOp::Or } => {
                self.learn(a, holds);
                self.learn(b, holds);
            }
            _ => {}
        }
    }

    /// Adds areas written under a condition that bounds their indices.
    fn add_clipped(&mut self, areas: Vec<(Var, Area)>, condition: &PrimExpr) {
        let mut bounds = Vec::new();
        if !self.upper_bounds(condition, &mut bounds) {
            return;
        }
        'areas: for (memory, mut area) in areas {
            for (index, bound) in &bounds {
                let analyzer = self.scope.analyzer();
                let is_point = |range: &&Range| {
                    analyzer.prove_eq(&range.begin, index) && analyzer.difference(&range.end, &range.begin) == Some(1)
                };
                let Some(dim) = area.ranges.iter().position(|range| is_point(&range)) else { continue 'areas };
                area.clips.push((dim, bound.clone()));
            }
            self.add(memory, area, false);
        }
    }

    /// Collects the bounds of a condition that is a conjunction of `index < bound`; false if it is anything else.
    fn upper_bounds(&self, condition: &PrimExpr, bounds: &mut Vec<(PrimExpr, PrimExpr)>) -> bool {
        match condition.kind() {
            PrimKind::Binary(BinaryOp::And, a, b) => self.upper_bounds(a, bounds) && self.upper_bounds(b, bounds),
            PrimKind::Binary(op @ (BinaryOp::Lt | BinaryOp::Le), a, b)
            | PrimKind::Binary(op @ (BinaryOp::Gt | BinaryOp::Ge), b, a) => {
                let (index, bound) = (self.value(a), self.value(b));
                let includes = matches!(op, BinaryOp::Le | BinaryOp::Ge);
                let bound = if includes { add(bound, PrimExpr::int64(1)) } else { bound };
                let known = is_stable(&index) && is_stable(&bound);
                bounds.push((index, bound));
                known
            }
            PrimKind::Call(call) if condition.as_intrin("likely").is_some() => self.upper_bounds(&call.args[0], bounds),
            _ => condition.as_int() == Some(1),
        }
    }

    fn block(&mut self, block: &'a Block) {
        block.axes.iter().for_each(|axis| self.expr(&axis.binding));
        for axis in &block.axes {
            self.scope.enter_axis(axis);
        }
        let (scope, before) = (self.scope.clone(), self.written.clone());
        if let Some(predicate) = &block.predicate {
            self.expr(predicate);
            self.learn(predicate, true);
            self.conditions.push((Some(predicate.clone()), self.loops.len()));
        }
        block.alloc_buffers.iter().for_each(|b| self.allocate(b));
        for matched in &block.match_buffers {
            let range = |(min, extent): &(PrimExpr, PrimExpr)| {
                let min = self.value(min);
                Range { end: add(min.clone(), self.value(extent)), begin: min }
            };
            let ranges = matched.source.ranges.iter().map(range).collect();
            self.views.insert(matched.buffer.clone(), (matched.source.buffer.clone(), ranges));
        }
        if let Some(init) = &block.init {
            self.init(block, init);
        }
        self.stmt(&block.body);
        if let Some(predicate) = &block.predicate {
            self.conditions.pop();
            let new = self.new_areas(&before);
            self.scope = scope;
            self.add_clipped(new, predicate);
        }
    }

    fn allocate(&mut self, buffer: &Buffer) {
        self.fresh.insert(buffer.data.clone(), buffer.clone());
        self.written.insert(buffer.data.clone(), Vec::new());
    }

    /// An index in int64, over loops and sizes.
    fn value(&self, e: &PrimExpr) -> PrimExpr {
        self.scope.resolve(&self.scope.wide(e))
    }

    fn sizes(&self, memory: &Var) -> Vec<PrimExpr> {
        self.fresh.get(memory).map_or(Vec::new(), |buffer| buffer.shape.iter().map(|e| self.value(e)).collect())
    }

    fn store(&mut self, buffer: &Buffer, indices: &[PrimExpr]) {
        if let Some((memory, Some(area))) = self.locate(buffer, indices) {
            self.add(memory, area, false);
        }
    }

    /// Adds a written area; skipped if a loop `ends` whose body defines variables of the bounds.
    fn add(&mut self, memory: Var, area: Area, ends: bool) {
        let mut known = true;
        area.each_bound(&mut |e| {
            known &= self.reads_inputs_only(e);
            e.each_var(&mut |v| known &= !ends || self.scope.defines(v) || self.params.contains(v));
        });
        let sizes = self.sizes(&memory);
        let Some(areas) = self.written.get_mut(&memory).filter(|areas| known && areas.len() < MAX_AREAS) else {
            return;
        };
        let analyzer = self.scope.analyzer();
        if !areas.iter().rev().take(4).any(|own| cover(std::slice::from_ref(own), &area, &sizes, analyzer)) {
            areas.push(area);
        }
    }

    /// Returns true if an expression reads no memory that the kernel writes.
    fn reads_inputs_only(&self, e: &PrimExpr) -> bool {
        !e.any(&mut |x| match x.kind() {
            PrimKind::Load(buffer, ..) => self.stored.contains(&buffer.data),
            PrimKind::Call(call) => !call.is_pure(),
            _ => false,
        })
    }
}

/// Returns true if an expression reads no memory.
fn is_stable(e: &PrimExpr) -> bool {
    !e.any(&mut |x| match x.kind() {
        PrimKind::Load(..) => true,
        PrimKind::Call(call) => !call.is_pure(),
        _ => false,
    })
}
