//! Heights of trees, computed during construction.

use super::{Expr, ExprKind, ForClause, Index, Slice, Stmt, StmtKind};
use hammock_diagnostics::Span;

impl Expr {
    /// An expression over the given text.
    pub fn new(kind: ExprKind, span: Span) -> Self {
        let depth = children_height(&kind).saturating_add(1);
        Expr { kind, span, depth }
    }

    /// Height of the tree: 1 for a leaf, at most [`MAX_EXPR_DEPTH`](super::MAX_EXPR_DEPTH) in a parsed tree.
    pub fn depth(&self) -> u16 {
        self.depth
    }
}

impl Stmt {
    /// A statement over the given text.
    pub fn new(kind: StmtKind, span: Span) -> Self {
        let depth = blocks_height(&kind).saturating_add(1);
        Stmt { kind, span, depth }
    }

    /// Height of the tree of statements, expressions not counted: 1 for one without a block, at most
    /// [`MAX_STMT_DEPTH`](super::MAX_STMT_DEPTH) in a parsed tree.
    pub fn depth(&self) -> u16 {
        self.depth
    }
}

fn highest<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> u16 {
    exprs.into_iter().map(|expr| expr.depth).max().unwrap_or(0)
}

fn children_height(kind: &ExprKind) -> u16 {
    match kind {
        ExprKind::Tuple(items) | ExprKind::List(items) | ExprKind::Set(items) | ExprKind::BoolChain(_, items) => {
            highest(items)
        }
        ExprKind::Dict(items) => highest(items.iter().flat_map(|(key, value)| [key, value])),
        ExprKind::Attribute(attribute) => attribute.value.depth,
        ExprKind::Call(call) => call.func.depth.max(highest(call.args.iter().map(|arg| &arg.value))),
        ExprKind::Subscript(subscript) => {
            let indices = subscript.indices.iter().map(index_height).max();
            subscript.value.depth.max(indices.unwrap_or(0))
        }
        ExprKind::Unary(_, operand) | ExprKind::Starred(operand) => operand.depth,
        ExprKind::Binary(binary) => binary.first.depth.max(highest(binary.rest.iter().map(|(_, expr)| expr))),
        ExprKind::Compare(compare) => compare.first.depth.max(highest(compare.rest.iter().map(|(_, expr)| expr))),
        ExprKind::Lambda(lambda) => lambda.body.depth,
        ExprKind::If(choice) => highest([&choice.cond, &choice.then, &choice.orelse]),
        ExprKind::Comprehension(comprehension) => highest([&comprehension.element])
            .max(highest(&comprehension.value))
            .max(comprehension.clauses.iter().map(clause_height).max().unwrap_or(0)),
        ExprKind::Name(_) | ExprKind::Int(_) | ExprKind::BigInt(_) | ExprKind::Float(_) | ExprKind::Str(_) => 0,
        ExprKind::Bytes(_) | ExprKind::Bool(_) | ExprKind::None | ExprKind::Ellipsis | ExprKind::Error => 0,
    }
}

fn index_height(index: &Index) -> u16 {
    match index {
        Index::Expr(expr) => expr.depth,
        Index::Slice(slice) => {
            let Slice { start, end, step, .. } = &**slice;
            highest([start, end, step].into_iter().flatten())
        }
    }
}

fn clause_height(clause: &ForClause) -> u16 {
    highest([&clause.target, &clause.iter]).max(highest(&clause.conditions))
}

fn blocks_height(kind: &StmtKind) -> u16 {
    let tallest = |body: &[Stmt]| body.iter().map(|stmt| stmt.depth).max().unwrap_or(0);
    match kind {
        StmtKind::With(with) => tallest(&with.body),
        StmtKind::For(each) => tallest(&each.body),
        StmtKind::While(repeat) => tallest(&repeat.body),
        StmtKind::If(choice) => tallest(&choice.then).max(tallest(&choice.orelse)),
        StmtKind::FunctionDef(function) => tallest(&function.body),
        StmtKind::ClassDef(class) => tallest(&class.body),
        _ => 0,
    }
}
