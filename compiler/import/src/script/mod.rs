//! Text modules: from the syntax tree to IR.
//!
//! ReadResult goes in three steps: names and declarations of the file and its class ([`module`]), the headers of all
//! functions, then their bodies ([`relax`], [`tir`]). An expression evaluates to a [`value::Value`], the same for both
//! dialects; each dialect's [`eval::Dialect`] decides what calls, names and operators mean.

mod args;
mod attrs;
mod builtins;
mod context;
mod decoration;
mod devices;
mod dtypes;
mod eval;
mod expect;
mod file;
mod infix;
mod intrinsics;
mod metadata;
mod module;
mod names;
mod numbers;
mod operators;
mod path;
mod relax;
mod scope;
mod suggest;
mod tir;
mod types;
mod value;

pub(crate) use dtypes::{is_valid as is_valid_dtype, nearest as nearest_dtype};
pub use names::{Namespace, dtype_names, namespace_of};
pub use path::Form;
pub use suggest::nearest_operator;

use crate::ReadOptions;
use context::Context;
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_ir::{AttrValue, Module, Name, prim::IndexMap, relax::Value};
use hammock_ops::Table;
use hammock_syntax::ast;

/// Result of reading a text.
struct ReadResult {
    module: Module,
    /// Functions that were read, and whether completely and without errors.
    functions: Vec<(Name, bool)>,
    diagnostics: Vec<Diagnostic>,
}

/// Reads a text module.
///
/// # Errors
/// All errors in the text, in order.
pub fn read_module(source: &SourceFile, options: &ReadOptions) -> Result<Module, Vec<Diagnostic>> {
    let ReadResult { module, mut diagnostics, .. } = read(source, options);
    if diagnostics.iter().any(Diagnostic::is_error) {
        diagnostics.sort_by_key(|d| d.span().start);
        return Err(diagnostics);
    }
    Ok(module)
}

/// All diagnostics of a text module, in order, from reading and verification. Functions with errors are verified as far
/// as they could be read. The module is returned unless reading finds errors.
pub fn check_module(source: &SourceFile, options: &ReadOptions) -> (Option<Module>, Vec<Diagnostic>) {
    let Inspection { module, is_complete, diagnostics } = verify(read(source, options));
    (Some(module).filter(|_| is_complete), diagnostics)
}

/// What is known about a text module, with or without errors: see [`inspect_module`].
#[derive(Debug)]
pub struct Inspection {
    /// The module as far as it could be read.
    pub module: Module,
    /// True if reading found no errors, so that nothing is missing from the module.
    pub is_complete: bool,
    /// All diagnostics in order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Like [`check_module`], for a text that is being edited: `parsed` is what the parser returned for it. Functions with
/// errors are in the module as far as they could be read. If there are syntax errors, the rest is read too, and only
/// these are reported.
pub fn inspect_module(
    source: &SourceFile,
    parsed: &(ast::Module, Vec<Diagnostic>),
    options: &ReadOptions,
) -> Inspection {
    let (tree, diagnostics) = parsed;
    let (result, has_syntax_errors) = read_tree(source, tree, diagnostics.clone(), options);
    if !has_syntax_errors {
        return verify(result);
    }
    let mut cx = Context::new(source, options);
    // Rejected expressions count as reported.
    cx.diagnostics = result.diagnostics.clone();
    module::read(&mut cx, tree);
    Inspection { module: cx.module, is_complete: false, diagnostics: result.diagnostics }
}

/// Verifies what was read.
fn verify(ReadResult { module, functions, mut diagnostics }: ReadResult) -> Inspection {
    // Functions and definitions of symbolic dimensions may be missing only because they could not be read.
    let broken = diagnostics.iter().any(Diagnostic::is_error);
    let missing = |d: &Diagnostic, complete: bool| {
        broken && d.code == codes::UNDEFINED_NAME || !complete && d.code == codes::UNDEFINED_SYMBOL
    };
    for (name, complete) in functions {
        let found = hammock_ir::verify::function(&module, &name, &Table).into_iter();
        let found: Vec<Diagnostic> = found.filter(|d| !missing(d, complete) && !reported(&diagnostics, d)).collect();
        diagnostics.extend(found);
    }
    diagnostics.extend(hammock_ir::verify::recursive_calls(&module));
    diagnostics.sort_by_key(|d| d.span().start);
    Inspection { module, is_complete: !broken, diagnostics }
}

/// Returns true if reading already reported a diagnostic of the verifier.
fn reported(diagnostics: &[Diagnostic], found: &Diagnostic) -> bool {
    diagnostics.iter().any(|d| d.code == found.code && d.span() == found.span() && d.message == found.message)
}

/// Reads an index map over int64 indices, `lambda i, j: (j, i)`.
///
/// # Errors
/// The errors in it. Their spans refer to a synthesized call and must not be shown.
pub fn read_index_map(text: &str) -> Result<IndexMap, Vec<Diagnostic>> {
    let call = format!("@R.function\ndef f(x: R.Tensor):\n    return R.layout_transform(x, index_map={text})\n");
    let module = read_module(&SourceFile::new("index map", call).map_err(|d| vec![d])?, &ReadOptions::default())?;
    let mut found = None;
    for (_, function) in module.relax_functions() {
        function.lambda.body.walk(&mut |binding| {
            if let Value::Call(call) = &binding.value
                && let Some(AttrValue::IndexMap(map)) = call.attrs.get("index_map")
            {
                found = Some((**map).clone());
            }
        });
    }
    found.ok_or_else(|| vec![Diagnostic::error(codes::WRONG_VALUE, "an index map is a lambda")])
}

fn read(source: &SourceFile, options: &ReadOptions) -> ReadResult {
    let (tree, diagnostics) = hammock_syntax::parse(source);
    read_tree(source, &tree, diagnostics, options).0
}

/// Reads a tree; the flag is true if it was not read because of syntax errors.
fn read_tree(
    source: &SourceFile,
    tree: &ast::Module,
    mut diagnostics: Vec<Diagnostic>,
    options: &ReadOptions,
) -> (ReadResult, bool) {
    let unread = |diagnostics| ReadResult { module: Module::new(), functions: Vec::new(), diagnostics };
    if let Some(foreign) = file::foreign(source, tree) {
        return (unread(vec![foreign]), false);
    }
    // Any Python may follow a module; wrongly indented lines may be a part of it.
    if let Some(rest) = file::end(source, tree) {
        diagnostics.retain(|d| d.span().start < rest || d.code == codes::BAD_INDENTATION);
    }
    if diagnostics.iter().any(Diagnostic::is_error) {
        return (unread(diagnostics), true);
    }
    let mut cx = Context::new(source, options);
    let functions = module::read(&mut cx, tree);
    diagnostics.append(&mut cx.diagnostics);
    (ReadResult { module: cx.module, functions, diagnostics }, false)
}
