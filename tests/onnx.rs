//! ONNX models: what they compute, the text they become, and what is said of wrong and damaged ones.
//!
//! `tests/onnx/make.py` makes the models, and records what ONNX Runtime computes.

#[allow(dead_code)]
mod support;

use hammock_compiler::{OnnxWeights, import_onnx};
use hammock_ir::{
    print::{Metadata, PrintOptions},
    verify,
};
use std::path::{Path, PathBuf};
use support::{hammock, root, snapshot, stdout};

/// The models of a folder, by name.
fn models(folder: &str) -> Vec<(String, PathBuf)> {
    let files = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut models: Vec<_> = files.filter(|file| file.extension().is_some_and(|e| e == "onnx")).collect();
    models.sort();
    models.into_iter().map(|file| (file.file_stem().unwrap().to_str().unwrap().to_owned(), file)).collect()
}

fn succeed(folder: &Path, args: &[&str]) -> String {
    stdout(hammock(folder, args))
}

/// `--arg` for each array that was recorded as an input of a model.
fn arguments(name: &str) -> Vec<String> {
    let file = root().join(format!("tests/onnx/{name}.inputs.npz"));
    let count = hammock_runtime::tools::Weights::open(&file).unwrap().iter().count();
    (0..count).flat_map(|i| ["--arg".to_owned(), format!("@{}#{i}", file.display())]).collect()
}

/// Runs a program with a model's inputs, and compares with the results that were recorded.
fn expect(name: &str, program: &str, more: &[&str]) {
    let expected = root().join(format!("tests/onnx/{name}.expected.npz"));
    let given = arguments(name);
    let mut args = vec!["run", program, "--expect", expected.to_str().unwrap()];
    args.extend(more);
    args.extend(given.iter().map(String::as_str));
    succeed(root(), &args);
}

#[test]
fn models_compute_what_onnx_runtime_does() {
    let found = models("tests/onnx");
    assert!(found.len() >= 7, "{}", found.len());
    for (name, file) in found {
        expect(&name, file.to_str().unwrap(), &["--exec-mode", "reference"]);
    }
}

#[test]
fn native_code_computes_the_same() {
    for name in ["cnn", "encoder"] {
        expect(name, &format!("tests/onnx/{name}.onnx"), &[]);
    }
}

/// What a model adds to a table of learned positions has no more rows than the table, and what it multiplies a table with
/// has its rows, or one: this is checked at run time.
#[test]
fn sizes_that_have_to_agree_are_checked() {
    let run = |x: &str, scale: &str| {
        let args = ["run", "tests/onnx/positions.onnx", "--arg", x, "--arg", scale, "--exec-mode", "reference"];
        hammock(root(), &args)
    };
    assert!(run("zeros(1,8,4):float32", "zeros(8,4):float32").status.success());
    for (x, scale, parts) in [
        ("zeros(1,9,4):float32", "zeros(1,4):float32", ["shape[0] is 8, not 9", "positions.onnx:", "/placed"]),
        ("zeros(1,8,4):float32", "zeros(3,4):float32", ["does not broadcast", "positions.onnx:", "/scaled"]),
    ] {
        let output = run(x, scale);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        for part in parts {
            assert!(message.contains(part), "{message}");
        }
    }
}

#[test]
fn models_become_texts() {
    for (name, file) in models("tests/onnx") {
        let imported = import_onnx(file.to_str().unwrap(), OnnxWeights::Parameters).unwrap_or_else(|e| panic!("{e}"));
        let found = verify::module(&imported.module, &hammock_ops::Table);
        assert!(found.is_empty(), "{name}: {found:?}");
        let weights: Vec<&str> = imported.weights.iter().map(|(name, _)| name.as_str()).collect();
        let text = hammock_ir::print::module_text(&imported.module, &PrintOptions { metadata: Metadata::NoConstants });
        let nodes = imported.source.text();
        // What is longer, nobody reads.
        if text.len() > 16_000 {
            continue;
        }
        snapshot("onnx", &name, &format!("{text}\n# weights: {}\n\n{nodes}", weights.join(", ")));
    }
}

#[test]
fn a_text_and_its_weights_are_written_and_run() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["cnn", "encoder"] {
        let model = root().join(format!("tests/onnx/{name}.onnx"));
        let args = ["import", model.to_str().unwrap(), "-o", "model.py", "--params-out", "weights.safetensors"];
        assert_eq!(succeed(folder.path(), &args), "");
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let more = ["--params", &file("weights.safetensors"), "--exec-mode", "reference"];
        expect(name, &file("model.py"), &more);
    }
}

#[test]
fn every_command_that_takes_a_module_takes_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("cnn.so");
    let library = library.to_str().unwrap();
    assert_eq!(succeed(root(), &["check", "tests/onnx/cnn.onnx"]), "");
    assert!(succeed(root(), &["opt", "tests/onnx/cnn.onnx"]).contains("R.nn.conv2d("));
    assert_eq!(succeed(root(), &["compile", "tests/onnx/cnn.onnx", "-o", library]), "");
    expect("cnn", library, &[]);
    assert!(succeed(root(), &["ops", "--onnx"]).contains("\nConv\n"));
}

/// Messages name nodes and tensors.
#[test]
fn wrong_models_are_explained() {
    let mut said = String::new();
    for (name, _) in models("tests/onnx/bad") {
        let output = hammock(root().join("tests/onnx/bad"), &["check", &format!("{name}.onnx")]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        said += &String::from_utf8(output.stderr).unwrap();
        said.push('\n');
    }
    snapshot("onnx", "wrong_models", &said);
}
