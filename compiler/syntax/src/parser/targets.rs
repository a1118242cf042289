//! Targets: left of `=`, after `as` and after `for`.

use super::builder::Builder;
use crate::ast::{AnnAssign, Arg, Assign, AugAssign, BinaryOp, Expr, ExprKind, StmtKind};
use hammock_diagnostics::{Diagnostic, codes};

impl Builder<'_> {
    pub(super) fn assign(&mut self, targets: Vec<Expr>, value: Expr) -> StmtKind {
        for target in &targets {
            if !self.names_itself(target, &value) {
                self.check_target(target);
            }
        }
        StmtKind::Assign(Box::new(Assign { targets, value }))
    }

    /// Returns true if this is `100 = TypeVar("100")`, which TVM prints for a dimension whose name is a number. Inside
    /// the module such a dimension reads as the number, so the declaration has no effect.
    fn names_itself(&self, target: &Expr, value: &Expr) -> bool {
        let ExprKind::Call(call) = &value.kind else { return false };
        match (&target.kind, call.args.as_slice()) {
            (ExprKind::Int(_), [Arg { value: Expr { kind: ExprKind::Str(name), .. }, .. }]) => {
                **name == *self.slice(target.span.start, target.span.end)
            }
            _ => false,
        }
    }

    pub(super) fn annotated(&mut self, target: Expr, annotation: Expr, value: Option<Expr>) -> StmtKind {
        self.check_single(&target, "a type is given to one name, attribute or subscript");
        StmtKind::AnnAssign(Box::new(AnnAssign { target, annotation, value }))
    }

    pub(super) fn augmented(&mut self, target: Expr, op: BinaryOp, value: Expr) -> StmtKind {
        self.check_single(&target, "only one name, attribute or subscript can be updated in place");
        StmtKind::AugAssign(Box::new(AugAssign { target, op, value }))
    }

    /// Checks a target that may be a tuple or list of targets.
    pub(super) fn check_target(&mut self, target: &Expr) {
        match &target.kind {
            ExprKind::Name(_) | ExprKind::Attribute(_) | ExprKind::Subscript(_) | ExprKind::Error => {}
            ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().for_each(|item| self.check_target(item)),
            ExprKind::Starred(inner) => self.check_target(inner),
            _ => self.bad_target(target, "targets are names, attributes, subscripts, and tuples or lists of them"),
        }
    }

    fn check_single(&mut self, target: &Expr, help: &str) {
        let kind = &target.kind;
        let single = matches!(kind, ExprKind::Name(_) | ExprKind::Attribute(_) | ExprKind::Subscript(_));
        if !single && *kind != ExprKind::Error {
            self.bad_target(target, help);
        }
    }

    fn bad_target(&mut self, target: &Expr, help: &str) {
        let what = describe(&target.kind);
        let diagnostic = Diagnostic::error(codes::BAD_TARGET, format!("cannot assign to {what}"));
        let diagnostic = diagnostic.label(target.span, format!("this is {what}")).help(help);
        self.report(match target.kind {
            ExprKind::Compare(_) | ExprKind::Call(_) | ExprKind::Binary(_) => diagnostic.help("to compare, write `==`"),
            _ => diagnostic,
        });
    }

    /// Checks that a decorator is a name or call; computed decorators are not supported.
    pub(super) fn check_decorator(&mut self, decorator: &Expr) {
        let mut path = match &decorator.kind {
            ExprKind::Call(call) => &call.func,
            _ => decorator,
        };
        while let ExprKind::Attribute(attribute) = &path.kind {
            path = &attribute.value;
        }
        if !matches!(path.kind, ExprKind::Name(_) | ExprKind::Error) {
            let help = "a decorator is a dotted name, or a call of one: `@R.function(private=True)`";
            self.unsupported(decorator.span, "a computed decorator", help);
        }
    }
}

fn describe(kind: &ExprKind) -> &'static str {
    match kind {
        ExprKind::Call(_) => "a call",
        ExprKind::Compare(_) => "a comparison",
        ExprKind::Unary(..) | ExprKind::Binary(_) | ExprKind::BoolChain(..) => "an operation",
        ExprKind::Lambda(_) => "a lambda",
        ExprKind::If(_) => "a conditional expression",
        ExprKind::Comprehension(_) => "a comprehension",
        ExprKind::Dict(_) => "a dict",
        ExprKind::Set(_) => "a set",
        ExprKind::Tuple(_) => "a tuple",
        ExprKind::List(_) => "a list",
        ExprKind::Starred(_) => "a starred expression",
        ExprKind::Name(_) | ExprKind::Attribute(_) | ExprKind::Subscript(_) | ExprKind::Error => "this",
        _ => "a literal",
    }
}
