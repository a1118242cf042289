//! Debugging aids: comparison with recorded results and between compilation modes, and bisection of passes.
#![cfg(feature = "llvm")]

use std::path::Path;
use std::process::Command;

const MODEL: &str = "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((500,), \"float32\")):
        with R.dataflow():
            a = R.add(x, R.const(1.0, \"float32\"))
            b = R.exp(a)
            c = R.multiply(b, b)
            R.output(c)
        return c
";

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Returns both output streams of a command, and whether it succeeded.
fn hammock(args: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_hammock")).args(args).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn results_are_compared_with_recorded_ones() {
    let folder = tempfile::tempdir().unwrap();
    let (model, recorded) = (file(folder.path(), "model.py", MODEL), folder.path().join("out.npz"));
    let recorded = recorded.to_str().unwrap();
    let run = |arg: &str, more: &[&str]| hammock(&[&["run", &model, "--arg", arg], more].concat());
    assert!(run("random(500):float32", &["--output", recorded]).0);
    let (same, said) = run("random(500):float32", &["--expect", recorded]);
    assert!(same && said.contains("output 0 matches (max abs diff 0.0e0)"), "{said}");
    let (same, said) = run("zeros(500):float32", &["--expect", recorded]);
    assert!(!same && said.contains("output `0` at [0] is 7.38") && said.contains("of 500 elements differ"), "{said}");
    assert!(run("zeros(500):float32", &["--expect", recorded, "--atol", "1000"]).0);
}

#[test]
fn compilation_modes_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let model = file(folder.path(), "model.py", MODEL);
    let run = |more: &[&str]| hammock(&[&["run", &model, "--arg", "random(500):float32"], more].concat());
    assert_eq!(run(&["--compare-levels"]), (true, "the results are the same\n".to_owned()));
    assert_eq!(run(&["--compare-levels=compiled"]), (true, "the results are the same\n".to_owned()));
    // The exact and the vectorized exponential differ in the last bit for some inputs.
    let (same, said) = run(&["--compare-levels=reference", "--rtol", "0", "--atol", "0"]);
    assert!(!same && said.contains("first differ in `b`") && said.contains("b = R.exp(a)"), "{said}");
    let (known, said) = run(&["--compare-levels=fast"]);
    assert!(!known && said.contains("there is no execution mode `fast`"), "{said}");
}

/// Inexact reductions along a contiguous axis: `sum`, and matmuls with transposed weights.
const SUMS: &str = "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((5, 1003), \"float32\"), w: R.Tensor((9, 1003), \"float32\")):
        with R.dataflow():
            a = R.sum(x, axis=[1])
            b = R.matmul(x, R.permute_dims(w))
            c = R.matmul(R.strided_slice(x, axes=[0], begin=[0], end=[1]), R.permute_dims(w))
            R.output(a, b, c)
        return (a, b, c)
";

#[test]
fn strict_order_preserves_the_order_of_sums() {
    let folder = tempfile::tempdir().unwrap();
    let (model, recorded) = (file(folder.path(), "model.py", SUMS), folder.path().join("out.npz"));
    let recorded = recorded.to_str().unwrap();
    let args = ["run", &model, "--arg", "random(5,1003):float32", "--arg", "random(9,1003):float32"];
    let run = |more: &[&str]| hammock(&[&args, more].concat());
    assert!(run(&["--exec-mode", "reference", "--output", recorded]).0);
    // With FMA, matmuls round differently, so only the sum is bit-identical.
    let (same, said) = run(&["--strict-order", "--expect", recorded, "--rtol", "0", "--atol", "0"]);
    assert!(!said.contains("output `0`"), "{same} {said}");
    let (same, said) = run(&["--expect", recorded, "--rtol", "0", "--atol", "0"]);
    assert!(!same && said.contains("output `0`"), "{said}");
    let (same, said) = run(&["--expect", recorded, "--rtol", "1e-5", "--atol", "1e-5"]);
    assert!(same, "{said}");
}

/// A convolution with constant weights, which Winograd would transform.
const CONVOLUTION: &str = "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 24, 24, 32), \"float32\")):
        with R.dataflow():
            w = R.reshape(R.sin(R.arange(0, 9216, 1, dtype=\"float32\")), R.shape([3, 3, 32, 32]))
            y = R.nn.conv2d(x, w, padding=1, data_layout=\"NHWC\", kernel_layout=\"HWIO\")
            R.output(y)
        return y
";

#[test]
fn strict_order_disables_winograd() {
    let folder = tempfile::tempdir().unwrap();
    let (model, recorded) = (file(folder.path(), "model.py", CONVOLUTION), folder.path().join("out.npz"));
    let recorded = recorded.to_str().unwrap();
    let run = |more: &[&str]| hammock(&[&["run", &model, "--arg", "random(1,24,24,32):float32"], more].concat());
    assert!(run(&["-O0", "--strict-order", "--output", recorded]).0);
    let exactly = ["--expect", recorded, "--rtol", "0", "--atol", "0"];
    let (same, said) = run(&[&exactly[..], &["--strict-order"]].concat());
    assert!(same, "{said}");
    assert!(!run(&exactly).0);
    let (same, said) = run(&["--expect", recorded, "--rtol", "1e-4", "--atol", "1e-4"]);
    assert!(same, "{said}");
}

#[test]
fn bisection_finds_the_failing_pass() {
    let folder = tempfile::tempdir().unwrap();
    let model = file(folder.path(), "model.py", MODEL);
    let passes = "# lowering\nNormalize\nLegalizeOps,\n\nAnnotateTIROpPattern, FuseOps\nDeadCodeElimination\n";
    let passes = format!("@{}", file(folder.path(), "passes.txt", passes));
    let opt = |more: &[&str]| hammock(&[&["opt", &model, "--passes", &passes], more].concat());
    let (found, said) = opt(&["--bisect", "! grep -q Primitive"]);
    assert!(found && said.contains("pass 4 of 5, FuseOps, is the first after which"), "{said}");
    let (found, said) = opt(&["--bisect", "grep -q main"]);
    assert!(found && said.contains("succeeds after all 5 passes"), "{said}");
    let (found, said) = opt(&["--bisect", "false"]);
    assert!(!found && said.contains("fails on the module before any pass"), "{said}");
    let (_, said) = opt(&["--print-after", "changed"]);
    assert!(said.contains("# after Normalize: no change\n"), "{said}");
    assert!(said.contains("+            b = R.call_tir(cls.tir_exp, (a,)"), "{said}");
}

#[test]
fn stages_after_the_passes_are_timed() {
    let folder = tempfile::tempdir().unwrap();
    let (model, library) = (file(folder.path(), "model.py", MODEL), folder.path().join("model.so"));
    let (done, said) = hammock(&["compile", &model, "-o", library.to_str().unwrap(), "--time-passes"]);
    for stage in ["LegalizeOps", "bytecode", "kernels to machine code", "linking", "writing the file"] {
        assert!(done && said.contains(&format!(" ms  {stage}\n")), "{stage}: {said}");
    }
}
