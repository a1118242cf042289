//! Sizes that cannot be computed are errors with the expression and the line, in every execution mode.
#![cfg(all(feature = "cranelift", feature = "llvm"))]

use std::path::Path;
use std::process::Command;

const PROGRAM: &str = r#"
from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @R.function
    def product(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n * 4611686018427387904 + 2",), "float32"):
        n = T.int64()
        y = R.zeros(R.shape([n * 4611686018427387904 + 2]), "float32")
        return y
    @R.function
    def quotient(x: R.Tensor(("n", "m"), "float32")) -> R.Tensor(("n // m",), "float32"):
        n = T.int64()
        m = T.int64()
        y = R.zeros(R.shape([n // m]), "float32")
        return y
    @R.function
    def cast(x: R.Tensor(("n",), "float32")) -> R.Tensor(ndim=1, dtype="float32"):
        n = T.int64()
        y = R.match_cast(x, R.Tensor(("n * n * 4611686018427387904",), "float32"))
        return y
    @R.function
    def scalar(x: R.Tensor(("n",), "float32")) -> R.Prim("bool"):
        n = T.int64()
        y: R.Prim("bool") = R.prim_value(n * 4611686018427387904 < 4)
        return y
    @R.function
    def negative(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n - 10",), "float32"):
        n = T.int64()
        y = R.zeros(R.shape([n - 10]), "float32")
        return y
"#;

fn error(file: &Path, function: &str, shape: &str, mode: &str) -> String {
    let args = ["--func", function, "--arg", &format!("zeros({shape}):float32"), "--exec-mode", mode];
    let file = file.to_str().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_hammock")).args(["run", file]).args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{function} in mode {mode}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn sizes_are_computed_exactly_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sizes.py");
    std::fs::write(&file, PROGRAM).unwrap();
    let wrong = [
        ("product", "4", ": n * 4611686018427387904 + 2 overflows int64 with n = 4", 6),
        ("quotient", "4,0", ": n // m divides by zero with n = 4, m = 0", 11),
        ("cast", "4", ": n * n * 4611686018427387904 overflows int64 with n = 4", 17),
        ("scalar", "4", ": n * 4611686018427387904 < 4 overflows int64 with n = 4", 24),
        ("negative", "4", "cannot have the shape (-6,): -6 is not a size", 29),
    ];
    for mode in ["bytecode", "compiled", "reference"] {
        for (function, shape, said, line) in wrong {
            let message = error(&file, function, shape, mode);
            assert!(message.contains(said), "{function} in mode {mode}: {message}");
            assert!(message.contains(&format!("sizes.py:{line}")), "{function} in mode {mode}: {message}");
        }
    }
}
