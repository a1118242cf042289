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
use hammock_ir::Module;
use hammock_syntax::{Diagnostic, SourceFile};

/// Reads a text module.
///
/// # Errors
/// Everything that is wrong with the text, in its order; nothing is read then.
pub fn read_module(source: &SourceFile, options: &ReadOptions) -> Result<Module, Vec<Diagnostic>> {
    let (tree, mut diagnostics) = hammock_syntax::parse(source);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(diagnostics);
    }
    let mut cx = Context::new(source, options);
    module::read(&mut cx, &tree);
    diagnostics.append(&mut cx.diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        diagnostics.sort_by_key(|d| d.span().start);
        return Err(diagnostics);
    }
    Ok(cx.module)
}
