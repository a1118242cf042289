//! Decorators and parameter lists of functions.

use super::{
    args::Args,
    context::{Context, Read, Reported},
    eval::Eval,
    file::File,
    path::{Path, Space},
    suggest,
};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_syntax::ast::{self, Expr, ExprKind};
use rustc_hash::FxHashMap;

/// Flags of `@R.function`.
#[derive(Clone, Copy)]
pub(crate) struct RelaxFlags {
    pub private: bool,
    pub pure: bool,
}

/// Flags of `@T.prim_func`.
#[derive(Clone, Copy, Default)]
pub(crate) struct TirFlags {
    pub private: bool,
    pub s_tir: bool,
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
    Relax(RelaxFlags),
    Tir(TirFlags),
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
                RelaxFlags { private: flag(&mut args, "private", false)?, pure: flag(&mut args, "pure", true)? };
            Decoration::Relax(flags)
        }
        Some((Space::Tir, "prim_func")) => {
            let flags =
                TirFlags { private: flag(&mut args, "private", false)?, s_tir: flag(&mut args, "s_tir", false)? };
            flag(&mut args, "persistent", false)?;
            Decoration::Tir(flags)
        }
        _ => return Err(foreign_decorator(cx, decorator, &text)),
    };
    flag(&mut args, "check_well_formed", true)?;
    args.finish(cx)?;
    Ok(decoration)
}

fn foreign_decorator(cx: &mut Context, decorator: &Expr, text: &str) -> Reported {
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
