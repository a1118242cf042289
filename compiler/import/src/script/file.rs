//! The other contents of a module's file: imports, symbolic dimensions, the metadata section, names for plain values.
//! The rest of a Python file, such as the lines that build and run the module, is skipped with a note.

use super::{
    args::{Arg, Args},
    builtins,
    context::{Context, Read, Reported},
    eval::{Dialect, Eval, Operator},
    path::{Path, Space},
    value::Value,
};
use hammock_diagnostics::{Diagnostic, SourceFile, Span, codes};
use hammock_ir::{AttrValue, GlobalInfo, PrimExpr};
use hammock_syntax::ast::{self, Expr, ExprKind, Stmt, StmtKind};

/// Advice on what a module is.
pub(crate) const MODULE_HELP: &str =
    "a module is a class decorated with `@I.ir_module`, or a function with `@R.function` or `@T.prim_func`";

/// SkippedLines lines.
#[derive(Default)]
pub(crate) struct SkippedLines(Vec<Span>);

impl SkippedLines {
    pub fn add(&mut self, span: Span) {
        self.0.push(span);
    }

    /// Reports them, once.
    pub fn report(mut self, cx: &mut Context) {
        self.0.sort_by_key(|span| span.start);
        let Some(first) = self.0.first() else { return };
        let line = cx.source.line_span(cx.source.line_index(first.start));
        let more = if self.0.len() > 1 { ", as is everything after it outside the module" } else { "" };
        let message = "this is outside the module and is skipped: the text is read, not run";
        let at = Span::new(first.start, first.end.min(line.end).max(first.start));
        cx.report(Diagnostic::note(codes::MEANINGLESS_SYNTAX, message).label(at, format!("skipped{more}")));
    }
}

/// Reports a function of a module outside its class.
pub(crate) fn report_outside(cx: &mut Context, function: &ast::Ident, class: &ast::Ident) {
    let message = format!("`{}` is not a function of the module `{}`, and is skipped", function.name, class.name);
    let help = "indent it like the functions of the module to make it one";
    cx.report(Diagnostic::warning(codes::NO_MODULE, message).label(function.span, "").help(help));
}

/// Start of the rest of a file: the first unindented line after its last module.
pub(crate) fn end(source: &SourceFile, tree: &ast::Module) -> Option<u32> {
    let decorated = |stmt: &&Stmt| {
        let decorators = match &stmt.kind {
            StmtKind::ClassDef(class) => &class.decorators,
            StmtKind::FunctionDef(def) => &def.decorators,
            _ => return false,
        };
        decorators.iter().any(|d| is_module_decorator(source.slice(d.span)))
    };
    let last = tree.body.iter().rev().find(decorated)?.span.end;
    let text = source.text();
    let mut at = last as usize + text[last as usize..].find('\n')? + 1;
    for line in text[at..].split_inclusive('\n') {
        if line.starts_with(|c: char| !c.is_whitespace() && !matches!(c, '#' | ')' | ']' | '}')) {
            // Lines that begin no statement, such as merge conflict markers, are errors in the module.
            let statement = line.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '@' | '"' | '\''));
            return statement.then_some(at as u32);
        }
        at += line.len();
    }
    None
}

/// Returns true if a decorator's text is that of a module.
fn is_module_decorator(decorator: &str) -> bool {
    ["ir_module", "R.function", "relax.function", "prim_func"].iter().any(|name| decorator.contains(name))
}

/// Frameworks whose programs users may pass as modules.
const FRAMEWORKS: [(&str, &str); 6] = [
    ("torch", "PyTorch"),
    ("tensorflow", "TensorFlow"),
    ("keras", "Keras"),
    ("jax", "JAX"),
    ("flax", "JAX"),
    ("onnx", "ONNX"),
];

/// The diagnostic for a file with a framework's model instead of a module.
pub(crate) fn foreign(source: &SourceFile, tree: &ast::Module) -> Option<Diagnostic> {
    let classes = || {
        tree.body.iter().filter_map(|stmt| match &stmt.kind {
            StmtKind::ClassDef(class) => Some(&**class),
            _ => None,
        })
    };
    let decorators = tree.body.iter().flat_map(|stmt| match &stmt.kind {
        StmtKind::ClassDef(class) => class.decorators.as_slice(),
        StmtKind::FunctionDef(def) => def.decorators.as_slice(),
        _ => &[],
    });
    if decorators.map(|d| source.slice(d.span)).any(is_module_decorator) {
        return None;
    }
    let imports = |name: &str| {
        tree.body.iter().any(|stmt| match &stmt.kind {
            StmtKind::Import(imports) => imports.iter().any(|i| i.path.split('.').next() == Some(name)),
            StmtKind::FromImport(import) => import.path.split('.').next() == Some(name),
            _ => false,
        })
    };
    let base =
        |class: &&ast::ClassDef| class.args.iter().any(|arg| source.slice(arg.value.span).ends_with("nn.Module"));
    let model = classes().find(base);
    let of_tvm = source.text().contains("relax.frontend");
    let framework = FRAMEWORKS.iter().find(|(package, _)| imports(package)).map(|(_, name)| *name);
    let framework = match (model, framework) {
        (Some(_), _) if of_tvm => "TVM's `nn`",
        (_, Some(framework)) => framework,
        (Some(_), None) => "PyTorch",
        (None, None) => return None,
    };
    let diagnostic = match model {
        Some(class) => {
            let message = format!("`{}` is a model of {framework}, not a text module", class.name.name);
            Diagnostic::error(codes::NO_MODULE, message).label(class.name.span, "Python that would have to be run")
        }
        None => {
            Diagnostic::error(codes::NO_MODULE, format!("the file is Python that uses {framework}, not a text module"))
        }
    };
    Some(diagnostic.help(match framework {
        "TVM's `nn`" => {
            "in Python, `mod, params = Model().export_tvm(spec)` makes a module; save `mod.script(show_meta=True)`"
        }
        "PyTorch" => {
            "in Python: `program = torch.export.export(Model().eval(), (example_input,))`, then \
             `mod = tvm.relax.frontend.torch.from_exported_program(program)`; save `mod.script(show_meta=True)`"
        }
        _ => {
            "in Python, import the model with TVM (`tvm.relax.frontend`, of ONNX files `onnx.from_onnx`); save \
             `mod.script(show_meta=True)`"
        }
    }))
}

/// A statement outside the module; `after` the module, only declarations are read.
pub(crate) fn statement(cx: &mut Context, stmt: &Stmt, after: bool, skipped: &mut SkippedLines) {
    match &stmt.kind {
        StmtKind::Import(_) | StmtKind::FromImport(_) if after => skipped.add(stmt.span),
        StmtKind::Import(imports) => cx.names.import(imports),
        StmtKind::FromImport(import) => cx.names.import_from(import),
        StmtKind::Pass => {}
        StmtKind::Expr(e) if matches!(e.kind, ExprKind::Str(_)) => {}
        StmtKind::Assign(assign) if !after || declares(cx, &assign.value) => {
            // Its errors are reported.
            let _ = assignment(cx, assign, stmt.span);
        }
        StmtKind::Return(_) => drop(report_stray_return(cx, stmt.span)),
        _ => skipped.add(stmt.span),
    }
}

/// Reports a `return` outside of all functions.
pub(crate) fn report_stray_return(cx: &mut Context, span: Span) -> Reported {
    cx.report_stray_return = Some(span);
    let message = "`return` is outside any function";
    cx.error(codes::MEANINGLESS_SYNTAX, span, message, "indent it like the lines of its function")
}

/// Returns true if a value is a symbolic dimension or the metadata section.
fn declares(cx: &mut Context, value: &Expr) -> bool {
    let ev = Eval::new(cx, File);
    ev.is_path(value, Space::Python, "TypeVar") || ev.is_path(value, Space::Ir, "load_json")
}

/// `name = value`
fn assignment(cx: &mut Context, assign: &ast::Assign, span: Span) -> Read<()> {
    let value = Eval::new(cx, File).eval(&assign.value);
    let name = match assign.targets.as_slice() {
        [Expr { kind: ExprKind::Name(name), .. }] => name,
        // A symbolic dimension that a framework named by its size is that size.
        [Expr { kind: ExprKind::Int(size), .. }] if matches!(&value, Ok(Value::TypeVar(n)) if **n == size.to_string()) =>
        {
            return Ok(());
        }
        _ => return Err(cx.error(codes::MEANINGLESS_SYNTAX, span, "one assignment has one name here", "")),
    };
    let value = match value {
        Ok(Value::TypeVar(declared)) if declared != **name => {
            let message = format!("the symbolic dimension `{declared}` is assigned to another name");
            let label = format!("write `{name} = TypeVar(\"{name}\")`");
            cx.names.define(name.clone(), Value::Broken);
            return Err(cx.error(codes::BAD_BINDING, span, message, label));
        }
        Ok(value) => value,
        Err(reported) => {
            cx.names.define(name.clone(), Value::Broken);
            return Err(reported);
        }
    };
    cx.names.define(name.clone(), value);
    Ok(())
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
            (Space::Relax, "ExternFunc") => builtins::extern_func(ev, args),
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
