//! FuseOpsByPattern: groups values that match patterns into functions for external code generators.
//!
//! The patterns are tried in order on the values of every dataflow block, including those of nested bodies; a value
//! belongs to at most one group. A larger match absorbs an earlier match of the same pattern that it contains
//! entirely; any other match that shares a value with a group is dropped. A group becomes a private function with the
//! attributes `Composite`, the pattern's name, and `Primitive`; values used outside the group become further results.
//! With `annotate_codegen`, each is wrapped in a function with the attribute `Codegen`: the pattern's name up to the
//! first dot. If that is a library of the runtime, such as `cublas`, a match is a group only if the library computes it.

mod annotate;
mod partition;

use crate::{
    Context, OptionKind, Options, Pass, PassOption,
    analysis::{attributes::COMPOSITE, composite::graphs, functions},
    rewrite::{self, groups::outline_groups, shared_functions::SharedFunctions},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Attrs, Function as Global, Module, Name,
    relax::{Outlining, memory::Writers, pattern::NamedPattern},
};
use hammock_ops::Table;
use serde_json::json;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "FuseOpsByPattern",
    doc: "Groups matches of patterns into functions for external code generators",
    options: &[
        PassOption {
            name: "patterns",
            kind: OptionKind::Patterns,
            default: "[]",
            doc: "Patterns, in the order in which they are tried (`hammock explain E0308` shows the language)",
        },
        PassOption {
            name: "bind_constants",
            kind: OptionKind::Bool,
            default: "true",
            doc: "Keep constants in the functions that use them; otherwise they are passed",
        },
        PassOption {
            name: "annotate_codegen",
            kind: OptionKind::Bool,
            default: "false",
            doc: "Wrap each function in one with the attribute `Codegen`, for `RunCodegen`",
        },
        PassOption {
            name: "entry_functions",
            kind: OptionKind::Texts,
            default: "[]",
            doc: "Functions to change; if empty, all",
        },
    ],
    run,
};

/// Returns the options for groups that code generators get with their constants as arguments.
pub fn for_code_generators(patterns: &[(String, String)]) -> Options {
    let options = [("patterns", json!(patterns)), ("bind_constants", false.into()), ("annotate_codegen", true.into())];
    Options::of(&PASS).with(options)
}

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let entries: Vec<Name> = context
        .options
        .texts("entry_functions")
        .iter()
        .map(|name| functions::find(module, &PASS, name))
        .collect::<Result<_, _>>()?;
    let how = Outlining { lift_constants: !context.options.is_on("bind_constants"), lift_sizes: true };
    let mut shared = SharedFunctions::of(module, |function| attrs_of(function).get(COMPOSITE).is_some());
    for pattern in &patterns(context)? {
        fuse(module, pattern, &entries, how, &mut shared)?;
    }
    if context.options.is_on("annotate_codegen") {
        annotate::wrap_composites(module);
    }
    Ok(())
}

fn patterns(context: &Context) -> Result<Vec<NamedPattern>, Diagnostic> {
    let texts = context.environment.texts;
    match context.options.pairs("patterns") {
        Some(pairs) => pairs.iter().map(|(name, text)| texts.pattern(name, text)).collect(),
        None => texts.patterns(&context.options.text("patterns")),
    }
}

fn fuse(
    module: &mut Module,
    pattern: &NamedPattern,
    entries: &[Name],
    how: Outlining,
    shared: &mut SharedFunctions,
) -> Result<(), Diagnostic> {
    let writers = Writers::of(module, &Table);
    for name in graphs(module).into_iter().filter(|name| entries.is_empty() || entries.contains(name)) {
        rewrite::relax_function(module, &name, |module, function| {
            let groups = partition::groups(module, function, pattern)?;
            if !groups.all.is_empty() {
                let body = rewrite::take_body(function);
                function.lambda.body = outline_groups(module, function, body, &groups, (&writers, how), shared)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn attrs_of(function: &Global) -> &Attrs {
    static NONE: std::sync::LazyLock<Attrs> = std::sync::LazyLock::new(Attrs::new);
    function.attrs().unwrap_or(&NONE)
}
