//! Files and modules: imports, symbolic dimensions, the class, its attributes and functions.

use super::{
    args::Arg,
    context::{Context, Read, TrailingScalars},
    decoration::{Decoration, decoration, plain_params},
    eval::Eval,
    file::{self, File, SkippedLines},
    path::Space,
    relax, tir,
    value::Value,
};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{ExternFunc, Name, module::Function, prim::PrimType, relax::Operand, tir::PrimFunc};
use hammock_syntax::ast::{self, Expr, ExprKind, Stmt, StmtKind};

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
