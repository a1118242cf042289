//! Random passes, drawn from the declarations of all passes and of their options.

use crate::rng::Rng;
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{Module, print::module_text};
use hammock_passes::{OptionKind, Options, PASSES, Pass, Step, find, pipeline, vm_pipeline};
use serde_json::{Value, json};

/// Patterns for passes that take some.
fn patterns() -> [Value; 3] {
    [
        json!([["x.a", "R.exp(R.tanh(_))"], ["y.b", "R.tanh(_) | R.abs(_)"]]),
        json!([["x.a", "R.add(_, ...)"], ["x.b", "R.nn.relu(_)"]]),
        json!([
            ["x.a", "R.tanh(_)"],
            ["x.b", "R.split(_)"],
            ["x.c", "R.matmul(_, _)"],
            ["x.d", "R.concat(_)"],
            ["y.e", "R.add(_, _)"],
            ["y.f", "R.multiply(_, _)"],
        ]),
    ]
}

/// Some passes of the pipeline that lowers a module, in their order, as far as the module is a graph.
pub fn lowered_partly(rng: &mut Rng) -> Vec<Step> {
    let mut steps = pipeline(rng.below(4) as u8).steps;
    steps.retain(|step| takes_graphs(step.pass));
    steps.truncate(rng.below(steps.len() as u64 + 1) as usize);
    let percent = *rng.pick(&[30, 70, 100]);
    steps.retain(|_| rng.chance(percent));
    steps
}

/// A pass that takes any module, with options.
pub fn any(rng: &mut Rng) -> Step {
    let all: Vec<&'static Pass> = PASSES.iter().copied().filter(|pass| takes_graphs(pass)).collect();
    let pass = *rng.pick(&all);
    with_options(rng, pass)
}

/// Returns true unless a pass belongs to the end of the pipeline, after which no other may run.
fn takes_graphs(pass: &Pass) -> bool {
    !vm_pipeline(3).steps.iter().any(|step| step.pass.name == pass.name)
}

/// How to react to a pass that does not take a module.
pub enum Advice {
    /// Run these passes first.
    RunFirst(Vec<Step>),
    /// Leave it out.
    LeaveOut,
}

/// Returns the advice in the error of a pass: to leave it out if it needs options, code generators, or passes that do
/// not take graphs. `None` for an error that no pass should have.
pub fn advice(rng: &mut Rng, error: &Diagnostic) -> Option<Advice> {
    let quoted = error.help.iter().filter(|help| help.starts_with("run pass")).flat_map(|help| help.split('`'));
    let first: Vec<&'static Pass> = quoted.filter_map(|name| find(name).ok()).collect();
    let needs_more = [codes::BAD_PASS_OPTIONS, codes::CODE_GENERATOR].contains(&error.code);
    if needs_more || error.help.iter().any(|help| help.contains("leave this pass out")) {
        return Some(Advice::LeaveOut);
    }
    match first.as_slice() {
        [] => None,
        _ if first.iter().all(|pass| takes_graphs(pass)) => {
            Some(Advice::RunFirst(first.into_iter().map(|pass| with_options(rng, pass)).collect()))
        }
        _ => Some(Advice::LeaveOut),
    }
}

/// Returns true if `main` takes as many arguments after a pass as before, and nothing has less precision.
pub fn is_comparable(before: &Module, after: &Module) -> bool {
    let arguments = |module: &Module| module.relax("main").map(|main| main.lambda.params.len());
    arguments(before) == arguments(after) && !module_text(after, &Default::default()).contains("float16")
}

/// A pass with some of its options set.
fn with_options(rng: &mut Rng, pass: &'static Pass) -> Step {
    let mut options = Options::of(pass);
    for option in pass.options {
        // A pass does nothing without patterns.
        let value = value(rng, option.kind).filter(|_| rng.chance(30) || option.kind == OptionKind::Patterns);
        value.into_iter().for_each(|value| options.set(pass, option.name, value).unwrap());
    }
    Step { pass, options }
}

/// A value of an option; `None` for kinds whose values name what a program may lack.
fn value(rng: &mut Rng, kind: OptionKind) -> Option<Value> {
    match kind {
        OptionKind::Bool | OptionKind::BoolOrTexts => Some(rng.chance(50).into()),
        OptionKind::Integer => Some(rng.below(5).into()),
        OptionKind::Choice(names) => Some((*rng.pick(names)).into()),
        OptionKind::Integers => Some(json!({"n": 3, "m": 4})),
        OptionKind::Patterns => Some(rng.pick(&patterns()).clone()),
        _ => None,
    }
}
