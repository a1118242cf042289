//! Unrolls the loops that ask for it, so that their variables become constants.

use hammock_ir::tir::{ForKind, Loop, Stmt, StmtKind};

/// Iterations up to which an unrolled loop is written out; longer ones stay loops.
const LIMIT: i64 = 64;

/// Writes out unrolled loops of constant extent, inner ones first.
pub fn unroll(mut stmt: Stmt) -> Stmt {
    stmt.each_child_mut(&mut |s| *s = unroll(std::mem::replace(s, Stmt::nop())));
    match stmt.kind {
        StmtKind::For(l) if l.kind == ForKind::Unrolled => write_out(*l).at(stmt.span),
        _ => stmt,
    }
}

fn write_out(mut l: Loop) -> Stmt {
    match (l.extent.as_int(), &l.step) {
        (Some(n), None) if n <= LIMIT && !l.body.jumps() => l.unrolled(n),
        _ => {
            l.kind = ForKind::Serial;
            Stmt::new(StmtKind::For(Box::new(l)))
        }
    }
}
