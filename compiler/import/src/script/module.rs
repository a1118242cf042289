//! Files and modules: imports, symbolic dimensions, the class, its attributes and functions.

use super::{
    args::{Arg, Args},
    builtins,
    context::{Context, Read, TrailingScalars},
    eval::{Dialect, Eval, Operator},
    file::{self, SkippedLines},
    path::{Path, Space},
    relax, suggest, tir,
    value::Value,
};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{
    AttrValue, ExternFunc, GlobalInfo, Name, PrimExpr, module::Function, prim::PrimType, relax::Operand, tir::PrimFunc,
};
use hammock_syntax::ast::{self, Expr, ExprKind, Stmt, StmtKind};
use rustc_hash::FxHashMap;

/// A class or function in the file that can be read as a module.
#[derive(Clone, Copy)]
enum Candidate<'t> {
    Class(&'t ast::ClassDef),
    Function(&'t ast::FunctionDef),
}

impl Candidate<'_> {
    fn name(&self) -> &ast::Ident {
        match self {
            Candidate::Class(class) => &class.name,
            Candidate::Function(def) => &def.name,
        }
    }

    /// Returns true if its decorator is that of a module, or of a part of one.
    fn is_module(&self, cx: &mut Context) -> bool {
        let mut is = |e: &Expr, space, name| Eval::new(cx, File).is_path(e, space, name);
        match self {
            Candidate::Class(class) => class.decorators.iter().any(|d| is(d, Space::Ir, "ir_module")),
            Candidate::Function(def) => {
                def.decorators.iter().any(|d| is(d, Space::Relax, "function") || is(d, Space::Tir, "prim_func"))
            }
        }
    }
}

/// Reads the file's module into the context; returns the functions that were read, and whether without errors.
pub(crate) fn read(cx: &mut Context, tree: &ast::Module) -> Vec<(Name, bool)> {
    let mut candidates = Vec::new();
    let mut skipped = SkippedLines::default();
    let rest = file::end(cx.source, tree);
    for stmt in &tree.body {
        match &stmt.kind {
            StmtKind::ClassDef(class) => candidates.push(Candidate::Class(class)),
            StmtKind::FunctionDef(def) => candidates.push(Candidate::Function(def)),
            _ => file::statement(cx, stmt, rest.is_some_and(|rest| stmt.span.start >= rest), &mut skipped),
        }
    }
    // A file may contain Python classes and functions in addition to the module.
    let modules: Vec<_> = candidates.iter().copied().filter(|c| c.is_module(cx)).collect();
    let others = if modules.is_empty() { &candidates } else { &modules };
    let chosen = choose(cx, others);
    if let Ok(chosen) = &chosen {
        let asked = cx.options.module.is_some();
        for candidate in candidates.iter().filter(|c| c.name().span != chosen.name().span) {
            match candidate.is_module(cx) {
                true if asked => {}
                true => file::report_outside(cx, candidate.name(), chosen.name()),
                false => skipped.add(candidate.name().span),
            }
        }
        skipped.report(cx);
    }
    match chosen {
        Ok(Candidate::Class(class)) => read_class(cx, class),
        Ok(Candidate::Function(def)) => {
            cx.module.bare = true;
            read_functions(cx, &[def])
        }
        Err(_) => Vec::new(),
    }
}

/// The module to read: the requested or the only one.
fn choose<'t>(cx: &mut Context, candidates: &[Candidate<'t>]) -> Read<Candidate<'t>> {
    let names = || candidates.iter().map(|c| &*c.name().name).collect::<Vec<_>>();
    if let Some(wanted) = &cx.options.module {
        return match candidates.iter().rev().find(|c| *c.name().name == **wanted) {
            Some(found) => Ok(*found),
            None => {
                let diagnostic = Diagnostic::error(codes::NO_MODULE, format!("the file has no module `{wanted}`"));
                let has = super::args::list(&names());
                Err(cx.report(if has.is_empty() { diagnostic } else { diagnostic.help(format!("it has {has}")) }))
            }
        };
    }
    let classes: Vec<_> = candidates.iter().filter(|c| matches!(c, Candidate::Class(_))).collect();
    match (classes.as_slice(), candidates) {
        ([class], _) => Ok(**class),
        ([], [function]) => Ok(*function),
        ([], []) => {
            let diagnostic = Diagnostic::error(codes::NO_MODULE, format!("{} holds no module", cx.source.name()));
            Err(cx.report(diagnostic.help(file::MODULE_HELP)))
        }
        _ => {
            let mut diagnostic = Diagnostic::error(codes::NO_MODULE, "the file holds several modules");
            for candidate in candidates.iter().take(8) {
                diagnostic = diagnostic.label(candidate.name().span, "");
            }
            let choices = names().into_iter().take(8).map(|name| format!("`--module {name}`")).collect::<Vec<_>>();
            Err(cx.report(diagnostic.help(format!("choose one: {}", choices.join(", ")))))
        }
    }
}

fn read_class(cx: &mut Context, class: &ast::ClassDef) -> Vec<(Name, bool)> {
    let is_module = class.decorators.iter().any(|d| Eval::new(cx, File).is_path(d, Space::Ir, "ir_module"));
    if !is_module {
        let message = format!("the class `{}` is not a module", class.name.name);
        let span = class.decorators.last().map_or(class.name.span, |d| d.span);
        let label =
            if class.decorators.is_empty() { "decorate it with `@I.ir_module`" } else { "write `@I.ir_module`" };
        cx.error(codes::NO_MODULE, span, message, label);
        return Vec::new();
    }
    cx.module.name = Some(Name::from(class.name.name.clone()));
    cx.names.push();
    cx.names.define(class.name.name.clone(), Value::Module);
    let mut functions = Vec::new();
    for stmt in &class.body {
        match &stmt.kind {
            StmtKind::FunctionDef(def) => functions.push(&**def),
            _ => drop(class_statement(cx, stmt)),
        }
    }
    read_functions(cx, &functions)
}

/// A statement of the class: its attributes, its devices, an external function.
fn class_statement(cx: &mut Context, stmt: &Stmt) -> Read<()> {
    match &stmt.kind {
        StmtKind::Pass => Ok(()),
        StmtKind::Expr(e) if matches!(e.kind, ExprKind::Str(_)) => Ok(()),
        StmtKind::Expr(e) => match Eval::new(cx, File).eval(e)? {
            Value::None | Value::Broken => Ok(()),
            other => {
                let message = format!("{} is not allowed as a statement of a module", other.describe());
                Err(cx.error(codes::MEANINGLESS_SYNTAX, e.span, message, ""))
            }
        },
        StmtKind::Assign(assign) => match assign.targets.as_slice() {
            [Expr { kind: ExprKind::Name(name), span, .. }] => class_assign(cx, name, *span, &assign.value),
            _ => Err(cx.error(codes::MEANINGLESS_SYNTAX, stmt.span, "one assignment has one name here", "")),
        },
        StmtKind::Return(_) => Err(file::report_stray_return(cx, stmt.span)),
        _ => Err(cx.error(codes::MEANINGLESS_SYNTAX, stmt.span, "this is not allowed in a module", "")),
    }
}

fn class_assign(cx: &mut Context, name: &str, span: Span, value: &Expr) -> Read<()> {
    let mut ev = Eval::new(cx, File);
    match ev.arg(value) {
        Arg { value: Value::Operand(Operand::Extern(symbol)), .. } => {
            let ty = extern_type(&mut ev, value)?;
            declare(cx, name, span, Function::Extern(ExternFunc { symbol, ty, span }))
        }
        Arg { value, .. } => {
            cx.names.define(name, value);
            Ok(())
        }
    }
}

/// The type in `R.ExternFunc("symbol", R.Callable(…))`.
fn extern_type(ev: &mut Eval<File>, value: &Expr) -> Read<Option<hammock_ir::Type>> {
    let ExprKind::Call(call) = &value.kind else { return Ok(None) };
    let args = ev.args(call, "R.ExternFunc".into(), value.span)?;
    let mut given = args.positional.into_iter().skip(1).chain(args.keywords.into_iter().map(|k| k.arg));
    given.find(|arg| !matches!(arg.value, Value::Str(_))).map(|arg| ev.to_type(&arg)).transpose()
}

/// Adds a function under a unique name.
fn declare(cx: &mut Context, name: &str, span: Span, function: Function) -> Read<()> {
    if let Some(first) = cx.module.functions.get(name) {
        let first = match first {
            Function::Relax(f) => f.lambda.span,
            Function::Tir(f) => f.span,
            Function::Extern(f) => f.span,
        };
        let diagnostic = Diagnostic::error(codes::DUPLICATE_NAME, format!("`{name}` is defined twice"));
        return Err(cx.report(diagnostic.label(span, "").secondary(first, "the first one")));
    }
    cx.module.functions.insert(name.into(), function);
    Ok(())
}

/// A function whose header is read.
enum Header {
    Relax(relax::Header),
    Tir(tir::Header),
}

/// Reads functions: all headers first, because bodies refer to later functions. Returns those that were read, and
/// whether without errors.
fn read_functions(cx: &mut Context, defs: &[&ast::FunctionDef]) -> Vec<(Name, bool)> {
    let (mut headers, mut read) = (Vec::new(), Vec::new());
    for def in defs {
        let errors = cx.diagnostics.len();
        match read_header(cx, def) {
            Ok(header) => headers.push((*def, header, cx.diagnostics.len() == errors)),
            Err(_) => cx.broken.extend([Name::from(def.name.name.clone())]),
        }
    }
    // Kernels first: graphs that call them are checked against their buffers.
    headers.sort_by_key(|(_, header, _)| matches!(header, Header::Relax(_)));
    for (def, header, whole) in headers {
        let name = Name::from(def.name.name.clone());
        let errors = cx.diagnostics.len();
        let function = match header {
            Header::Relax(header) => relax::body(cx, header, def).map(Function::Relax),
            Header::Tir(header) => Ok(Function::Tir(tir::body(cx, header, def))),
        };
        if let Ok(function) = function {
            read.push((name.clone(), whole && cx.diagnostics.len() == errors));
            cx.module.functions.insert(name, function);
        }
    }
    move_trailing_scalars(cx);
    read
}

fn read_header(cx: &mut Context, def: &ast::FunctionDef) -> Read<Header> {
    plain_params(cx, def)?;
    let (header, signature) = match decoration(cx, def)? {
        Decoration::Relax(flags) => {
            let header = relax::header(cx, def, flags)?;
            let signature = Function::Relax(header.signature());
            (Header::Relax(header), signature)
        }
        Decoration::Tir(flags) => {
            let header = tir::header(cx, def, flags)?;
            let signature = Function::Tir(header.signature());
            (Header::Tir(header), signature)
        }
    };
    declare(cx, &def.name.name, def.name.span, signature)?;
    Ok(header)
}

/// Checks that parameters have distinct names and none of the features of Python's parameters.
pub(crate) fn plain_params(cx: &mut Context, def: &ast::FunctionDef) -> Read<()> {
    let mut seen: FxHashMap<&str, Span> = FxHashMap::default();
    for param in &def.params {
        let foreign = match (param.star, &param.default) {
            (ast::Star::None, None) => None,
            (ast::Star::None, Some(default)) => Some((default.span, "parameters have no default values")),
            _ => Some((param.name.span, "a function has a fixed number of parameters")),
        };
        if let Some((span, message)) = foreign {
            return Err(cx.error(codes::BAD_FUNCTION, span, message, "every call gives every argument"));
        }
        if let Some(first) = seen.insert(param.name.as_str(), param.name.span) {
            let message = format!("two parameters are called `{}`", param.name.name);
            let diagnostic = Diagnostic::error(codes::BAD_FUNCTION, message).label(param.name.span, "");
            return Err(cx.report(diagnostic.secondary(first, "the first one")));
        }
    }
    Ok(())
}

/// Kind of a function, from its decorator.
pub(crate) enum Decoration {
    Relax(relax::Flags),
    Tir(tir::Flags),
}

/// Reads a function's decorators.
pub(crate) fn decoration(cx: &mut Context, def: &ast::FunctionDef) -> Read<Decoration> {
    let Some(decorator) = def.decorators.last() else {
        let message = format!("the function `{}` is neither Relax nor TIR", def.name.name);
        let help = "decorate it with `@R.function` or `@T.prim_func`";
        return Err(cx.error(codes::BAD_FUNCTION, def.name.span, message, help));
    };
    let ev = Eval::new(cx, File);
    let (path, call) = match ev.callee_of(decorator) {
        Some((path, call)) => (Some(path), Some(call)),
        None => (ev.path_of(decorator), None),
    };
    let text = path.as_ref().map(Path::to_string).unwrap_or_default();
    let mut args = match call {
        Some(call) => Eval::new(cx, File).args(call, text.clone(), decorator.span)?,
        None => Args::new(text.clone(), decorator.span),
    };
    let mut ev = Eval::new(cx, File);
    let mut flag = |args: &mut Args, name: &'static str, default: bool| match args.keyword(name) {
        Some(arg) => ev.to_bool(&arg),
        None => Ok(default),
    };
    let decoration = match path.as_ref().map(|p| (p.space, &*p.name)) {
        Some((Space::Relax, "function")) => {
            let flags =
                relax::Flags { private: flag(&mut args, "private", false)?, pure: flag(&mut args, "pure", true)? };
            Decoration::Relax(flags)
        }
        Some((Space::Tir, "prim_func")) => {
            let flags =
                tir::Flags { private: flag(&mut args, "private", false)?, s_tir: flag(&mut args, "s_tir", false)? };
            flag(&mut args, "persistent", false)?;
            Decoration::Tir(flags)
        }
        _ => return Err(foreign_decorator(cx, decorator, &text)),
    };
    flag(&mut args, "check_well_formed", true)?;
    args.finish(cx)?;
    Ok(decoration)
}

fn foreign_decorator(cx: &mut Context, decorator: &Expr, text: &str) -> super::context::Reported {
    let known = ["R.function", "T.prim_func"];
    let callee = match &decorator.kind {
        ExprKind::Call(call) => call.func.span,
        _ => decorator.span,
    };
    if let Some(near) = suggest::nearest(text, known) {
        let diagnostic = Diagnostic::error(codes::UNKNOWN_FUNCTION, format!("there is no `{text}`"));
        return cx.report(diagnostic.label(callee, "").did_you_mean(callee, near));
    }
    let (message, help) = match text {
        "I.pyfunc" => ("Python functions cannot be compiled", "write it as `@R.function` or `@T.prim_func`"),
        "R.macro" | "T.macro" | "T.inline" => ("macros are not read", "write out what they make"),
        "T.jit" => ("functions with compile-time parameters are not read", "specialize it and print the result"),
        _ => {
            let message = match text {
                "" => "this decorator has no meaning here".to_owned(),
                text => format!("the decorator `{text}` has no meaning here"),
            };
            let help = "functions are decorated with `@R.function` or `@T.prim_func`";
            return cx.error(codes::MEANINGLESS_SYNTAX, decorator.span, message, help);
        }
    };
    cx.error(codes::MEANINGLESS_SYNTAX, decorator.span, message, help)
}

/// Moves trailing scalar parameters before the outputs, for functions called with `tir_vars=`.
fn move_trailing_scalars(cx: &mut Context) {
    for (name, TrailingScalars { inputs, scalars }) in std::mem::take(&mut cx.trailing_scalars) {
        if let Some(Function::Tir(PrimFunc { params, .. })) = cx.module.functions.get_mut(&name)
            && let Some(outputs_end) = params.len().checked_sub(scalars).filter(|end| *end > inputs)
            && params[outputs_end..].iter().all(|p| p.buffer.is_none() && matches!(p.var.ty(), PrimType::Scalar(_)))
        {
            let moved = params.split_off(outputs_end);
            params.splice(inputs..inputs, moved);
        }
    }
}

/// Expressions outside of functions.
pub(super) struct File;

impl Dialect for File {
    const INT: hammock_ir::DType = hammock_ir::DType::INT64;

    fn call(ev: &mut Eval<Self>, path: &Path, args: Args) -> Read<Value> {
        match (path.space, &*path.name) {
            (Space::Ir, "module_attrs") => {
                let attrs = ev.first(args)?;
                let attrs = ev.to_attrs(&attrs)?;
                attrs.iter().for_each(|(key, value)| ev.cx.module.attrs.set(key.clone(), value.clone()));
                Ok(Value::None)
            }
            (Space::Ir, "module_global_infos") => ev.global_infos(args),
            (Space::Ir, "load_json") => {
                let json = ev.first(args)?;
                let text = ev.to_str(&json)?;
                ev.cx.load_metadata(&text, json.span)?;
                Ok(Value::Metadata)
            }
            (Space::Python, "TypeVar") => {
                let name = ev.first(args)?;
                ev.to_str(&name).map(Value::TypeVar)
            }
            (Space::Relax, "ExternFunc") => relax::extern_func(ev, args),
            _ => builtins::call(ev, path, args),
        }
    }

    fn apply(ev: &mut Eval<Self>, callee: Value, args: Args) -> Read<Value> {
        let message = format!("{} cannot be called here", callee.describe());
        Err(ev.cx.error(codes::WRONG_VALUE, args.span, message, ""))
    }

    fn method(ev: &mut Eval<Self>, on: Arg, name: &ast::Ident, _: Args) -> Read<Value> {
        Self::attribute(ev, on, name)
    }

    fn attribute(ev: &mut Eval<Self>, on: Arg, name: &ast::Ident) -> Read<Value> {
        let message = format!("{} has no attribute `{}`", on.value.describe(), name.name);
        Err(ev.cx.error(codes::UNKNOWN_FUNCTION, name.span, message, ""))
    }

    fn subscript(ev: &mut Eval<Self>, on: Arg, _: &[ast::Index], _: Span) -> Read<Value> {
        Err(ev.expected(&on, "a list"))
    }

    fn operator(_: &mut Eval<Self>, _: Operator, _: &[Arg], _: Span) -> Read<Option<Value>> {
        Ok(None)
    }

    fn scalar(_: &mut Eval<Self>, _: &Value) -> Option<PrimExpr> {
        None
    }
}

impl Eval<'_, '_, File> {
    /// `I.module_global_infos({"vdevice": [I.vdevice("llvm")], "mesh": [R.device_mesh((2,), I.Range(0, 2))]})`
    fn global_infos(&mut self, args: Args) -> Read<Value> {
        let infos = self.first(args)?;
        let Value::Dict(pairs) = &infos.value else { return Err(self.expected(&infos, "a dictionary")) };
        for (key, list) in pairs {
            let key = self.to_str(&Arg { value: key.clone(), span: infos.span })?;
            let mut entries = Vec::new();
            for value in self.elements(&Arg { value: list.clone(), span: infos.span })? {
                entries.push(match value {
                    Value::Attr(AttrValue::VDevice(device)) => GlobalInfo::VDevice(device),
                    Value::Attr(AttrValue::DeviceMesh(mesh)) => GlobalInfo::DeviceMesh(mesh),
                    Value::Attr(AttrValue::Opaque(key, _)) if key == "ir.DummyGlobalInfo" => GlobalInfo::Dummy,
                    value => return Err(self.expected(&Arg { value, span: infos.span }, "devices and meshes")),
                });
            }
            self.cx.module.global_infos.insert(key, entries);
        }
        Ok(Value::None)
    }
}
