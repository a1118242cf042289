//! Type rules for symbolic, partly known and wrong operands. The results are snapshots to read.

mod cases;
mod notation;

use notation::{Case, answer};

fn check(name: &str, cases: Vec<Case>) {
    let text: Vec<String> = cases.iter().map(answer).collect();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots/ops"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text.join("\n")));
}

#[test]
fn elementwise() {
    check("types_elementwise", cases::elementwise());
}

#[test]
fn creation() {
    check("types_creation", cases::creation());
}

#[test]
fn products() {
    check("types_products", cases::products());
}

#[test]
fn shapes() {
    check("types_shapes", cases::shapes());
}

#[test]
fn joins() {
    check("types_joins", cases::joins());
}

#[test]
fn indexing() {
    check("types_indexing", cases::indexing());
}

#[test]
fn reductions() {
    check("types_reductions", cases::reductions());
}

#[test]
fn sorting() {
    check("types_sorting", cases::sorting());
}

#[test]
fn sequences() {
    check("types_sequences", cases::sequences());
}
