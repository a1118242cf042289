//! The nodes of a tree around an offset.

use hammock_diagnostics::Span;
use hammock_syntax::ast::{Call, Expr, ExprKind, Ident, Module, Stmt, StmtKind};

/// Nodes around an offset, outermost first.
#[derive(Debug, Default)]
pub struct Cursor<'t> {
    /// Statements.
    pub statements: Vec<&'t Stmt>,
    /// Expressions of the innermost statement.
    pub exprs: Vec<&'t Expr>,
}

impl<'t> Cursor<'t> {
    /// The nodes that contain an offset, or end at it.
    pub fn new(tree: &'t Module, offset: u32) -> Self {
        let mut cursor = Cursor::default();
        let mut next = tree.body.iter().find(|stmt| contains(extent(stmt), offset));
        while let Some(stmt) = next {
            cursor.statements.push(stmt);
            next = stmt.block().find(|stmt| contains(extent(stmt), offset));
        }
        let mut inner = None;
        if let Some(stmt) = cursor.statements.last() {
            stmt.each_expr(&mut |expr| inner = inner.or(Some(expr).filter(|expr| contains(expr.span, offset))));
        }
        while let Some(expr) = inner {
            cursor.exprs.push(expr);
            inner = None;
            expr.each_child(&mut |child| inner = inner.or(Some(child).filter(|child| contains(child.span, offset))));
        }
        cursor
    }

    /// The calls around the offset, innermost first.
    pub fn calls(&self) -> impl Iterator<Item = (&'t Expr, &'t Call)> + '_ {
        self.exprs.iter().rev().filter_map(|expr| match &expr.kind {
            ExprKind::Call(call) => Some((*expr, &**call)),
            _ => None,
        })
    }

    /// The call and the name of its argument at an offset.
    pub fn argument_name(&self, offset: u32) -> Option<(&'t Call, &'t Ident)> {
        // The name is outside the argument's value, so the innermost expression is the call.
        let (_, call) = self.calls().next()?;
        let mut names = call.args.iter().filter_map(|arg| arg.name.as_ref());
        names.find(|name| contains(name.span, offset)).map(|name| (call, name))
    }
}

/// The span of a statement with its decorators.
fn extent(stmt: &Stmt) -> Span {
    let decorators = match &stmt.kind {
        StmtKind::FunctionDef(def) => &def.decorators,
        StmtKind::ClassDef(class) => &class.decorators,
        _ => return stmt.span,
    };
    decorators.first().map_or(stmt.span, |first| first.span.join(stmt.span))
}

fn contains(span: Span, offset: u32) -> bool {
    span.start <= offset && offset <= span.end
}
