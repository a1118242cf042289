//! Symbolic sizes in types.

use super::{
    Role, SymbolKind, name_span, quoted_name,
    walk::{Frame, Resolver},
};
use hammock_diagnostics::Span;
use hammock_syntax::{
    ast::{self, Expr, ExprKind, StmtKind},
    parse_expression,
};

/// Functions whose tuples and lists are dimensions, by the last part of their names.
const WITH_DIMS: [&str; 11] = [
    "Tensor",
    "DTensor",
    "Shape",
    "shape",
    "ShapeExpr",
    "Prim",
    "Buffer",
    "match_buffer",
    "decl_buffer",
    "alloc_buffer",
    "sblock_alloc_buffer",
];

impl<'t> Resolver<'t> {
    /// Declares the sizes that a body declares for the signature before it: `n = T.int64()`.
    pub(super) fn declare_sizes(&mut self, def: &'t ast::FunctionDef) {
        for stmt in &def.body {
            let StmtKind::Assign(assign) = &stmt.kind else { continue };
            if !self.declares_size(&assign.value) {
                continue;
            }
            for target in &assign.targets {
                if let ExprKind::Name(name) = &target.kind
                    && self.lookup(name).is_none_or(|id| self.names.symbol(id).kind != SymbolKind::Size)
                {
                    self.declare(name, SymbolKind::Size);
                }
            }
        }
    }

    /// Returns true for `T.int64()` and `TypeVar("n")`.
    pub(super) fn declares_size(&self, value: &Expr) -> bool {
        let ExprKind::Call(call) = &value.kind else { return false };
        let is_dtype = |name: &str| {
            let digits = name.trim_start_matches("uint").trim_start_matches("int");
            digits.len() < name.len() && digits.parse::<u8>().is_ok()
        };
        let scalar = matches!(&call.func.kind, ExprKind::Attribute(a) if is_dtype(a.name.as_str()));
        scalar && call.args.is_empty() || self.is_type_var(value)
    }

    /// Returns true for a call whose tuples and lists are dimensions.
    pub(super) fn takes_dims(&self, call: &ast::Call) -> bool {
        matches!(&call.func.kind, ExprKind::Attribute(a) if WITH_DIMS.contains(&a.name.as_str()))
    }

    /// A type, or a call with dimensions.
    pub(super) fn ty(&mut self, ty: &'t Expr) {
        match &ty.kind {
            ExprKind::Call(call) if self.takes_dims(call) => {
                self.expr(&call.func);
                for arg in &call.args {
                    match (&arg.value.kind, arg.name.as_ref().map(ast::Ident::as_str)) {
                        (ExprKind::Tuple(dims) | ExprKind::List(dims), _) => dims.iter().for_each(|dim| self.dim(dim)),
                        (ExprKind::Str(_), Some("value")) => self.dim(&arg.value),
                        _ => self.expr(&arg.value),
                    }
                }
            }
            ExprKind::Call(_) | ExprKind::Tuple(_) | ExprKind::List(_) => ty.each_child(&mut |child| self.ty(child)),
            _ => self.expr(ty),
        }
    }

    /// A dimension: an expression, perhaps quoted.
    fn dim(&mut self, dim: &'t Expr) {
        let ExprKind::Str(text) = &dim.kind else { return self.expr(dim) };
        if let Some(inner) = quoted_name(self.source, dim.span, text)
            && is_name(text)
        {
            return self.size(&ast::Name::from(&**text), inner);
        }
        match parse_expression(text, self.source, dim.span) {
            Ok(expr) if expr.span == dim.span => self.names.inexact.push(dim.span),
            Ok(expr) => self.quoted(&expr),
            Err(_) => {}
        }
    }

    fn quoted(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Name(name) => {
                if let Some(span) = name_span(self.source, expr.span, name) {
                    self.size(name, span);
                }
            }
            ExprKind::Attribute(_) => {}
            ExprKind::Call(call) => call.args.iter().for_each(|arg| self.quoted(&arg.value)),
            _ => expr.each_child(&mut |child| self.quoted(child)),
        }
    }

    /// An occurrence of a size in a quoted dimension, the first of which defines it for the function.
    fn size(&mut self, name: &ast::Name, span: Span) {
        let id = self.lookup(name).unwrap_or_else(|| {
            let inner = self.frames.len();
            let function = self.frames.iter().rposition(|frame| frame.is_function).unwrap_or(0);
            let above: Vec<Frame> = self.frames.drain(function + 1..inner).collect();
            let id = self.declare(name, SymbolKind::Size);
            self.frames.extend(above);
            id
        });
        self.occur(id, span, Role::Use);
    }
}

/// Returns true for a plain name.
fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
}
