//! Bodies without `return`.

use hammock_ir::{
    PrimExpr,
    tir::{Buffer, Stmt, StmtKind},
};

/// A body that reaches its end instead of returning: a returned value goes to `result`. `None` where a loop would have
/// to be left.
pub fn ending(stmt: Stmt, result: Option<&Buffer>) -> Option<Stmt> {
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
                Some(otherwise) => Some(Box::new(ending(*otherwise, result)?)),
                None => None,
            };
            StmtKind::If(condition, Box::new(ending(*then, result)?), otherwise)
        }
        StmtKind::Attr { node, key, value, body } => {
            StmtKind::Attr { node, key, value, body: Box::new(ending(*body, result)?) }
        }
        StmtKind::Block(mut block) if block.axes.is_empty() => {
            block.body = ending(block.body, result)?;
            StmtKind::Block(block)
        }
        StmtKind::Seq(mut stmts) => {
            let first = stmts.iter().position(returns)?;
            let rest = stmts.split_off(first + 1);
            let last = stmts.pop()?;
            stmts.push(ending_before(last, rest, result)?);
            StmtKind::Seq(stmts)
        }
        _ => return None,
    };
    Some(Stmt { kind, span })
}

/// A statement that may return, and those after it, which run where it does not.
fn ending_before(stmt: Stmt, rest: Vec<Stmt>, result: Option<&Buffer>) -> Option<Stmt> {
    if rest.is_empty() || always_returns(&stmt) {
        return ending(stmt, result);
    }
    let span = stmt.span;
    match stmt.kind {
        StmtKind::If(condition, then, otherwise) if always_returns(&then) => {
            let rest = otherwise.map(|s| *s).into_iter().chain(rest).collect();
            let rest = Stmt::new(StmtKind::Seq(rest));
            ending(Stmt::new(StmtKind::If(condition, then, Some(Box::new(rest)))).at(span), result)
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
