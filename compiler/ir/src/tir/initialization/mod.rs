//! Definite initialization: which loads of fresh memory certainly find an element that the kernel wrote before.
//!
//! A walk in program order collects the areas that are certainly written (`area.rs`). What all iterations of a loop write
//! is an area that is swept along the loop; in a serial loop, each iteration also finds what those before it wrote. A
//! statement under a condition writes nothing for certain, unless the condition only cuts off the tail of an index. `T.init`
//! runs before the body where the reduction axes have their first values, which must not be left out. A load is reported
//! unless areas cover what it reads: "possible" means "not proven otherwise".

mod area;

use super::{AttrNode, Block, Buffer, ForKind, Loop, PrimFunc, Stmt, StmtKind, regions::Range};
use crate::{
    Name, PrimExpr,
    bounds::Scope,
    prim::{BinaryOp, IterKind, PrimCall, PrimCallee, PrimKind, Substitution, Var},
};
use area::{Area, Iterations, add, cover};
use hammock_diagnostics::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// How many areas are kept of one buffer.
const MAX_AREAS: usize = 64;
/// How deep calls of kernels are followed.
const MAX_CALLS: usize = 8;

/// A load that may come before every write of its element.
pub struct PossibleRead {
    /// The statement that reads.
    pub span: Span,
    /// What it reads.
    pub buffer: Buffer,
    /// The pointer to the memory, of the kernel's own or of a parameter.
    pub memory: Var,
}

/// The loads of a kernel that may find fresh memory as it was, the first of each memory: of what the kernel allocates, and
/// of `outputs`, parameters that are given such memory. `kernel` finds the kernels that it calls.
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
    if !reads_fresh(func, &outputs) {
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
    let mut search = Search {
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
    outputs.into_iter().for_each(|buffer| search.allocate(buffer));
    search.stmt(&func.body);
    search.found
}

/// Whether a kernel loads from, or passes on, memory that it allocates or is given for outputs.
fn reads_fresh(func: &PrimFunc, outputs: &[&Buffer]) -> bool {
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

struct Search<'a, 'k> {
    kernel: &'k dyn Fn(&Name) -> Option<&'a PrimFunc>,
    calls: usize,
    scope: Scope,
    /// Scalars that are the same in the whole kernel.
    params: FxHashSet<Var>,
    /// Memory that the kernel writes.
    stored: FxHashSet<Var>,
    /// Buffers that name regions of others, with those regions.
    views: FxHashMap<Buffer, (Buffer, Vec<Range>)>,
    /// Fresh memory, with the buffer that has all of it.
    fresh: FxHashMap<Var, Buffer>,
    /// What is certainly written of fresh memory.
    written: FxHashMap<Var, Vec<Area>>,
    /// The loops around, with what is needed of them.
    loops: Vec<Around>,
    /// Conditions around, with the number of loops around each; none for what cannot be told.
    conditions: Vec<(Option<PrimExpr>, usize)>,
    /// Whether loads are looked at; else only what is written.
    reports: bool,
    span: Span,
    found: Vec<PossibleRead>,
}

/// A loop around; everything in int64, over what the scope knows.
#[derive(Clone)]
struct Around {
    var: Var,
    min: PrimExpr,
    extent: PrimExpr,
    jumps: bool,
}

impl<'a> Search<'a, '_> {
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
        if !self.scope.never(&l.extent) {
            self.iterate(l, &l.body);
        }
    }

    /// The iterations of a loop, the body of which is given apart.
    fn iterate(&mut self, l: &Loop, body: &'a Stmt) {
        let (min, extent) = (self.value(&l.min), self.value(&l.extent));
        let (outer, before) = (self.scope.clone(), self.written.clone());
        self.scope.enter_loop(l);
        let var = self.scope.wide(&l.var.expr());
        let (Some(var), true) = (var.as_var().cloned(), is_stable(&min) && is_stable(&extent)) else {
            self.perhaps(None, body);
            self.scope = outer;
            return;
        };
        self.loops.push(Around { var: var.clone(), min: min.clone(), extent: extent.clone(), jumps: body.jumps() });
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

    /// The areas that were added to memory that was there before; takes them away.
    fn new_areas(&mut self, before: &FxHashMap<Var, Vec<Area>>) -> Vec<(Var, Area)> {
        let after = std::mem::replace(&mut self.written, before.clone());
        let mut new = Vec::new();
        for (memory, areas) in after {
            let known = before.get(&memory).map_or(areas.len(), Vec::len);
            new.extend(areas.into_iter().skip(known).map(|area| (memory.clone(), area)));
        }
        new
    }

    /// Adds what iterations cover, each of which covers these areas.
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
        self.perhaps(None, body);
    }

    /// A statement that may not run.
    fn perhaps(&mut self, condition: Option<PrimExpr>, body: &'a Stmt) {
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
        // Both branches write what each of them covers.
        let covered = |area: &(Var, Area), others: &[(Var, Area)]| {
            let own: Vec<Area> = others.iter().filter(|(m, _)| *m == area.0).map(|(_, a)| a.clone()).collect();
            cover(&own, &area.1, &self.sizes(&area.0), self.scope.analyzer())
        };
        let both: Vec<(Var, Area)> = new.iter().filter(|area| covered(area, &others)).cloned().collect();
        let both: Vec<_> = both.into_iter().chain(others.iter().filter(|area| covered(area, &new)).cloned()).collect();
        both.into_iter().for_each(|(memory, area)| self.add(memory, area, false));
    }

    /// Notes that a condition holds, or does not: of what is not equal, one may be known to be the smaller.
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

    /// Reads a condition as `index < bound` and so on; whether it is nothing else.
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

    /// What a block starts with, in those iterations in which its reduction axes have their first values.
    fn init(&mut self, block: &'a Block, init: &'a Stmt) {
        let before = self.written.clone();
        let reduced: Option<Vec<Var>> = self.reduction_loops(block);
        self.stmt(init);
        let new = self.new_areas(&before);
        let Some(reduced) = reduced.filter(|loops| self.starts(block, loops)) else { return };
        for (memory, mut area) in new {
            let mut moves = false;
            area.each_bound(&mut |e| moves |= reduced.iter().any(|var| e.uses(var)));
            if !moves {
                area.bypassed.extend(reduced.iter().cloned());
                self.add(memory, area, false);
            }
        }
    }

    /// The loops that the reduction axes of a block go over; none if these cannot be told.
    fn reduction_loops(&self, block: &Block) -> Option<Vec<Var>> {
        let mut vars = Vec::new();
        for axis in block.axes.iter().filter(|a| a.kind == IterKind::Reduce && a.dom.1.as_int() != Some(1)) {
            self.value(&axis.binding).each_var(&mut |v| vars.push(v.clone()));
        }
        let stable = block.axes.iter().all(|axis| is_stable(&self.value(&axis.binding)));
        vars.retain(|v| !self.is_param(v));
        (stable && vars.iter().all(|v| self.is_loop(v))).then_some(vars)
    }

    fn is_loop(&self, var: &Var) -> bool {
        self.loops.iter().any(|l| l.var == *var)
    }

    /// Whether a variable of the scope is a scalar that the kernel is given.
    fn is_param(&self, var: &Var) -> bool {
        let mut given = true;
        self.scope.original(&var.expr()).each_var(&mut |v| given &= self.params.contains(v));
        given
    }

    /// Whether the iterations in which reduction axes have their first values come before all others, whatever the values
    /// of other axes.
    fn starts(&self, block: &Block, reduced: &[Var]) -> bool {
        let Some(first) = self.loops.iter().position(|l| reduced.contains(&l.var)) else { return true };
        let inner = &self.loops[first..];
        let is_reduced = |e: &PrimExpr| reduced.iter().any(|v| e.uses(v));
        if inner.iter().any(|l| l.jumps || is_reduced(&l.min) || is_reduced(&l.extent)) {
            return false;
        }
        let starts = inner.iter().filter(|l| reduced.contains(&l.var)).map(|l| (l.var.clone(), l.min.clone()));
        let starts: Substitution = starts.collect();
        let analyzer = self.scope.analyzer();
        let axis_starts = |axis: &super::BlockAxis| {
            let binding = self.value(&axis.binding);
            match axis.kind {
                IterKind::Reduce => {
                    axis.dom.1.as_int() == Some(1)
                        || analyzer.prove_eq(&binding.substitute(&starts), &self.value(&axis.dom.0))
                }
                _ => !is_reduced(&binding),
            }
        };
        let condition_starts = |(condition, depth): &(Option<PrimExpr>, usize)| {
            *depth <= first || condition.as_ref().is_some_and(|c| self.holds_first(c, &starts))
        };
        block.axes.iter().all(axis_starts) && self.conditions.iter().all(condition_starts)
    }

    /// Whether a condition that holds in an iteration also holds in the first one of the reduction loops.
    fn holds_first(&self, condition: &PrimExpr, starts: &Substitution) -> bool {
        let moves = |e: &PrimExpr| starts.keys().any(|v| e.uses(v));
        let mut is_fixed = self.reads_inputs_only(condition);
        condition.each_var(&mut |v| {
            let value = self.value(&v.expr());
            is_fixed &= !moves(&value);
            value.each_var(&mut |v| is_fixed &= self.is_loop(v) || self.is_param(v));
        });
        if is_fixed {
            return true;
        }
        match condition.kind() {
            PrimKind::Binary(BinaryOp::And, a, b) => self.holds_first(a, starts) && self.holds_first(b, starts),
            PrimKind::Binary(op, a, b) if op.is_comparison() => {
                let (a, b) = (self.value(a), self.value(b));
                let (smaller, larger) = match op {
                    _ if !is_stable(&a) || !is_stable(&b) => return false,
                    BinaryOp::Lt | BinaryOp::Le => (a, b),
                    BinaryOp::Gt | BinaryOp::Ge => (b, a),
                    _ => return false,
                };
                let analyzer = self.scope.analyzer();
                analyzer.prove_le(&smaller.substitute(starts), &smaller)
                    && analyzer.prove_le(&larger, &larger.substitute(starts))
            }
            PrimKind::Call(call) if condition.as_intrin("likely").is_some() => self.holds_first(&call.args[0], starts),
            _ => false,
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
        if let Some((memory, Some(area))) = self.located(buffer, indices) {
            self.add(memory, area, false);
        }
    }

    /// Adds what is written; nothing if a loop `ends` whose body defines what the bounds are made of.
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

    /// Whether an expression reads nothing that the kernel writes.
    fn reads_inputs_only(&self, e: &PrimExpr) -> bool {
        !e.any(&mut |x| match x.kind() {
            PrimKind::Load(buffer, ..) => self.stored.contains(&buffer.data),
            PrimKind::Call(call) => !call.is_pure(),
            _ => false,
        })
    }

    /// The memory of an access, if it is fresh, and what is accessed of it, if that can be told.
    fn located(&self, buffer: &Buffer, indices: &[PrimExpr]) -> Option<(Var, Option<Area>)> {
        let ranges: Option<Vec<Range>> = indices.iter().map(|index| self.range(index)).collect();
        self.area_of(buffer, ranges)
    }

    fn range(&self, index: &PrimExpr) -> Option<Range> {
        let one = PrimExpr::int64(1);
        match index.kind() {
            PrimKind::Ramp(base, stride) if stride.as_int() == Some(1) => {
                let (base, lanes) = (self.value(base), i64::from(index.dtype().lanes));
                Some(Range { end: add(base.clone(), PrimExpr::int64(lanes)), begin: base })
            }
            _ if !index.dtype().is_scalar() => None,
            _ => {
                let begin = self.value(index);
                self.reads_inputs_only(&begin).then(|| Range { end: add(begin.clone(), one), begin })
            }
        }
    }

    fn area_of(&self, buffer: &Buffer, ranges: Option<Vec<Range>>) -> Option<(Var, Option<Area>)> {
        if let Some((source, region)) = self.views.get(buffer) {
            let moved = ranges.and_then(|ranges| {
                let outer = region.len().checked_sub(ranges.len())?;
                let moved = region[outer..].iter().zip(&ranges).map(|(source, range)| Range {
                    begin: add(source.begin.clone(), range.begin.clone()),
                    end: add(source.begin.clone(), range.end.clone()),
                });
                Some(region[..outer].iter().cloned().chain(moved).collect())
            });
            return self.area_of(source, moved);
        }
        let whole = self.fresh.get(&buffer.data)?;
        let memory = buffer.data.clone();
        let is_plain =
            |b: &Buffer| b.strides.is_empty() && b.elem_offset.as_ref().is_none_or(|e| e.as_int() == Some(0));
        let area = match ranges.map(Area::of) {
            Some(area) if whole == buffer => Some(area),
            Some(area) if is_plain(whole) && is_plain(buffer) && whole.dtype == buffer.dtype => {
                let sizes: Vec<PrimExpr> = buffer.shape.iter().map(|e| self.value(e)).collect();
                area.flat(&sizes, self.scope.analyzer())
            }
            _ => None,
        };
        Some((memory, area))
    }

    /// The loads of an expression, those of operands that may not be evaluated under their conditions.
    fn expr(&mut self, e: &PrimExpr) {
        match e.kind() {
            PrimKind::Load(buffer, indices, _) => {
                e.each_child(&mut |c| self.expr(c));
                self.read(buffer, indices);
            }
            PrimKind::Select(condition, then, otherwise) => self.choice(condition, then, otherwise),
            PrimKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                self.expr(a);
                self.under(a, *op == BinaryOp::And, b);
            }
            PrimKind::Call(call) => match (&call.args[..], e.as_intrin("if_then_else").is_some()) {
                ([condition, then, otherwise], true) => self.choice(condition, then, otherwise),
                _ if !call.is_pure() => self.call(call),
                _ => e.each_child(&mut |c| self.expr(c)),
            },
            _ => e.each_child(&mut |c| self.expr(c)),
        }
    }

    fn choice(&mut self, condition: &PrimExpr, then: &PrimExpr, otherwise: &PrimExpr) {
        self.expr(condition);
        self.under(condition, true, then);
        self.under(condition, false, otherwise);
    }

    fn under(&mut self, condition: &PrimExpr, holds: bool, e: &PrimExpr) {
        let scope = self.scope.clone();
        self.learn(condition, holds);
        self.expr(e);
        self.scope = scope;
    }

    /// A call that may read and write the memory that it is given. Functions outside of the module write it.
    fn call(&mut self, call: &PrimCall) {
        let kernel = match &call.callee {
            PrimCallee::Global(name) => (self.kernel)(name),
            PrimCallee::Intrin(_) => None,
        };
        for (at, arg) in call.args.iter().enumerate() {
            let mut pointers: Vec<Buffer> = Vec::new();
            arg.walk(&mut |e| {
                let data = match e.kind() {
                    PrimKind::Var(var) => var,
                    PrimKind::Load(buffer, ..) => &buffer.data,
                    _ => return,
                };
                pointers.extend(self.fresh.get(data).cloned());
                pointers.extend(self.views.iter().filter(|(view, _)| view.data == *data).map(|(view, _)| view.clone()));
            });
            for buffer in pointers {
                let param = kernel.and_then(|kernel| kernel.params.get(at)?.buffer.as_ref());
                if let (Some(kernel), Some(param), true, 1..) = (kernel, param, self.reports, self.calls)
                    && reads_at(kernel, std::iter::once(param), self.kernel, self.calls - 1)
                        .iter()
                        .any(|read| read.memory == param.data)
                {
                    self.read(&buffer, &[]);
                }
                if let Some((memory, _)) = self.area_of(&buffer, None) {
                    let zero = || PrimExpr::int64(0);
                    let all = self.sizes(&memory).into_iter().map(|end| Range { begin: zero(), end }).collect();
                    self.add(memory, Area::of(all), false);
                }
            }
        }
    }

    /// A load at indices; without any, of the whole buffer.
    fn read(&mut self, buffer: &Buffer, indices: &[PrimExpr]) {
        let zero = PrimExpr::int64(0);
        let all = buffer.shape.iter().map(|size| Range { begin: zero.clone(), end: self.value(size) }).collect();
        let Some((memory, whole)) = self.area_of(buffer, Some(all)).filter(|_| self.reports) else { return };
        if self.found.iter().any(|read| read.memory == memory) {
            return;
        }
        let accessed = match indices.len() == buffer.ndim() {
            true => self.located(buffer, indices).and_then(|(_, area)| area),
            false => None,
        };
        let areas = self.written.get(&memory).map_or(&[][..], Vec::as_slice);
        let sizes = self.sizes(&memory);
        // An index that data decide is somewhere inside of the buffer.
        let mut read = accessed.iter().chain(&whole);
        if !read.any(|area| cover(areas, area, &sizes, self.scope.analyzer())) {
            self.found.push(PossibleRead { span: self.span, buffer: buffer.clone(), memory });
        }
    }
}

/// Whether an expression reads no memory.
fn is_stable(e: &PrimExpr) -> bool {
    !e.any(&mut |x| match x.kind() {
        PrimKind::Load(..) => true,
        PrimKind::Call(call) => !call.is_pure(),
        _ => false,
    })
}
