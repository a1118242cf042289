//! Barriers of scheduled programs: TVM's schedules leave them to the compiler.
//!
//! If a device region has shared memory and no barrier, one is put before each statement that accesses what another
//! statement since the last barrier stored, or stores what one accessed. A loop whose next iteration does so ends with
//! one. Barriers are where all threads of a block pass: not in branches that depend on a thread.

use super::loops::barrier;
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::{Stmt, StmtKind},
};
use rustc_hash::FxHashSet;

/// Inserts barriers into the body of a region whose thread indices are `threads`.
pub fn insert(body: &mut Stmt, threads: impl Iterator<Item = Var>) {
    let mut buffers = FxHashSet::default();
    body.walk(&mut |stmt| {
        if let StmtKind::Alloc(buffer, _) = &stmt.kind
            && buffer.scope.starts_with("shared")
        {
            buffers.insert(buffer.data.clone());
        }
    });
    if !buffers.is_empty() && !has_barrier(body) {
        Inserter { buffers, varying: threads.collect() }.stmt(body, &mut Accesses::default());
    }
}

/// Returns true if threads wait for each other in a statement.
pub fn has_barrier(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.walk(&mut |stmt| {
        stmt.each_expr(&mut |e| found |= e.any(&mut |e| e.as_intrin("tvm_storage_sync").is_some()));
    });
    found
}

/// Shared buffers that statements read and write.
#[derive(Clone, Default)]
struct Accesses {
    reads: FxHashSet<Var>,
    writes: FxHashSet<Var>,
}

impl Accesses {
    /// Returns true if `next` must not run at the same time on another thread.
    fn conflict(&self, next: &Accesses) -> bool {
        let meets = |a: &FxHashSet<Var>, b: &FxHashSet<Var>| a.iter().any(|var| b.contains(var));
        meets(&self.writes, &next.reads) || meets(&self.writes, &next.writes) || meets(&self.reads, &next.writes)
    }

    fn add(&mut self, other: Accesses) {
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
    }
}

struct Inserter {
    /// Pointers to shared memory.
    buffers: FxHashSet<Var>,
    /// Variables that differ between threads.
    varying: FxHashSet<Var>,
}

impl Inserter {
    /// Inserts barriers into a statement, given the accesses since the last one.
    fn stmt(&mut self, stmt: &mut Stmt, pending: &mut Accesses) {
        match &mut stmt.kind {
            StmtKind::Seq(stmts) => {
                let mut all = Vec::with_capacity(stmts.len());
                for mut stmt in std::mem::take(stmts) {
                    if pending.conflict(&self.accesses(&stmt)) {
                        all.push(barrier());
                        *pending = Accesses::default();
                    }
                    self.stmt(&mut stmt, pending);
                    all.push(stmt);
                }
                *stmts = all;
            }
            StmtKind::For(l) if !self.varies(&l.min) && !self.varies(&l.extent) => {
                self.stmt(&mut l.body, pending);
                if pending.conflict(&self.accesses(&l.body)) {
                    let body = std::mem::replace(&mut l.body, Stmt::nop());
                    l.body = Stmt::new(StmtKind::Seq(vec![body, barrier()]));
                    *pending = Accesses::default();
                }
            }
            StmtKind::If(condition, then, otherwise) if !self.varies(condition) => {
                let mut other = pending.clone();
                self.stmt(then, pending);
                if let Some(otherwise) = otherwise {
                    self.stmt(otherwise, &mut other);
                }
                pending.add(other);
            }
            StmtKind::Attr { body, .. } => self.stmt(body, pending),
            _ => {
                if let StmtKind::Bind(var, value) = &stmt.kind
                    && self.varies(value)
                {
                    self.varying.insert(var.clone());
                }
                pending.add(self.accesses(stmt));
            }
        }
    }

    /// Returns true if a value may differ between threads.
    fn varies(&self, e: &PrimExpr) -> bool {
        e.any(&mut |e| match e.kind() {
            PrimKind::Var(var) => self.varying.contains(var),
            PrimKind::Load(..) => true,
            _ => false,
        })
    }

    /// Returns the shared buffers that a statement accesses. An address counts as both.
    fn accesses(&self, stmt: &Stmt) -> Accesses {
        let mut found = Accesses::default();
        stmt.walk(&mut |stmt| {
            if let StmtKind::Store { buffer, .. } = &stmt.kind
                && self.buffers.contains(&buffer.data)
            {
                found.writes.insert(buffer.data.clone());
            }
            stmt.each_expr(&mut |e| {
                e.walk(&mut |e| match e.kind() {
                    PrimKind::Load(buffer, ..) if self.buffers.contains(&buffer.data) => {
                        found.reads.insert(buffer.data.clone());
                    }
                    PrimKind::Var(var) if self.buffers.contains(var) => {
                        found.reads.insert(var.clone());
                        found.writes.insert(var.clone());
                    }
                    _ => {}
                });
            });
        });
        found
    }
}
