//! Desired layouts, from the pass's options.

use hammock_diagnostics::{Diagnostic, codes};
use hammock_ops::{Op, layout::Layout, lookup, ops};
use hammock_runtime::suggest::nearest;
use rustc_hash::FxHashMap;

/// Layouts by operator: one per tensor, or without the result's.
pub type Desired = FxHashMap<&'static str, Vec<Layout>>;

/// Reads and checks the option. TVM's operator names begin with `relax.`.
///
/// # Errors
/// If there is no such operator, it has no choice of layouts, or a layout is not a permutation of its axes.
pub fn read(asked: Vec<(String, Vec<String>)>) -> Result<Desired, Diagnostic> {
    let read = |(name, texts): (String, Vec<String>)| {
        let op = operator(&name)?;
        Ok((op.name, layouts(op, &texts)?))
    };
    asked.into_iter().map(read).collect()
}

fn wrong(message: String, help: String) -> Diagnostic {
    let message = format!("option `desired_layouts` of pass `ConvertLayout`: {message}");
    Diagnostic::error(codes::BAD_PASS_OPTIONS, message).help(help)
}

fn operator(name: &str) -> Result<&'static Op, Diagnostic> {
    let own = name.strip_prefix("relax.").unwrap_or(name);
    let known = || ops().filter(|op| !op.layout_axes.is_empty()).map(|op| op.name);
    let list = || format!("these have: {}", known().map(|n| format!("relax.{n}")).collect::<Vec<_>>().join(", "));
    match lookup(own) {
        Some(op) if !op.layout_axes.is_empty() => Ok(op),
        Some(_) => Err(wrong(format!("operator `{name}` has no layouts to choose"), list())),
        None => {
            let near = nearest(own, known()).map(|near| format!("did you mean `relax.{near}`?"));
            Err(wrong(format!("there is no operator `{name}`"), near.unwrap_or_else(list)))
        }
    }
}

fn layouts(op: &Op, texts: &[String]) -> Result<Vec<Layout>, Diagnostic> {
    let axes = &op.layout_axes;
    // the result's layout is the data's unless it is given
    if texts.len() != axes.len() && texts.len() + 1 != axes.len().max(2) {
        let example = axes.iter().map(|a| format!("\"{a}\"")).collect::<Vec<_>>().join(", ");
        let message = format!("`relax.{}` gets {} layouts", op.name, texts.len());
        return Err(wrong(message, format!("it takes [{example}] in some order of axes; a third may be left out")));
    }
    let read = |(text, primal): (&String, &String)| {
        let layout = Layout::parse(text).filter(|layout| layout.is_layout_of(primal));
        layout.ok_or_else(|| {
            let message = format!("\"{text}\" is no layout for `relax.{}`", op.name);
            let help = format!("it must be {primal} in some order; blocks of channels are written as in \"NCHW16c\"");
            wrong(message, help)
        })
    };
    texts.iter().zip(axes).map(read).collect()
}
