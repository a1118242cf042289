//! Signatures of functions: printed by `inspect`, and checked against arguments by name.

use crate::support::{hammock, snapshot};
use std::path::Path;

/// Returns the output of a command and its status.
fn said(folder: &Path, args: &[&str]) -> String {
    let output = hammock(folder, args);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("status {}\n{err}{out}", output.status.code().unwrap())
}

const MODEL: &str = r#"
@I.ir_module
class Module:
    @R.function
    def main(input_1: R.Tensor(("n", 3), "float32"), ids: R.Tensor(("n",), "int64"), w: R.Tensor((3, 4), "float32")) -> R.Tuple(R.Tensor(("n", 4), "float32"), R.Tensor(("n",), "int64")):
        R.func_attr({"num_input": 2})
        with R.dataflow():
            logits = R.matmul(input_1, w)
            lv = R.add(ids, ids)
            R.output(logits, lv)
        return (logits, lv)

    @R.function
    def others(t: R.Tuple(R.Tensor(ndim=2), R.Shape(["m", "m * 2"])), k: R.Prim("int64"), f: R.Any) -> R.Any:
        return f
"#;

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("model.py"), MODEL).unwrap();
    let w = hammock_runtime::Tensor::from_slice(&[3, 4], &[2f32; 12]).unwrap();
    hammock_tools::save_safetensors(&folder.path().join("w.safetensors"), &[("w".into(), w)]).unwrap();
    folder
}

#[test]
fn signatures_of_texts_models_and_executables_are_printed() {
    let folder = folder();
    let run = |args: &[&str]| said(folder.path(), args);
    let onnx = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/onnx/mlp.onnx");
    let onnx = onnx.to_str().unwrap();
    run(&["compile", "model.py", "-o", "open.so"]);
    run(&["compile", "model.py", "--params", "w.safetensors", "-o", "bound.so"]);
    run(&["compile", onnx, "-o", "onnx.so"]);
    let mut all = String::new();
    for file in ["model.py", "bound.so", onnx, "onnx.so"] {
        all += &run(&["inspect", file]);
        all += &run(&["inspect", file, "--json"]);
    }
    snapshot("cli", "inspect_signatures", &all);
    assert_eq!(run(&["inspect", onnx]), run(&["inspect", "onnx.so"]));
    assert_eq!(run(&["inspect", "open.so"]), run(&["inspect", "model.py"]));
    let with_weights = run(&["inspect", "model.py", "--params", "w.safetensors"]);
    assert_eq!(run(&["inspect", "bound.so"]), with_weights);
    assert!(run(&["inspect", "model.py", "--text"]).contains("it has no bytecode"));
}

#[test]
fn named_arguments_take_the_shapes_of_their_parameters() {
    let folder = folder();
    let run = |args: &[&str]| said(folder.path(), args);
    for (file, flags) in [("model.py", &["--params", "w.safetensors"][..]), ("bound.so", &[])] {
        run(&["compile", "model.py", "--params", "w.safetensors", "-o", "bound.so"]);
        let call = |args: &[&str]| {
            let args = args.iter().flat_map(|arg| ["--arg", *arg]).collect::<Vec<_>>();
            run(&[&["run", file], flags, &args].concat())
        };
        let expected = call(&["ones(2,3):float32", "[7, 8]:int64"]);
        assert_eq!(
            expected,
            "status 0\n0: float32[2, 4]\n[[6.0 6.0 6.0 6.0]\n [6.0 6.0 6.0 6.0]]\n1: int64[2]\n[14 16]\n"
        );
        assert_eq!(call(&["ids=[7, 8]:int64", "ones(2,3)"]), expected);
        assert_eq!(call(&["ids=[7, 8]:int64", "input.1=ones"]), expected, "a size that another argument has");
        assert!(call(&["n=3", "ids=ones", "input_1=ones"]).ends_with("1: int64[3]\n[2 2 2]\n"));
        assert!(call(&["n=3", "ones", "zeros"]).ends_with("1: int64[3]\n[0 0 0]\n"));
        assert_eq!(call(&["random(2,3)", "random(2)"]), call(&["n=2", "random", "random"]));
    }
    let by_name = run(&[
        "run",
        "model.py",
        "--params",
        "w.safetensors",
        "--arg",
        "w=zeros",
        "--arg",
        "n=1",
        "--arg",
        "ones",
        "--arg",
        "ones",
    ]);
    assert!(by_name.contains("[[0.0 0.0 0.0 0.0]]"), "an argument goes before a weight: {by_name}");
}

#[test]
fn wrong_arguments_report_the_expected_type() {
    let folder = folder();
    let mut all = said(folder.path(), &["compile", "model.py", "-o", "model.so"]);
    for args in [
        &["input=ones", "ones", "ones"][..],
        &["ids=ones", "ids=ones", "ones"],
        &["ones(2,3)"],
        &["ones(2,3)", "ones(2)", "ones(3,4)", "1"],
        &["ones", "ones", "ones"],
        &["n=many", "ones", "ones", "ones"],
        &["ones(2,3)", "ones(3)", "ones(4,3):float16"],
    ] {
        let args = args.iter().flat_map(|arg| ["--arg", *arg]).collect::<Vec<_>>();
        all += &said(folder.path(), &[&["run", "model.so"][..], &args].concat());
    }
    for args in [&["(1, 2)", "k=random", "7"][..], &["(zeros(2,2), shape(2,4))", "1", "f=ones"]] {
        let args = args.iter().flat_map(|arg| ["--arg", *arg]).collect::<Vec<_>>();
        all += &said(folder.path(), &[&["run", "model.so", "--func", "others"][..], &args].concat());
    }
    snapshot("cli", "arguments_that_are_wrong", &all);
}
