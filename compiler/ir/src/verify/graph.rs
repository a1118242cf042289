//! Verifies graphs: scopes, effects, symbolic variables.

use super::{
    conflict::{Symbols, conflict},
    scope::Scopes,
};
use crate::{
    Module, Name, PrimExpr, TensorShape, Type, prim,
    print::type_text,
    relax::{Binding, Block, Body, Call, Function, Lambda, OpTable, Operand, Value, Var},
    types::ShapeType,
};
use hammock_diagnostics::{Diagnostic, Span, codes};

/// Verifies a graph.
pub(super) fn verify(module: &Module, name: &Name, f: &Function, ops: &dyn OpTable, warns: bool) -> Vec<Diagnostic> {
    let mut graph = Graph::new(module, name, f, ops);
    graph.warns = warns;
    graph.lambda(&f.lambda);
    graph.found
}

/// Checks the outputs that a call of a kernel declares.
pub(super) fn outputs(module: &Module, f: &Function, call: &Call, span: Span, ops: &dyn OpTable) -> Vec<Diagnostic> {
    let name = Name::from("");
    let mut graph = Graph::new(module, &name, f, ops);
    graph.kernel_outputs(call, span);
    graph.found
}

/// A graph being verified.
pub(super) struct Graph<'a> {
    pub module: &'a Module,
    pub name: &'a Name,
    pub f: &'a Function,
    pub ops: &'a dyn OpTable,
    vars: Scopes<Var>,
    symbols: Scopes<prim::Var>,
    /// True if the enclosing function must be pure.
    pub pure: bool,
    pub in_dataflow: bool,
    /// True if warnings are reported.
    pub warns: bool,
    pub found: Vec<Diagnostic>,
}

impl<'a> Graph<'a> {
    fn new(module: &'a Module, name: &'a Name, f: &'a Function, ops: &'a dyn OpTable) -> Self {
        Graph {
            module,
            name,
            f,
            ops,
            vars: Scopes::new(),
            symbols: Scopes::new(),
            pure: f.lambda.pure && !f.lambda.attrs.is_true("relax.force_pure"),
            in_dataflow: false,
            warns: true,
            found: Vec::new(),
        }
    }

    fn lambda(&mut self, lambda: &Lambda) {
        self.vars.enter();
        self.symbols.enter();
        for param in &lambda.params {
            self.define(*param, lambda.span);
            self.define_symbols(self.ty(*param));
        }
        for param in &lambda.params {
            let (ty, span) = (self.ty(*param), self.span_of(*param, lambda.span));
            self.symbols_in(ty, span);
            self.sizes_in(ty, span);
        }
        self.symbols_in(&lambda.ret_ty, lambda.span);
        self.body(&lambda.body, lambda.span);
        self.result_type(lambda);
        self.symbols.leave();
        self.vars.leave();
    }

    /// Verifies a body in an already open scope, so that its result is still visible.
    fn body(&mut self, body: &Body, around: Span) {
        for block in &body.blocks {
            self.block(block, around);
        }
        self.operand(&body.result, around);
    }

    fn block(&mut self, block: &Block, around: Span) {
        let outside = self.in_dataflow;
        self.in_dataflow |= block.dataflow;
        for binding in &block.bindings {
            let span = if binding.span.is_none() { around } else { binding.span };
            self.binding(binding, span, block.dataflow);
        }
        self.in_dataflow = outside;
        if block.dataflow {
            for binding in &block.bindings {
                if self.info(binding.var).is_some_and(|info| info.dataflow) {
                    self.vars.hide(&binding.var);
                }
            }
        }
    }

    fn binding(&mut self, binding: &Binding, span: Span, dataflow: bool) {
        if self.info(binding.var).is_some_and(|info| info.dataflow) && !dataflow {
            let message =
                format!("`{}` is confined to a dataflow block, but bound outside of one", self.text(binding.var));
            self.error(codes::DATAFLOW, message, span, "this binding").help("bind it inside a dataflow block");
        }
        match &binding.value {
            Value::If { cond, then, otherwise } => self.branches(binding, cond, then, otherwise, span),
            Value::Function(lambda) => {
                // A nested function may call itself.
                self.define(binding.var, span);
                let outside = (self.pure, self.in_dataflow);
                (self.pure, self.in_dataflow) = (lambda.pure && !lambda.attrs.is_true("relax.force_pure"), false);
                self.lambda(lambda);
                (self.pure, self.in_dataflow) = outside;
                return;
            }
            Value::MatchCast(operand, ty) => {
                let known = self.operand(operand, span);
                self.define_symbols(ty);
                self.symbols_in(ty, span);
                if known {
                    self.cast(operand, ty, span);
                }
                self.declared_type(binding.var, ty, span);
            }
            value => {
                let known = self.operands(value, span);
                if known && let Some(ty) = self.value_type(value, span) {
                    self.declared_type(binding.var, &ty, span);
                }
            }
        }
        self.define(binding.var, span);
        self.symbols_in(self.ty(binding.var), span);
        self.sizes_in(self.ty(binding.var), span);
    }

    /// Checks that a `match_cast` can succeed.
    fn cast(&mut self, operand: &Operand, ty: &Type, span: Span) {
        let found = self.f.operand_ty(self.module, operand);
        if let Some(why) = conflict(&found, ty, Symbols::Shared) {
            let message = format!("this cast to {} always fails: {why}", type_text(ty));
            self.error(codes::TYPE_MISMATCH, message, span, &format!("of {}", type_text(&found)));
        }
    }

    fn branches(&mut self, binding: &Binding, cond: &Operand, then: &Body, otherwise: &Body, span: Span) {
        if self.in_dataflow {
            self.error(codes::DATAFLOW, "a dataflow block has a branch", span, "branches here")
                .help("end the block before the `if`, and begin another after it");
        }
        if self.operand(cond, span) {
            self.condition(cond, span);
        }
        for body in [then, otherwise] {
            self.vars.enter();
            self.symbols.enter();
            self.body(body, span);
            if self.operand_is_known(&body.result) {
                let ty = self.f.operand_ty(self.module, &body.result);
                self.declared_type(binding.var, &ty, span);
            }
            self.symbols.leave();
            self.vars.leave();
        }
    }

    /// Checks the operands of a value; true if all are known.
    fn operands(&mut self, value: &Value, span: Span) -> bool {
        let mut known = true;
        if let Value::Call(crate::relax::Call { callee: crate::relax::Callee::Var(var), .. }) = value {
            known &= self.uses(*var, span);
        }
        value.each_operand(&mut |operand| known &= self.operand(operand, span));
        if let Value::Call(call) = value {
            call.ty_args.iter().for_each(|ty| self.symbols_in(ty, span));
        }
        known
    }

    /// Checks an operand; true if everything in it is known.
    pub fn operand(&mut self, operand: &Operand, span: Span) -> bool {
        match operand {
            Operand::Var(var) => self.uses(*var, span),
            Operand::Prim(e) => self.symbols_of(e, span),
            Operand::Shape(dims) => dims.iter().filter(|d| !self.symbols_of(d, span)).count() == 0,
            Operand::Tuple(members) => members.iter().filter(|m| !self.operand(m, span)).count() == 0,
            Operand::Global(name) => self.function_exists(name, span),
            _ => true,
        }
    }

    /// Returns true if every variable of an operand has a type.
    fn operand_is_known(&self, operand: &Operand) -> bool {
        let mut known = true;
        operand.each_var(&mut |v| known &= self.info(v).is_some());
        known
    }

    fn uses(&mut self, var: Var, span: Span) -> bool {
        if self.vars.sees(&var) {
            return true;
        }
        let name = self.text(var);
        let (message, help) = match self.info(var) {
            None => (format!("{name} is not a variable of this function"), "a pass took it from another function"),
            Some(info) if info.dataflow && self.vars.knows(&var) => (
                format!("`{name}` is used outside of its dataflow block"),
                "give it out of the block: `R.output` lists what is used after it",
            ),
            Some(_) if self.vars.knows(&var) => (
                format!("`{name}` is used outside of the branch or function that binds it"),
                "bind it before the branch, or make it the result of both branches",
            ),
            Some(_) => (format!("`{name}` is used before it is bound"), "move its binding before this use"),
        };
        self.error(codes::OUT_OF_SCOPE, message, span, "used here").help(help);
        false
    }

    fn define(&mut self, var: Var, span: Span) {
        let known = self.vars.knows(&var);
        self.vars.define(var);
        if known {
            let message = format!("`{}` is bound more than once", self.text(var));
            let first = self.info(var).map_or(Span::NONE, |info| info.span);
            let error = self.error(codes::BOUND_TWICE, message, span, "bound here");
            if first != span {
                error.secondary(first, "and here");
            }
        }
        if let Some(scalar) = self.info(var).and_then(|info| info.scalar.clone()) {
            self.symbols.define(scalar);
        }
    }

    /// Defines the symbolic variables that are dimensions on their own.
    fn define_symbols(&mut self, ty: &Type) {
        let mut define = |dims: &[PrimExpr]| {
            for var in dims.iter().filter_map(PrimExpr::as_var) {
                self.symbols.ensure(var);
            }
        };
        match ty {
            Type::Tensor(t) => t.dims().into_iter().for_each(define),
            Type::DTensor(t) => t.tensor.dims().into_iter().for_each(define),
            Type::Shape(ShapeType::Known(dims)) => define(dims),
            Type::Tuple(members) => members.iter().for_each(|m| self.define_symbols(m)),
            _ => {}
        }
    }

    /// Checks the symbolic variables and shape variables of a type. A function type's are its own.
    fn symbols_in(&mut self, ty: &Type, span: Span) {
        match ty {
            Type::Callable(_) => {}
            Type::Tuple(members) => members.iter().for_each(|m| self.symbols_in(m, span)),
            _ => {
                if let Type::Tensor(t) = ty
                    && let TensorShape::Var(var, _) = t.shape
                {
                    self.uses(var, span);
                }
                ty.each_expr(&mut |e| {
                    self.symbols_of(e, span);
                });
            }
        }
    }

    /// Checks that no size of a tensor is negative.
    fn sizes_in(&mut self, ty: &Type, span: Span) {
        let dims = match ty {
            Type::Tensor(t) => t.dims(),
            Type::DTensor(t) => t.tensor.dims(),
            Type::Tuple(members) => return members.iter().for_each(|m| self.sizes_in(m, span)),
            _ => None,
        };
        if let Some(size) = dims.into_iter().flatten().filter_map(PrimExpr::as_int).find(|size| *size < 0) {
            let message = format!("a tensor has no dimension of {size} elements");
            self.error(codes::BAD_TYPE, message, span, &format!("of type {}", type_text(ty))).help(
                "a size that is not known yet is a symbolic dimension, `n = TypeVar(\"n\")` above the module; a shape \
                 of which only the number of dimensions is known is given as `ndim=2`",
            );
        }
    }

    fn symbols_of(&mut self, e: &PrimExpr, span: Span) -> bool {
        let mut unknown: Vec<prim::Var> = Vec::new();
        e.each_var(&mut |v| {
            if !self.symbols.sees(v) && !unknown.contains(v) {
                unknown.push(v.clone());
            }
        });
        for var in &unknown {
            // One error per variable.
            self.symbols.ensure(var);
            let message = format!("nothing defines the symbolic variable `{}`", var.name());
            self.error(codes::UNDEFINED_SYMBOL, message, span, "used here")
                .help("a parameter must have it as a whole dimension, or an `R.match_cast` before this");
        }
        unknown.is_empty()
    }

    /// Checks the declared type of a variable against its value's.
    fn declared_type(&mut self, var: Var, value: &Type, span: Span) {
        let Some(why) = conflict(value, self.ty(var), Symbols::Shared) else { return };
        let (declared, found) = (type_text(self.ty(var)), type_text(value));
        let message = format!("`{}` is declared as {declared}, but {why}", self.text(var));
        let span = self.span_of(var, span);
        self.error(codes::TYPE_MISMATCH, message, span, &format!("the value is {found}"))
            .help("correct the type, or leave it out: it is inferred");
    }

    fn result_type(&mut self, lambda: &Lambda) {
        if !self.operand_is_known(&lambda.body.result) {
            return;
        }
        let found = self.f.operand_ty(self.module, &lambda.body.result);
        if let Some(why) = conflict(&found, &lambda.ret_ty, Symbols::Shared) {
            let (declared, found) = (type_text(&lambda.ret_ty), type_text(&found));
            let message = format!("the function is declared to return {declared}, but {why}");
            self.error(codes::TYPE_MISMATCH, message, lambda.span, &format!("returns {found}"))
                .help("correct the type after `->`, or leave it out: it is inferred");
        }
    }

    /// Checks that the module has a function; true if it does.
    pub fn function_exists(&mut self, name: &Name, span: Span) -> bool {
        let exists = self.module.functions.contains_key(name);
        if !exists {
            self.error(codes::UNDEFINED_NAME, format!("the module has no function `{name}`"), span, "named here");
        }
        exists
    }

    fn info(&self, var: Var) -> Option<&'a crate::relax::VarInfo> {
        self.f.vars.get(var)
    }

    /// The declared type of a variable.
    pub fn ty(&self, var: Var) -> &'a Type {
        static UNKNOWN: Type = Type::Any;
        self.f.vars.get(var).map_or(&UNKNOWN, |info| &info.ty)
    }

    fn span_of(&self, var: Var, otherwise: Span) -> Span {
        self.info(var).map(|info| info.span).filter(|s| !s.is_none()).unwrap_or(otherwise)
    }

    /// The name of a variable.
    pub fn text(&self, var: Var) -> String {
        self.info(var).map_or_else(|| var.to_string(), |info| info.name.to_string())
    }

    /// Reports an error, to which more can be added.
    pub fn error(&mut self, code: &'static str, message: impl Into<String>, span: Span, label: &str) -> Report<'_> {
        let message = self.locate_message(message.into(), span);
        self.found.push(Diagnostic::error(code, message).label(span, label));
        Report(&mut self.found)
    }

    /// Reports a warning.
    pub fn warn(&mut self, code: &'static str, message: impl Into<String>, span: Span, label: &str) -> Report<'_> {
        let message = self.locate_message(message.into(), span);
        self.found.push(Diagnostic::warning(code, message).label(span, label));
        Report(&mut self.found)
    }

    /// The message, naming the function if there is no source location.
    fn locate_message(&self, message: String, span: Span) -> String {
        if span.is_none() { format!("in function `{}`: {message}", self.name) } else { message }
    }
}

/// The diagnostic reported last.
pub(super) struct Report<'r>(&'r mut Vec<Diagnostic>);

impl<'r> Report<'r> {
    /// The last of the diagnostics found.
    pub fn last(found: &'r mut Vec<Diagnostic>) -> Self {
        Report(found)
    }

    /// Adds advice.
    pub fn help(self, help: impl Into<String>) -> Self {
        self.change(|d| d.help(help))
    }

    /// Adds a secondary location.
    pub fn secondary(self, span: Span, message: &str) -> Self {
        self.change(|d| d.secondary(span, message))
    }

    /// Narrows the span to an access of this buffer, if the text has one within it.
    pub fn access(self, buffer: &str) -> Self {
        self.change(|mut d| {
            d.labels.iter_mut().filter(|label| label.primary).for_each(|label| label.access = Some(buffer.to_owned()));
            d
        })
    }

    fn change(self, f: impl FnOnce(Diagnostic) -> Diagnostic) -> Self {
        if let Some(last) = self.0.pop() {
            self.0.push(f(last));
        }
        self
    }
}
