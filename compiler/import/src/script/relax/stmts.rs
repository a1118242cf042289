//! Statements of Relax functions.

use super::RelaxEval;
use crate::script::{
    args::Arg,
    context::{Read, Reported},
    value::{Pending, Value},
};
use hammock_diagnostics::{Diagnostic, Label, Span, codes, count};
use hammock_ir::{
    Name, Type, prim,
    relax::{Operand, Value as IrValue},
};
use hammock_syntax::ast::{self, Expr, ExprKind, Stmt, StmtKind};

impl RelaxEval<'_, '_> {
    /// Reads statements in order, skipping those with errors.
    pub(super) fn statements(&mut self, body: &[Stmt]) {
        for (n, stmt) in body.iter().enumerate() {
            if self.dialect.result.is_some() {
                self.cx.error(codes::BAD_FUNCTION, stmt.span, "nothing can follow `return`", "");
                return;
            }
            let said = self.cx.diagnostics.len();
            if self.statement(stmt).is_err() {
                self.define_broken(stmt);
            }
            if self.cx.diagnostics.len() > said {
                self.point_to_later_bindings(said, &body[n + 1..]);
            }
        }
    }

    /// Points to later bindings of undefined names, in the diagnostics after the first `said`.
    fn point_to_later_bindings(&mut self, said: usize, later: &[Stmt]) {
        for diagnostic in self.cx.diagnostics.iter_mut().skip(said).filter(|d| d.code == codes::UNDEFINED_NAME) {
            let name = self.cx.source.slice(diagnostic.span());
            let binds = |stmt: &&Stmt| {
                let mut names = Vec::new();
                assigned_names(stmt, &mut names);
                names.iter().any(|n| **n == *name)
            };
            if let Some(stmt) = later.iter().find(binds) {
                let label = Label { span: stmt.span, message: "bound only here".into(), primary: false, access: None };
                diagnostic.labels.push(label);
                diagnostic.help = vec!["move the binding before its use".into()];
                diagnostic.fixes.clear();
            }
        }
    }

    /// Defines the names of a broken statement, so that their uses are not reported.
    fn define_broken(&mut self, stmt: &Stmt) {
        let mut names = Vec::new();
        assigned_names(stmt, &mut names);
        for name in names {
            if self.scope.get(&name).is_none() {
                self.scope.define(name, Value::Broken);
            }
        }
    }

    fn statement(&mut self, stmt: &Stmt) -> Read<()> {
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Expr(e) => self.expression(e),
            StmtKind::Assign(assign) => match assign.targets.as_slice() {
                [target] => self.assign(target, None, &assign.value, span),
                _ => Err(self.unsupported(span, "one assignment has one target")),
            },
            StmtKind::AnnAssign(assign) => self.annotated(assign, span),
            StmtKind::With(with) => self.with(with),
            StmtKind::If(choice) => self.if_else(choice, span),
            StmtKind::Return(value) => self.return_value(value.as_ref(), span),
            StmtKind::FunctionDef(def) => self.nested(def, def.name.span),
            StmtKind::Pass => Ok(()),
            StmtKind::For(each) => Err(self.no_loops(Span::new(span.start, each.iter.span.end))),
            StmtKind::While(repeat) => Err(self.no_loops(Span::new(span.start, repeat.cond.span.end))),
            StmtKind::AugAssign(assign) => {
                let (target, op) = (self.cx.source.slice(assign.target.span), assign.op.symbol());
                let label = format!("write `{target} = {target} {op} …`");
                let message = "Relax variables do not change";
                Err(self.cx.error(codes::MEANINGLESS_SYNTAX, span, message, label))
            }
            StmtKind::Assert(_) => {
                let label = "write `R.assert_op(condition, …)`, in a function with `pure=False`";
                Err(self.cx.error(codes::MEANINGLESS_SYNTAX, span, "Relax has no `assert` statement", label))
            }
            StmtKind::Break | StmtKind::Continue => Err(self.no_loops(span)),
            StmtKind::Import(_) | StmtKind::FromImport(_) | StmtKind::ClassDef(_) => {
                Err(self.unsupported(span, "this is not allowed in a function"))
            }
        }
    }

    fn no_loops(&mut self, span: Span) -> Reported {
        let label = "call a function recursively, or write a `T.prim_func`";
        self.cx.error(codes::MEANINGLESS_SYNTAX, span, "Relax has no loops", label)
    }

    /// A call for its effect.
    fn expression(&mut self, e: &Expr) -> Read<()> {
        self.reject_comparison(e)?;
        let arg = self.arg(e);
        let pending = match arg.value {
            // A docstring, or a call like `R.func_attr`, which has no value.
            Value::Str(_) | Value::None | Value::Broken => return Ok(()),
            Value::Unbound(pending) => *pending,
            Value::Operand(operand) => {
                Pending { value: IrValue::Operand(operand), args: Vec::new(), attrs: Vec::new(), span: arg.span }
            }
            _ => return Err(self.expected(&arg, "a statement")),
        };
        let var = self.emit("_", None, pending, arg.span)?;
        match self.dialect.function.ty(var) {
            ty if ty.is_void() => Ok(()),
            Type::Any | Type::Error => Ok(()),
            _ => {
                let message = "the result of this call has no name";
                let diagnostic = Diagnostic::error(codes::BAD_BINDING, message).label(arg.span, "");
                Err(self.cx.report(diagnostic.help("bind it: `y = …`; only calls without a result can be statements")))
            }
        }
    }

    fn annotated(&mut self, assign: &ast::AnnAssign, span: Span) -> Read<()> {
        let Some(value) = &assign.value else {
            let (name, ty) = (self.cx.source.slice(assign.target.span), self.cx.source.slice(assign.annotation.span));
            let message = format!("the variable `{name}` needs a value");
            return Err(self.cx.error(codes::BAD_BINDING, span, message, format!("write `{name}: {ty} = …`")));
        };
        // The name of an erroneous value has its declared type; that of an erroneous type, the value's.
        let ty = self.type_expr(&assign.annotation);
        let declared = ty.as_ref().ok().cloned();
        let assigned = self.assign(&assign.target, declared.clone(), value, span);
        if let (Err(_), Some(ty), ExprKind::Name(name)) = (&assigned, declared, &assign.target.kind) {
            self.bind(name, Some(ty), Arg { value: Value::Broken, span }, span)?;
        }
        // Contradictions are reported at the annotation.
        if let ExprKind::Name(name) = &assign.target.kind
            && let Some(Value::Operand(Operand::Var(var))) = self.scope.get(name)
        {
            self.dialect.function.vars[*var].span = assign.target.span.join(assign.annotation.span);
        }
        ty.and(assigned)
    }

    /// Returns true if a name is the parameter whose value the symbolic variable denotes: its declaration, which shapes
    /// of earlier parameters need, defines nothing new.
    fn is_parameter(&self, name: &str, symbol: &prim::Var) -> bool {
        let Some(Value::Operand(Operand::Var(var))) = self.scope.get(name) else { return false };
        self.dialect.function.vars[*var].scalar.as_ref() == Some(symbol)
    }

    /// `target = value`
    fn assign(&mut self, target: &Expr, ty: Option<Type>, value: &Expr, span: Span) -> Read<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                if let Some(dtype) = self.symbol_declaration(value) {
                    let var = self.symbol(name, dtype);
                    if self.is_parameter(name, &var) {
                        return Ok(());
                    }
                    self.scope.define(name.clone(), Value::Scalar(var.expr()));
                    return Ok(());
                }
                let value = self.arg(value);
                self.bind(name, ty, value, span)
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => match &value.kind {
                ExprKind::Tuple(values) if values.len() == targets.len() => {
                    let types = member_types(ty, targets.len());
                    for ((target, ty), value) in targets.iter().zip(types).zip(values) {
                        self.assign(target, ty, value, span)?;
                    }
                    Ok(())
                }
                _ => {
                    let value = self.arg(value);
                    self.unpack(targets, ty, value, span)
                }
            },
            _ => Err(self.unsupported(target.span, "this cannot be assigned to")),
        }
    }

    /// `a, b = tuple`
    fn unpack(&mut self, targets: &[Expr], ty: Option<Type>, value: Arg, span: Span) -> Read<()> {
        let operand = self.to_operand(&value)?;
        match self.type_of(&operand) {
            Type::Error => return Err(self.cx.reported_before()),
            Type::Tuple(members) if members.len() != targets.len() => {
                let names = count(targets.len(), "name");
                let message = format!("cannot unpack a tuple of {} into {names}", count(members.len(), "member"));
                let all = targets.iter().fold(Span::NONE, |all, target| all.join(target.span));
                let diagnostic = Diagnostic::error(codes::BAD_BINDING, message).label(all, names);
                let found = count(members.len(), "member");
                return Err(self.cx.report(diagnostic.secondary(value.span, found)));
            }
            Type::Tuple(_) | Type::Any => {}
            _ => return Err(self.expected(&value, "a tuple to unpack")),
        }
        let types = member_types(ty, targets.len());
        for (n, (target, ty)) in targets.iter().zip(types).enumerate() {
            let ExprKind::Name(name) = &target.kind else {
                return Err(self.unsupported(target.span, "this cannot be assigned to"));
            };
            let index = Arg { value: Value::Int(n as i128), span: target.span };
            let member = self.member(operand.clone(), &index, &value, span)?;
            self.bind(name, ty, Arg { value: member, span }, span)?;
        }
        Ok(())
    }

    fn return_value(&mut self, value: Option<&Expr>, span: Span) -> Read<()> {
        let Some(value) = value else {
            return Err(self.cx.error(codes::BAD_FUNCTION, span, "`return` needs a value", ""));
        };
        if self.dialect.branch || self.dialect.dataflow {
            let message = "`return` is only allowed at the end of a function";
            return Err(self.cx.error(codes::BAD_FUNCTION, span, message, "assign to a variable and return that"));
        }
        let value = self.arg(value);
        self.dialect.result = Some(self.to_operand(&value)?);
        Ok(())
    }
}

/// The types of members, if the tuple's type is declared.
fn member_types(ty: Option<Type>, len: usize) -> Vec<Option<Type>> {
    match ty {
        Some(Type::Tuple(members)) if members.len() == len => members.into_iter().map(Some).collect(),
        _ => vec![None; len],
    }
}

/// The names that a statement binds for those after it.
pub(super) fn assigned_names(stmt: &Stmt, names: &mut Vec<Name>) {
    match &stmt.kind {
        StmtKind::Assign(a) => a.targets.iter().for_each(|t| target_names(t, names)),
        StmtKind::AnnAssign(a) => target_names(&a.target, names),
        StmtKind::FunctionDef(def) => names.push(Name::from(def.name.name.clone())),
        StmtKind::For(each) => each.body.iter().for_each(|s| assigned_names(s, names)),
        StmtKind::While(repeat) => repeat.body.iter().for_each(|s| assigned_names(s, names)),
        StmtKind::With(with) => with.body.iter().for_each(|s| assigned_names(s, names)),
        StmtKind::If(choice) => choice.then.iter().chain(&choice.orelse).for_each(|s| assigned_names(s, names)),
        _ => {}
    }
}

fn target_names(target: &Expr, names: &mut Vec<Name>) {
    match &target.kind {
        ExprKind::Name(name) => names.push(Name::from(name.clone())),
        ExprKind::Tuple(items) | ExprKind::List(items) => items.iter().for_each(|t| target_names(t, names)),
        _ => {}
    }
}
