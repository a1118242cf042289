//! Removal of `return` from inlined bodies.

use hammock_ir::{
    PrimExpr,
    tir::{Buffer, Stmt, StmtKind},
};

/// Rewrites a body so that it reaches its end instead of returning; a returned value is stored in `result`. `None` if
/// it returns from inside a loop.
pub fn remove_returns(stmt: Stmt, result: Option<&Buffer>) -> Option<Stmt> {
    if !returns(&stmt) {
        return Some(stmt);
    }
    let span = stmt.span;
    let kind = match stmt.kind {
        StmtKind::Return(value) => {
            let store = |b| Stmt::store(b, vec![PrimExpr::int64(0)], value.clone().cast(b.dtype));
            return Some(result.map_or_else(|| Stmt::new(StmtKind::Evaluate(value.clone())), store).at(span));
        }
        StmtKind::If(condition, then, otherwise) => {
            let otherwise = match otherwise {
                Some(otherwise) => Some(Box::new(remove_returns(*otherwise, result)?)),
                None => None,
            };
            StmtKind::If(condition, Box::new(remove_returns(*then, result)?), otherwise)
        }
        StmtKind::Attr { node, key, value, body } => {
            StmtKind::Attr { node, key, value, body: Box::new(remove_returns(*body, result)?) }
        }
        StmtKind::Block(mut block) if block.axes.is_empty() => {
            block.body = remove_returns(block.body, result)?;
            StmtKind::Block(block)
        }
        StmtKind::Seq(mut stmts) => {
            let first = stmts.iter().position(returns)?;
            let rest = stmts.split_off(first + 1);
            let last = stmts.pop()?;
            stmts.push(remove_returns_before(last, rest, result)?);
            StmtKind::Seq(stmts)
        }
        _ => return None,
    };
    Some(Stmt { kind, span })
}

/// Rewrites a statement that may return, and the statements after it, which run only if it does not.
fn remove_returns_before(stmt: Stmt, rest: Vec<Stmt>, result: Option<&Buffer>) -> Option<Stmt> {
    if rest.is_empty() || always_returns(&stmt) {
        return remove_returns(stmt, result);
    }
    let span = stmt.span;
    match stmt.kind {
        StmtKind::If(condition, then, otherwise) if always_returns(&then) => {
            let rest = otherwise.map(|s| *s).into_iter().chain(rest).collect();
            let rest = Stmt::new(StmtKind::Seq(rest));
            remove_returns(Stmt::new(StmtKind::If(condition, then, Some(Box::new(rest)))).at(span), result)
        }
        _ => None,
    }
}

fn returns(stmt: &Stmt) -> bool {
    let mut found = false;
    stmt.walk(&mut |s| found |= matches!(s.kind, StmtKind::Return(_)));
    found
}

fn always_returns(stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Return(_) => true,
        StmtKind::Seq(stmts) => stmts.iter().any(always_returns),
        StmtKind::If(_, then, Some(otherwise)) => always_returns(then) && always_returns(otherwise),
        _ => false,
    }
}
