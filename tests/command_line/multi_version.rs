//! Function multiversioning: kernels for several CPUs in one file. The best match is picked at load time, or the
//! requested one; if there is none, the error explains why.
#![cfg(all(feature = "cranelift", feature = "llvm"))]

use hammock_runtime::cpu_features::Features;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MODEL: &str = "ir-examples/digits/model.py";
const WEIGHTS: &str = "ir-examples/digits/weights.safetensors";

fn hammock(target: Option<&str>, args: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_hammock"));
    command.args(args).current_dir(root).env_remove("HAMMOCK_TARGET");
    command.envs(target.map(|target| ("HAMMOCK_TARGET", target))).output().unwrap()
}

fn compiled(folder: &tempfile::TempDir, name: &str, flags: &[&str]) -> PathBuf {
    let file = folder.path().join(name);
    let output =
        hammock(None, &[&["compile", MODEL, "--params", WEIGHTS, "-o", file.to_str().unwrap()], flags].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    file
}

fn run(file: &Path, target: Option<&str>) -> Output {
    hammock(target, &["run", file.to_str().unwrap(), "--arg", "random(33,64):float32", "--json"])
}

/// Returns the numbers that a run prints.
fn numbers(output: &Output) -> Vec<f64> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let (_, text) = text.split_once("\"data\":").unwrap();
    let found = text.split(|c: char| !(c.is_ascii_digit() || "-+.e".contains(c))).filter_map(|n| n.parse().ok());
    found.collect()
}

/// Returns the targets that this machine supports.
fn fitting() -> Vec<&'static str> {
    let features = Features::detected();
    let levels = [("x86-64", ""), ("x86-64-v2", "sse4.2"), ("x86-64-v3", "avx2"), ("x86-64-v4", "avx512vl")];
    levels.into_iter().filter(|(_, needs)| needs.is_empty() || features.has(needs)).map(|(name, _)| name).collect()
}

#[test]
fn every_version_computes_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for mode in ["bytecode", "compiled"] {
        let all = "--multi-version=x86-64-v4,x86-64,x86-64-v3,x86-64-v2";
        let file = compiled(&folder, mode, &[all, "--exec-mode", mode]);
        let chosen = numbers(&run(&file, None));
        assert_eq!(chosen.len(), 330, "33 rows of 10");
        for target in fitting() {
            let alone = compiled(&folder, target, &["--target-cpu", target]);
            let (found, alone) = (numbers(&run(&file, Some(target))), numbers(&run(&alone, None)));
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-4 * b.abs().max(1.0);
            assert!(found.iter().zip(&chosen).all(close) && found.len() == chosen.len(), "{target}, {mode}");
            assert!(found.iter().zip(&alone).all(close), "{target}, {mode}");
        }
        let best = fitting().pop();
        assert_eq!(numbers(&run(&file, best)), chosen, "the most capable runs, {mode}");
    }
}

#[test]
fn unsupported_versions_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    // Features that only CPUs of 2012 to 2015 have.
    let file = compiled(&folder, "old", &["--target-cpu", "bdver4"]);
    let text = |output: Output| String::from_utf8(output.stderr).unwrap();
    let error = text(run(&file, None));
    assert!(error.contains("they are compiled for bdver4, and this machine has no"), "{error}");
    assert!(error.contains(" tbm") && error.contains("--multi-version"), "{error}");
    let file = compiled(&folder, "two", &["--multi-version=bdver4,x86-64"]);
    assert!(run(&file, None).status.success());
    let error = text(run(&file, Some("bdver4")));
    assert!(error.contains("they are compiled for bdver4, and this machine has no"), "{error}");
    let error = text(run(&file, Some("x86-64-v3")));
    assert!(error.contains("they are not compiled for `x86-64-v3`, which HAMMOCK_TARGET asks for"), "{error}");
}

#[test]
fn files_list_their_cpus() {
    let folder = tempfile::tempdir().unwrap();
    let file = compiled(&folder, "model.so", &["--multi-version"]);
    let stats = hammock(None, &["inspect", file.to_str().unwrap(), "--stats"]);
    let stats = String::from_utf8(stats.stdout).unwrap();
    let targets = stats.split("Kernels for:\n").nth(1).unwrap();
    let targets: Vec<&str> = targets.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(targets, ["x86-64-v2", "x86-64-v3", "x86-64-v4"]);
}

/// Outputs that hold kernels of one CPU become one file per CPU.
#[test]
fn objects_are_written_per_version() {
    let folder = tempfile::tempdir().unwrap();
    for (emit, of_v4) in [("asm", "zmm"), ("llvm", "\"target-cpu\"=\"x86-64-v4\""), ("obj", "")] {
        let file = compiled(&folder, &format!("model.{emit}"), &["--multi-version=x86-64-v4,x86-64", "--emit", emit]);
        assert!(!file.exists());
        let version = |target: &str| std::fs::read(folder.path().join(format!("model.{target}.{emit}"))).unwrap();
        let [oldest, newest] = ["x86-64", "x86-64-v4"].map(version);
        assert!(oldest != newest);
        if emit == "obj" {
            assert!(oldest.starts_with(b"\x7fELF") && newest.starts_with(b"\x7fELF"));
        } else {
            let [oldest, newest] = [oldest, newest].map(|text| String::from_utf8(text).unwrap());
            assert!(newest.contains(of_v4) && !oldest.contains(of_v4), "{emit}");
        }
    }
}

/// A matmul with one of the weights, which are packed.
const PRODUCT: &str = r#"
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64, 64), "float32"), w1: R.Tensor((64, 128), "float32")) -> R.Tensor((64, 128), "float32"):
        with R.dataflow():
            y = R.matmul(x, w1)
            R.output(y)
        return y
"#;

/// Versions share weights, although each would pack them for its own vector width.
#[test]
fn weights_are_packed_if_all_versions_agree() {
    let folder = tempfile::tempdir().unwrap();
    let (model, file) = (folder.path().join("product.py"), folder.path().join("product.so"));
    std::fs::write(&model, PRODUCT).unwrap();
    let [model, file] = [&model, &file].map(|path| path.to_str().unwrap());
    let constants = |versions: &str| {
        assert!(hammock(None, &["compile", model, "--params", WEIGHTS, "-o", file, versions]).status.success());
        String::from_utf8(hammock(None, &["inspect", file, "--stats"]).stdout).unwrap()
    };
    let (packed, plain) = (", [2, 64, 64]]", ", [64, 128]]");
    let agreed = constants("--multi-version=x86-64-v4,skylake-avx512");
    assert!(agreed.contains(packed) && !agreed.contains(plain), "{agreed}");
    let split = constants("--multi-version=x86-64-v4,x86-64-v3");
    assert!(split.contains(plain) && !split.contains(packed), "{split}");
}

#[test]
fn single_version_outputs_reject_several_cpus() {
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("model");
    let refused = |flags: &[&str]| {
        let output = hammock(None, &[&["compile", MODEL, "-o", file.to_str().unwrap()], flags].concat());
        assert!(!output.status.success() && !file.exists(), "{flags:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&["--multi-version", "--emit", "tvm"]).contains("hold kernels for one processor"));
    let printed = hammock(None, &["compile", MODEL, "-o", "-", "--multi-version", "--emit", "asm"]);
    assert!(
        printed.stdout.is_empty()
            && String::from_utf8_lossy(&printed.stderr).contains("each CPU has a file of its own")
    );
    assert!(refused(&["--multi-version", "--emit", "bytecode"]).contains("writes no kernels"));
    assert!(refused(&["--multi-version", "--target-cpu", "native"]).contains("cannot be used with"));
    assert!(refused(&["--multi-version", "--target", "native"]).contains("`--multi-version` names the CPUs"));
    assert!(refused(&["--multi-version=x86-64-v3,x86-64-v5"]).contains("there is no CPU `x86-64-v5`"));
}
