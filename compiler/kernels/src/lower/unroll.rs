//! Unrolls the loops that ask for it, so that their variables become constants.

use hammock_ir::tir::{ForKind, Loop, Stmt, StmtKind};

/// Iterations up to which an unrolled loop is written out; longer ones stay loops.
const LIMIT: i64 = 64;

/// Statements up to which nested loops are unrolled; the loops around them stay loops. Extents of nested loops multiply,
/// so a limit on each extent bounds nothing.
const MAX_STATEMENTS: usize = 4096;

/// Unrolls loops of constant extent that ask for it, inner ones first.
pub fn unroll(mut stmt: Stmt) -> Stmt {
    stmt.each_child_mut(&mut |s| *s = unroll(std::mem::replace(s, Stmt::nop())));
    match stmt.kind {
        StmtKind::For(l) if l.kind == ForKind::Unrolled => write_out(*l).at(stmt.span),
        _ => stmt,
    }
}

fn write_out(mut l: Loop) -> Stmt {
    match (l.extent.as_int(), &l.step) {
        (Some(n), None) if n <= LIMIT && is_short(&l.body, n) && !l.body.jumps() => l.unrolled(n),
        _ => {
            l.kind = ForKind::Serial;
            Stmt::new(StmtKind::For(Box::new(l)))
        }
    }
}

/// True if `n` copies of a body have at most [`MAX_STATEMENTS`] statements; sequences do not count.
fn is_short(body: &Stmt, n: i64) -> bool {
    let mut statements = 0usize;
    body.walk(&mut |stmt| statements += usize::from(!matches!(stmt.kind, StmtKind::Seq(_))));
    usize::try_from(n).is_ok_and(|n| statements.saturating_mul(n) <= MAX_STATEMENTS)
}
