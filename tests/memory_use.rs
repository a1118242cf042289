//! Memory use of programs: reported and limited by the command line.
#![cfg(feature = "llvm")]

use hammock_compiler::write_weights;
use hammock_runtime::Tensor;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

const MODEL: &str = r#"from typing import TypeVar
from tvm.script import ir as I, relax as R, tir as T

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((64,), dtype="float32")) -> R.Tensor((64,), dtype="float32"):
        cls = Module
        a = R.concat((x, x, x, x), axis=0)
        b = R.sum(R.reshape(a, R.shape([4, 64])), axis=[0])
        c = R.cumsum(b, axis=0)
        d = R.cumsum(c, axis=0)
        e = R.add(d, c)
        f = cls.inner(e)
        return f

    @R.function(private=True)
    def inner(x: R.Tensor((64,), dtype="float32")) -> R.Tensor((64,), dtype="float32"):
        a = R.cumsum(x, axis=0)
        b = R.cumsum(a, axis=0)
        c = R.cumsum(b, axis=0)
        return c

    @R.function
    def symbolic(x: R.Tensor((n, 8), dtype="float32")) -> R.Tensor((n, 8), dtype="float32"):
        a = R.cumsum(x, axis=0)
        b = R.cumsum(a, axis=0)
        c = R.cumsum(b, axis=0)
        return c
"#;

/// A model in a folder of its own.
struct Model(tempfile::TempDir);

impl Model {
    fn new(text: &str) -> Model {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("model.py"), text).unwrap();
        Model(folder)
    }

    fn hammock(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_hammock")).args(args).current_dir(self.0.path()).output().unwrap()
    }

    /// Returns standard output.
    fn prints(&self, args: &[&str]) -> String {
        let output = self.hammock(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.path().join(file)
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.path(file)).unwrap()
    }
}

fn numbers(value: &Value, keys: &[&str]) -> Vec<u64> {
    keys.iter().map(|key| value[key].as_u64().unwrap_or_else(|| panic!("{key} in {value}"))).collect()
}

#[test]
fn statistics_are_consistent() {
    let model = Model::new(MODEL);
    let compile = |level: &str| -> Value {
        let printed = model.prints(&["compile", "model.py", "-o", "model.so", "--stats", "--json", level]);
        serde_json::from_str(&printed).unwrap()
    };
    let (planned, plain) = (compile("-O1"), compile("-O0"));
    let of = |stats: &Value, name: &str| {
        let functions = stats["functions"].as_array().unwrap();
        functions.iter().find(|function| function["name"] == name).unwrap().clone()
    };
    for function in ["main", "inner", "symbolic"] {
        let (planned, plain) = (of(&planned, function), of(&plain, function));
        let keys = ["instructions", "storages", "planned_bytes"];
        let pairs = numbers(&planned, &keys).into_iter().zip(numbers(&plain, &keys));
        assert!(pairs.clone().all(|(planned, plain)| planned <= plain), "{function}: {planned} and {plain}");
    }
    let inner = of(&planned, "inner");
    assert_eq!(numbers(&inner, &["tensors", "storages", "planned_bytes", "peak_bytes"]), [3, 2, 768, 768]);
    assert_eq!(of(&planned, "symbolic")["symbolic"], serde_json::json!(["32 * n", "n * 32"]));
    let (main, kernels) = (of(&planned, "main")["peak_bytes"].as_u64().unwrap(), planned["kernels"].as_u64().unwrap());
    assert_eq!(planned["peak_bytes"].as_u64(), Some(main));
    assert!(main > 768 && kernels >= 5, "the caller waits with its memory: {planned}");
    let text = model.prints(&["compile", "model.py", "-o", "model.so", "--stats", "-O1"]);
    assert!(text.contains(" kernels\n") && text.contains("768         768  inner\n"), "{text}");
}

#[test]
fn a_memory_plan_shows_buffers_over_time() {
    let model = Model::new(MODEL);
    model.prints(&["opt", "model.py", "--memory-plan-out", "plan.json", "--json"]);
    let plan: Value = serde_json::from_str(&model.read("plan.json")).unwrap();
    let mut pairs = 0;
    for function in plan.as_array().unwrap() {
        let buffers = function["buffers"].as_array().unwrap();
        for (at, a) in buffers.iter().enumerate() {
            for b in &buffers[..at] {
                let apart = |x: &Value, y: &Value| x["live"][1].as_u64() < y["live"][0].as_u64();
                if a["storage"] != b["storage"] || apart(a, b) || apart(b, a) {
                    continue;
                }
                let end = |x: &Value| x["offset"].as_u64().unwrap() + x["bytes"].as_u64().unwrap();
                let (first, second) = (a["offset"].as_u64().unwrap(), b["offset"].as_u64().unwrap());
                assert!(end(a) <= second || end(b) <= first, "{a} and {b} are alive at the same time");
                pairs += 1;
            }
        }
    }
    assert!(pairs > 0, "nothing shares a storage: {plan}");
    model.prints(&["opt", "model.py", "--memory-plan-out", "plan.svg"]);
    let svg = model.read("plan.svg");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("<title>"), "{svg}");
    assert!(svg.contains(">step</text>") && svg.contains(">in use</text>") && svg.contains(">0 B</text>"), "{svg}");
    assert!(!model.hammock(&["opt", "model.py", "--memory-plan-out", "-"]).status.success());
}

/// Without `--passes`, the compile pipeline runs, with the same memory plan as `compile`.
#[test]
fn the_compile_pipeline_is_printed() {
    let model = Model::new(
        r#"from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8, 64), "float32"), w: R.Tensor((64, 64), "float32")) -> R.Tensor((8, 64), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            wt = R.permute_dims(w)
            h = R.matmul(x, wt)
            y = R.nn.softmax(h)
            R.output(y)
        return y
"#,
    );
    let weights = Tensor::from_slice(&[64, 64], &[0.5f32; 64 * 64]).unwrap();
    write_weights(&model.path("w.safetensors"), &[("w".to_owned(), weights)]).unwrap();
    let params = ["--params", "w.safetensors"];
    let stats = model.prints(&[&["compile", "model.py", "-o", "model.so", "--stats", "--json"][..], &params].concat());
    let stats: Value = serde_json::from_str(&stats).unwrap();
    model.prints(&[&["opt", "model.py", "--memory-plan-out", "plan.json", "--json"][..], &params].concat());
    let plan: Value = serde_json::from_str(&model.read("plan.json")).unwrap();
    assert_eq!(plan[0]["planned_bytes"], stats["functions"][0]["planned_bytes"], "{plan}");
    let planned = plan[0]["planned_bytes"].as_u64().unwrap();
    assert!((8 * 64 * 4..64 * 64 * 4).contains(&planned), "the transposed weights are a constant: {plan}");
    let watched = model.hammock(&[&["opt", "model.py", "--time-passes"][..], &params].concat());
    let (lowered, times) = (String::from_utf8_lossy(&watched.stdout), String::from_utf8_lossy(&watched.stderr));
    let pipeline = model.prints(&["passes", "--pipeline", "-O2", "--target-cpu", "x86-64-v3"]);
    let passes: Vec<&str> = times.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert!(
        passes.iter().all(|pass| pipeline.contains(pass)) && passes.last() == Some(&"AttachGlobalSymbol"),
        "{times}"
    );
    assert!(lowered.contains("R.vm.alloc_tensor"), "{lowered}");
    let changes = model.hammock(&[&["opt", "model.py", "--print-after", "changed"][..], &params].concat()).stderr;
    let changes = String::from_utf8_lossy(&changes);
    assert!(changes.contains("# after FoldConstant\n@@") && !changes.contains("load_json"), "no numbers: {changes}");
    let legal = model.prints(&["opt", "model.py", "-O1", "--params", "w.safetensors"]);
    assert!(legal.contains("def transpose("), "{legal}");
    assert!(!model.hammock(&["passes", "--pipeline", "--target-cpu", "z80"]).status.success());
}

/// Kernels with temporaries: one of 64 KB; one of 512 KB and one of 256 KB.
const TEMPORARIES: &str = r#"from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def small(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        with T.sblock("root"):
            W = T.alloc_buffer((16384,), "float32")
            for i in range(16):
                with T.sblock("w"):
                    v = T.axis.spatial(16, i)
                    W[v * 1000] = A[v]
            for i in range(16):
                with T.sblock("b"):
                    v = T.axis.spatial(16, i)
                    B[v] = W[v * 1000] + W[(15 - v) * 1000]
    @T.prim_func(private=True)
    def large(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        with T.sblock("root"):
            W = T.alloc_buffer((131072,), "float32")
            V = T.alloc_buffer((65536,), "float32")
            for i in range(16):
                with T.sblock("w"):
                    v = T.axis.spatial(16, i)
                    W[v * 1000] = A[v]
            for i in range(16):
                with T.sblock("v"):
                    v = T.axis.spatial(16, i)
                    V[v * 1000] = W[(15 - v) * 1000] + A[v]
            for i in range(16):
                with T.sblock("b"):
                    v = T.axis.spatial(16, i)
                    B[v] = V[v * 1000] + W[(15 - v) * 1000]
    @R.function
    def main(x: R.Tensor((16,), "float32")) -> R.Tensor((16,), "float32"):
        cls = Module
        a = R.call_tir(cls.small, (x,), out_ty=R.Tensor((16,), "float32"))
        b = R.call_tir(cls.large, (a,), out_ty=R.Tensor((16,), "float32"))
        c = cls.inner(b)
        return c
    @R.function
    def inner(x: R.Tensor((16,), "float32")) -> R.Tensor((16,), "float32"):
        cls = Module
        a = R.call_tir(cls.small, (x,), out_ty=R.Tensor((16,), "float32"))
        return a
"#;

/// Planned, counted and limited sizes of temporaries agree, independent of the number of calls.
#[test]
fn temporaries_of_kernels_count() {
    const LARGE: u64 = (131_072 + 65_536) * 4;
    let model = Model::new(TEMPORARIES);
    let stats = model.prints(&["compile", "model.py", "-o", "model.so", "--stats", "--json"]);
    let stats: Value = serde_json::from_str(&stats).unwrap();
    let tensors = numbers(&stats, &["peak_bytes"])[0] - LARGE;
    assert!(numbers(&stats, &["temporary_bytes"]) == [LARGE] && (64..1024).contains(&tensors), "{stats}");
    model.prints(&["opt", "model.py", "--memory-plan-out", "plan.json", "--json"]);
    let plan: Value = serde_json::from_str(&model.read("plan.json")).unwrap();
    let main = plan.as_array().unwrap().iter().find(|function| function["function"] == "main").unwrap();
    let taken: Vec<u64> = main["temporaries"].as_array().unwrap().iter().map(|t| numbers(t, &["bytes"])[0]).collect();
    assert_eq!((taken, numbers(main, &["temporary_bytes"])), (vec![65_536, LARGE], vec![LARGE]), "{plan}");
    model.prints(&["opt", "model.py", "--memory-plan-out", "plan.svg"]);
    assert!(model.read("plan.svg").contains(&format!("temporaries of large: {LARGE} bytes")));

    let bench = |more: &[&str]| {
        let args = ["bench", "model.so", "--arg", "random(16):float32", "--json", "--min-time", "0.01"];
        model.hammock(&[&args[..], more].concat())
    };
    let peak = |output: Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        numbers(&serde_json::from_slice(&output.stdout).unwrap(), &["peak_bytes"])[0]
    };
    let most = peak(bench(&[]));
    let accounted = LARGE + std::fs::metadata(model.path("model.so")).unwrap().len() + tensors;
    assert!((accounted..accounted + (128 << 10)).contains(&most), "{most}: {accounted}, frames, and values");
    assert_eq!(peak(bench(&["--max-memory", &most.to_string()])), most, "as much as is reported is enough");
    let refused = bench(&["--max-memory", &(most - 1).to_string()]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("MemoryError") && said.contains("a workspace of"), "{said}");
}

/// Arguments, constants, tensors, and temporaries all count.
#[test]
fn the_memory_limit_counts_everything() {
    let tensors = Model::new(
        r#"from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def temporary(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        with T.sblock("root"):
            W = T.alloc_buffer((3000000,), "float32")
            for i in range(3000000):
                with T.sblock("w"):
                    v = T.axis.spatial(3000000, i)
                    W[v] = A[v % 16]
            for i in range(16):
                with T.sblock("b"):
                    v = T.axis.spatial(16, i)
                    B[v] = W[v * 1000]
    @R.function
    def kernel(x: R.Tensor((16,), "float32")) -> R.Tensor((16,), "float32"):
        cls = Module
        y = R.call_tir(cls.temporary, (x,), out_ty=R.Tensor((16,), "float32"))
        return y
    @R.function
    def arena(x: R.Tensor((1500000,), "float32")) -> R.Tensor((), "float32"):
        a = R.cumsum(x, axis=0)
        b = R.cumsum(a, axis=0)
        c = R.sum(b)
        return c
    @R.function
    def result(x: R.Tensor((1,), "float32")) -> R.Tensor((3000000,), "float32"):
        y = R.broadcast_to(x, R.shape([3000000]))
        return y
"#,
    );
    let run = |function: &str, arg: &str, limit: &str| {
        tensors.hammock(&["run", "model.py", "--func", function, "--arg", arg, "--max-memory", limit])
    };
    for (function, arg, limit, enough) in [
        ("kernel", "random(16):float32", "11M", "13M"),
        ("arena", "random(1500000):float32", "15M", "19M"),
        ("result", "random(1):float32", "11M", "13M"),
    ] {
        let refused = run(function, arg, limit);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && said.contains("MemoryError"), "{function} with {limit}: {said}");
        let output = run(function, arg, enough);
        assert!(output.status.success(), "{function} with {enough}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
