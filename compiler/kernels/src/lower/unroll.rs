//! Unrolls loops of kind `unroll`, so that their variables become constants.

use hammock_ir::tir::{ForKind, Loop, Stmt, StmtKind};

/// Maximum number of iterations of a loop that is expanded; longer ones stay loops.
const MAX_ITERATIONS: i64 = 64;

/// Maximum number of statements after unrolling nested loops; outer loops beyond it stay loops. Extents of nested loops
/// multiply, so a limit on each extent is not enough.
const MAX_STATEMENTS: usize = 4096;

/// Unrolls marked loops of constant extent, innermost first.
pub fn unroll(mut stmt: Stmt) -> Stmt {
    stmt.each_child_mut(&mut |s| *s = unroll(std::mem::replace(s, Stmt::nop())));
    match stmt.kind {
        StmtKind::For(l) if l.kind == ForKind::Unrolled => expand(*l).at(stmt.span),
        _ => stmt,
    }
}

fn expand(mut l: Loop) -> Stmt {
    match (l.extent.as_int(), &l.step) {
        (Some(n), None) if n <= MAX_ITERATIONS && is_short(&l.body, n) && !l.body.jumps() => l.unrolled(n),
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
