//! Scopes of statements, and the parts of blocks.

use super::{TirEval, frames};
use crate::script::{context::Read, scope::ClosedScope, value::Value};
use hammock_diagnostics::{Span, codes};
use hammock_ir::{
    Attrs, PrimExpr,
    prim::PrimKind,
    tir::{Block, BlockAxis, Buffer, MatchBuffer, Region, Stmt},
};
use hammock_syntax::ast;

/// The parts of a block other than its body, collected as its statements are read.
#[derive(Default)]
pub(super) struct BlockParts {
    pub axes: Vec<BlockAxis>,
    pub predicate: Option<PrimExpr>,
    pub reads: Option<Vec<Region>>,
    pub writes: Option<Vec<Region>>,
    pub annotations: Attrs,
    pub alloc_buffers: Vec<Buffer>,
    pub match_buffers: Vec<MatchBuffer>,
    pub init: Option<Stmt>,
    /// Scope depth of its own statements.
    pub depth: usize,
}

impl BlockParts {
    /// The block with these parts.
    pub fn finish(self, name: &str, no_realize: bool, body: Stmt) -> Block {
        Block {
            name: name.into(),
            axes: self.axes,
            predicate: self.predicate,
            reads: self.reads,
            writes: self.writes,
            annotations: self.annotations,
            alloc_buffers: self.alloc_buffers,
            match_buffers: self.match_buffers,
            init: self.init,
            body,
            no_realize,
        }
    }
}

impl TirEval<'_, '_> {
    /// Reads in a new scope with its own names and statements.
    pub(super) fn scoped(&mut self, read: impl FnOnce(&mut Self) -> Read<()>) -> Read<Stmt> {
        self.scope.push();
        let outer = (std::mem::take(&mut self.dialect.out), std::mem::take(&mut self.dialect.open));
        let result = read(self);
        let body = self.close_scope();
        (self.dialect.out, self.dialect.open) = outer;
        self.scope.pop(ClosedScope::Kernel);
        result.map(|()| body)
    }

    /// Rejects a part that applies to the whole block if it depends on definitions of statements in the block, such as
    /// loop variables.
    pub(super) fn check_block_scope(&mut self, dependencies: &[PrimExpr], span: Span) -> Read<()> {
        let depth = self.dialect.blocks.last().map_or(0, |block| block.depth);
        let defined = |e: &PrimExpr| {
            self.scope.inside(depth).any(|value| match (value, e.kind()) {
                (Value::Scalar(scalar), PrimKind::Var(var)) => scalar.as_var() == Some(var),
                (Value::IterVar(axis), PrimKind::Var(var)) => axis.var == *var,
                (Value::Buffer(buffer), PrimKind::Load(loaded, ..)) => buffer == loaded,
                _ => false,
            })
        };
        if !dependencies.iter().any(|e| e.any(&mut |part| defined(part))) {
            return Ok(());
        }
        let message = "this applies to the whole block, but depends on what a statement in the block defines";
        Err(self.cx.error(codes::BAD_BLOCK, span, message, "move it and its dependencies to the top of the block"))
    }

    /// The statements of the scope just read, wrapped in its open attributes.
    pub(super) fn close_scope(&mut self) -> Stmt {
        let mut out = std::mem::take(&mut self.dialect.out);
        for open in std::mem::take(&mut self.dialect.open).into_iter().rev() {
            self.dialect.depth -= 1;
            let rest = out.split_off(open.at);
            out.push(frames::wrap(open, Stmt::seq(rest)));
        }
        Stmt::seq(out)
    }

    /// The statements of an indented block of the text. Each reports its own errors; valid statements are retained.
    pub(super) fn block_of(&mut self, body: &[ast::Stmt]) -> Stmt {
        let read = self.scoped(|ev| {
            ev.statements(body);
            Ok(())
        });
        read.unwrap_or_else(|_| Stmt::nop())
    }
}
