//! Opaque statements: which loops around them run in parallel, and that this changes no result.
#![cfg(feature = "native")]

#[allow(dead_code)]
mod support;

use hammock_ir::Tensor;
use hammock_kernels::{Options, plan_text};
use hammock_runtime::parallel;
use hammock_target::Target;
use support::{Kernel, check_kernel, function};

/// A block over axes `i` and `j` of 40 x 30 whose lines of 50 are `body`.
fn block(attrs: &str, kinds: &str, body: &str) -> String {
    let lines: String = body.lines().map(|line| format!("            {line}\n")).collect();
    format!(
        "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(x: T.Buffer((40, 30, 50), \"float32\"), at: T.Buffer((40, 30, 50), \"int64\"), y: T.Buffer((40, 30, 50), \"float32\")):
    T.func_attr({{{attrs}}})
    for i, j in T.grid(40, 30):
        with T.sblock(\"lines\"):
            vi, vj = T.axis.remap(\"{kinds}\", [i, j])
{lines}"
    )
}

const SCAN: &str = "sum = T.alloc_buffer((1,), \"float32\", scope=\"local\")
sum[0] = T.float32(0)
for k in range(50):
    sum[0] = sum[0] + x[vi, vj, k]
    y[vi, vj, k] = sum[0]";

#[test]
fn independent_lines_run_in_parallel() {
    let noalias = "\"tirx.noalias\": True";
    let other_line =
        "for k in range(50):\n    y[vi, vj, k] = x[vi, vj, k]\n    y[vi, T.max(vj - 1, 0), k] = x[vi, vj, k]";
    let chosen = "for k in range(50):\n    y[vi, vj, k] = T.float32(0)\nfor k in range(50):\n    \
                  y[vi, vj, T.max(T.min(at[vi, vj, k], T.int64(49)), T.int64(0))] = x[vi, vj, k]";
    let chosen_line =
        "for k in range(50):\n    y[T.max(T.min(at[vi, vj, k], T.int64(39)), T.int64(0)), vj, k] = x[vi, vj, k]";
    let chosen_lines = block(noalias, "SS", chosen_line);
    let vectors = |lanes: i64| {
        let body = format!(
            "for k in range(30):\n    for lane in range({lanes}):\n        if vj * 5 + lane < 50:\n            \
             y[vi, k, vj * 5 + lane] = x[vi, k, vj * 5 + lane]"
        );
        block(noalias, "SS", &body)
    };
    let cases = [
        (block(noalias, "SS", SCAN), "opaque, 2 loops parallel"),
        (block(noalias, "SS", chosen), "opaque, 2 loops parallel"),
        (block(noalias, "SS", other_line), "opaque, 1 loop parallel"),
        (chosen_lines.clone(), "opaque\n"),
        (block(noalias, "SR", SCAN), "opaque, 1 loop parallel"),
        (vectors(5), "opaque, 2 loops parallel"),
        // Adjacent iterations store the same elements.
        (vectors(6), "opaque, 1 loop parallel"),
        // Parameters may alias.
        (block("", "SS", SCAN), "opaque\n"),
    ];
    parallel::set_threads(3);
    let values: Vec<f32> = (0..60_000).map(|n| ((n * 7) % 11 - 5) as f32).collect();
    let places: Vec<i64> = (0..60_000).map(|n| (n * 13) % 57 - 3).collect();
    let inputs = [
        Tensor::from_slice(&[40, 30, 50], &values).unwrap().into(),
        Tensor::from_slice(&[40, 30, 50], &places).unwrap().into(),
    ];
    for (text, expected) in cases {
        let (func, target) = (function(&text), Target::host());
        let plan = plan_text(&func, Options::new(&target)).unwrap();
        assert!(plan.contains(expected), "{expected}\n{plan}\n{text}");
        // Some lines are not selected at all.
        if text != chosen_lines {
            check_kernel(&Kernel::new(&func), &inputs);
        }
    }
}

/// Updates of an element are in the order of the serial loop, which is outside of the loop over elements.
#[test]
fn interchanged_loops_update_in_order() {
    let text = "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(x: T.Buffer((9, 150), \"float32\"), at: T.Buffer((40, 150), \"int64\"), u: T.Buffer((40, 150), \"float32\"), y: T.Buffer((9, 150), \"float32\")):
    T.func_attr({\"tirx.noalias\": True})
    for i, j in T.grid(9, 150):
        with T.sblock(\"copy\"):
            vi, vj = T.axis.remap(\"SS\", [i, j])
            y[vi, vj] = x[vi, vj]
    for j in range(150):
        with T.sblock(\"scatter\"):
            vj = T.axis.spatial(150, j)
            for k in range(40):
                y[at[k, vj], vj] = y[at[k, vj], vj] * T.float32(0.5) + u[k, vj]
";
    let (func, target) = (function(text), Target::host());
    let plan = plan_text(&func, Options::new(&target)).unwrap();
    assert!(plan.contains("opaque, 1 loop parallel"), "{plan}");
    parallel::set_threads(3);
    let values: Vec<f32> = (0..6000).map(|n| ((n * 7) % 11 - 5) as f32).collect();
    let rows: Vec<i64> = (0..6000).map(|n| (n * 13) % 9).collect();
    let inputs = [
        Tensor::from_slice(&[9, 150], &values[..1350]).unwrap().into(),
        Tensor::from_slice(&[40, 150], &rows).unwrap().into(),
        Tensor::from_slice(&[40, 150], &values).unwrap().into(),
    ];
    check_kernel(&Kernel::new(&func), &inputs);
}
