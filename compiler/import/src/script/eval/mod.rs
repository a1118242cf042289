//! Evaluation of expressions, shared by both dialects.

mod unknown;

use super::{
    args::{Arg, Args, Keyword, list},
    context::{Context, Read, Reported},
    path::{Path, Space},
    scope::Scope,
    suggest,
    value::Value,
};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{DType, Name, PrimExpr, prim, relax, types::ShapeType};
use hammock_syntax::ast::{self, BinaryOp, CompareOp, Expr, ExprKind, Star, UnaryOp};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A dialect's semantics of names, calls and operators.
pub(crate) trait Dialect: Sized {
    /// The dtype of a plain integer.
    const INT: DType;

    /// A call of something in a namespace.
    fn call(ev: &mut Eval<'_, '_, Self>, path: &Path, args: Args) -> Read<Value>;

    /// A call of a function of the module, or of a value.
    fn apply(ev: &mut Eval<'_, '_, Self>, callee: Value, args: Args) -> Read<Value>;

    /// A call of a method of a value.
    fn method(ev: &mut Eval<'_, '_, Self>, on: Arg, name: &ast::Ident, args: Args) -> Read<Value>;

    /// An attribute of a value.
    fn attribute(ev: &mut Eval<'_, '_, Self>, on: Arg, name: &ast::Ident) -> Read<Value>;

    /// A subscript of a value that is no Python container.
    fn subscript(ev: &mut Eval<'_, '_, Self>, on: Arg, indices: &[ast::Index], span: Span) -> Read<Value>;

    /// An operator with a non-scalar operand; `None` if the dialect does not define it.
    fn operator(ev: &mut Eval<'_, '_, Self>, op: Operator, operands: &[Arg], span: Span) -> Read<Option<Value>>;

    /// The scalar that a value of the dialect's own kinds denotes.
    fn scalar(ev: &mut Eval<'_, '_, Self>, value: &Value) -> Option<PrimExpr>;

    /// Description of a value of the dialect's own kinds, for messages.
    fn describe(_: &Eval<'_, '_, Self>, _: &Value) -> Option<String> {
        None
    }

    /// The dialect's qualified name for one without its namespace: `R.exp` for `exp`.
    fn namesake(_: &str) -> Option<String> {
        None
    }

    /// The type of a Relax variable, when it is a shape.
    fn shape_var(_: &Eval<'_, '_, Self>, _: relax::Var) -> Option<ShapeType> {
        None
    }
}

/// An operator with one or two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Compare(CompareOp),
}

/// A reader of expressions of one dialect.
pub(crate) struct Eval<'c, 'a, D> {
    pub cx: &'c mut Context<'a>,
    pub scope: Scope,
    /// Symbolic variables of the function being read, by name.
    pub symbols: FxHashMap<Name, prim::Var>,
    /// While set, an unknown name is a new symbolic variable of that dtype.
    pub define_missing: Option<DType>,
    /// True if a type is being read, in which an unknown name is likely a dimension.
    pub in_type: bool,
    pub dialect: D,
}

impl<'c, 'a, D: Dialect> Eval<'c, 'a, D> {
    pub fn new(cx: &'c mut Context<'a>, dialect: D) -> Self {
        Eval {
            cx,
            scope: Scope::default(),
            symbols: FxHashMap::default(),
            define_missing: None,
            in_type: false,
            dialect,
        }
    }

    /// The value of an expression.
    pub fn eval(&mut self, e: &Expr) -> Read<Value> {
        match &e.kind {
            ExprKind::Name(name) => self.name(name, e.span),
            ExprKind::Int(v) => Ok(Value::Int(i128::from(*v))),
            ExprKind::Float(v) => Ok(Value::Float(*v)),
            ExprKind::Str(text) => Ok(Value::Str(Name::from(text.clone()))),
            ExprKind::Bool(v) => Ok(Value::Bool(*v)),
            ExprKind::None => Ok(Value::None),
            ExprKind::Tuple(items) => Ok(Value::Tuple(self.items(items)?)),
            ExprKind::List(items) => Ok(Value::List(self.items(items)?)),
            ExprKind::Dict(items) => self.dict(items),
            ExprKind::Attribute(a) => self.attribute(a),
            ExprKind::Call(call) => self.call(call, e.span),
            ExprKind::Subscript(s) => self.subscript(s, e.span),
            ExprKind::Unary(op, operand) => self.unary(*op, operand, e.span),
            ExprKind::Binary(chain) => self.binary(chain, e.span),
            ExprKind::Compare(chain) => self.compare(chain, e.span),
            ExprKind::BoolChain(op, operands) => self.logic(*op, operands),
            ExprKind::Lambda(lambda) => Ok(Value::Lambda(Arc::new((**lambda).clone()))),
            ExprKind::If(choice) => self.choice(choice, e.span),
            ExprKind::Error => Err(self.cx.reported_before()),
            ExprKind::BigInt(_) => Err(self.cx.error(codes::WRONG_VALUE, e.span, "integers have at most 64 bits", "")),
            ExprKind::Bytes(_) => Err(self.unsupported(e.span, "byte strings have no meaning here")),
            ExprKind::Ellipsis => Err(self.unsupported(e.span, "`...` has no meaning here")),
            ExprKind::Set(_) => Err(self.unsupported(e.span, "sets have no meaning here")),
            ExprKind::Starred(_) => Err(self.unsupported(e.span, "a starred expression is not allowed here")),
            ExprKind::Comprehension(_) => {
                Err(self.unsupported(e.span, "comprehensions are not evaluated: write the list out"))
            }
        }
    }

    /// Evaluates an expression that should be a type.
    pub fn type_arg(&mut self, e: &Expr) -> Arg {
        self.in_type = true;
        let read = self.arg(e);
        self.in_type = false;
        read
    }

    /// Evaluates to an argument: the value with its span. An erroneous one becomes `Broken`, so that the enclosing
    /// expression is still checked.
    pub fn arg(&mut self, e: &Expr) -> Arg {
        Arg { value: self.eval(e).unwrap_or(Value::Broken), span: e.span }
    }

    /// Reads the indices of an erroneous value, to report errors in them.
    pub fn check_indices(&mut self, indices: &[ast::Index]) {
        for index in indices {
            match index {
                ast::Index::Expr(e) => drop(self.arg(e)),
                ast::Index::Slice(slice) => {
                    for e in [&slice.start, &slice.end, &slice.step].into_iter().flatten() {
                        self.arg(e);
                    }
                }
            }
        }
    }

    /// Rejects `x == value` as a statement, which was meant as an assignment.
    pub fn reject_comparison(&mut self, e: &Expr) -> Read<()> {
        let ExprKind::Compare(chain) = &e.kind else { return Ok(()) };
        let message = "a comparison has no effect as a statement";
        let diagnostic = Diagnostic::error(codes::MEANINGLESS_SYNTAX, message).label(e.span, "");
        let [(CompareOp::Eq, value)] = chain.rest.as_slice() else { return Err(self.cx.report(diagnostic)) };
        if let ExprKind::Name(name) = &chain.first.kind
            && self.scope.get(name).is_none()
        {
            self.scope.define(name.clone(), Value::Broken);
        }
        let (target, value) = (self.cx.source.slice(chain.first.span), self.cx.source.slice(value.span));
        Err(self.cx.report(diagnostic.help(format!("to assign, write `{target} = {value}`"))))
    }

    /// A construct of Python that this language does not have.
    pub fn unsupported(&mut self, span: Span, message: impl Into<String>) -> Reported {
        self.cx.error(codes::MEANINGLESS_SYNTAX, span, message, "")
    }

    /// The value of a name.
    pub fn name(&mut self, name: &str, span: Span) -> Read<Value> {
        let found = self.scope.get(name).or_else(|| self.cx.names.get(name)).cloned();
        match found {
            Some(Value::Broken) => Err(self.cx.reported_before()),
            Some(Value::TypeVar(name)) => Ok(Value::Scalar(self.symbol(&name, DType::INT64).expr())),
            Some(value) => Ok(value),
            // A text printed without its metadata section still refers to its constants.
            None if name == "metadata" => Ok(Value::Metadata),
            None => match (self.symbols.get(name).cloned(), self.define_missing) {
                (Some(var), _) => Ok(Value::Scalar(var.expr())),
                (None, Some(dtype)) => Ok(Value::Scalar(self.symbol(name, dtype).expr())),
                (None, None) => Err(self.undefined(name, span)),
            },
        }
    }

    /// The symbolic dimensions of `def f[n, m: int](…)`.
    pub fn type_params(&mut self, params: &[ast::TypeParam]) -> Read<()> {
        for param in params {
            let int = |e: &Expr| matches!(&e.kind, ExprKind::Name(name) if &**name == "int");
            if let Some(bound) = param.bound.as_ref().filter(|e| !int(e)) {
                let message = format!("the symbolic dimension `{}` is an integer", param.name.name);
                return Err(self.cx.error(codes::BAD_FUNCTION, bound.span, message, "write `int` or nothing"));
            }
            self.symbol(&param.name.name, DType::INT64);
        }
        Ok(())
    }

    /// The function's symbolic variable of that name, created at its first use.
    pub fn symbol(&mut self, name: &str, dtype: DType) -> prim::Var {
        self.symbols.entry(name.into()).or_insert_with(|| prim::Var::new(name, dtype)).clone()
    }

    fn undefined(&mut self, name: &str, span: Span) -> Reported {
        let diagnostic = Diagnostic::error(codes::UNDEFINED_NAME, format!("`{name}` is not defined")).label(span, "");
        let diagnostic = match (self.advice(name), self.similar(name)) {
            (Some(help), _) => diagnostic.help(help),
            (None, Some(meant)) => diagnostic.did_you_mean(span, meant),
            (None, None) if PYTHON_BUILTINS.contains(&name) => {
                diagnostic.help("the text is read, not run: Python's functions and packages are not available in it")
            }
            (None, None) if self.in_type => diagnostic
                .help(format!("a symbolic dimension is declared above the module: `{name} = TypeVar(\"{name}\")`")),
            (None, None) => match self.visible_names() {
                names if names.is_empty() => diagnostic,
                names => diagnostic.help(format!("what is defined here is {names}")),
            },
        };
        self.cx.report(diagnostic)
    }

    /// The visible names of the function, if they are few.
    fn visible_names(&self) -> String {
        let mut names: Vec<&str> = self.scope.names().map(|n| &**n).filter(|n| *n != "_").collect();
        names.sort_unstable();
        if names.len() > 8 { String::new() } else { list(&names) }
    }

    /// A defined name similar to an undefined one.
    fn similar(&self, name: &str) -> Option<String> {
        let mut names: Vec<&str> = self.scope.names().chain(self.cx.names.names()).map(|n| &**n).collect();
        names.push("metadata");
        names.sort_unstable();
        suggest::nearest(name, names).map(str::to_owned).or_else(|| D::namesake(name))
    }

    /// Advice about an undefined name.
    fn advice(&self, name: &str) -> Option<String> {
        if let Some(closed_scope) = self.scope.closed_scope(name) {
            return Some(closed_scope.advice(name));
        }
        let module = self.cx.module.name.as_ref();
        if self.cx.module.functions.contains_key(name) {
            let owner = module.map_or("cls", |m| m);
            return Some(format!("functions of the module are named through it: `{owner}.{name}`"));
        }
        if let Some(module) = module.filter(|_| name == "cls") {
            return Some(format!("the module has this name after `cls = {module}`; or write `{module}` itself"));
        }
        if let Some(module) = module.filter(|_| name == "self") {
            return Some(format!("functions of a module have no `self`; they are named through it: `{module}.…`"));
        }
        let constants = [("true", "True"), ("false", "False"), ("null", "None"), ("none", "None"), ("nullptr", "None")];
        if let Some((_, meant)) = constants.iter().find(|(foreign, _)| *foreign == name) {
            return Some(format!("write `{meant}`"));
        }
        if self.in_type && TYPE_NAMES.contains(&name) {
            return Some(format!("types are named through their namespace: `R.{name}`"));
        }
        let is_dtype = name.parse::<DType>().is_ok();
        is_dtype.then(|| format!("dtypes are written in quotes: `\"{name}\"`"))
    }

    fn items(&mut self, items: &[Expr]) -> Read<Vec<Value>> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            match &item.kind {
                ExprKind::Starred(inner) => {
                    let spread = self.arg(inner);
                    values.extend(self.elements(&spread)?);
                }
                _ => values.push(self.arg(item).value),
            }
        }
        Ok(values)
    }

    fn dict(&mut self, items: &[(Expr, Expr)]) -> Read<Value> {
        let pairs = items.iter().map(|(k, v)| (self.arg(k).value, self.arg(v).value));
        Ok(Value::Dict(pairs.collect()))
    }

    fn attribute(&mut self, a: &ast::Attribute) -> Read<Value> {
        match self.eval(&a.value)? {
            Value::Path(path) => Ok(Value::Path(path.member(a.name.as_str()))),
            Value::Module => self.global(&a.name),
            Value::Broken => Ok(Value::Broken),
            on => D::attribute(self, Arg { value: on, span: a.value.span }, &a.name),
        }
    }

    /// A function of the module: `cls.f`.
    fn global(&mut self, name: &ast::Ident) -> Read<Value> {
        if self.cx.broken.contains(name.as_str()) {
            return Err(self.cx.reported_before());
        }
        if self.cx.module.functions.contains_key(name.as_str()) {
            return Ok(Value::Global(Name::from(name.name.clone())));
        }
        let message = format!("the module has no function `{}`", name.name);
        let mut diagnostic = Diagnostic::error(codes::UNDEFINED_NAME, message).label(name.span, "");
        let functions = self.cx.module.functions.keys().map(|n| &**n);
        if let Some(near) = suggest::nearest(&name.name, functions) {
            diagnostic = diagnostic.did_you_mean(name.span, near);
        } else if (1..=8).contains(&self.cx.module.functions.len()) {
            let all: Vec<&str> = self.cx.module.functions.keys().map(|n| &**n).collect();
            diagnostic = diagnostic.help(format!("it has {}", list(&all)));
        }
        Err(self.cx.report(diagnostic))
    }

    fn call(&mut self, call: &ast::Call, span: Span) -> Read<Value> {
        if let ExprKind::Attribute(a) = &call.func.kind {
            return match self.arg(&a.value).value {
                Value::Path(path) => self.call_path(&path.member(a.name.as_str()), call, span),
                Value::Module => {
                    let callee = self.global(&a.name);
                    let args = self.args(call, format!("cls.{}", a.name.as_str()), span)?;
                    D::apply(self, callee?, args)
                }
                on => {
                    let args = self.args(call, a.name.as_str().to_owned(), span)?;
                    if matches!(on, Value::Broken) {
                        return Ok(Value::Broken);
                    }
                    D::method(self, Arg { value: on, span: a.value.span }, &a.name, args)
                }
            };
        }
        match self.arg(&call.func).value {
            Value::Path(path) => self.call_path(&path, call, span),
            callee => {
                let args = self.args(call, self.cx.source.slice(call.func.span).to_owned(), span)?;
                if matches!(callee, Value::Broken) {
                    return Ok(Value::Broken);
                }
                D::apply(self, callee, args)
            }
        }
    }

    fn call_path(&mut self, path: &Path, call: &ast::Call, span: Span) -> Read<Value> {
        let args = self.args(call, path.to_string(), span)?;
        D::call(self, path, args)
    }

    /// The evaluated arguments of a call.
    pub fn args(&mut self, call: &ast::Call, callee: String, span: Span) -> Read<Args> {
        let mut args = Args::new(callee, span);
        args.callee_span = call.func.span;
        if let Some(arg) = call.args.iter().find(|arg| arg.star == Star::Two) {
            let message = "`**` is not allowed in a call here";
            return Err(self.cx.error(codes::MEANINGLESS_SYNTAX, arg.value.span, message, "write the arguments out"));
        }
        for arg in &call.args {
            let value = self.arg(&arg.value);
            match (&arg.name, arg.star) {
                (Some(name), _) => args.keywords.push(Keyword {
                    name: Name::from(name.name.clone()),
                    name_span: name.span,
                    arg: value,
                }),
                (None, Star::None) => args.positional.push_back(value),
                (None, _) => {
                    let spread = self.elements(&value)?;
                    args.positional.extend(spread.into_iter().map(|v| Arg { value: v, span: value.span }));
                }
            }
        }
        Ok(args)
    }

    fn subscript(&mut self, s: &ast::Subscript, span: Span) -> Read<Value> {
        let on = self.arg(&s.value);
        match (&on.value, s.indices.as_slice()) {
            (Value::Broken, indices) => {
                self.check_indices(indices);
                Ok(Value::Broken)
            }
            (Value::Tuple(items) | Value::List(items), [ast::Index::Expr(index)]) if !items.iter().any(is_computed) => {
                let items = items.clone();
                let at = self.arg(index);
                let at = self.to_index(&at, items.len())?;
                Ok(items[at].clone())
            }
            (Value::Metadata | Value::MetadataOf(_), [ast::Index::Expr(index)]) => {
                let index = self.arg(index);
                self.metadata_entry(&on.value, index, span)
            }
            _ => D::subscript(self, on, &s.indices, span),
        }
    }

    /// `metadata["ir.GenericConst"]`, and `[i]` of that.
    fn metadata_entry(&mut self, on: &Value, index: Arg, span: Span) -> Read<Value> {
        match on {
            Value::MetadataOf(key) => {
                let at = self.to_int(&index)?;
                self.cx.metadata_value(key, at, span)
            }
            _ => self.to_str(&index).map(|key| Value::MetadataOf(Name::from(&*key))),
        }
    }

    /// The path of a dotted name, if it is in a namespace and not shadowed by a local variable.
    pub fn path_of(&self, e: &Expr) -> Option<Path> {
        match &e.kind {
            ExprKind::Attribute(a) => self.path_of(&a.value).map(|path| path.member(a.name.as_str())),
            ExprKind::Name(name) => match self.scope.get(name).or_else(|| self.cx.names.get(name)) {
                Some(Value::Path(path)) => Some(path.clone()),
                _ => None,
            },
            _ => None,
        }
    }

    /// The callee's path, if it is in a namespace.
    pub fn callee_of<'e>(&self, e: &'e Expr) -> Option<(Path, &'e ast::Call)> {
        match &e.kind {
            ExprKind::Call(call) => Some((self.path_of(&call.func)?, call)),
            _ => None,
        }
    }

    /// Returns true if the expression is that name of that namespace, called or not.
    pub fn is_path(&self, e: &Expr, space: Space, name: &str) -> bool {
        let path = match &e.kind {
            ExprKind::Call(call) => self.path_of(&call.func),
            _ => self.path_of(e),
        };
        path.is_some_and(|path| path.is(space, name))
    }
}

/// Types of Relax that need arguments or a namespace.
const TYPE_NAMES: [&str; 6] = ["Tensor", "Tuple", "Shape", "Callable", "Object", "Prim"];

/// Python built-ins that users may expect.
const PYTHON_BUILTINS: [&str; 26] = [
    "F",
    "abs",
    "enumerate",
    "float",
    "int",
    "jax",
    "jnp",
    "len",
    "list",
    "math",
    "max",
    "min",
    "nn",
    "np",
    "numpy",
    "onnx",
    "os",
    "pow",
    "print",
    "range",
    "round",
    "str",
    "sum",
    "tf",
    "torch",
    "zip",
];

/// Returns true if a value is computed at run time, and therefore a tuple of it is, too.
fn is_computed(value: &Value) -> bool {
    matches!(value, Value::Operand(_) | Value::Unbound(_) | Value::Broken)
}
