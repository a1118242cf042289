//! What is known about the text under the cursor: types, headers of functions, the documentation of operators.

use crate::{
    cursor::Cursor,
    document::{Document, Syntax},
    names::{Definition, Occurrence, SymbolKind},
    types::Types,
};
use hammock_diagnostics::{Span, count};
use hammock_import::{Namespace, namespace_of};
use hammock_ir::{prim::intrinsics, print::attr_text};
use hammock_ops::{AttrKind, Op, OperandKind, Param, ParamKind};
use hammock_syntax::ast::{Expr, ExprKind, StmtKind};
use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind};

/// The text for an offset, in Markdown; `None` where nothing is known.
pub fn hover(document: &Document, offset: u32) -> Option<Hover> {
    let syntax = document.syntax().ok()?;
    let cursor = Cursor::new(&syntax.parsed.0, offset);
    let (span, value) = match syntax.names().at(offset) {
        Some(occurrence) => (occurrence.span, symbol(document, syntax, occurrence)),
        None => keyword(syntax, &cursor, offset)
            .or_else(|| dotted(document, syntax, &cursor))
            .or_else(|| expression(document, syntax, &cursor))?,
    };
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
    Some(Hover { contents, range: Some(document.range(span)) })
}

fn code(text: &str) -> String {
    format!("```python\n{text}\n```")
}

fn types<'d>(document: &'d Document, syntax: &'d Syntax) -> Types<'d> {
    Types::new(&document.inspection().module, syntax.names())
}

/// A name that is bound in the text.
fn symbol(document: &Document, syntax: &Syntax, occurrence: &Occurrence) -> String {
    let symbol = syntax.names().symbol(occurrence.symbol);
    let name = &symbol.name;
    let types = types(document, syntax);
    match &symbol.kind {
        SymbolKind::Import(path) => match namespace_of(path) {
            Some((namespace, rest)) if rest.is_empty() => namespace_doc(namespace),
            _ => code(path),
        },
        SymbolKind::Module(class) => {
            let functions = count(syntax.names().members[*class].len(), "function");
            format!("{}\n\nmodule of {functions}", code(&format!("class {name}")))
        }
        SymbolKind::Function if symbol.function.is_none() => {
            code(&types.signature(name).unwrap_or_else(|| format!("def {name}")))
        }
        SymbolKind::Size => format!("{}\n\nsymbolic size", code(&format!("{name}: T.int64"))),
        SymbolKind::Function | SymbolKind::Parameter | SymbolKind::Variable => {
            let mut lines: Vec<String> = Vec::new();
            for definition in definitions(occurrence, &symbol.definitions) {
                let line = match types.of_symbol(occurrence.symbol, Some(definition)) {
                    Some(ty) => format!("{name}: {ty}"),
                    None => continue,
                };
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
            let unknown = || vec![name.to_string()];
            code(&if lines.is_empty() { unknown() } else { lines }.join("\n"))
        }
    }
}

/// The definitions that an occurrence refers to, or is.
fn definitions(occurrence: &Occurrence, all: &[Definition]) -> Vec<Definition> {
    match all.iter().find(|definition| definition.name == occurrence.span) {
        Some(own) => vec![*own],
        None if occurrence.reaching.is_empty() => all.first().copied().into_iter().collect(),
        None => occurrence.reaching.to_vec(),
    }
}

fn namespace_doc(namespace: Namespace) -> String {
    let what = match namespace {
        Namespace::Ir => "modules, and what graphs and kernels share",
        Namespace::Relax => "graphs (Relax): operators on tensors, and types",
        Namespace::Tir => "kernels (TIR): loops, blocks, buffers and scalar expressions",
    };
    format!("`{}`: {what}", namespace.alias())
}

/// The operator that a call's callee denotes.
fn operator(syntax: &Syntax, callee: &Expr) -> Option<&'static Op> {
    match namespace_of(&syntax.names().path(callee)?)? {
        (Namespace::Relax, name) => hammock_ops::lookup(&name),
        _ => None,
    }
}

/// The name of an argument of an operator.
fn keyword(syntax: &Syntax, cursor: &Cursor, offset: u32) -> Option<(Span, String)> {
    let (call, name) = cursor.argument_name(offset)?;
    let op = operator(syntax, &call.func)?;
    let param = op.params.iter().find(|param| param.name == name.as_str())?;
    Some((name.span, format!("{}\n\nof `{}`", code(&param_text(param)), op.signature())))
}

/// A parameter with the kind of its arguments and its default: `axis: list of integers or None = None`.
pub fn param_text(param: &Param) -> String {
    let default = match (&param.default, param.kind) {
        (Some(value), ParamKind::Attr(_)) => format!(" = {}", attr_text(value)),
        (Some(_), ParamKind::Operand(_)) => ", optional".to_owned(),
        (None, _) => String::new(),
    };
    format!("{}: {}{default}", param.name, kind(param.kind))
}

fn kind(kind: ParamKind) -> &'static str {
    match kind {
        ParamKind::Operand(OperandKind::Tensor) => "tensor",
        ParamKind::Operand(OperandKind::OptionalTensor) => "tensor or None",
        ParamKind::Operand(OperandKind::Tensors) => "tuple of tensors",
        ParamKind::Operand(OperandKind::Shape) => "shape",
        ParamKind::Operand(OperandKind::Prim) => "scalar",
        ParamKind::Operand(OperandKind::Prims) => "tuple of scalars",
        ParamKind::Operand(OperandKind::Str) | ParamKind::Attr(AttrKind::Str) => "string",
        ParamKind::Operand(OperandKind::DType) | ParamKind::Attr(AttrKind::DType) => "dtype",
        ParamKind::Operand(OperandKind::Function) => "function",
        ParamKind::Operand(OperandKind::Any) | ParamKind::Attr(AttrKind::Any) => "anything",
        ParamKind::Operand(OperandKind::Variadic) => "any number of operands",
        ParamKind::Attr(AttrKind::Int) => "integer",
        ParamKind::Attr(AttrKind::OptionalInt) => "integer or None",
        ParamKind::Attr(AttrKind::Float) => "float",
        ParamKind::Attr(AttrKind::OptionalFloat) => "float or None",
        ParamKind::Attr(AttrKind::Bool) => "bool",
        ParamKind::Attr(AttrKind::OptionalStr) => "string or None",
        ParamKind::Attr(AttrKind::Ints) => "integers",
        ParamKind::Attr(AttrKind::OptionalInts) => "integers or None",
        ParamKind::Attr(AttrKind::Floats) => "floats",
        ParamKind::Attr(AttrKind::IndexMap) => "index map",
        ParamKind::Attr(AttrKind::VDevice) => "virtual device",
        ParamKind::Attr(AttrKind::Mesh) => "device mesh",
    }
}

/// A name in a namespace, such as an operator; with the type of its call's result.
fn dotted(document: &Document, syntax: &Syntax, cursor: &Cursor) -> Option<(Span, String)> {
    let is_dotted = |expr: &&&Expr| matches!(expr.kind, ExprKind::Attribute(_));
    let expr = cursor.exprs.iter().filter(is_dotted).find(|expr| syntax.names().path(expr).is_some())?;
    let (namespace, name) = namespace_of(&syntax.names().path(expr)?)?;
    let doc = name_doc(namespace, &name)?;
    let call = cursor.calls().find(|(_, call)| call.func.span == expr.span).map(|(call, _)| call);
    let result = call.and_then(|call| expression_type(document, syntax, cursor, call));
    let result = result.map_or(String::new(), |ty| format!("\n\nThe result here:\n\n{}", code(&ty)));
    Some((expr.span, doc + &result))
}

/// The documentation of a name in a namespace.
pub fn name_doc(namespace: Namespace, name: &str) -> Option<String> {
    if name.is_empty() {
        return Some(namespace_doc(namespace));
    }
    if namespace == Namespace::Relax
        && let Some(op) = hammock_ops::lookup(name)
    {
        let example = op.example.map_or(String::new(), |example| {
            let call = format!("R.{name}({})", example.args);
            format!("\n\nExample, with parameters `{}`:\n\n{}", example.params, code(&call))
        });
        return Some(format!("{}\n\n{}{example}", code(&op.signature()), op.doc.trim()));
    }
    if let Some(form) = namespace.form(name) {
        return Some(format!("{}\n\n{}", code(form.usage), form.doc));
    }
    let known = namespace.names().contains(&name) || namespace.is_type(name);
    let what = match namespace {
        _ if !known => return None,
        _ if namespace.is_type(name) => "type".to_owned(),
        Namespace::Tir => match intrinsics::all().find(|own| own.name == name).map(|own| own.arity) {
            Some((least, most)) if least == most => format!("intrinsic with {}", count(least, "argument")),
            Some((least, usize::MAX)) => format!("intrinsic with at least {}", count(least, "argument")),
            Some((least, most)) => format!("intrinsic with {least} to {most} arguments"),
            None => "part of kernels".to_owned(),
        },
        Namespace::Relax => "part of graphs".to_owned(),
        Namespace::Ir => "part of modules".to_owned(),
    };
    Some(format!("{}\n\n{what}", code(&format!("{}.{name}", namespace.alias()))))
}

/// The innermost expression with a known type.
fn expression(document: &Document, syntax: &Syntax, cursor: &Cursor) -> Option<(Span, String)> {
    cursor.exprs.iter().rev().find_map(|expr| {
        let ty = expression_type(document, syntax, cursor, expr)?;
        Some((expr.span, code(&ty)))
    })
}

/// The type of an expression: of the variable that it is bound to.
fn expression_type(document: &Document, syntax: &Syntax, cursor: &Cursor, expr: &Expr) -> Option<String> {
    let types = types(document, syntax);
    let names = syntax.names();
    let function = names.function_at(expr.span.start)?;
    let statement = cursor.statements.last()?;
    let (target, value) = match &statement.kind {
        StmtKind::Assign(assign) => (assign.targets.first(), Some(&assign.value)),
        StmtKind::AnnAssign(assign) => (Some(&assign.target), assign.value.as_ref()),
        _ => (None, None),
    };
    if value.is_some_and(|value| value.span == expr.span)
        && let Some(target) = target.filter(|target| matches!(target.kind, ExprKind::Name(_)))
    {
        let occurrence = names.at(target.span.start)?;
        let own = names.symbol(occurrence.symbol).definitions.iter().find(|own| own.name == occurrence.span);
        return types.of_symbol(occurrence.symbol, own.copied());
    }
    types.of_expression(function, expr.span)
}
