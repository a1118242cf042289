//! Memory footprints of the parts of a kernel.

use crate::{Part, Stage};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
    tir::{Buffer, Stmt, StmtKind},
};
use rustc_hash::FxHashSet;

/// Memory that a part reads, writes, declares or takes the address of, as the set of its variables. Other variables are
/// included.
#[derive(Default)]
pub struct Footprint(FxHashSet<Var>);

impl Footprint {
    /// Returns the footprint of a part.
    pub fn of_part(part: &Part) -> Footprint {
        if let Part::Opaque(other) = part {
            return Footprint::of_stmt(&other.stmt);
        }
        let mut used = Footprint::default();
        part.stages().iter().for_each(|stage| used.add_stage(stage));
        used
    }

    /// Returns the footprint of a stage.
    pub fn of_stage(stage: &Stage) -> Footprint {
        let mut used = Footprint::default();
        used.add_stage(stage);
        used
    }

    /// Returns the footprint of a statement.
    pub fn of_stmt(stmt: &Stmt) -> Footprint {
        let mut used = Footprint::default();
        stmt.walk(&mut |stmt| {
            stmt.each_expr(&mut |e| used.add(e));
            match &stmt.kind {
                StmtKind::Store { buffer, .. } | StmtKind::Decl(buffer) | StmtKind::Alloc(buffer, _) => {
                    used.0.insert(buffer.data.clone());
                }
                StmtKind::Block(block) => {
                    used.0.extend(block.match_buffers.iter().map(|matched| matched.source.buffer.data.clone()));
                }
                _ => {}
            }
        });
        used
    }

    /// Returns all its variables.
    pub fn vars(&self) -> impl Iterator<Item = &Var> {
        self.0.iter()
    }

    /// Returns true if it contains a buffer's memory.
    pub fn has(&self, buffer: &Buffer) -> bool {
        self.0.contains(&buffer.data)
    }

    fn add_stage(&mut self, stage: &Stage) {
        self.0.extend(stage.targets().chain([&stage.buffer]).map(|buffer| buffer.data.clone()));
        let stored = stage.epilogue.iter().flat_map(|epilogue| &epilogue.indices).chain(&stage.indices);
        stored.chain(stage.values()).for_each(|e| self.add(e));
    }

    fn add(&mut self, e: &PrimExpr) {
        e.walk(&mut |e| match e.kind() {
            PrimKind::Load(buffer, ..) => {
                self.0.insert(buffer.data.clone());
            }
            PrimKind::Var(var) => {
                self.0.insert(var.clone());
            }
            _ => {}
        });
    }
}
