//! Checkpoints of an import: loop bodies are imported again if the types of their state change.

use super::Importer;
use hammock_ir::relax::VarInfo;

/// State of an importer, to which it can return.
pub struct Checkpoint {
    vars: usize,
    bindings: usize,
    calls: usize,
    joint_dims: usize,
    listing: usize,
    diagnostics: usize,
    nodes_left: usize,
}

impl Importer<'_> {
    /// Returns the current state.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            vars: self.build.function.vars.len(),
            bindings: self.build.bindings.len(),
            calls: self.build.calls,
            joint_dims: self.build.joint_dims.len(),
            listing: self.listing.len(),
            diagnostics: self.diagnostics.len(),
            nodes_left: self.nodes_left,
        }
    }

    /// Undoes everything since a checkpoint in the same body, except that the nodes count.
    pub fn abandon(&mut self, to: &Checkpoint) {
        let vars = std::mem::take(&mut self.build.function.vars);
        self.build.function.vars = Vec::<VarInfo>::from(vars).into_iter().take(to.vars).collect();
        self.build.bindings.truncate(to.bindings);
        self.build.calls = to.calls;
        self.build.joint_dims.truncate(to.joint_dims);
        self.build.constants.truncate(to.vars);
        self.listing.truncate(to.listing);
        self.diagnostics.truncate(to.diagnostics);
    }

    /// Undoes everything since a checkpoint in the same body, to import the same nodes again.
    pub fn roll_back(&mut self, to: &Checkpoint) {
        self.abandon(to);
        self.nodes_left = to.nodes_left;
    }
}
