//! Walks a function: parameters, statements, expressions.

use super::{
    Definition, Role, SymbolId, SymbolKind, name_span,
    walk::{Frame, Resolver},
};
use hammock_diagnostics::Span;
use hammock_syntax::ast::{self, Expr, ExprKind, Stmt, StmtKind};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

impl<'t> Resolver<'t> {
    /// Walks a function in a scope of its own; its name is declared outside of it.
    pub(super) fn walk_function(&mut self, def: &'t ast::FunctionDef) {
        def.decorators.iter().for_each(|decorator| self.expr(decorator));
        self.frames.push(Frame { is_function: true, ..Frame::default() });
        for param in &def.type_params {
            let id = self.declare(&param.name.name, SymbolKind::Size);
            self.define(id, param.name.span, param.name.span);
        }
        self.declare_sizes(def);
        // Shapes of earlier parameters may refer to later scalar ones.
        for param in &def.params {
            let id = match self.lookup_local(&param.name.name) {
                Some(size) => size,
                None => self.declare(&param.name.name, SymbolKind::Parameter),
            };
            self.define(id, param.name.span, param.name.span);
        }
        let types = def.params.iter().flat_map(|param| param.annotation.iter().chain(&param.default));
        types.chain(&def.returns).for_each(|ty| self.ty(ty));
        self.statements(&def.body);
        self.frames.pop();
    }

    /// Statements in the innermost scope.
    pub(super) fn statements(&mut self, body: &'t [Stmt]) {
        body.iter().for_each(|stmt| self.statement(stmt));
    }

    /// Statements in a scope of their own, if the function is a kernel.
    fn block(&mut self, body: &'t [Stmt]) {
        if !self.is_kernel {
            return self.statements(body);
        }
        self.frames.push(Frame::default());
        self.statements(body);
        self.frames.pop();
    }

    fn statement(&mut self, stmt: &'t Stmt) {
        match &stmt.kind {
            StmtKind::Assign(assign) => {
                self.expr(&assign.value);
                assign.targets.iter().for_each(|target| self.assign(target, Some(&assign.value), stmt.span));
            }
            StmtKind::AnnAssign(assign) => {
                self.ty(&assign.annotation);
                assign.value.iter().for_each(|value| self.expr(value));
                self.assign(&assign.target, assign.value.as_ref(), stmt.span);
            }
            StmtKind::AugAssign(assign) => {
                self.expr(&assign.value);
                self.assign(&assign.target, None, stmt.span);
            }
            StmtKind::With(with) => self.with(with, stmt.span),
            StmtKind::For(each) => {
                self.expr(&each.iter);
                self.frames.push(Frame::default());
                self.bind_new(&each.target, stmt.span);
                self.block(&each.body);
                self.frames.pop();
            }
            StmtKind::While(repeat) => {
                self.expr(&repeat.cond);
                self.block(&repeat.body);
            }
            StmtKind::If(choice) => self.branches(choice),
            StmtKind::FunctionDef(def) => {
                let id = self.local(&def.name.name, SymbolKind::Function);
                self.define(id, def.name.span, def.name.span);
                self.walk_function(def);
            }
            _ => stmt.each_expr(&mut |expr| self.expr(expr)),
        }
    }

    fn with(&mut self, with: &'t ast::With, statement: Span) {
        with.items.iter().for_each(|(context, _)| self.expr(context));
        let targets = with.items.iter().filter_map(|(_, target)| target.as_ref());
        if !self.is_kernel {
            targets.for_each(|target| self.assign(target, None, statement));
            return self.statements(&with.body);
        }
        self.frames.push(Frame::default());
        targets.for_each(|target| self.bind_new(target, statement));
        self.block(&with.body);
        self.frames.pop();
    }

    /// A use after an `if` refers to a definition in each branch.
    fn branches(&mut self, choice: &'t ast::If) {
        self.expr(&choice.cond);
        let start = self.replaced.len();
        self.block(&choice.then);
        let mut after_then: Vec<(SymbolId, SmallVec<[Definition; 1]>)> = Vec::new();
        let mut seen = FxHashSet::default();
        for (id, before) in self.replaced.split_off(start).into_iter().rev() {
            let now = match before {
                Some(before) => self.current.insert(id, before),
                None => self.current.remove(&id),
            };
            if seen.insert(id) {
                after_then.extend(now.map(|now| (id, now)));
            }
        }
        self.block(&choice.orelse);
        for (id, definitions) in after_then {
            let before = self.current.get(&id).cloned();
            let mut all = definitions;
            all.extend(
                before.iter().flatten().filter(|definition| !all.contains(definition)).copied().collect::<Vec<_>>(),
            );
            self.current.insert(id, all);
            self.replaced.push((id, before));
        }
    }

    /// The symbol that an assignment to a name defines in the innermost function.
    fn local(&mut self, name: &ast::Name, kind: SymbolKind) -> SymbolId {
        self.lookup_local(name).unwrap_or_else(|| self.declare(name, kind))
    }

    /// The target of an assignment.
    fn assign(&mut self, target: &'t Expr, value: Option<&'t Expr>, statement: Span) {
        match &target.kind {
            ExprKind::Name(name) => {
                let span = name_span(self.source, target.span, name).unwrap_or(target.span);
                self.assign_name(name, span, value, statement);
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => match value.map(|value| &value.kind) {
                Some(ExprKind::Tuple(values)) if values.len() == targets.len() => {
                    targets.iter().zip(values).for_each(|(target, value)| self.assign(target, Some(value), statement));
                }
                _ => targets.iter().for_each(|target| self.assign(target, None, statement)),
            },
            ExprKind::Starred(target) => self.assign(target, None, statement),
            // An element of a buffer.
            _ => self.expr(target),
        }
    }

    fn assign_name(&mut self, name: &ast::Name, span: Span, value: Option<&'t Expr>, statement: Span) {
        if let Some(value) = value.filter(|value| self.declares_size(value)) {
            let size = self.lookup(name).filter(|id| self.names.symbol(*id).kind == SymbolKind::Size);
            let id = size.unwrap_or_else(|| self.local(name, SymbolKind::Size));
            self.define(id, span, statement);
            if self.is_type_var(value) {
                self.type_var_name(id, value);
            }
            return;
        }
        let module = value.and_then(|value| self.module(value));
        let before = self.lookup_local(name);
        let id = before.unwrap_or_else(|| self.declare(name, module.map_or(SymbolKind::Variable, SymbolKind::Module)));
        match before {
            Some(_) if self.is_kernel => self.occur(id, span, Role::Write),
            _ => self.define(id, span, statement),
        }
    }

    /// Binds the names of a loop or a context anew.
    fn bind_new(&mut self, target: &'t Expr, statement: Span) {
        match &target.kind {
            ExprKind::Name(name) => {
                let id = self.declare(name, SymbolKind::Variable);
                self.define(id, target.span, statement);
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => {
                targets.iter().for_each(|target| self.bind_new(target, statement));
            }
            _ => self.expr(target),
        }
    }

    /// The class that an expression names.
    fn module(&self, expr: &Expr) -> Option<usize> {
        let ExprKind::Name(name) = &expr.kind else { return None };
        match self.names.symbol(self.lookup(name)?).kind {
            SymbolKind::Module(class) => Some(class),
            _ => None,
        }
    }

    /// An expression.
    pub(super) fn expr(&mut self, expr: &'t Expr) {
        match &expr.kind {
            ExprKind::Name(name) => {
                if let Some(id) = self.lookup(name)
                    && let Some(span) = name_span(self.source, expr.span, name)
                {
                    self.occur(id, span, Role::Use);
                }
            }
            ExprKind::Attribute(attribute) => {
                self.expr(&attribute.value);
                if let Some(class) = self.module(&attribute.value)
                    && let Some(id) = self.member_of(class, &attribute.name.name)
                {
                    self.occur(id, attribute.name.span, Role::Use);
                }
            }
            ExprKind::Call(call) if self.takes_dims(call) => self.ty(expr),
            ExprKind::Lambda(lambda) => {
                self.frames.push(Frame::default());
                for param in &lambda.params {
                    let id = self.declare(&param.name, SymbolKind::Variable);
                    self.define(id, param.span, param.span);
                }
                self.expr(&lambda.body);
                self.frames.pop();
            }
            ExprKind::Comprehension(comprehension) => {
                self.frames.push(Frame::default());
                for clause in &comprehension.clauses {
                    self.expr(&clause.iter);
                    self.bind_new(&clause.target, clause.target.span);
                    clause.conditions.iter().for_each(|condition| self.expr(condition));
                }
                [&comprehension.element].into_iter().chain(&comprehension.value).for_each(|part| self.expr(part));
                self.frames.pop();
            }
            _ => expr.each_child(&mut |child| self.expr(child)),
        }
    }
}
