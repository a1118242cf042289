//! Hoists `T.init` out of reductions that may be empty.
//!
//! A block runs its `init` in the first iteration of its reduction axes. If their loops are empty, or a condition skips
//! the first iteration, the result is still the initial value: `init` then runs before the outermost reduction loop,
//! for all values of the other axes. Scheduled stages handle this themselves; this is for all other loop nests, and for
//! the interpreter.

use super::{Block, BlockAxis, Loop, Stmt, StmtKind, fresh};
use crate::{
    DType, PrimExpr,
    arith::Analyzer,
    prim::{BinaryOp, IterKind, PrimKind, Substitution, Var},
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// Hoists the `init` of reductions that may be empty to before their loops.
pub fn hoist_inits(stmt: &Stmt) -> Cow<'_, Stmt> {
    let mut has_init = false;
    stmt.walk(&mut |s| has_init |= matches!(&s.kind, StmtKind::Block(block) if block.init.is_some()));
    let mut starts = FxHashMap::default();
    if has_init {
        find(stmt, &mut Vec::new(), &mut starts);
    }
    if starts.is_empty() {
        return Cow::Borrowed(stmt);
    }
    let mut stmt = stmt.clone();
    insert(&mut stmt, &mut starts);
    Cow::Owned(stmt)
}

/// Puts statements before the loops over these variables.
fn insert(stmt: &mut Stmt, starts: &mut FxHashMap<Var, Vec<Stmt>>) {
    stmt.each_child_mut(&mut |s| insert(s, starts));
    if let StmtKind::For(l) = &stmt.kind
        && let Some(first) = starts.remove(&l.var)
    {
        let span = stmt.span;
        let rest = std::mem::replace(stmt, Stmt::nop());
        *stmt = Stmt::seq(first.into_iter().chain([rest])).at(span);
    }
}

/// An enclosing statement on the path from a function's body to a block.
#[derive(Clone, Copy)]
enum Step<'s> {
    Loop(&'s Loop),
    Block(&'s Block),
    Condition(&'s PrimExpr, bool),
    Value(&'s Var, &'s PrimExpr),
    /// A loop with unknown iterations.
    Unknown,
}

/// Looks for blocks with an `init` whose reduction may be empty.
fn find<'s>(stmt: &'s Stmt, path: &mut Vec<Step<'s>>, starts: &mut FxHashMap<Var, Vec<Stmt>>) {
    let depth = path.len();
    match &stmt.kind {
        StmtKind::Seq(stmts) => {
            for stmt in stmts {
                find(stmt, path, starts);
                if let StmtKind::Bind(var, value) = &stmt.kind {
                    path.push(Step::Value(var, value));
                }
            }
        }
        StmtKind::If(condition, then, otherwise) => {
            path.push(Step::Condition(condition, true));
            find(then, path, starts);
            path[depth] = Step::Condition(condition, false);
            otherwise.iter().for_each(|s| find(s, path, starts));
        }
        StmtKind::Block(block) => {
            path.push(Step::Block(block));
            if let Some(init) = &block.init
                && let Some((var, start)) = hoisted_init(path, block, init)
            {
                starts.entry(var).or_default().push(start);
            }
            find(&block.body, path, starts);
        }
        _ => {
            path.extend(match &stmt.kind {
                StmtKind::For(l) => Some(Step::Loop(l)),
                StmtKind::While(..) => Some(Step::Unknown),
                _ => None,
            });
            stmt.each_child(&mut |s| find(s, path, starts));
        }
    }
    path.truncate(depth);
}

/// Returns the statement that initializes a block's reduction if its first iteration is skipped, and the variable of
/// the loop to put it before; `None` if that iteration certainly runs, or if this is unknown.
fn hoisted_init(path: &[Step], block: &Block, init: &Stmt) -> Option<(Var, Stmt)> {
    let reduced = reduction_loops(path, block);
    let first = path.iter().position(|step| matches!(step, Step::Loop(l) if reduced.contains(&l.var)))?;
    let Step::Loop(outermost) = path[first] else { return None };
    let mut analyzer = Analyzer::for_shapes();
    for step in path {
        match step {
            Step::Loop(l) if !reduced.contains(&l.var) => analyzer.bind(&l.var, &l.min, &l.extent),
            Step::Block(block) => {
                let spatial = block.axes.iter().filter(|axis| axis.kind != IterKind::Reduce);
                spatial.for_each(|axis| analyzer.bind(&axis.var, &axis.dom.0, &axis.dom.1));
            }
            _ => {}
        }
    }
    let mut inner =
        Inner { analyzer, reduced, values: Substitution::default(), missing: Vec::new(), own: FxHashSet::default() };
    let mut wraps: Vec<Wrap> = Vec::new();
    for step in &path[first..] {
        inner.step(*step, &mut wraps)?;
    }
    if inner.missing.is_empty() || writes_own(init, &inner) {
        return None;
    }
    // A condition that depends on inner loops is inside them.
    let around = |e: &PrimExpr| !inner.own.iter().any(|var| e.uses(var));
    let is_outer = inner.missing.iter().all(around);
    let missing = inner.missing.iter().cloned().reduce(either)?;
    let mut start = init.clone();
    start.substitute(&inner.values);
    if !is_outer {
        start = Stmt::new(StmtKind::If(missing.clone(), Box::new(start), None));
    }
    for wrap in wraps.into_iter().rev() {
        start = wrap.around(start);
    }
    if is_outer {
        start = Stmt::new(StmtKind::If(missing, Box::new(start), None));
    }
    Some((outermost.var.clone(), fresh::copy(&start, Substitution::default())))
}

/// The loops that the reduction axes of a block iterate over, resolved through the axes of enclosing blocks.
fn reduction_loops(path: &[Step], block: &Block) -> FxHashSet<Var> {
    let mut vars: FxHashSet<Var> = FxHashSet::default();
    for axis in block.axes.iter().filter(|axis| axis.kind == IterKind::Reduce) {
        axis.binding.each_var(&mut |v| _ = vars.insert(v.clone()));
    }
    for step in path.iter().rev().skip(1) {
        match step {
            Step::Block(outer) => {
                for axis in outer.axes.iter().filter(|axis| vars.contains(&axis.var)).collect::<Vec<_>>() {
                    axis.binding.each_var(&mut |v| _ = vars.insert(v.clone()));
                }
            }
            Step::Value(var, value) if vars.contains(var) => value.each_var(&mut |v| _ = vars.insert(v.clone())),
            _ => {}
        }
    }
    let is_loop = |step: &Step, var: &Var| matches!(step, Step::Loop(l) if l.var == *var);
    vars.retain(|var| path.iter().any(|step| is_loop(step, var)));
    vars
}

/// A statement around the `init` that is hoisted.
enum Wrap {
    Loop(Loop),
    Block(Box<Block>),
    Condition(PrimExpr),
    Value(Var, PrimExpr),
}

impl Wrap {
    fn around(self, body: Stmt) -> Stmt {
        Stmt::new(match self {
            Wrap::Loop(l) => StmtKind::For(Box::new(Loop { body, ..l })),
            Wrap::Block(block) => StmtKind::Block(Box::new(Block { body, ..*block })),
            Wrap::Condition(condition) => StmtKind::If(condition, Box::new(body), None),
            Wrap::Value(var, value) => StmtKind::Seq(vec![Stmt::new(StmtKind::Bind(var, value)), body]),
        })
    }
}

/// State of the walk from the outermost reduction loop to the block.
struct Inner {
    /// Bounds of loops and axes other than those of the reduction.
    analyzer: Analyzer,
    reduced: FxHashSet<Var>,
    /// The first values of reduction loops, and values derived from them.
    values: Substitution,
    /// Conditions under which the first iteration is skipped.
    missing: Vec<PrimExpr>,
    /// Variables defined on that path.
    own: FxHashSet<Var>,
}

impl Inner {
    fn step(&mut self, step: Step, wraps: &mut Vec<Wrap>) -> Option<()> {
        match step {
            Step::Unknown => return None,
            Step::Loop(l) if self.reduced.contains(&l.var) => {
                let (min, extent) = (self.at_first(&l.min), self.at_first(&l.extent));
                self.skip_first_unless(&extent.gt(PrimExpr::int(0, l.extent.dtype())));
                self.values.insert(l.var.clone(), min);
            }
            Step::Loop(l) => {
                // Iterations that depend on a reduction are not known before it.
                if [&l.min, &l.extent].iter().any(|e| self.varies(e)) {
                    return None;
                }
                self.own.insert(l.var.clone());
                let (min, extent) = (self.at_first(&l.min), self.at_first(&l.extent));
                wraps.push(Wrap::Loop(Loop { min, extent, body: Stmt::nop(), ..l.clone() }));
            }
            Step::Condition(condition, true) => self.condition(condition, wraps),
            Step::Condition(condition, false) => self.condition(&condition.clone().not(), wraps),
            Step::Value(var, value) if self.varies(value) => {
                let value = self.at_first(value);
                self.values.insert(var.clone(), value);
            }
            Step::Value(var, value) => {
                self.own.insert(var.clone());
                wraps.push(Wrap::Value(var.clone(), self.at_first(value)));
            }
            Step::Block(block) => return self.block(block, wraps),
        }
        Some(())
    }

    fn block(&mut self, block: &Block, wraps: &mut Vec<Wrap>) -> Option<()> {
        let mut axes = Vec::new();
        for axis in &block.axes {
            if axis.kind == IterKind::Reduce || self.varies(&axis.binding) {
                let value = match axis.kind {
                    IterKind::Reduce => &axis.dom.0,
                    _ => &axis.binding,
                };
                let (value, at) = (self.at_first(value), self.at_first(&axis.binding));
                if axis.kind == IterKind::Reduce {
                    self.skip_first_unless(&at.eq(value.clone()));
                }
                self.values.insert(axis.var.clone(), value);
            } else {
                self.own.insert(axis.var.clone());
                let (binding, dom) =
                    (self.at_first(&axis.binding), (self.at_first(&axis.dom.0), self.at_first(&axis.dom.1)));
                axes.push(BlockAxis { binding, dom, ..axis.clone() });
            }
        }
        if let Some(predicate) = &block.predicate {
            self.condition(predicate, wraps);
        }
        let mut ranges = block.match_buffers.iter().flat_map(|m| &m.source.ranges);
        if ranges.any(|(min, extent)| self.varies(min) || self.varies(extent)) {
            return None;
        }
        let match_buffers = block.match_buffers.clone();
        self.own.extend(block.alloc_buffers.iter().map(|b| b.data.clone()));
        let name = format!("{}_init", block.name).into();
        let kept = Block { name, axes, match_buffers, ..Block::root(Vec::new(), Stmt::nop()) };
        wraps.push(Wrap::Block(Box::new(Block { reads: None, writes: None, ..kept })));
        Some(())
    }

    /// Splits a condition: parts on other axes remain, parts on the reduction may skip its first iteration.
    fn condition(&mut self, condition: &PrimExpr, wraps: &mut Vec<Wrap>) {
        match condition.kind() {
            PrimKind::Binary(BinaryOp::And, a, b) => {
                self.condition(a, wraps);
                self.condition(b, wraps);
            }
            _ if self.varies(condition) => self.skip_first_unless(&self.at_first(condition)),
            _ => wraps.push(Wrap::Condition(self.at_first(condition))),
        }
    }

    /// Records that the first iteration runs only if the condition holds.
    fn skip_first_unless(&mut self, condition: &PrimExpr) {
        if !self.analyzer.prove(condition) {
            self.missing.push(condition.clone().not());
        }
    }

    /// Returns true if an expression varies over the reduction.
    fn varies(&self, e: &PrimExpr) -> bool {
        self.reduced.iter().chain(self.values.keys()).any(|var| e.uses(var))
    }

    fn at_first(&self, e: &PrimExpr) -> PrimExpr {
        e.substitute(&self.values)
    }
}

/// Returns true if `init` writes memory that is allocated within the loops.
fn writes_own(init: &Stmt, inner: &Inner) -> bool {
    let mut own = false;
    init.walk(&mut |s| {
        if let StmtKind::Store { buffer, .. } = &s.kind {
            own |= inner.own.contains(&buffer.data);
        }
    });
    own
}

/// `a or b`, where `b` is not evaluated if `a` holds.
fn either(a: PrimExpr, b: PrimExpr) -> PrimExpr {
    a.if_then_else(PrimExpr::int(1, DType::BOOL), b)
}
