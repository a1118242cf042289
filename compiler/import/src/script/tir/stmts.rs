//! Statements of TIR functions.

use super::{TirEval, scope::BlockParts};
use crate::script::{
    args::{Arg, Args, list},
    context::{Read, Reported},
    path::{Path, Space},
    scope::ClosedScope,
    suggest,
    value::Value,
};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{
    Name,
    prim::{PrimKind, Var},
    tir::StmtKind,
};
use hammock_syntax::ast::{self, Expr, ExprKind};

/// Functions of `T` that may follow `with`.
const CONTEXTS: [&str; 5] = ["sblock", "init", "attr", "launch_thread", "hint"];

impl TirEval<'_, '_> {
    /// Reads statements in order, skipping those with errors.
    pub(super) fn statements(&mut self, body: &[ast::Stmt]) {
        for stmt in body {
            self.dialect.hints.clear();
            if self.statement(stmt).is_err() {
                self.define_broken(stmt);
            }
        }
    }

    /// Defines the names of a broken statement, so that their uses are not reported.
    fn define_broken(&mut self, stmt: &ast::Stmt) {
        let mut names = Vec::new();
        match &stmt.kind {
            ast::StmtKind::Assign(a) => a.targets.iter().for_each(|t| target_names(t, &mut names)),
            ast::StmtKind::AnnAssign(a) => target_names(&a.target, &mut names),
            _ => {}
        }
        for name in names {
            if self.scope.get(&name).is_none() {
                self.scope.define(name, Value::Broken);
            }
        }
    }

    fn statement(&mut self, stmt: &ast::Stmt) -> Read<()> {
        let span = stmt.span;
        match &stmt.kind {
            ast::StmtKind::Expr(e) => self.expression(e),
            ast::StmtKind::Assign(assign) => self.assign(assign, span),
            ast::StmtKind::AnnAssign(assign) => self.annotated(assign, span),
            ast::StmtKind::AugAssign(assign) => self.augmented(assign, span),
            ast::StmtKind::With(with) => self.with(&with.items, &with.body, span),
            ast::StmtKind::For(each) => self.for_loop(each, header(span, &each.iter)),
            ast::StmtKind::While(repeat) => {
                let cond = self.arg(&repeat.cond);
                let cond = self.to_choice(&cond);
                let body = self.block_of(&repeat.body);
                self.emit(StmtKind::While(cond?, Box::new(body)), header(span, &repeat.cond));
                Ok(())
            }
            ast::StmtKind::If(choice) => self.if_else(choice, header(span, &choice.cond)),
            ast::StmtKind::Return(value) => self.return_value(value.as_ref(), span),
            ast::StmtKind::Assert(assert) => self.assert(assert, span),
            ast::StmtKind::Pass => Ok(()),
            ast::StmtKind::Break => {
                self.emit(StmtKind::Break, span);
                Ok(())
            }
            ast::StmtKind::Continue => {
                self.emit(StmtKind::Continue, span);
                Ok(())
            }
            ast::StmtKind::FunctionDef(def) => Err(self.unsupported(
                def.name.span,
                "functions inside a `T.prim_func` (macros) are not read: write the body out",
            )),
            ast::StmtKind::Import(_) | ast::StmtKind::FromImport(_) | ast::StmtKind::ClassDef(_) => {
                Err(self.unsupported(span, "this is not allowed in a function"))
            }
        }
    }

    fn expression(&mut self, e: &Expr) -> Read<()> {
        self.reject_comparison(e)?;
        let arg = self.arg(e);
        match &arg.value {
            // A docstring, or a declaration statement.
            Value::Str(_) | Value::None | Value::Buffer(_) | Value::IterVar(_) | Value::Attr(_) => Ok(()),
            // A number on its own does nothing; a pointer may mark its use.
            Value::Scalar(e) if matches!(e.kind(), PrimKind::Var(v) if !v.dtype().is_handle()) => Ok(()),
            Value::Scalar(e) => {
                self.emit(StmtKind::Evaluate(e.clone()), arg.span);
                Ok(())
            }
            Value::Int(_) | Value::Bool(_) | Value::Float(_) => {
                let value = self.to_scalar(&arg)?;
                self.emit(StmtKind::Evaluate(value), arg.span);
                Ok(())
            }
            _ => Err(self.expected(&arg, "a statement")),
        }
    }

    /// `with a as x, b: body`, each item enclosing the next.
    fn with(&mut self, items: &[(Expr, Option<Expr>)], body: &[ast::Stmt], span: Span) -> Read<()> {
        let Some(((context, target), rest)) = items.split_first() else {
            let body = self.block_of(body);
            self.dialect.out.push(body);
            return Ok(());
        };
        let span = header(span, context);
        let Some((path, call)) = self.callee_of(context).filter(|(path, _)| path.space == Space::Tir) else {
            let reported = self.no_context(context);
            self.check_abandoned(items, body);
            return Err(reported);
        };
        let args =
            self.args(call, path.to_string(), context.span).inspect_err(|_| self.check_abandoned(items, body))?;
        match &*path.name {
            "sblock" | "block" | "init" if !rest.is_empty() || target.is_some() => {
                self.check_abandoned(items, body);
                Err(self.cx.error(codes::BAD_BLOCK, span, format!("`{path}` must be the only item after `with`"), ""))
            }
            "sblock" | "block" => self.block(args, body, span),
            "init" => self.init(args, body, span),
            "attr" | "launch_thread" | "hint" | "allocate" | "Allocate" | "decl_buffer" | "alloc_buffer" | "let"
            | "LetStmt" | "Let" => {
                let stmt = self.scoped(|ev| {
                    let entered = ev.enter(&path, args, target.as_ref());
                    entered.inspect_err(|_| ev.check_abandoned(items, body))?;
                    ev.with(rest, body, span)
                })?;
                self.dialect.out.push(stmt);
                Ok(())
            }
            _ => {
                let reported = self.no_context(context);
                self.check_abandoned(items, body);
                Err(reported)
            }
        }
    }

    /// Checks the statements under an erroneous line, and drops them.
    fn check_abandoned(&mut self, items: &[(Expr, Option<Expr>)], body: &[ast::Stmt]) {
        let mut names = Vec::new();
        items.iter().filter_map(|(_, target)| target.as_ref()).for_each(|target| target_names(target, &mut names));
        // The statements may belong in a block.
        self.dialect.blocks.push(BlockParts { depth: usize::MAX, ..BlockParts::default() });
        self.examine_body(&names, body);
        self.dialect.blocks.pop();
    }

    /// Checks statements that use broken names, and drops them.
    pub(super) fn examine_body(&mut self, names: &[Name], body: &[ast::Stmt]) {
        self.scope.push();
        names.iter().for_each(|name| self.scope.define(name.clone(), Value::Broken));
        self.block_of(body);
        self.scope.pop(ClosedScope::Kernel);
    }

    fn no_context(&mut self, context: &Expr) -> Reported {
        let diagnostic = Diagnostic::error(codes::MEANINGLESS_SYNTAX, "this is not allowed after `with`");
        let called = self.callee_of(context).map(|(path, call)| (path, call.func.span));
        // Texts before 0.24 call blocks `T.block`.
        let known = CONTEXTS.into_iter().chain(["block"]);
        let near = called.as_ref().and_then(|(path, _)| suggest::nearest(&path.name, known));
        let near = near.map(|near| if near == "block" { "sblock" } else { near });
        let diagnostic = diagnostic.label(called.as_ref().map_or(context.span, |(_, span)| *span), "");
        self.cx.report(match near {
            Some(near) => diagnostic.did_you_mean(called.map_or(Span::NONE, |(_, span)| span), format!("T.{near}")),
            None => diagnostic.help(format!("allowed are, from `T`, {}", list(&CONTEXTS))),
        })
    }

    /// Opens a context after `with`, with the name after `as`.
    fn enter(&mut self, path: &Path, args: Args, target: Option<&Expr>) -> Read<()> {
        let name = match target.map(|t| (&t.kind, t.span)) {
            Some((ExprKind::Name(name), _)) => Some(Name::from(name.clone())),
            Some((_, span)) => return Err(self.cx.error(codes::BAD_BINDING, span, "expected a name", "")),
            None => None,
        };
        self.dialect.hints = name.iter().cloned().collect();
        let value = match &*path.name {
            "let" | "LetStmt" | "Let" => self.let_statement(args, name.as_ref())?,
            _ => match self.declare(&path.name, args)? {
                super::decls::Declared::Value(value) => value,
                super::decls::Declared::Nothing(_) => Value::None,
            },
        };
        if let Some(name) = name {
            self.scope.define(name, value);
        }
        Ok(())
    }

    /// `with T.LetStmt(value) as x:`, `with T.let(x, value):`, as texts before 0.24 have it.
    fn let_statement(&mut self, mut args: Args, name: Option<&Name>) -> Read<Value> {
        let span = args.span;
        let first = args.need(self.cx, "value")?;
        let second = args.take("value");
        let var = args.keyword("var");
        args.finish(self.cx)?;
        let (var, value) = match (second, var) {
            (Some(value), _) => (Some(first), value),
            (None, var) => (var, first),
        };
        let value = self.to_scalar(&value)?;
        let var = match var {
            Some(arg) => match self.to_scalar(&arg)?.as_var() {
                Some(var) => var.clone(),
                None => return Err(self.expected(&arg, "a variable")),
            },
            None => Var::new(name.cloned().unwrap_or("v".into()), value.ty().clone()),
        };
        self.emit(StmtKind::Bind(var.clone(), value), span);
        Ok(Value::Scalar(var.expr()))
    }

    fn if_else(&mut self, choice: &ast::If, span: Span) -> Read<()> {
        let cond = self.arg(&choice.cond);
        if let Value::Bool(holds) = cond.value {
            self.statements(if holds { &choice.then } else { &choice.orelse });
            return Ok(());
        }
        let cond = self.to_choice(&cond);
        let then = self.block_of(&choice.then);
        let otherwise = (!choice.orelse.is_empty()).then(|| Box::new(self.block_of(&choice.orelse)));
        self.emit(StmtKind::If(cond?, Box::new(then), otherwise), span);
        Ok(())
    }

    fn return_value(&mut self, value: Option<&Expr>, span: Span) -> Read<()> {
        let Some(value) = value else {
            return Err(self.cx.error(codes::MEANINGLESS_SYNTAX, span, "`return` needs a value", ""));
        };
        let value = self.arg(value);
        let value = match self.dialect.ret_ty.as_ref().map(|ty| ty.dtype()) {
            Some(dtype) if !dtype.is_handle() && !dtype.is_void() => self.value_of(&value, dtype)?,
            _ => self.to_scalar(&value)?,
        };
        self.emit(StmtKind::Return(value), span);
        Ok(())
    }

    /// `assert cond, "message"`, `assert cond, ("ValueError", ["parts", "of it"])`
    fn assert(&mut self, assert: &ast::Assert, span: Span) -> Read<()> {
        let cond = self.arg(&assert.cond);
        let cond = self.to_condition(&cond)?;
        let (mut kind, mut parts) = (Name::from("RuntimeError"), Vec::new());
        if let Some(msg) = &assert.msg {
            let msg = self.arg(msg);
            let part = |value: &Value| Arg { value: value.clone(), span: msg.span };
            match &msg.value {
                Value::Tuple(items) if items.len() == 2 => {
                    kind = self.to_str(&part(&items[0]))?;
                    for item in self.elements(&part(&items[1]))? {
                        parts.push(self.to_str(&part(&item))?);
                    }
                }
                Value::List(items) => {
                    for item in items {
                        parts.push(self.to_str(&part(item))?);
                    }
                }
                _ => parts.push(self.to_str(&msg)?),
            }
        }
        self.emit(StmtKind::Assert(cond, kind, parts), span);
        Ok(())
    }
}

/// The line of a compound statement, without its block.
fn header(stmt: Span, last: &Expr) -> Span {
    Span::new(stmt.start, last.span.end.max(stmt.start))
}

/// The names that an assignment's target binds.
pub(super) fn target_names(target: &Expr, names: &mut Vec<Name>) {
    match &target.kind {
        ExprKind::Name(name) => names.push(Name::from(name.clone())),
        ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().for_each(|t| target_names(t, names)),
        ExprKind::Starred(inner) => target_names(inner, names),
        _ => {}
    }
}
