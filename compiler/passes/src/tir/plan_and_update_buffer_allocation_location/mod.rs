//! PlanAndUpdateBufferAllocationLocation: allocates buffers of blocks as far inside as all their uses allow.
//!
//! That is the innermost loop or block around the uses. For a buffer written in iterations of a non-spatial axis, it
//! is outside the loops of that axis; buffers in global memory are outside GPU kernels. A loop body gets a block for
//! its buffers. Blocks no longer list buffers allocated in them as read or written. A buffer that an iteration may
//! read as an earlier one left it stays outside that loop, where TVM's pass trusts the axes ([`loop_carried`]).

mod loop_carried;
mod uses;

use super::{each_kernel, misplaced, take};
use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module,
    prim::Var,
    tir::{Block, Buffer, Region, Stmt, StmtKind, regions},
};
use rustc_hash::{FxHashMap, FxHashSet};
use uses::Uses;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "s_tir.PlanAndUpdateBufferAllocationLocation",
    doc: "Allocates buffers of blocks in the innermost loop or block around their uses",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |name, kernel| {
        if let Some(span) = super::block_with_init(&kernel.body) {
            let help = "run pass `s_tir.LowerInitBlock` first";
            return Err(misplaced(&PASS, name, "a block has a `T.init()`", help, span));
        }
        let by_data = regions::by_data(kernel);
        let mut planner = Planner {
            allocations: loop_carried::allocations(&Uses::of(kernel)),
            out_of_scope: buffers_of_blocks(&kernel.body),
            by_data,
            scopes: 0,
        };
        let mut body = take(&mut kernel.body);
        planner.stmt(&mut body);
        kernel.body = body;
        Ok(())
    })
}

/// Returns buffers that blocks allocate or match.
fn buffers_of_blocks(body: &Stmt) -> FxHashSet<Buffer> {
    let mut found = FxHashSet::default();
    body.walk(&mut |stmt| {
        if let StmtKind::Block(block) = &stmt.kind {
            found.extend(block.alloc_buffers.iter().chain(block.match_buffers.iter().map(|m| &m.buffer)).cloned());
        }
    });
    found
}

/// Moves allocations.
struct Planner {
    /// Buffers to allocate in loops and blocks, by index.
    allocations: FxHashMap<usize, Vec<Buffer>>,
    /// Buffers of blocks that are not in scope.
    out_of_scope: FxHashSet<Buffer>,
    by_data: FxHashMap<Var, Buffer>,
    /// Number of loops and blocks so far.
    scopes: usize,
}

impl Planner {
    fn stmt(&mut self, stmt: &mut Stmt) {
        match &mut stmt.kind {
            StmtKind::For(l) => {
                self.scopes += 1;
                let own = self.allocations.remove(&self.scopes).unwrap_or_default();
                self.inside(&own, |planner| planner.stmt(&mut l.body));
                if !own.is_empty() {
                    let body = take(&mut l.body);
                    let span = body.span;
                    let mut block = Block { name: "".into(), reads: None, writes: None, ..Block::root(own, body) };
                    regions::fill_block(&mut block, &self.by_data);
                    l.body = Stmt::from(block).at(span);
                }
            }
            StmtKind::Block(block) => {
                self.scopes += 1;
                let own = self.allocations.remove(&self.scopes).unwrap_or_default();
                let matched: Vec<Buffer> = block.match_buffers.iter().map(|m| m.buffer.clone()).collect();
                self.inside(&own, |planner| planner.inside(&matched, |planner| planner.stmt(&mut block.body)));
                let named = |region: &Region| !self.out_of_scope.contains(&region.buffer);
                block.reads.iter_mut().chain(&mut block.writes).for_each(|regions| regions.retain(named));
                block.alloc_buffers = own;
            }
            _ => stmt.each_child_mut(&mut |child| self.stmt(child)),
        }
    }

    /// Runs `f` with these buffers in scope.
    fn inside(&mut self, buffers: &[Buffer], f: impl FnOnce(&mut Self)) {
        buffers.iter().for_each(|buffer| _ = self.out_of_scope.remove(buffer));
        f(self);
        self.out_of_scope.extend(buffers.iter().cloned());
    }
}
