//! The language server: `hammock lsp` as an editor uses it, and as no editor should.

#[path = "language_server/client.rs"]
mod client;
#[path = "language_server/misuse.rs"]
mod misuse;
#[allow(dead_code)]
mod support;
#[path = "language_server/transcript.rs"]
mod transcript;

use std::fs;
use support::root;

fn check_transcript(name: &str) {
    let script = fs::read_to_string(root().join("tests/language_server").join(name).with_extension("txt")).unwrap();
    support::snapshot("language_server", name, &transcript::run(&script));
}

#[test]
fn diagnostics_fixes_and_formatting() {
    check_transcript("diagnostics");
}

#[test]
fn hover_definitions_references_and_renaming() {
    check_transcript("names");
}

#[test]
fn completion_and_semantic_tokens() {
    check_transcript("completion");
}
