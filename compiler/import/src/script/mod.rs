//! Text modules: from the syntax tree to IR.
//!
//! Reading goes in three steps: names and declarations of the file and its class ([`module`]), the headers of all
//! functions, then their bodies ([`relax`], [`tir`]). An expression evaluates to a [`value::Value`], the same for both
//! dialects; what a dialect makes of calls, names and operators is in its [`eval::Dialect`].

mod args;
mod attrs;
mod builtins;
mod context;
mod dtypes;
mod eval;
mod expect;
mod infix;
mod intrinsics;
mod linear;
mod metadata;
mod module;
mod namespace;
mod numbers;
mod operators;
mod relax;
mod scope;
mod suggest;
mod tir;
mod types;
mod value;

use crate::ReadOptions;
use context::Context;
use hammock_ir::{Module, Name};
use hammock_ops::Table;
use hammock_syntax::{Diagnostic, SourceFile, codes};

/// What reading a text gives.
struct Reading {
    module: Module,
    /// Functions that were read to their ends without errors.
    complete: Vec<Name>,
    diagnostics: Vec<Diagnostic>,
}

/// Reads a text module.
///
/// # Errors
/// Everything that is wrong with the text, in its order; nothing is read then.
pub fn read_module(source: &SourceFile, options: &ReadOptions) -> Result<Module, Vec<Diagnostic>> {
    let Reading { module, mut diagnostics, .. } = read(source, options);
    if diagnostics.iter().any(Diagnostic::is_error) {
        diagnostics.sort_by_key(|d| d.span().start);
        return Err(diagnostics);
    }
    Ok(module)
}

/// All that is to be said about a text module, in its order: what reading and verifying it finds. Functions are
/// verified even when others could not be read.
pub fn check_module(source: &SourceFile, options: &ReadOptions) -> Vec<Diagnostic> {
    let Reading { module, complete, mut diagnostics } = read(source, options);
    // Functions may be missing only because they could not be read.
    let broken = diagnostics.iter().any(Diagnostic::is_error);
    let echo = |d: &Diagnostic| broken && d.code == codes::UNDEFINED_NAME;
    let found = complete.iter().flat_map(|name| hammock_ir::verify::function(&module, name, &Table));
    diagnostics.extend(found.filter(|d| !echo(d)));
    diagnostics.sort_by_key(|d| d.span().start);
    diagnostics
}

fn read(source: &SourceFile, options: &ReadOptions) -> Reading {
    let (tree, mut diagnostics) = hammock_syntax::parse(source);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Reading { module: Module::new(), complete: Vec::new(), diagnostics };
    }
    let mut cx = Context::new(source, options);
    let complete = module::read(&mut cx, &tree);
    diagnostics.append(&mut cx.diagnostics);
    Reading { module: cx.module, complete, diagnostics }
}
