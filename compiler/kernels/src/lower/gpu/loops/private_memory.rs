//! Memory that statements of a device region allocate: small arrays are local to a thread; others become workspaces
//! that the host allocates before, with room for every thread.

use crate::{Reason, lower::gpu::host_code::is_host_value};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::{Buffer, Stmt, StmtKind},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Maximum bytes of an array in the local memory of a thread.
const MAX_LOCAL_BYTES: i64 = 1024;

/// Workspaces that the host allocates.
#[derive(Default)]
pub struct Workspaces(Vec<Buffer>);

/// Number of the current thread, and the number of threads.
type Threads = (Var, PrimExpr);

impl Workspaces {
    /// Moves the allocations in the body of a region out of it, or to local memory. `threads`: of a region with several.
    ///
    /// # Errors
    /// When the host does not know the size of one, or threads cannot have parts of it.
    pub fn hoist(&mut self, body: &mut Stmt, threads: Option<&Threads>) -> Result<(), Reason> {
        let mut allocated = Vec::new();
        find(body, &mut allocated);
        let mut inside = FxHashSet::default();
        variables(body, &mut inside);
        let mut moved: FxHashMap<Var, Buffer> = FxHashMap::default();
        for buffer in allocated.iter().filter(|buffer| !is_local(buffer)) {
            let is_known = |size: &PrimExpr| is_host_value(size) && !inside.iter().any(|var| size.uses(var));
            let mut known = true;
            buffer.each_expr(&mut |size| known &= is_known(size));
            if !known {
                return Err(Reason::BufferSize(buffer.name.clone()));
            }
            let plain = buffer.strides.is_empty() && buffer.elem_offset.is_none() && !is_viewed(body, buffer);
            let workspace = match threads {
                None => buffer.change(|b| b.scope = "global".into()),
                Some((_, count)) if plain => {
                    let shape = [count.clone()].into_iter().chain(buffer.shape.iter().cloned()).collect();
                    Buffer::new(buffer.name.clone(), shape, buffer.dtype)
                }
                Some(_) => return Err(Reason::NoMemory(buffer.name.clone())),
            };
            moved.insert(buffer.data.clone(), workspace);
        }
        let number = threads.map(|(number, _)| number);
        let located = |buffer: &Buffer, indices: &[PrimExpr]| {
            let (workspace, number) = (moved.get(&buffer.data)?, number?.expr());
            Some((workspace.clone(), [number].into_iter().chain(indices.iter().cloned()).collect()))
        };
        body.map_exprs(&mut |e| load(e, &located));
        rewrite(body, &moved, &located);
        self.0.extend(allocated.iter().filter_map(|buffer| moved.get(&buffer.data).cloned()));
        Ok(())
    }

    /// Returns the allocations.
    pub fn allocations(self) -> Vec<Stmt> {
        self.0.into_iter().map(|buffer| Stmt::new(StmtKind::Alloc(buffer, Default::default()))).collect()
    }
}

/// Finds the buffers that statements allocate.
fn find(stmt: &Stmt, found: &mut Vec<Buffer>) {
    match &stmt.kind {
        StmtKind::Alloc(buffer, _) => found.push(buffer.clone()),
        StmtKind::Block(block) => found.extend(block.alloc_buffers.iter().cloned()),
        _ => {}
    }
    stmt.each_child(&mut |stmt| find(stmt, found));
}

/// Returns true if a buffer is in the local memory of a thread.
fn is_local(buffer: &Buffer) -> bool {
    buffer.constant_bytes().is_some_and(|bytes| bytes <= MAX_LOCAL_BYTES)
}

/// Finds the variables that statements define.
fn variables(stmt: &Stmt, found: &mut FxHashSet<Var>) {
    match &stmt.kind {
        StmtKind::For(l) => drop(found.insert(l.var.clone())),
        StmtKind::Bind(var, _) => drop(found.insert(var.clone())),
        StmtKind::Block(block) => found.extend(block.axes.iter().map(|axis| axis.var.clone())),
        _ => {}
    }
    stmt.each_child(&mut |stmt| variables(stmt, found));
}

/// Returns true if a buffer's memory has another name: a pointer to it, or another buffer over it.
fn is_viewed(stmt: &Stmt, of: &Buffer) -> bool {
    let is_other = |buffer: &Buffer| buffer.data == of.data && buffer != of;
    let mut found = match &stmt.kind {
        StmtKind::Decl(buffer) | StmtKind::Store { buffer, .. } => is_other(buffer),
        StmtKind::Block(block) => block.match_buffers.iter().any(|matched| matched.source.buffer.data == of.data),
        _ => false,
    };
    stmt.each_expr(&mut |e| {
        found |= e.any(&mut |e| match e.kind() {
            PrimKind::Var(var) => *var == of.data,
            PrimKind::Load(buffer, ..) => is_other(buffer),
            _ => false,
        });
    });
    stmt.each_child(&mut |stmt| found |= is_viewed(stmt, of));
    found
}

/// Location of an element of a moved buffer in its workspace.
type Located<'a> = &'a dyn Fn(&Buffer, &[PrimExpr]) -> Option<(Buffer, Vec<PrimExpr>)>;

/// Redirects stores to workspaces, and removes the allocations of moved buffers.
fn rewrite(stmt: &mut Stmt, moved: &FxHashMap<Var, Buffer>, located: Located<'_>) {
    let local = |buffer: &mut Buffer| {
        if *buffer.scope != *"local" {
            *buffer = buffer.change(|b| b.scope = "local".into());
        }
    };
    stmt.each_child_mut(&mut |stmt| rewrite(stmt, moved, located));
    match &mut stmt.kind {
        StmtKind::Alloc(buffer, _) if moved.contains_key(&buffer.data) => stmt.kind = StmtKind::Seq(Vec::new()),
        StmtKind::Alloc(buffer, _) => local(buffer),
        StmtKind::Block(block) => {
            block.alloc_buffers.retain(|buffer| !moved.contains_key(&buffer.data));
            block.alloc_buffers.iter_mut().for_each(local);
            (block.reads, block.writes) = (None, None);
        }
        StmtKind::Store { buffer, indices, .. } => {
            if let Some((to, at)) = located(buffer, indices) {
                (*buffer, *indices) = (to, at);
            }
        }
        _ => {}
    }
}

/// Replaces the loads of moved buffers in an expression.
fn load(e: &PrimExpr, located: Located<'_>) -> PrimExpr {
    let e = e.map_children(&mut |child| load(child, located));
    match e.kind() {
        PrimKind::Load(buffer, indices, mask) => match located(buffer, indices) {
            Some((to, at)) => PrimExpr::load_masked(&to, at, mask.clone()),
            None => e,
        },
        _ => e,
    }
}
