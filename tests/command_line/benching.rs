//! `hammock bench` of single kernels, and with `--roofline`. Only the presence of measurements is checked, not their
//! values.
#![cfg(feature = "llvm")]

use serde_json::Value;
use std::process::{Command, Output};
use tempfile::TempDir;

const MODEL: &str = "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((32, 64), \"float32\"), w: R.Tensor((64, 48), \"float32\"), s: R.Tensor((\"n\",), \"float32\")):
        with R.dataflow():
            product = R.nn.relu(R.matmul(x, w))
            other = R.exp(s)
            R.output(product, other)
        return (product, other)
";
const KERNEL: &str = "\
from tvm.script import tirx as T

@T.prim_func
def main(a: T.Buffer((T.int64(8),), \"float32\"), b: T.Buffer((T.int64(8),), \"int32\")):
    for i in range(T.int64(8)):
        b[i] = T.int32(1)
";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("model.py"), MODEL).unwrap();
    std::fs::write(folder.path().join("kernel.py"), KERNEL).unwrap();
    folder
}

fn bench(folder: &TempDir, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hammock"));
    command.arg("bench").args(args).args(["--min-time", "0.01"]).current_dir(folder.path()).output().unwrap()
}

fn json(output: Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refusal(output: Output) -> String {
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), crate::support::status_of(&said), "{said}");
    said
}

#[test]
fn kernels_are_timed_alone() {
    let folder = folder();
    for args in [&["model.py", "--kernel", "fused_matmul_relu"][..], &["kernel.py", "--kernel", "main"]] {
        let time = json(bench(&folder, &[args, &["--json"]].concat()));
        assert!(time["median_ns"].as_f64().unwrap() > 0.0, "{args:?}: {time}");
    }
    let own = ["model.py", "--kernel", "tir_exp", "--arg", "random(5):float32", "--arg", "zeros(5):float32", "--json"];
    assert!(json(bench(&folder, &own))["samples"].as_u64().unwrap() > 0);
    let unknown = refusal(bench(&folder, &["model.py", "--kernel", "fused_matmul_rel"]));
    assert!(unknown.contains("did you mean `fused_matmul_relu`?"), "{unknown}");
    let symbolic = refusal(bench(&folder, &["model.py", "--kernel", "tir_exp"]));
    assert!(
        symbolic.contains("the size `n` of kernel `tir_exp` is not known") && symbolic.contains("--arg n=N"),
        "{symbolic}"
    );
    assert!(
        json(bench(&folder, &["model.py", "--kernel", "tir_exp", "--arg", "n=7", "--json"]))["samples"]
            .as_u64()
            .is_some()
    );
    let other = refusal(bench(&folder, &["model.py", "--kernel", "tir_exp", "--arg", "m=7"]));
    assert!(other.contains("kernel `tir_exp` has no size `m`"), "{other}");
}

/// A kernel that is timed alone uses its plan from the file; plans of other kernels are ignored.
#[test]
fn kernels_timed_alone_use_their_plans() {
    let folder = folder();
    let plan = "fused_matmul_relu:\n    outer-product: v_ax0, v_ax1 by 8, v_k, v_ax1 vector\ntir_exp:\n    elementwise: v_ax0\n";
    std::fs::write(folder.path().join("plan.txt"), plan).unwrap();
    let args = ["model.py", "--kernel", "fused_matmul_relu", "--plan", "plan.txt"];
    assert!(bench(&folder, &[&args[..], &["--json"]].concat()).status.success());
    std::fs::write(folder.path().join("plan.txt"), plan.replace("v_k,", "")).unwrap();
    assert!(refusal(bench(&folder, &args)).contains("error[E0311]: no loop over axis `v_k`"));
}

#[test]
fn rooflines_have_every_kernel() {
    let folder = folder();
    let args = ["--arg", "random(32,64):float32", "--arg", "random(64,48):float32", "--arg", "random(9):float32"];
    let flags = ["--roofline", "--roofline-svg", "roofline.svg", "--json"];
    let found = json(bench(&folder, &[&["model.py"], &args[..], &flags].concat()));
    let peak = ["gflops", "gbs", "cache_gbs"].map(|name| found["peak"][name].as_f64().unwrap());
    assert!(peak.iter().all(|rate| *rate > 0.0), "{found}");
    let kernels = found["kernels"].as_array().unwrap();
    let of = |name: &str| kernels.iter().find(|kernel| kernel["name"] == name).unwrap();
    // One multiplication and one addition per reduction step, and one maximum per result.
    assert_eq!(of("fused_matmul_relu")["flops"], (2 * 32 * 64 * 48 + 32 * 48) as f64);
    assert_eq!(of("fused_matmul_relu")["bytes"], (4 * (32 * 64 + 64 * 48 + 32 * 48)) as f64);
    assert!(of("fused_matmul_relu")["share"].as_f64().unwrap() > 0.0);
    // Its size is dynamic.
    assert_eq!(of("tir_exp")["flops"].as_f64().unwrap() % 9.0, 0.0);
    assert!(of("tir_exp")["flops"].as_f64().unwrap() >= 9.0);
    let svg = std::fs::read_to_string(folder.path().join("roofline.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("fused_matmul_relu") && !svg.contains("NaN"), "{svg}");
    let library = Command::new(env!("CARGO_BIN_EXE_hammock"))
        .args(["compile", "model.py", "-o", "model.so"])
        .current_dir(folder.path())
        .status();
    assert!(library.unwrap().success());
    let refused = refusal(bench(&folder, &[&["model.so", "--roofline"], &args[..]].concat()));
    assert!(refused.contains("`--roofline` has no effect here"), "{refused}");
}

/// Two matmuls with an addition between them.
const RESIDUAL: &str = "\
@T.prim_func(s_tir=True)
def f(x: T.Buffer((32, 24), \"float32\"), v: T.Buffer((24, 40), \"float32\"), r: T.Buffer((32, 40), \"float32\"), w: T.Buffer((40, 48), \"float32\"), y: T.Buffer((32, 48), \"float32\")):
    T.func_attr({\"tirx.noalias\": True})
    p = T.sblock_alloc_buffer((32, 40))
    s = T.sblock_alloc_buffer((32, 40))
    for i, j, k in T.grid(32, 40, 24):
        with T.sblock(\"first\"):
            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])
            with T.init():
                p[vi, vj] = T.float32(0)
            p[vi, vj] = p[vi, vj] + x[vi, vk] * v[vk, vj]
    for i, j in T.grid(32, 40):
        with T.sblock(\"sum\"):
            vi, vj = T.axis.remap(\"SS\", [i, j])
            s[vi, vj] = r[vi, vj] + p[vi, vj]
    for i, j, k in T.grid(32, 48, 40):
        with T.sblock(\"second\"):
            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])
            with T.init():
                y[vi, vj] = T.float32(0)
            y[vi, vj] = y[vi, vj] + s[vi, vk] * w[vk, vj]
";

#[test]
fn residual_sums_are_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("residual.py"), RESIDUAL).unwrap();
    let found = json(bench(&folder, &["residual.py", "--kernel", "f", "--roofline", "--json"]));
    let operations = 2 * 32 * 40 * 24 + 32 * 40 + 2 * 32 * 48 * 40;
    assert_eq!(found["kernels"][0]["flops"], operations as f64, "{found}");
}
