//! Reductions that threads of a block share in a program's own loops over threads, as the schedules of TVM have them: a
//! block with `T.init` whose reduction axis is bound to `threadIdx`.
//!
//! Each thread reduces its part in a register, the threads combine their parts, and one of them stores the result; into
//! memory of a thread, all do. So does one thread where the program stores to global memory outside of its loops over
//! threads. Neighbouring threads of a warp combine by shuffles, others through shared memory.

mod update;

use super::{
    barriers::has_barrier,
    loops::{BlockThreads, barrier, bound_loop, combine_across_threads, guarded},
};
use crate::Reason;
use hammock_ir::{
    Attrs, DType, Name, PrimExpr,
    prim::{
        IterKind, PrimKind, Substitution, Var,
        intrinsics::{THREAD_AXES, WARP_THREADS},
    },
    tir::{Block, BlockAxis, Buffer, ForKind, Loop, Stmt, StmtKind},
};
use hammock_loopnest::conjuncts;
use rustc_hash::FxHashSet;
use update::Updates;

/// Position of the first axis of threads, after those of blocks.
const FIRST_THREAD: usize = 3;

/// Combines the parts of reductions that threads share.
///
/// # Errors
/// When the threads of several blocks share one, or it has another form than those that can be combined.
pub fn combine_parts(stmt: &mut Stmt) -> Result<(), Reason> {
    if thread_axis(stmt).is_some() {
        let mut extents = [1; 3];
        measure(stmt, &mut extents);
        let mut nest = Nest { extents, has_barriers: has_barrier(stmt), reads: reads(stmt), threads: Vec::new() };
        return nest.visit(stmt);
    }
    each_child(stmt, &mut combine_parts)
}

/// Returns the number of the thread axis that a loop is bound to.
fn thread_axis(stmt: &Stmt) -> Option<usize> {
    match &stmt.kind {
        StmtKind::For(l) => axis_of(l),
        _ => None,
    }
}

fn axis_of(l: &Loop) -> Option<usize> {
    let ForKind::ThreadBinding(thread) = &l.kind else { return None };
    THREAD_AXES.iter().position(|name| thread == *name)
}

/// Collects the number of threads along each axis.
fn measure(stmt: &Stmt, extents: &mut [i64; 3]) {
    stmt.walk(&mut |stmt| {
        if let StmtKind::For(l) = &stmt.kind
            && let Some(axis) = axis_of(l).and_then(|axis| axis.checked_sub(FIRST_THREAD))
        {
            extents[axis] = extents[axis].max(l.extent.as_int().unwrap_or(i64::MAX));
        }
    });
}

/// Returns the pointers to what a statement reads.
fn reads(stmt: &Stmt) -> FxHashSet<Var> {
    let mut found = FxHashSet::default();
    stmt.walk(&mut |stmt| {
        stmt.each_expr(&mut |e| {
            e.walk(&mut |e| {
                if let PrimKind::Load(buffer, ..) = e.kind() {
                    found.insert(buffer.data.clone());
                }
            });
        });
    });
    found
}

fn each_child(stmt: &mut Stmt, f: &mut dyn FnMut(&mut Stmt) -> Result<(), Reason>) -> Result<(), Reason> {
    let mut result = Ok(());
    stmt.each_child_mut(&mut |child| {
        if result.is_ok() {
            result = f(child);
        }
    });
    result
}

/// The loops over threads around a statement.
struct Nest {
    /// Threads of a block along each axis.
    extents: [i64; 3],
    /// True if the program has barriers of its own. Otherwise all are inserted at the end.
    has_barriers: bool,
    /// Pointers to what is read.
    reads: FxHashSet<Var>,
    threads: Vec<Loop>,
}

/// A block that reduces, with the loops around it that are in the statement.
struct Found<'s> {
    loops: Vec<&'s Loop>,
    block: &'s Block,
}

impl<'s> Found<'s> {
    /// Returns the block that a statement consists of, and its loops.
    fn of(mut stmt: &'s Stmt) -> Option<Found<'s>> {
        let mut loops = Vec::new();
        loop {
            match &stmt.kind {
                StmtKind::For(l) => {
                    loops.push(&**l);
                    stmt = &l.body;
                }
                StmtKind::Seq(stmts) if stmts.len() == 1 => stmt = &stmts[0],
                StmtKind::Block(block) => return Some(Found { loops, block }),
                _ => return None,
            }
        }
    }

    /// Returns true if an axis of a kind depends on a loop.
    fn uses(&self, l: &Loop, is_reduction: bool) -> bool {
        let axes = self.block.axes.iter().filter(|axis| (axis.kind == IterKind::Reduce) == is_reduction);
        axes.into_iter().any(|axis| axis.binding.uses(&l.var))
    }
}

impl Nest {
    fn visit(&mut self, stmt: &mut Stmt) -> Result<(), Reason> {
        if let Some(combined) = self.combined(stmt)? {
            *stmt = combined.at(stmt.span);
            return Ok(());
        }
        let depth = self.threads.len();
        if let StmtKind::For(l) = &stmt.kind
            && axis_of(l).is_some()
        {
            self.threads.push(Loop { body: Stmt::nop(), ..(**l).clone() });
        }
        each_child(stmt, &mut |child| self.visit(child))?;
        self.threads.truncate(depth);
        if let StmtKind::Store { buffer, .. } = &stmt.kind
            && *buffer.scope == *"global"
            && !self.reads.contains(&buffer.data)
        {
            let store = std::mem::replace(stmt, Stmt::nop());
            *stmt = self.by_one_thread(store);
        }
        Ok(())
    }

    /// Returns a store to global memory, by one of the threads along the axes that there is no loop over.
    fn by_one_thread(&self, store: Stmt) -> Stmt {
        let is_missing = |axis: &usize| {
            self.extents[*axis] > 1 && !self.threads.iter().any(|l| axis_of(l) == Some(FIRST_THREAD + axis))
        };
        (0..3).filter(is_missing).fold(store, |store, axis| {
            let var = Var::int64("other");
            let first = guarded(var.expr().eq(PrimExpr::int64(0)), store);
            bound_loop(THREAD_AXES[FIRST_THREAD + axis], var, PrimExpr::int64(self.extents[axis]), first)
        })
    }

    /// Returns the replacement of a statement that is the outermost serial loop of a reduction that threads share, or
    /// its block if there is no serial loop.
    fn combined(&self, stmt: &Stmt) -> Result<Option<Stmt>, Reason> {
        let Some(found) = Found::of(stmt) else { return Ok(None) };
        let is_start = match found.loops.first() {
            Some(l) => axis_of(l).is_none() && found.uses(l, true),
            None => true,
        };
        let inner = found.loops.iter().copied().filter(|l| axis_of(l).is_some());
        let threads: Vec<&Loop> = self.threads.iter().chain(inner).collect();
        if !is_start || !threads.iter().any(|l| found.uses(l, true)) {
            return Ok(None);
        }
        Reduction { nest: self, threads, found: &found }.combined().map(Some)
    }
}

/// A reduction that threads share.
struct Reduction<'s> {
    nest: &'s Nest,
    /// All loops over threads around the block.
    threads: Vec<&'s Loop>,
    found: &'s Found<'s>,
}

/// The threads that run a reduction.
struct Threads {
    /// Index along each axis.
    indices: [PrimExpr; 3],
    /// Loops over the axes that the program has no loop over here.
    missing: Vec<(Name, Var, i64)>,
    /// True for the axes whose threads reduce together.
    shared: [bool; 3],
}

impl Reduction<'_> {
    fn combined(&self) -> Result<Stmt, Reason> {
        let Found { loops, block } = self.found;
        let updates = Updates::of(block).ok_or_else(|| {
            let forms = "a store of a sum, product, minimum, maximum or select for each result, after `T.init`";
            self.error(&format!("in a form that cannot be combined: it must be {forms}"))
        })?;
        let threads = self.threads()?;
        let serial: Vec<&Loop> = loops.iter().copied().filter(|l| axis_of(l).is_none()).collect();
        if serial.iter().any(|l| self.found.uses(l, false)) {
            return Err(self.error("around a loop over another axis; put that loop outside"));
        }
        let own = updates.accumulators("local", PrimExpr::int64(1));
        let zero = PrimExpr::int64(0);
        let body = Block { init: None, reads: None, writes: None, body: updates.accumulate(&own), ..(*block).clone() };
        let around = |body, l: &&Loop| Stmt::new(StmtKind::For(Box::new(Loop { body, ..(**l).clone() })));
        let part = serial.iter().rev().fold(Stmt::from(body), around);
        let mut stmts: Vec<Stmt> = own.iter().map(allocation).collect();
        stmts.extend(
            own.iter().zip(self.starts(&updates)).map(|(own, start)| Stmt::store(own, vec![zero.clone()], start)),
        );
        stmts.push(part);
        let mut combination = self.combination(&updates, &own, &threads);
        if !self.nest.has_barriers {
            remove_barriers(&mut combination);
        }
        stmts.extend([combination, self.result(&updates, &own, &threads)]);
        let missing = threads.missing.into_iter();
        let body = missing
            .fold(Stmt::seq(stmts), |body, (axis, var, count)| bound_loop(axis, var, PrimExpr::int64(count), body));
        // Loops over threads go around serial ones.
        let inner = loops.iter().filter(|l| axis_of(l).is_some());
        Ok(inner.rev().fold(body, around))
    }

    fn error(&self, why: &str) -> Reason {
        let shared =
            |axis: &&BlockAxis| axis.kind == IterKind::Reduce && self.threads.iter().any(|l| axis.binding.uses(&l.var));
        let axis = self.found.block.axes.iter().find(shared).map_or("", |axis| axis.var.name());
        let block = &self.found.block.name;
        Reason::GpuLimit(format!("several threads reduce along axis `{axis}` of block `{block}` {why}"))
    }

    fn threads(&self) -> Result<Threads, Reason> {
        let mut indices: [Option<PrimExpr>; 3] = Default::default();
        let mut shared = [false; 3];
        for l in &self.threads {
            let is_shared = self.found.uses(l, true);
            match axis_of(l).and_then(|axis| axis.checked_sub(FIRST_THREAD)) {
                Some(axis) if l.extent.as_int() == Some(self.nest.extents[axis]) && l.min.as_int() == Some(0) => {
                    indices[axis] = Some(l.var.expr().cast(DType::INT64));
                    shared[axis] |= is_shared;
                }
                Some(_) => {
                    return Err(
                        self.error("in a loop that is shorter than another one over this axis, or not from zero")
                    );
                }
                None if is_shared => return Err(self.error("in several blocks, which share no memory")),
                None => {}
            }
        }
        let mut missing = Vec::new();
        let indices = std::array::from_fn(|axis| {
            indices[axis].take().unwrap_or_else(|| {
                let count = self.nest.extents[axis];
                if count == 1 {
                    return PrimExpr::int64(0);
                }
                let var = Var::int64("other");
                missing.push((THREAD_AXES[FIRST_THREAD + axis].into(), var.clone(), count));
                var.expr()
            })
        });
        Ok(Threads { indices, missing, shared })
    }

    /// Returns the first values of the accumulators.
    fn starts(&self, updates: &Updates) -> Vec<PrimExpr> {
        let values: Substitution =
            self.found.block.axes.iter().map(|axis| (axis.var.clone(), axis.binding.clone())).collect();
        updates.starts.iter().map(|start| start.substitute(&values)).collect()
    }

    /// Combines the accumulators of the threads that reduce together; each of them gets the result.
    fn combination(&self, updates: &Updates, own: &[Buffer], threads: &Threads) -> Stmt {
        let [x, y, z] = self.nest.extents;
        let count = x * y * z;
        let strides = [1, x, x * y];
        let weighted = |axes: &mut dyn Iterator<Item = usize>| {
            let term = |axis: usize| threads.indices[axis].clone() * PrimExpr::int64(strides[axis]);
            axes.map(term).reduce(|a, b| a + b).unwrap_or(PrimExpr::int64(0))
        };
        let index = weighted(&mut (0..3));
        let shared = || (0..3).filter(|axis| threads.shared[*axis]);
        let reducers: i64 = shared().map(|axis| self.nest.extents[axis]).product();
        let is_leading = !(0..3)
            .any(|axis| !threads.shared[axis] && self.nest.extents[axis] > 1 && shared().any(|other| other > axis));
        let fits_warps = reducers % WARP_THREADS == 0 || WARP_THREADS % reducers == 0;
        if let Some(op) = updates.op
            && is_leading
            && fits_warps
            && count % WARP_THREADS == 0
        {
            return combine_across_threads(
                op,
                &own[0],
                &PrimExpr::int64(0),
                &BlockThreads { index, count, reducers, stride: 1 },
            );
        }
        let parts = updates.accumulators("shared", PrimExpr::int64(count));
        let store = |(part, own): (&Buffer, &Buffer)| {
            Stmt::store(part, vec![index.clone()], PrimExpr::load(own, vec![PrimExpr::int64(0)]))
        };
        let first = weighted(&mut (0..3).filter(|axis| !threads.shared[*axis]));
        let at = |at: &PrimExpr| parts.iter().map(|part| PrimExpr::load(part, vec![at.clone()])).collect::<Vec<_>>();
        let start = own.iter().zip(at(&first)).map(|(own, part)| Stmt::store(own, vec![PrimExpr::int64(0)], part));
        let mut stmts: Vec<Stmt> = parts.iter().map(allocation).collect();
        stmts.push(barrier());
        stmts.extend(parts.iter().zip(own).map(store));
        stmts.push(barrier());
        stmts.extend(start);
        // The others, in the order of their numbers.
        let vars: Vec<(Var, usize)> = shared().map(|axis| (Var::int64("part"), axis)).collect();
        let offsets = vars.iter().map(|(var, axis)| var.expr() * PrimExpr::int64(strides[*axis]));
        let other = offsets.fold(first, |at, offset| at + offset);
        let is_first = vars.iter().map(|(var, _)| var.expr().eq(PrimExpr::int64(0))).reduce(PrimExpr::and);
        let fold = updates.combine(own, &at(&other));
        let fold = is_first.map_or_else(Stmt::nop, |is_first| guarded(is_first.not(), fold));
        stmts.push(vars.into_iter().fold(fold, |body, (var, axis)| {
            Stmt::for_kind(var, PrimExpr::int64(self.nest.extents[axis]), ForKind::Serial, body)
        }));
        Stmt::seq(stmts)
    }

    /// Stores the results: one thread of those that reduce together, unless each has its own memory.
    fn result(&self, updates: &Updates, own: &[Buffer], threads: &Threads) -> Stmt {
        let block = self.found.block;
        let reduces = |e: &PrimExpr| {
            let all = self.threads.iter().copied().chain(self.found.loops.iter().copied());
            all.filter(|l| self.found.uses(l, true)).any(|l| e.uses(&l.var))
        };
        let mut conditions: Vec<PrimExpr> =
            block.predicate.iter().flat_map(conjuncts).filter(|e| !reduces(e)).collect();
        if !updates.buffers().all(|buffer| *buffer.scope == *"local") {
            let is_missing =
                |axis: usize| threads.missing.iter().any(|(name, ..)| name == THREAD_AXES[FIRST_THREAD + axis]);
            let one = (0..3).filter(|axis| threads.shared[*axis] || is_missing(*axis));
            conditions.extend(one.map(|axis| threads.indices[axis].clone().eq(PrimExpr::int64(0))));
        }
        let spatial = block.axes.iter().filter(|axis| axis.kind != IterKind::Reduce);
        let axes: Vec<BlockAxis> = spatial
            .map(|axis| BlockAxis { var: Var::new(axis.var.name().clone(), axis.var.ty().clone()), ..axis.clone() })
            .collect();
        let spatial = block.axes.iter().filter(|axis| axis.kind != IterKind::Reduce);
        let fresh: Substitution = spatial.zip(&axes).map(|(old, new)| (old.var.clone(), new.var.expr())).collect();
        let mut body = updates.results(own);
        body.substitute(&fresh);
        Stmt::from(Block {
            name: format!("{}_result", block.name).into(),
            axes,
            predicate: conditions.into_iter().reduce(PrimExpr::and),
            reads: None,
            writes: None,
            annotations: Attrs::new(),
            init: None,
            body,
            alloc_buffers: Vec::new(),
            match_buffers: Vec::new(),
            no_realize: false,
        })
    }
}

fn allocation(buffer: &Buffer) -> Stmt {
    Stmt::new(StmtKind::Alloc(buffer.clone(), Attrs::new()))
}

fn remove_barriers(stmt: &mut Stmt) {
    if matches!(&stmt.kind, StmtKind::Evaluate(e) if e.as_intrin("tvm_storage_sync").is_some()) {
        *stmt = Stmt::nop();
    }
    stmt.each_child_mut(&mut remove_barriers);
}
