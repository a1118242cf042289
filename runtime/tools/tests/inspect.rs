//! Output of `hammock-run inspect`.

use hammock_runtime::{Executable, Tensor, executable::Constant, library::image_of};
use hammock_tools::Weights;
use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tvm").join(name)
}

fn inspect(name: &str, flags: &[&str]) -> Output {
    let command = &mut Command::new(env!("CARGO_BIN_EXE_hammock-run"));
    command.arg("inspect").arg(file(name)).args(flags).output().unwrap()
}

fn shown(name: &str, flags: &[&str]) -> String {
    let output = inspect(name, flags);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn views_are_tvms_own() {
    let expected = |form: &str| std::fs::read_to_string(file(&format!("control_flow.{form}"))).unwrap();
    let names =
        "count\n    input   x      any\n    input   steps  any\nhalve\n    input   x  any\nmain\n    input   x  any\n";
    assert_eq!(shown("control_flow.so", &[]), names, "TVM's libraries say nothing of types");
    for (flag, form) in [("--text", "txt"), ("--python", "python"), ("--stats", "stats")] {
        assert_eq!(shown("control_flow.so", &[flag]), expected(form));
    }
}

#[test]
fn listings_have_addresses_labels_and_constants() {
    let text = shown("control_flow.so", &["--listing"]);
    let instructions = image_of(&file("control_flow.so")).unwrap().executable.as_text();
    let lines = |part: &str| text.lines().filter(|line| line.contains(part)).count();
    assert_eq!(lines("call @"), instructions.lines().filter(|line| line.contains("call ")).count());
    assert!(text.contains("bytecode @count(x, steps) registers 10") && text.contains("c4 = shape (1)"), "{text}");
    assert!(text.contains("if %") && text.contains(" else L") && text.contains("\nL"), "{text}");
}

#[test]
fn large_tensors_may_be_stored_outside_the_listing() {
    let folder = tempfile::tempdir().unwrap();
    let [bytecode, beside] = ["code.bin", "beside.safetensors"].map(|name| folder.path().join(name));
    let tensor = |len: usize| Tensor::from_slice(&[len as i64], &vec![1.5f32; len]).unwrap();
    let constants = [64, 65].map(|len| Constant::Tensor(tensor(len))).to_vec();
    std::fs::write(&bytecode, Executable { constants, ..Executable::default() }.save()).unwrap();
    let bytecode = bytecode.to_str().unwrap();
    let text = shown(bytecode, &["--listing", "--params-out", beside.to_str().unwrap()]);
    assert!(
        text.contains("c0 = tensor float32(64) {") && text.contains("c1 = tensor float32(65) from \"c1\""),
        "{text}"
    );
    let weights = Weights::open(&beside).unwrap();
    assert!(weights.get("c0").is_none());
    assert_eq!(weights.get("c1").unwrap().as_bytes().unwrap(), tensor(65).as_bytes().unwrap());
    assert!(shown(bytecode, &["--listing"]).contains("c1 = tensor float32(65) {"));
}

#[test]
fn flags_that_contradict_are_refused() {
    for flags in [&["--listing", "--text"][..], &["--params-out", "/no/x"], &["--listing", "--params-out", "/no/x"]] {
        let output = inspect("constants.bin", flags);
        assert!(!output.status.success() && !output.stderr.is_empty(), "{flags:?}");
    }
}
