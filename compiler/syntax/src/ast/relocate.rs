//! Moving an expression to another span.

use super::{Expr, ExprKind, Ident, Index, Slice};
use hammock_diagnostics::Span;

impl Expr {
    /// Sets the span of the expression and everything in it.
    pub(crate) fn move_to(&mut self, span: Span) {
        self.span = span;
        let all = |exprs: &mut [Expr]| exprs.iter_mut().for_each(|expr| expr.move_to(span));
        let name = |ident: &mut Ident| ident.span = span;
        match &mut self.kind {
            ExprKind::Tuple(items) | ExprKind::List(items) | ExprKind::Set(items) => all(items),
            ExprKind::BoolChain(_, items) => all(items),
            ExprKind::Dict(items) => items.iter_mut().for_each(|(key, value)| {
                key.move_to(span);
                value.move_to(span);
            }),
            ExprKind::Attribute(attribute) => {
                attribute.value.move_to(span);
                name(&mut attribute.name);
            }
            ExprKind::Call(call) => {
                call.func.move_to(span);
                for arg in &mut call.args {
                    arg.value.move_to(span);
                    arg.name.iter_mut().for_each(name);
                }
            }
            ExprKind::Subscript(subscript) => {
                subscript.value.move_to(span);
                subscript.indices.iter_mut().for_each(|index| move_index(index, span));
            }
            ExprKind::Unary(_, operand) | ExprKind::Starred(operand) => operand.move_to(span),
            ExprKind::Binary(binary) => {
                binary.first.move_to(span);
                binary.rest.iter_mut().for_each(|(_, operand)| operand.move_to(span));
            }
            ExprKind::Compare(compare) => {
                compare.first.move_to(span);
                compare.rest.iter_mut().for_each(|(_, operand)| operand.move_to(span));
            }
            ExprKind::Lambda(lambda) => {
                lambda.params.iter_mut().for_each(name);
                lambda.body.move_to(span);
            }
            ExprKind::If(choice) => {
                choice.cond.move_to(span);
                choice.then.move_to(span);
                choice.orelse.move_to(span);
            }
            ExprKind::Comprehension(comprehension) => {
                comprehension.element.move_to(span);
                comprehension.value.iter_mut().for_each(|value| value.move_to(span));
                for clause in &mut comprehension.clauses {
                    clause.target.move_to(span);
                    clause.iter.move_to(span);
                    all(&mut clause.conditions);
                }
            }
            ExprKind::Name(_) | ExprKind::Int(_) | ExprKind::BigInt(_) | ExprKind::Float(_) | ExprKind::Str(_) => {}
            ExprKind::Bytes(_) | ExprKind::Bool(_) | ExprKind::None | ExprKind::Ellipsis | ExprKind::Error => {}
        }
    }
}

fn move_index(index: &mut Index, span: Span) {
    match index {
        Index::Expr(expr) => expr.move_to(span),
        Index::Slice(slice) => {
            let Slice { start, end, step, span: place } = &mut **slice;
            *place = span;
            [start, end, step].into_iter().flatten().for_each(|expr| expr.move_to(span));
        }
    }
}
