//! `--libs cublas`: matmuls by cuBLASLt, whose functions the emulator has, too.

use super::support::root;
use super::{CUDA, emulated, hammock, stdout};
use std::{
    path::Path,
    process::{Command, Output},
};

/// Matmuls that cuBLASLt computes, by the activation, the bias and the transpose, and three that it does not: of
/// integers, of a vector, and of a transpose that is used twice.
const MODEL: &str = "\
from tvm.script import ir as I, relax as R
n = TypeVar(\"n\")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, n, 24), \"float32\"), w: R.Tensor((16, 24), \"float32\"), b: R.Tensor((16,), \"float32\"), i: R.Tensor((4, 4), \"int32\")):
        with R.dataflow():
            hidden = R.nn.relu(R.add(R.matmul(x, R.permute_dims(w)), b))
            scores = R.matmul(hidden, R.permute_dims(hidden, axes=[0, 2, 1]))
            mixed = R.nn.gelu_tanh(R.add(b, R.matmul(scores, hidden)))
            half = R.matmul(R.astype(mixed, \"float16\"), R.astype(w, \"float16\"), out_dtype=\"float32\")
            integers = R.matmul(i, i)
            vector = R.matmul(w, R.reshape(R.strided_slice(w, axes=[0], begin=[0], end=[1]), (24,)))
            turned = R.permute_dims(w)
            both = R.matmul(w, turned), turned
            result = (half, integers, vector, both)
            R.output(result)
        return result
";

const ARGS: [&str; 8] = [
    "--arg",
    "random(2,5,24):float32",
    "--arg",
    "random(16,24):float32",
    "--arg",
    "random(16):float32",
    "--arg",
    "ones(4,4):int32",
];

/// Runs `hammock` in a folder, with the emulator as the CUDA driver and as cuBLASLt.
fn with_cublas(folder: impl AsRef<Path>, args: &[&str]) -> Output {
    let libraries = hammock_cuda_emulator::library::folder_with_cublas().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hammock"));
    command.args(args).current_dir(folder).env("LD_LIBRARY_PATH", libraries).output().unwrap()
}

fn model(folder: &Path) {
    std::fs::write(folder.join("model.py"), MODEL).unwrap();
}

#[test]
fn matmuls_are_those_of_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    model(folder);
    for level in ["-O0", "-O2"] {
        let run = [&["run", "model.py", level][..], &ARGS].concat();
        stdout(hammock(folder, &[&run[..], &["--output", "cpu.npz"]].concat()));
        stdout(with_cublas(folder, &[&run[..], &CUDA, &["--libs", "cublas", "--expect", "cpu.npz"]].concat()));
    }
    let compile = ["compile", "model.py", "--target", "cuda", "--libs", "cublas", "-o", "model.so"];
    stdout(hammock(folder, &compile));
    let listing = stdout(hammock(folder, &["inspect", "model.so", "--listing"]));
    let calls = listing.lines().filter(|line| line.contains("call @hammock.cublas.matmul")).count();
    assert_eq!(calls, 5, "{listing}");
}

#[test]
fn an_encoder_matches_onnx_runtime() {
    let folder = root().join("tests/onnx");
    let args = ["run", "encoder.onnx", "--expect", "encoder.expected.npz", "--libs", "cublas"];
    let inputs = hammock_tools::Weights::open(&folder.join("encoder.inputs.npz")).unwrap();
    let inputs: Vec<String> =
        (0..inputs.iter().count()).map(|input| format!("--arg=@encoder.inputs.npz#{input}")).collect();
    let args: Vec<&str> = args.into_iter().chain(inputs.iter().map(String::as_str)).chain(CUDA).collect();
    stdout(with_cublas(&folder, &args));
}

#[test]
fn what_is_missing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    model(folder);
    let failure = |output: Output| {
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let said = failure(emulated(folder, &[&["run", "model.py", "--libs", "cublas"], &ARGS[..], &CUDA].concat()));
    assert!(said.contains("the library cuBLASLt (libcublasLt.so.12 or .13) is missing"), "{said}");
    assert!(said.contains("in main at model.py:8\n"), "{said}");
    let compile = |flags: &[&str]| failure(hammock(folder, &[&["compile", "model.py", "-o", "m.so"], flags].concat()));
    let said = compile(&["--libs", "cublas"]);
    assert!(said.contains("the library `cublas` computes on CUDA devices") && said.contains("--target cuda"), "{said}");
    let said = compile(&["--libs", "mkl", "--target", "cuda"]);
    assert!(said.contains("there is no library `mkl`") && said.contains("there is `cublas`"), "{said}");
    let said = compile(&["--libs", "cublas", "--target", "cuda", "--strict-order"]);
    assert!(said.contains("the library `cublas` sums in an order of its own"), "{said}");
}
