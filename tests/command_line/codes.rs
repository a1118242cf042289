//! Diagnostic codes: each occurs in a test, and the examples of `hammock explain` produce it.

use crate::support::root;
use hammock_diagnostics::codes::{self, Code};
use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

/// Codes that no short text or command produces, each with the file of its tests.
const ELSEWHERE: [(&str, &str); 4] = [
    ("E0250", "compiler/ir/src/verify/tests.rs"),
    ("E0251", "compiler/ir/src/verify/tests.rs"),
    ("E0252", "compiler/ir/src/verify/tests.rs"),
    ("E0402", "compiler/diagnostics/src/read.rs"),
];

/// Codes without examples: only a defective pass produces such modules.
const WITHOUT_EXAMPLE: [&str; 1] = ["E0252"];

fn texts(folder: &Path, all: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts(&path, all);
        } else {
            all.push_str(&fs::read_to_string(&path).unwrap_or_default());
        }
    }
}

/// Every code occurs in a snapshot or has a test of its own.
#[test]
fn every_code_is_tested() {
    let mut said = String::new();
    texts(&root().join("snapshots"), &mut said);
    for Code { code, .. } in codes::all() {
        let seen = match ELSEWHERE.iter().find(|(name, _)| name == code) {
            Some((_, file)) => fs::read_to_string(root().join(file)).unwrap().contains(&format!("(\"{code}\", ")),
            None => said.contains(&format!("[{code}]")),
        };
        assert!(seen, "{code} has no snapshot: add the mistake to tests/bad/, or to tests/command_line/commands.rs");
    }
}

/// Runs a command in a folder, with `hammock` on the path.
fn shell(folder: &Path, command: &str) -> Output {
    let own = Path::new(env!("CARGO_BIN_EXE_hammock")).parent().unwrap().display().to_string();
    let path = format!("{own}:{}", std::env::var("PATH").unwrap());
    Command::new("sh").args(["-c", command]).current_dir(folder).env("PATH", path).output().unwrap()
}

/// Runs an example: a command, or a text that is checked or, for compilation codes, compiled.
fn run(folder: &Path, code: &str, example: &str) -> Output {
    if let Some(command) = example.strip_prefix("$ ") {
        return shell(folder, command);
    }
    fs::write(folder.join("example.py"), example.to_owned() + "\n").unwrap();
    let checked = code < "E0300";
    shell(folder, if checked { "hammock check example.py" } else { "hammock compile example.py -o example.so" })
}

/// The wrong example of each page produces the code, the right one no output.
#[test]
fn examples_are_wrong_and_right() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let model = "@R.function\ndef main(x: R.Tensor((3,), \"float32\")):\n    y = R.add(x, x)\n    return y\n";
    fs::write(folder.join("model.py"), model).unwrap();
    fs::write(folder.join("other.py"), model.replace("R.add", "R.multiply")).unwrap();
    let between = "@R.function\ndef main(x: R.Tensor((3,), \"float32\")):\n    with R.dataflow():\n        a = R.nn.relu(x)\n        b = R.exp(a)\n        y = R.add(a, b)\n        R.output(y)\n    return y\n";
    fs::write(folder.join("between.py"), between).unwrap();
    let header = br#"{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    let weights = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 8]].concat();
    fs::write(folder.join("weights.safetensors"), &weights).unwrap();
    let of_another: Vec<u8> = weights.iter().map(|b| if *b == b'x' { b'y' } else { *b }).collect();
    fs::write(folder.join("of_another.safetensors"), of_another).unwrap();
    fs::copy(root().join("ir-examples/language/17_tagged_data.py"), folder.join("tagged.py")).unwrap();
    for (from, to) in [("functions", "model"), ("bad/axis", "axis"), ("bad/unsupported", "unsupported")] {
        fs::copy(root().join(format!("tests/onnx/{from}.onnx")), folder.join(format!("{to}.onnx"))).unwrap();
    }
    assert!(shell(folder, "hammock compile model.py -o model.so").status.success());
    for Code { code, wrong, right, .. } in codes::all() {
        assert_eq!(wrong.is_empty(), WITHOUT_EXAMPLE.contains(code), "{code}");
        if wrong.is_empty() {
            continue;
        }
        let said = String::from_utf8(run(folder, code, wrong).stderr).unwrap();
        assert!(said.contains(&format!("[{code}]")), "{code}, wrong:\n{wrong}\n{said}");
        let output = run(folder, code, right);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && !said.contains("[E0"), "{code}, right:\n{right}\n{said}");
    }
}
