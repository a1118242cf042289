//! Memory of threads and blocks in its actual size, as TVM's CompactBufferAllocation has it: schedules declare it with
//! the shape of the whole tensor, of which a thread or block uses a part.
//!
//! The position of the part is what an index has of variables that are the same in all accesses of a thread (`local`)
//! or of a block (`shared`): indices of blocks and threads, and serial loops around all accesses, if the buffer belongs
//! to a block, which allocates it where it is used. The other variables determine the extent.

use hammock_ir::{
    DType, PrimExpr,
    arith::Analyzer,
    prim::{
        PrimCallee, PrimKind, Substitution, Var,
        intrinsics::{Effect, THREAD_AXES, effect},
    },
    tir::{Block, Buffer, ForKind, Region, Stmt, StmtKind},
};
use hammock_loopnest::index::{Poly, Simplifier};
use rustc_hash::{FxHashMap, FxHashSet};

/// Position of the first axis of threads, after those of blocks.
const FIRST_THREAD: usize = 3;

/// Reduces the buffers of threads and blocks in a body to the parts that they use.
pub fn compact(body: &mut Stmt) {
    let mut buffers = Buffers::default();
    buffers.find(body);
    if buffers.uses.is_empty() {
        return;
    }
    let axes = Axes::new();
    let mut context = Context::default();
    walk(body, &axes, &mut context, &mut |buffer, indices, context| {
        buffers.record(buffer, indices, context);
        None
    });
    let parts: FxHashMap<Buffer, Part> = buffers
        .uses
        .into_iter()
        .filter_map(|(buffer, uses)| Some((buffer.clone(), uses.part(&buffer, &axes)?)))
        .collect();
    if parts.is_empty() {
        return;
    }
    walk(body, &axes, &mut context, &mut |buffer, indices, context| {
        let part = parts.get(buffer)?;
        Some((part.buffer.clone(), part.relative(indices, context)))
    });
    declare(body, &parts);
}

/// Variables that stand for the thread axes: several loops may be bound to one.
struct Axes {
    vars: [Var; 6],
}

impl Axes {
    fn new() -> Axes {
        Axes { vars: THREAD_AXES.map(Var::int64) }
    }

    fn number(&self, var: &Var) -> Option<usize> {
        self.vars.iter().position(|axis| axis == var)
    }
}

/// A loop around a statement.
#[derive(Clone)]
struct Around {
    var: Var,
    /// Number of the loop in the body.
    number: usize,
    min: PrimExpr,
    extent: PrimExpr,
}

/// The statements around a statement.
#[derive(Clone, Default)]
struct Context {
    /// Values of block axes and bound variables, and axes for the variables of loops over threads.
    values: Substitution,
    /// Loops, outermost first; those over threads by their axes.
    loops: Vec<Around>,
    /// Number of loops so far.
    seen: usize,
    /// The program's own variables of thread axes.
    threads: Substitution,
}

/// Replacement of an access.
type Rewrite<'f> = &'f mut dyn FnMut(&Buffer, &[PrimExpr], &Context) -> Option<(Buffer, Vec<PrimExpr>)>;

/// Calls `f` on all accesses in a statement, and replaces those for which it returns others.
fn walk(stmt: &mut Stmt, axes: &Axes, context: &mut Context, f: Rewrite) {
    let outside = context.clone();
    match &mut stmt.kind {
        StmtKind::For(l) => {
            let number = match &l.kind {
                ForKind::ThreadBinding(thread) => THREAD_AXES.iter().position(|name| thread == *name),
                _ => None,
            };
            let mut var = l.var.clone();
            if l.extent.as_int() == Some(1) {
                context.values.insert(var.clone(), l.min.substitute(&outside.values));
            } else if let Some(number) = number {
                var = axes.vars[number].clone();
                context.values.insert(l.var.clone(), var.expr().cast(l.var.dtype()));
                context.threads.insert(var.clone(), l.var.expr().cast(DType::INT64));
            }
            context.seen += 1;
            let (min, extent) = (l.min.clone(), l.extent.clone());
            context.loops.push(Around { var, number: context.seen, min, extent });
        }
        StmtKind::Block(block) => {
            for axis in &block.axes {
                context.values.insert(axis.var.clone(), axis.binding.substitute(&outside.values));
            }
            block.predicate = block.predicate.as_ref().map(|e| accesses(e, context, f));
        }
        StmtKind::Store { buffer, indices, value, predicate } => {
            *value = accesses(value, context, f);
            *predicate = predicate.as_ref().map(|e| accesses(e, context, f));
            indices.iter_mut().for_each(|index| *index = accesses(index, context, f));
            if let Some((to, at)) = f(buffer, indices, context) {
                (*buffer, *indices) = (to, at);
            }
        }
        StmtKind::Bind(var, value) => {
            *value = accesses(value, context, f);
            if !var.dtype().is_handle() {
                context.values.insert(var.clone(), value.substitute(&outside.values));
            }
            return;
        }
        StmtKind::If(e, ..)
        | StmtKind::While(e, _)
        | StmtKind::Evaluate(e)
        | StmtKind::Assert(e, ..)
        | StmtKind::Return(e) => {
            *e = accesses(e, context, f);
        }
        _ => {}
    }
    stmt.each_child_mut(&mut |child| walk(child, axes, context, f));
    *context = Context { seen: context.seen, ..outside };
}

fn accesses(e: &PrimExpr, context: &Context, f: Rewrite) -> PrimExpr {
    let e = e.map_children(&mut |child| accesses(child, context, f));
    match e.kind() {
        PrimKind::Load(buffer, indices, mask) => match f(buffer, indices, context) {
            Some((to, at)) => PrimExpr::load_masked(&to, at, mask.clone()),
            None => e,
        },
        _ => e,
    }
}

/// The buffers that may be reduced.
#[derive(Default)]
struct Buffers {
    uses: FxHashMap<Buffer, Uses>,
}

impl Buffers {
    /// Finds the memory of threads and blocks that is only accessed by indices.
    fn find(&mut self, body: &Stmt) {
        let mut exposed: FxHashSet<Var> = FxHashSet::default();
        body.walk(&mut |stmt| {
            match &stmt.kind {
                StmtKind::Block(block) => {
                    block.alloc_buffers.iter().for_each(|buffer| self.add(buffer, true));
                    exposed.extend(block.match_buffers.iter().map(|matched| matched.source.buffer.data.clone()));
                }
                StmtKind::Alloc(buffer, _) => self.add(buffer, false),
                StmtKind::Decl(buffer) => drop(exposed.insert(buffer.data.clone())),
                _ => {}
            }
            stmt.each_expr(&mut |e| {
                e.walk(&mut |e| match e.kind() {
                    PrimKind::Var(var) if var.dtype().is_handle() => drop(exposed.insert(var.clone())),
                    PrimKind::Call(call) if takes_address(&call.callee) => call.args.iter().for_each(|arg| {
                        if let PrimKind::Load(buffer, ..) = arg.kind() {
                            exposed.insert(buffer.data.clone());
                        }
                    }),
                    _ => {}
                });
            });
        });
        self.uses.retain(|buffer, _| !exposed.contains(&buffer.data));
    }

    fn add(&mut self, buffer: &Buffer, is_placed: bool) {
        let is_private = *buffer.scope == *"local" || buffer.scope.starts_with("shared");
        if is_private && buffer.strides.is_empty() && buffer.elem_offset.is_none() && !buffer.shape.is_empty() {
            self.uses.insert(buffer.clone(), Uses { is_placed, accesses: Vec::new(), loops: Vec::new() });
        }
    }

    fn record(&mut self, buffer: &Buffer, indices: &[PrimExpr], context: &Context) {
        let Some(uses) = self.uses.get_mut(buffer) else { return };
        let indices = indices.iter().map(|index| index.substitute(&context.values));
        uses.accesses.push(indices.map(|index| Simplifier::default().poly(&index)).collect());
        uses.loops.push(context.loops.clone());
    }
}

/// Returns true if an intrinsic takes the address of an element.
fn takes_address(callee: &PrimCallee) -> bool {
    matches!(callee, PrimCallee::Intrin(name) if effect(name) == Effect::Address)
}

/// Accesses of a buffer.
struct Uses {
    /// True if a block allocates it: where it is used.
    is_placed: bool,
    accesses: Vec<Vec<Poly>>,
    /// The loops around each of them.
    loops: Vec<Vec<Around>>,
}

/// The part of a buffer that is used.
struct Part {
    buffer: Buffer,
    /// For each dimension that is reduced, the position of the part, and what to subtract from the rest.
    starts: Vec<Option<(Poly, i64)>>,
}

impl Uses {
    fn part(&self, buffer: &Buffer, axes: &Axes) -> Option<Part> {
        let inner = self.inner_vars(buffer, axes);
        let mut analyzer = Analyzer::for_shapes();
        for l in self.loops.iter().flatten().filter(|l| inner.contains(&l.var)) {
            analyzer.bind(&l.var, &l.min, &l.extent);
        }
        let mut shape = buffer.shape.clone();
        let mut starts = Vec::new();
        for (dim, size) in shape.iter_mut().enumerate() {
            let start = self
                .extent(dim, &inner, &analyzer)
                .filter(|(_, _, extent)| size.as_int().is_none_or(|size| *extent < size));
            starts.push(start.map(|(start, low, extent)| {
                *size = PrimExpr::int64(extent);
                (start, low)
            }));
        }
        starts.iter().any(Option::is_some).then(|| Part { buffer: buffer.change(|b| b.shape = shape), starts })
    }

    /// Returns the variables of loops that differ between accesses of a part.
    fn inner_vars(&self, buffer: &Buffer, axes: &Axes) -> FxHashSet<Var> {
        let first = self.loops.first().map(Vec::as_slice).unwrap_or_default();
        let is_common =
            |at: usize| self.loops.iter().all(|loops| loops.get(at).is_some_and(|l| l.number == first[at].number));
        let common = if self.is_placed { (0..first.len()).take_while(|at| is_common(*at)).count() } else { 0 };
        let around: FxHashSet<Var> = first[..common].iter().map(|l| l.var.clone()).collect();
        let is_own = |var: &Var| match axes.number(var) {
            Some(number) => number < FIRST_THREAD || *buffer.scope == *"local",
            None => around.contains(var),
        };
        self.loops.iter().flatten().map(|l| l.var.clone()).filter(|var| !is_own(var)).collect()
    }

    /// Returns the position of the part along a dimension, the minimum of the rest, and its extent.
    fn extent(&self, dim: usize, inner: &FxHashSet<Var>, analyzer: &Analyzer) -> Option<(Poly, i64, i64)> {
        let mut found: Option<(Poly, i64, i64)> = None;
        for access in &self.accesses {
            let (rest, start) = split(access.get(dim)?, |var| inner.contains(var));
            let range = analyzer.interval(&rest.to_expr());
            let (low, high) = (range.min, range.max);
            found = Some(match found {
                None => (start, low, high),
                Some((known, ..)) if !known.checked_sub(&start)?.is_zero() => return None,
                Some((known, min, max)) => (known, min.min(low), max.max(high)),
            });
        }
        let (start, low, high) = found?;
        Some((start, low, high.checked_sub(low)?.checked_add(1)?))
    }
}

/// Splits an index into what depends on inner variables, with the constants, and the rest.
fn split(index: &Poly, is_inner: impl Fn(&Var) -> bool) -> (Poly, Poly) {
    let uses_inner = |e: &PrimExpr| e.any(&mut |e| matches!(e.kind(), PrimKind::Var(var) if is_inner(var)));
    index.partition(|atoms, _| atoms.is_empty() || atoms.iter().any(uses_inner))
}

impl Part {
    /// Returns indices in the part.
    fn relative(&self, indices: &[PrimExpr], context: &Context) -> Vec<PrimExpr> {
        let relative = |(index, start): (&PrimExpr, &Option<(Poly, i64)>)| {
            let Some((start, low)) = start else { return index.clone() };
            let whole = Simplifier::default().poly(&index.substitute(&context.values));
            let rest = whole.checked_sub(start).and_then(|rest| rest.checked_sub(&Poly::constant(*low)));
            rest.map_or_else(|| index.clone(), |rest| rest.to_expr().substitute(&context.threads))
        };
        indices.iter().zip(&self.starts).map(relative).collect()
    }
}

/// Replaces declarations; regions of blocks are inferred again.
fn declare(stmt: &mut Stmt, parts: &FxHashMap<Buffer, Part>) {
    let part = |buffer: &mut Buffer| {
        if let Some(part) = parts.get(buffer) {
            *buffer = part.buffer.clone();
        }
    };
    match &mut stmt.kind {
        StmtKind::Block(block) => {
            block.alloc_buffers.iter_mut().for_each(part);
            let Block { reads, writes, .. } = &mut **block;
            for regions in [reads, writes] {
                let is_reduced =
                    |regions: &Vec<Region>| regions.iter().any(|region: &Region| parts.contains_key(&region.buffer));
                if regions.as_ref().is_some_and(is_reduced) {
                    *regions = None;
                }
            }
        }
        StmtKind::Alloc(buffer, _) => part(buffer),
        _ => {}
    }
    stmt.each_child_mut(&mut |child| declare(child, parts));
}
