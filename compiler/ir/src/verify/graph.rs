//! The rules for graphs.

use super::contradiction;
use crate::{
    Function as Global, Module, Name, PrimExpr, Span, Type,
    prim::Var as Dim,
    print::{dim_text, type_text},
    relax::{Binding, Block, Body, Call, Callee, Function, Lambda, OpTable, Operand, Value, Var},
};
use hammock_syntax::{Diagnostic, codes};
use rustc_hash::FxHashSet;

pub fn verify(module: &Module, name: &Name, function: &Function, ops: &dyn OpTable, found: &mut Vec<Diagnostic>) {
    let mut verifier = Verifier {
        module,
        name,
        function,
        ops,
        found,
        bound: FxHashSet::default(),
        scope: FxHashSet::default(),
        dims: FxHashSet::default(),
        span: function.lambda.span,
        pure: false,
        dataflow: false,
    };
    verifier.lambda(&function.lambda);
}

struct Verifier<'a> {
    module: &'a Module,
    name: &'a Name,
    function: &'a Function,
    ops: &'a dyn OpTable,
    found: &'a mut Vec<Diagnostic>,
    /// Every variable bound so far.
    bound: FxHashSet<Var>,
    /// Variables that may be used here.
    scope: FxHashSet<Var>,
    /// Symbolic variables that are defined here.
    dims: FxHashSet<Dim>,
    /// Where the binding stands.
    span: Span,
    /// Whether impure calls are forbidden here.
    pure: bool,
    dataflow: bool,
}

impl Verifier<'_> {
    fn report(&mut self, code: &'static str, message: String, label: &str, help: &str) {
        let diagnostic = Diagnostic::error(code, message);
        let diagnostic = if self.span.is_none() { diagnostic } else { diagnostic.label(self.span, label) };
        self.found.push(if help.is_empty() { diagnostic } else { diagnostic.help(help) });
    }

    fn lambda(&mut self, lambda: &Lambda) {
        let (pure, dataflow) = (self.pure, self.dataflow);
        self.pure = lambda.pure && !lambda.attrs.is_true("relax.force_pure");
        self.dataflow = false;
        for param in &lambda.params {
            self.define(*param);
            let ty = self.function.ty(*param).clone();
            self.define_dims(&ty);
            self.dims.extend(self.function.scalar(*param).cloned());
        }
        let ty = self.body(&lambda.body);
        self.span = lambda.span;
        if let Some(why) = contradiction(&lambda.ret_ty, &ty) {
            let message = format!("the result of `{}` contradicts its declared type: {why}", self.name);
            let label = format!("declared as {}, found {}", type_text(&lambda.ret_ty), type_text(&ty));
            self.report(codes::TYPE_MISMATCH, message, &label, "correct the type after `->`, or the result");
        }
        (self.pure, self.dataflow) = (pure, dataflow);
    }

    /// The body's bindings, and the type of its result. What it binds is gone afterwards.
    fn body(&mut self, body: &Body) -> Type {
        let (scope, dims) = (self.scope.clone(), self.dims.clone());
        for block in &body.blocks {
            self.block(block);
        }
        self.operand(&body.result);
        let ty = self.function.operand_ty(self.module, &body.result);
        (self.scope, self.dims) = (scope, dims);
        ty
    }

    fn block(&mut self, block: &Block) {
        let outer = std::mem::replace(&mut self.dataflow, block.dataflow);
        for binding in &block.bindings {
            self.span = binding.span;
            self.binding(binding);
        }
        for binding in block.bindings.iter().filter(|b| self.function.vars[b.var].dataflow) {
            self.scope.remove(&binding.var);
        }
        self.dataflow = outer;
    }

    fn binding(&mut self, binding: &Binding) {
        if matches!(binding.value, Value::Function(_)) {
            self.define(binding.var); // It may call itself.
        }
        let ty = self.value(binding);
        let span = std::mem::replace(&mut self.span, binding.span);
        if let Some(ty) = ty
            && let Some(why) = contradiction(self.function.ty(binding.var), &ty)
        {
            let info = &self.function.vars[binding.var];
            let message = format!("the type of `{}` contradicts its value: {why}", info.name);
            let label = format!("annotated as {}, found {}", type_text(&info.ty), type_text(&ty));
            self.report(codes::TYPE_MISMATCH, message, &label, "correct the annotation, or leave it out");
        }
        if !matches!(binding.value, Value::Function(_)) {
            self.define(binding.var);
        }
        self.dims.extend(self.function.scalar(binding.var).cloned());
        self.span = span;
    }

    fn define(&mut self, var: Var) {
        if !self.bound.insert(var) {
            let name = self.function.vars[var].name.clone();
            self.report(
                codes::BOUND_TWICE,
                format!("variable `{name}` is bound twice"),
                "",
                "every binding has a variable of its own",
            );
        }
        self.scope.insert(var);
    }

    fn define_dims(&mut self, ty: &Type) {
        let mut new = Vec::new();
        ty.each_expr(&mut |d| new.extend(d.as_var().cloned()));
        self.dims.extend(new);
    }

    /// The type of the value, when it has one of its own.
    fn value(&mut self, binding: &Binding) -> Option<Type> {
        binding.value.each_operand(&mut |o| self.operand(o));
        match &binding.value {
            Value::Operand(o) => Some(self.function.operand_ty(self.module, o)),
            Value::TupleGet(tuple, i) => self.member(tuple, *i),
            Value::MatchCast(_, ty) => {
                self.define_dims(ty);
                Some(ty.clone())
            }
            Value::Call(call) => self.call(call),
            Value::Function(lambda) => {
                self.lambda(lambda);
                None
            }
            Value::If { then, otherwise, .. } => {
                if self.dataflow {
                    let help = "end the block before the `if`";
                    self.report(codes::DATAFLOW, "a dataflow block cannot branch".into(), "this `if`", help);
                }
                let outer = std::mem::replace(&mut self.dataflow, false);
                let first = self.body(then);
                let second = self.body(otherwise);
                self.dataflow = outer;
                let declared = self.function.ty(binding.var).clone();
                if contradiction(&declared, &second).is_some() { Some(second) } else { Some(first) }
            }
        }
    }

    fn member(&mut self, tuple: &Operand, index: usize) -> Option<Type> {
        let ty = self.function.operand_ty(self.module, tuple);
        match &ty {
            Type::Tuple(members) if index < members.len() => Some(members[index].clone()),
            Type::Any => None,
            other => {
                let message = format!("there is no member {index} in {}", type_text(other));
                self.report(codes::TYPE_MISMATCH, message, "", "members are counted from 0");
                None
            }
        }
    }

    fn call(&mut self, call: &Call) -> Option<Type> {
        self.purity(call);
        match &call.callee {
            Callee::Var(v) => self.used(*v),
            Callee::Global(name) => self.global_call(name, call.args.len()),
            Callee::Op("call_tir" | "call_tir_inplace") => self.call_tir(call),
            _ => {}
        }
        match self.ops.infer(self.module, self.function, call) {
            Ok(ty) => Some(ty),
            Err(error) => {
                self.report(codes::OPERATOR_RULE, error.message, "", error.help.as_deref().unwrap_or(""));
                None
            }
        }
    }

    fn purity(&mut self, call: &Call) {
        if !self.pure && !self.dataflow {
            return;
        }
        let (pure, what) = match &call.callee {
            Callee::Op(name) => (self.ops.is_pure(name).unwrap_or(true), format!("R.{name}")),
            Callee::Global(name) => match self.module.functions.get(name) {
                Some(Global::Relax(f)) => (f.lambda.pure, name.to_string()),
                Some(_) => (false, name.to_string()),
                None => (true, name.to_string()),
            },
            Callee::Var(v) => {
                let impure = matches!(self.function.ty(*v), Type::Callable(c) if !c.pure);
                (!impure, self.function.vars[*v].name.to_string())
            }
            Callee::Extern(name) => (false, format!("R.call_packed(\"{name}\")")),
        };
        if pure {
            return;
        }
        let (place, help) = if self.dataflow {
            ("a dataflow block", "move it out of the block")
        } else {
            (
                "a pure function",
                "declare the function with `@R.function(pure=False)`, or call it through `R.call_pure_packed`",
            )
        };
        self.report(codes::IMPURE, format!("{place} calls `{what}`, which is impure"), "impure call", help);
    }

    fn global_call(&mut self, name: &Name, given: usize) {
        let expected = match self.module.functions.get(name) {
            Some(Global::Relax(f)) => f.lambda.params.len(),
            Some(Global::Tir(f)) => f.params.len(),
            _ => return,
        };
        if expected != given {
            let message = format!("`{name}` takes {expected} arguments, {given} given");
            self.report(codes::WRONG_ARITY, message, "", "");
        }
    }

    fn call_tir(&mut self, call: &Call) {
        let [Operand::Global(name), Operand::Tuple(args), ..] = call.args.as_slice() else { return };
        let Some(Global::Tir(func)) = self.module.functions.get(name) else {
            if self.module.functions.contains_key(name) {
                let message = format!("`R.call_tir` calls `{name}`, which is not a TIR function");
                self.report(codes::WRONG_CALLEE, message, "", "call a Relax function as `cls.name(…)`");
            }
            return;
        };
        let results = match (call.is_op("call_tir_inplace"), call.ty_args.first()) {
            (true, _) => 0,
            (_, Some(Type::Tuple(types))) => types.len(),
            (_, Some(_)) => 1,
            (_, None) => 0,
        };
        let (given, expected) = (args.len() + results, func.params.len());
        if given != expected && !call.is_op("call_tir_inplace") {
            let message = format!(
                "`{name}` has {expected} parameters, but the call gives {} inputs and {results} results",
                args.len()
            );
            self.report(
                codes::WRONG_ARITY,
                message,
                "",
                "inputs and scalars come first, then one buffer for each result",
            );
        }
    }

    fn operand(&mut self, operand: &Operand) {
        operand.walk(&mut |o| match o {
            Operand::Var(v) => self.used(*v),
            Operand::Global(name) if !self.module.functions.contains_key(name) => {
                let message = format!("the module has no function `{name}`");
                self.report(codes::UNDEFINED_NAME, message, "", "");
            }
            Operand::Prim(e) => self.dim(e),
            Operand::Shape(dims) => dims.iter().for_each(|d| self.dim(d)),
            _ => {}
        });
    }

    fn used(&mut self, var: Var) {
        if self.scope.contains(&var) {
            return;
        }
        let info = &self.function.vars[var];
        let (message, help) = if info.dataflow && self.bound.contains(&var) {
            (format!("`{}` is used outside its dataflow block", info.name), "name it in `R.output(…)`")
        } else {
            (format!("`{}` is used where it is not bound", info.name), "")
        };
        self.report(codes::OUT_OF_SCOPE, message, "", help);
    }

    fn dim(&mut self, expr: &PrimExpr) {
        let mut missing = None;
        expr.each_var(&mut |v| {
            if !self.dims.contains(v) && missing.is_none() {
                missing = Some(v.clone());
            }
        });
        if let Some(var) = missing {
            let message = format!("symbolic variable `{}` has no value in `{}`", var.name(), dim_text(expr));
            let help = "define it as a dimension of a parameter, or by `R.match_cast`";
            self.report(codes::UNDEFINED_SYMBOL, message, "", help);
        }
    }
}
