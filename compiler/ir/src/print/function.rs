//! Prints graphs: functions, bodies, bindings.

use super::{
    names::Entity,
    parts::{BindingText, GraphText},
    printer::{Dialect, Printer, Signature, hint},
};
use crate::{
    Name, Type, equal,
    relax::{self, Binding, Block, Body, Call, Callee, Function, Lambda, Operand, Value},
};
use rustc_hash::FxHashSet;
use std::rc::Rc;

impl<'a> Printer<'a> {
    /// Prints a global graph; returns the names of its symbolic variables.
    pub fn graph(&mut self, name: &Name, function: &'a Function) -> Vec<String> {
        let outside = std::mem::replace(&mut self.dialect, Dialect::Relax);
        self.graph = Some(function);
        self.unnamed_but_used = unnamed_but_used(function);
        let type_vars = self.lambda(name, &function.lambda, true);
        self.graph = None;
        self.dialect = outside;
        type_vars
    }

    /// Prints a nested function, with its header and `TypeVar` lines.
    fn nested(&mut self, name: &str, lambda: &'a Lambda) {
        let start = self.out.len();
        let type_vars = self.lambda(name, lambda, false);
        self.used.type_var |= !type_vars.is_empty();
        let function = self.out.split_off(start);
        for line in self.used.comments() {
            self.whole_line(line);
        }
        self.whole_line("");
        for var in type_vars {
            self.whole_line(&format!("{var} = TypeVar(\"{var}\")"));
        }
        self.out.push_str(&function);
    }

    fn lambda(&mut self, name: &str, lambda: &'a Lambda, global: bool) -> Vec<String> {
        self.names.enter();
        self.enter_function();
        self.decorator(lambda, global);
        self.show(format_args!("def {name}("));
        let type_vars = self.signature(lambda);
        self.header();
        self.begin_body();
        self.indent += 1;
        self.graph_attrs(name, lambda, global);
        self.begin_body();
        self.names.enter();
        self.body_blocks(&lambda.body);
        self.push("return ");
        self.operand(&lambda.body.result);
        self.end_line();
        if global {
            self.record_graph(name, lambda);
        }
        self.names.leave();
        self.indent -= 1;
        self.leave_function();
        self.names.leave();
        type_vars
    }

    fn decorator(&mut self, lambda: &Lambda, global: bool) {
        let private = global && lambda.attrs.get("global_symbol").is_none();
        self.push("@");
        self.relax(match (lambda.pure, private) {
            (true, false) => "function",
            (true, true) => "function(private=True)",
            (false, false) => "function(pure=False)",
            (false, true) => "function(pure=False, private=True)",
        });
        self.end_line();
    }

    /// Appends parameters and result; returns the names of symbolic variables that first occur in them, sorted.
    fn signature(&mut self, lambda: &Lambda) -> Vec<String> {
        let params = lambda.params.iter().filter_map(|p| self.graph?.scalar(*p).cloned()).collect();
        if let Some(frame) = self.frames.last_mut() {
            frame.signature = Some(Signature { params, ..Signature::default() });
        }
        self.list(&lambda.params, |p, param| {
            let ty = p.capture(|p| p.var_type(*param));
            let name = p.define_var(*param);
            p.push(&name);
            p.push(": ");
            p.push(&ty);
        });
        self.push(") -> ");
        self.ty(&lambda.ret_ty);
        let signature = self.frames.last_mut().and_then(|f| f.signature.take()).unwrap_or_default();
        let name = |v| self.names.get(&Entity::Scalar(v)).map(|n| n.to_string());
        let mut type_vars: Vec<String> = signature.type_vars.into_iter().filter_map(name).collect();
        type_vars.sort();
        type_vars
    }

    fn graph_attrs(&mut self, name: &str, lambda: &Lambda, global: bool) {
        let hidden = |k: &Name, v: &crate::AttrValue| global && k == "global_symbol" && v.as_str() == Some(name);
        if lambda.attrs.iter().any(|(k, v)| !hidden(k, v)) {
            self.relax("func_attr(");
            self.attr_dict(&lambda.attrs, hidden);
            self.push(")");
            self.end_line();
        }
    }

    /// Names a variable and the scalar that denotes its value.
    fn define_var(&mut self, var: relax::Var) -> Rc<str> {
        let info = self.graph.and_then(|f| f.vars.get(var));
        let wanted = info.map_or("v", |i| hint(&i.name, "v"));
        let scalar = info.and_then(|i| i.scalar.clone()).map(Entity::Scalar);
        let known = scalar.as_ref().and_then(|s| self.names.get(s));
        let scope = self.names.depth();
        if let Some(name) = known {
            self.names.alias_in(scope, Entity::Relax(var), name.clone());
            return name;
        }
        if wanted == "_" && !self.unnamed_but_used.contains(&var) {
            let blank: Rc<str> = Rc::from("_");
            self.names.alias_in(scope, Entity::Relax(var), blank.clone());
            return blank;
        }
        let name = self.names.define(Entity::Relax(var), wanted);
        if let Some(scalar) = scalar {
            self.names.alias_in(scope, scalar, name.clone());
        }
        name
    }

    /// Appends the type of a variable.
    pub fn var_type(&mut self, var: relax::Var) {
        match self.graph.and_then(|f| f.vars.get(var)) {
            Some(info) => self.ty(&info.ty),
            None => self.relax("Any"),
        }
    }

    fn body_blocks(&mut self, body: &'a Body) {
        for block in &body.blocks {
            if block.dataflow {
                self.dataflow(block);
            } else {
                block.bindings.iter().for_each(|b| self.binding(b));
            }
        }
    }

    fn dataflow(&mut self, block: &'a Block) {
        self.push("with ");
        self.relax("dataflow()");
        self.header();
        self.indent += 1;
        block.bindings.iter().for_each(|b| self.binding(b));
        self.relax("output(");
        let is_output = |b: &&Binding| self.graph.and_then(|f| f.vars.get(b.var)).is_none_or(|info| !info.dataflow);
        let outputs: Vec<relax::Var> = block.bindings.iter().filter(is_output).map(|b| b.var).collect();
        self.list(outputs, |p, var| p.relax_var(var));
        self.push(")");
        self.end_line();
        self.indent -= 1;
    }

    fn binding(&mut self, binding: &'a Binding) {
        // Bindings of nested bodies are parts of this one.
        let graphs = self.graphs.take();
        let start = self.out.len();
        self.assignment(binding);
        if graphs.is_some() {
            let text = self.binding_text(binding, start);
            self.bindings.push(text);
        }
        self.graphs = graphs;
    }

    fn assignment(&mut self, binding: &'a Binding) {
        match &binding.value {
            Value::Function(lambda) => {
                let name = self.define_var(binding.var);
                self.nested(&name, lambda);
            }
            Value::If { cond, then, otherwise } => {
                let ty = self.capture(|p| p.var_type(binding.var));
                let name = self.define_var(binding.var);
                let target = format!("{name}: {ty}");
                self.if_else(&target, cond, then, otherwise);
            }
            Value::MatchCast(..) => {
                let ty = self.capture(|p| p.var_type(binding.var));
                let value = self.capture(|p| p.value(&binding.value));
                self.assign(binding.var, Some(ty), &value);
            }
            value => {
                let text = self.capture(|p| p.value(value));
                if self.is_void(binding) {
                    self.define_var(binding.var);
                    return self.whole_line(&text);
                }
                let ty = (!self.is_type_evident(binding)).then(|| self.capture(|p| p.var_type(binding.var)));
                self.assign(binding.var, ty, &text);
            }
        }
    }

    fn assign(&mut self, var: relax::Var, ty: Option<String>, value: &str) {
        let name = self.define_var(var);
        let annotation = ty.map(|ty| format!(": {ty}")).unwrap_or_default();
        self.whole_line(&format!("{name}{annotation} = {value}"));
    }

    fn if_else(&mut self, target: &str, cond: &'a Operand, then: &'a Body, otherwise: &'a Body) {
        self.push("if ");
        self.operand(cond);
        self.header();
        self.branch(target, then);
        self.whole_line("else:");
        self.branch(target, otherwise);
    }

    fn branch(&mut self, target: &str, body: &'a Body) {
        self.block(|p| {
            p.body_blocks(body);
            let result = p.capture(|p| p.operand(&body.result));
            p.whole_line(&format!("{target} = {result}"));
        });
    }

    /// Returns true if the binding exists for its effect only, so that the text needs no name.
    fn is_void(&self, binding: &Binding) -> bool {
        let void = self.graph.and_then(|f| f.vars.get(binding.var)).is_some_and(|info| info.ty.is_void())
            && !self.unnamed_but_used.contains(&binding.var);
        match &binding.value {
            Value::Operand(Operand::Tuple(members)) => void && members.is_empty(),
            Value::Operand(Operand::Var(v)) => {
                void && self.graph.and_then(|f| f.vars.get(*v)).is_some_and(|info| info.ty.is_void())
            }
            _ => void,
        }
    }

    /// Returns true if the value determines its type.
    fn is_type_evident(&self, binding: &Binding) -> bool {
        let Value::Call(Call { callee: Callee::Op(op), ty_args, .. }) = &binding.value else { return false };
        let declared = self.graph.and_then(|f| f.vars.get(binding.var)).map(|info| &info.ty);
        matches!(*op, "call_tir" | "call_dps_packed")
            && !matches!(declared, Some(Type::Prim(_)))
            && ty_args.first().zip(declared).is_some_and(|(given, declared)| equal::types(given, declared))
    }
}

impl Printer<'_> {
    /// Records a global graph, whose body has been printed and whose names are still known.
    pub fn record_graph(&mut self, name: &str, lambda: &Lambda) {
        if self.graphs.is_none() {
            return;
        }
        let param = |p: &mut Self, var| (p.name_of(var), p.capture(|p| p.var_type(var)));
        let graph = GraphText {
            name: name.to_string(),
            params: lambda.params.iter().map(|var| param(self, *var)).collect(),
            ret_ty: self.capture(|p| p.ty(&lambda.ret_ty)),
            bindings: std::mem::take(&mut self.bindings),
            result: self.capture(|p| p.operand(&lambda.body.result)),
        };
        self.graphs.get_or_insert_default().push(graph);
    }

    /// The parts of a binding that was printed from offset `start` on.
    pub fn binding_text(&mut self, binding: &Binding, start: usize) -> BindingText {
        let ty = self.capture(|p| p.var_type(binding.var));
        let value = match &binding.value {
            Value::If { .. } | Value::Function(_) => unindented(&self.out[start..], self.indent),
            value => self.capture(|p| p.value(value)),
        };
        BindingText { var: self.name_of(binding.var), ty, value }
    }

    fn name_of(&self, var: relax::Var) -> String {
        self.names.get(&Entity::Relax(var)).map_or_else(|| "_".to_owned(), |name| name.to_string())
    }
}

/// Lines without the indentation of the first ones.
fn unindented(lines: &str, indent: usize) -> String {
    let prefix = "    ".repeat(indent);
    let lines: Vec<&str> = lines.trim_end().lines().map(|line| line.strip_prefix(&prefix).unwrap_or(line)).collect();
    lines.join("\n")
}

/// Variables that are used but would not be named in the text: empty tuples, and those called `_`.
fn unnamed_but_used(function: &Function) -> FxHashSet<relax::Var> {
    let mut used = FxHashSet::default();
    let unnamed = |info: &relax::VarInfo| info.ty.is_void() || info.name == *"_";
    if function.vars.values().any(unnamed) {
        function.lambda.body.each_use(&mut |v| used.extend(function.vars.get(v).is_some_and(unnamed).then_some(v)));
    }
    used
}
