//! Kernels that read memory before it is written are rejected; those whose reads follow, or may follow, writes are not.

use hammock_diagnostics::SourceFile;
use hammock_import::{ReadOptions, check_module};

/// Codes of the errors in a kernel `y = f(x)` that a graph calls with fresh memory for `y`.
fn called(body: &str) -> Vec<String> {
    let text = format!(
        "@T.prim_func(private=True, s_tir=True)
def f(x: T.Buffer((8, 8), \"float32\"), y: T.Buffer((8,), \"float32\")):
{body}

@R.function
def main(x: R.Tensor((8, 8), \"float32\")):
    cls = Module
    with R.dataflow():
        y = R.call_tir(cls.f, (x,), out_ty=R.Tensor((8,), \"float32\"))
        R.output(y)
    return y
"
    );
    codes(&text)
}

/// Each element is written before it is read: scans, with the first element before the loop or in it, and a triangular
/// solver, whose inner loop has no iteration at first.
const SCANS: [&str; 4] = [
    "    y[0] = x[0, 0]\n    for i in range(7):\n        y[i + 1] = y[i] + x[i + 1, 0]",
    "    for i in range(8):
        if i == 0:
            y[i] = x[i, 0]
        else:
            y[i] = y[i - 1] + x[i, 0]",
    "    for i in range(8):\n        y[i] = T.if_then_else(i == 0, T.float32(0), y[i - 1]) + x[i, 0]",
    "    t = T.alloc_buffer((1,), \"float32\")
    for i in range(8):
        t[0] = x[i, i]
        for k in range(i):
            t[0] = t[0] - x[i, k] * y[k]
        y[i] = t[0]",
];

fn codes(functions: &str) -> Vec<String> {
    let lines: String = functions.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!("@I.ir_module\nclass Module:\n{lines}");
    let source = SourceFile::new("kernel.py", text).unwrap();
    let (_, found) = check_module(&source, &ReadOptions::default());
    found.iter().filter(|d| d.is_error()).map(|d| d.code.to_string()).collect()
}

#[test]
fn reads_before_every_write_are_refused() {
    for body in [
        "    for i in range(8):\n        y[i] = y[i] + x[i, 0]",
        "    for i in range(8):\n        if x[i, 0] > T.float32(0):\n            y[i] = y[i] + x[i, 0]",
        "    for i, k in T.grid(8, 8):
        with T.sblock(\"sum\"):
            vi, vk = T.axis.remap(\"SR\", [i, k])
            y[vi] = y[vi] + x[vi, vk]",
        "    for i in range(8):
        with T.sblock(\"sum\"):
            vi = T.axis.reduce(8, i)
            y[vi] = y[vi] + x[vi, 0]",
        "    for i, k in T.grid(8, 8):
        with T.sblock(\"sum\"):
            vi, vk = T.axis.remap(\"RR\", [i, k])
            with T.init():
                y[vi] = T.float32(0)
            y[vi] = y[vi] + x[vi, vk]",
        "    t = T.alloc_buffer((8,), \"float32\")
    for i in range(8):
        y[i] = t[i]
    for i in range(8):
        t[i] = x[i, 0]",
    ] {
        assert_eq!(called(body), ["E0264"], "{body}");
    }
}

#[test]
fn reads_that_may_come_after_a_write_are_not() {
    for body in [
        // A reduction.
        "    for i, k in T.grid(8, 8):
        with T.sblock(\"sum\"):
            vi, vk = T.axis.remap(\"SR\", [i, k])
            with T.init():
                y[vi] = T.float32(0)
            y[vi] = y[vi] + x[vi, vk]",
        "    for i in range(8):\n        y[i] = T.Select(i == 0, T.float32(0), y[T.max(i - 1, 0)]) + x[i, 0]",
        // Half of it is written.
        "    for i in range(4):\n        y[i] = x[i, 0]\n    for i in range(8):\n        y[i] = y[i] + x[i, 1]",
        // A view of the output, written through a region.
        "    for i in range(8):
        with T.sblock(\"view\"):
            vi = T.axis.spatial(8, i)
            v = T.match_buffer(y[vi:vi + 1], (1,), \"float32\", offset_factor=1)
            v[0] = x[vi, 0]
            y[vi] = y[vi] + T.float32(1)",
    ]
    .into_iter()
    .chain(SCANS)
    {
        assert_eq!(called(body), [] as [&str; 0], "{body}");
    }
}

/// Lines of a kernel `y = f(x)` with a warning about a possibly uninitialized read.
fn warned(body: &str) -> Vec<String> {
    let header = "@T.prim_func(private=True, s_tir=True)
def f(x: T.Buffer((8, 8), \"float32\"), y: T.Buffer((8,), \"float32\")):
";
    let call = "
@R.function
def main(x: R.Tensor((8, 8), \"float32\")):
    cls = Module
    y = R.call_tir(cls.f, (x,), out_ty=R.Tensor((8,), \"float32\"))
    return y
";
    let functions: String = format!("{header}{body}\n{call}").lines().map(|line| format!("    {line}\n")).collect();
    let source = SourceFile::new("kernel.py", format!("@I.ir_module\nclass Module:\n{functions}")).unwrap();
    let (_, found) = check_module(&source, &ReadOptions::default());
    assert!(found.iter().all(|d| !d.is_error() && d.code == "E0264"), "{body}: {found:?}");
    found.iter().map(|d| source.slice(d.span()).trim().to_owned()).collect()
}

#[test]
fn reads_that_may_come_before_a_write_are_warned_of() {
    for (body, line) in [
        (
            "    for i in range(8):
        if x[i, 0] > T.float32(0):
            y[i] = x[i, 0]
    for i in range(8):
        y[i] = y[i] + x[i, 1]",
            "y[i] = y[i] + x[i, 1]",
        ),
        (
            "    for i in range(4):
        y[i] = x[i, 0]
    for i in range(8):
        y[i] = y[i] + x[i, 1]",
            "y[i] = y[i] + x[i, 1]",
        ),
        (
            "    for i in range(7):
        y[i + 1] = T.if_then_else(i > 0, y[i], y[0])",
            "y[i + 1] = T.if_then_else(i > 0, y[i], y[0])",
        ),
        (
            "    t = T.alloc_buffer((8,), \"float32\")
    for i in range(8):
        for k in range(i):
            t[k] = x[i, k]
        y[i] = t[0]",
            "y[i] = t[0]",
        ),
        (
            "    for i, k in T.grid(8, 8):
        with T.sblock(\"sum\"):
            vi, vk = T.axis.remap(\"SR\", [i, k])
            T.where(k > 0)
            with T.init():
                y[vi] = T.float32(0)
            y[vi] = y[vi] + x[vi, vk]",
            "y[vi] = y[vi] + x[vi, vk]",
        ),
    ] {
        assert_eq!(warned(body), [line], "{body}");
    }
}

#[test]
fn writes_that_come_before_each_read_are_seen() {
    for body in [
        // Reductions: with the reduction outermost, in parts, under a predicate of their other axes, in nested blocks.
        "    for k, i in T.grid(8, 8):
        with T.sblock(\"sum\"):
            vi, vk = T.axis.remap(\"SR\", [i, k])
            with T.init():
                y[vi] = T.float32(0)
            y[vi] = y[vi] + x[vi, vk]",
        "    for i, k0, k1 in T.grid(8, 3, 3):
        with T.sblock(\"sum\"):
            vi = T.axis.spatial(8, i)
            vk = T.axis.reduce(8, k0 * 3 + k1)
            T.where(k0 * 3 + k1 < 8)
            with T.init():
                y[vi] = T.float32(0)
            y[vi] = y[vi] + x[vi, vk]",
        "    for i0, k, i1 in T.grid(3, 8, 3):
        with T.sblock(\"sum\"):
            vi = T.axis.spatial(8, i0 * 3 + i1)
            vk = T.axis.reduce(8, k)
            T.where(i0 * 3 + i1 < 8)
            with T.init():
                y[vi] = T.float32(0)
            y[vi] = y[vi] + x[vi, vk]",
        "    for i in range(8):
        with T.sblock(\"row\"):
            vi = T.axis.spatial(8, i)
            for k in range(8):
                with T.sblock(\"sum\"):
                    vk = T.axis.reduce(8, k)
                    with T.init():
                        y[vi] = T.float32(0)
                    y[vi] = y[vi] + x[vi, vk]",
        // Intermediates: whole, in tiles with a tail, by one fused loop, backwards.
        "    t = T.alloc_buffer((8, 8), \"float32\")
    for i, j in T.grid(8, 8):
        t[i, j] = x[i, j]
    for i in range(8):
        y[i] = t[7 - i, i]",
        "    t = T.alloc_buffer((8,), \"float32\")
    for i0, i1 in T.grid(3, 3):
        if i0 * 3 + i1 < 8:
            t[i0 * 3 + i1] = x[i0 * 3 + i1, 0]
    for i in range(8):
        y[i] = t[T.Cast(\"int64\", x[i, 0])]",
        "    t = T.alloc_buffer((8, 8), \"float32\")
    for f in range(64):
        t[f // 8, f % 8] = x[f // 8, f % 8]
    for i in range(8):
        y[i] = t[i, 3]",
        "    t = T.alloc_buffer((8,), \"float32\")
    for i in range(8):
        t[7 - i] = x[i, 0]
    for i in range(8):
        y[i] = t[i]",
        "    t = T.alloc_buffer((8,), \"float32\")
    for i in range(8):
        if x[i, 0] > T.float32(0):
            t[i] = x[i, 0]
        else:
            t[i] = T.float32(0)
    for i in range(8):
        y[i] = t[i]",
    ]
    .into_iter()
    .chain(SCANS)
    {
        assert_eq!(warned(body), [] as [&str; 0], "{body}");
    }
}

#[test]
fn tensors_of_the_caller_may_be_read() {
    let kernel = "@T.prim_func(s_tir=True)
def f(x: T.Buffer((8,), \"float32\"), y: T.Buffer((8,), \"float32\")):
    for i in range(8):
        y[i] = y[i] + x[i]
";
    assert_eq!(codes(kernel), [] as [&str; 0], "run by itself, a kernel has the caller's tensors");
    let in_place = format!(
        "{kernel}
@R.function
def main(x: R.Tensor((8,), \"float32\"), y: R.Tensor((8,), \"float32\")):
    cls = Module
    z = R.call_tir_inplace(cls.f, (x, y), inplace_indices=[1], out_ty=R.Tensor((8,), \"float32\"))
    return z
"
    );
    assert_eq!(codes(&in_place), [] as [&str; 0]);
}
