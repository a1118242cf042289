//! `--max-memory` and `--timeout` during compilation.

use crate::support::{hammock, stdout};
use std::{fs, path::Path, process::Command};

/// Returns standard error of a command that fails with status 1.
fn refusal(folder: &Path, args: &[&str]) -> String {
    let output = hammock(folder, args);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), crate::support::status_of(&text), "{args:?}: {text}");
    text
}

/// Encodes a protobuf message; each field is a number or bytes.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    fn message(self, field: u64, inner: Message) -> Self {
        self.bytes(field, &inner.0)
    }
}

/// Returns an ONNX model with a matmul of `x` of shape [1, size] and a constant of shape [size, size].
fn onnx(size: u64) -> Vec<u8> {
    const FLOAT: u64 = 1;
    let value = |name: &str| {
        let shape = Message::default()
            .message(1, Message::default().number(1, 1))
            .bytes(1, &Message::default().number(1, size).0);
        let tensor = Message::default().number(1, FLOAT).message(2, shape);
        Message::default().bytes(1, name.as_bytes()).message(2, Message::default().message(1, tensor))
    };
    let weight = Message::default().number(1, size).number(1, size).number(2, FLOAT).bytes(8, b"w");
    let weight = weight.bytes(9, &vec![0; (size * size * 4) as usize]);
    let node = Message::default().bytes(1, b"x").bytes(1, b"w").bytes(2, b"y").bytes(4, b"MatMul");
    let graph = Message::default().message(1, node).bytes(2, b"g").message(5, weight);
    let graph = graph.message(11, value("x")).message(12, value("y"));
    Message::default().number(1, 8).message(7, graph).message(8, Message::default().number(2, 17)).0
}

#[test]
fn weights_of_onnx_models_count() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.onnx"), onnx(2048)).unwrap();
    for command in [
        &["check", "m.onnx"][..],
        &["compile", "m.onnx", "-o", "m.so"],
        &["import", "m.onnx"],
        &["run", "m.onnx", "--arg", "zeros"],
    ] {
        let said = refusal(folder.path(), &[command, &["--max-memory", "8M"]].concat());
        assert!(said.contains("would exceed the limit of 8388608"), "{command:?}: {said}");
    }
    assert!(!folder.path().join("m.so").exists());
    stdout(hammock(folder.path(), &["run", "m.onnx", "--arg", "zeros", "--max-memory", "64M"]));
}

/// A model that adds two elements of a range, independent of arguments.
const RANGE: &str = r#"@I.ir_module
class Module:
    @R.function
    def main() -> R.Tensor((), "int64"):
        with R.dataflow():
            a = R.arange(R.prim_value(0), R.prim_value(8000000), R.prim_value(1), dtype="int64")
            b = R.multiply(a, a)
            c = R.sum(b)
            R.output(c)
        return c
"#;

#[test]
fn constant_evaluation_respects_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.py"), RANGE).unwrap();
    for mode in ["bytecode", "reference"] {
        let said = refusal(folder.path(), &["run", "m.py", "--max-memory", "16M", "--exec-mode", mode]);
        assert!(said.contains("MemoryError") && said.contains("R.arange"), "{mode}: {said}");
    }
    // Constant evaluation is left to run time, where there may be more memory.
    stdout(hammock(folder.path(), &["compile", "m.py", "-o", "m.so", "--max-memory", "16M"]));
    assert!(refusal(folder.path(), &["run", "m.so", "--max-memory", "16M"]).contains("MemoryError"));
}

#[test]
fn reading_respects_the_timeout() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.py"), RANGE).unwrap();
    // A FIFO without a writer.
    assert!(Command::new("mkfifo").arg(folder.path().join("fifo")).status().unwrap().success());
    for command in [
        &["run", "fifo"][..],
        &["run", "m.py", "--plan", "fifo"],
        &["bench", "fifo"],
        &["compile", "fifo", "-o", "m.so"],
        &["opt", "fifo", "--params-out", "w.npz"],
        &["import", "fifo", "-o", "i.py", "--params-out", "w.npz"],
        &["check", "fifo"],
        &["inspect", "fifo"],
    ] {
        let said = refusal(folder.path(), &[command, &["--timeout", "0.1"]].concat());
        assert!(said.contains("TimeoutError: reading and compiling exceeded its time limit"), "{command:?}: {said}");
    }
    stdout(hammock(folder.path(), &["check", "m.py", "--timeout", "600", "--max-memory", "1G"]));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left behind");
}

/// A kernel that takes LLVM many seconds, and everything before it a fraction of one: the sine of the sine of a vector,
/// and so on.
#[cfg(feature = "llvm")]
fn slow_kernel() -> String {
    let value = (0..32).fold("x[i]".to_owned(), |value, _| format!("T.sin({value})"));
    format!(
        "from tvm.script import ir as I, tir as T\n\n@I.ir_module\nclass Module:\n    @T.prim_func\n    \
         def main(x: T.Buffer((2048,), \"float32\"), y: T.Buffer((2048,), \"float32\")):\n        \
         for i in T.vectorized(2048):\n            y[i] = {value}\n"
    )
}

/// LLVM does not check the time itself.
#[cfg(feature = "llvm")]
#[test]
fn machine_code_generation_respects_the_timeout() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.py"), slow_kernel()).unwrap();
    let command = ["compile", "m.py", "-o", "m.so", "--timeout", "2", "--verbose", "--target-cpu", "x86-64-v3"];
    let said = refusal(folder.path(), &command);
    let (stages, error) = said.split_once("error").unwrap();
    assert!(stages.ends_with("compiling kernels\n"), "{said}");
    assert!(error.contains("TimeoutError: reading and compiling exceeded its time limit"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
}
