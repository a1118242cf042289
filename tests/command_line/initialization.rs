//! Elements that a kernel may read before it writes them are zero, and empty reductions equal their initial value, at
//! every optimization level and in every mode.

use crate::support::{hammock, stdout};
use std::fs;

type Matrix = [[f32; 8]; 8];

/// Bodies of kernels from `x`, 8 x 8, to a new `y` of 8 elements, with their expected results.
struct Case {
    body: &'static str,
    expected: fn(&Matrix) -> Vec<f32>,
}

fn of_rows(f: impl Fn(usize) -> f32) -> Vec<f32> {
    (0..8).map(f).collect()
}

fn positive(x: f32) -> f32 {
    x.max(0.0)
}

const CASES: &[Case] = &[
    // Written under a data-dependent condition.
    Case {
        body: "
for i in range(8):
    if x[i, 0] > T.float32(0):
        y[i] = x[i, 0]
for i in range(8):
    y[i] = y[i] + x[i, 1]",
        expected: |x| of_rows(|i| positive(x[i][0]) + x[i][1]),
    },
    // The same in blocks.
    Case {
        body: "
for i in range(8):
    with T.sblock(\"some\"):
        vi = T.axis.spatial(8, i)
        T.where(x[i, 0] > T.float32(0))
        y[vi] = x[vi, 0]
for i, k in T.grid(8, 8):
    with T.sblock(\"sum\"):
        vi, vk = T.axis.remap(\"SR\", [i, k])
        y[vi] = y[vi] + x[vi, vk]",
        expected: |x| of_rows(|i| positive(x[i][0]) + x[i].iter().sum::<f32>()),
    },
    // Half of the buffer is written.
    Case {
        body: "
for i in range(4):
    y[i] = x[i, 0]
for i in range(8):
    y[i] = y[i] + x[i, 1]",
        expected: |x| of_rows(|i| if i < 4 { x[i][0] } else { 0.0 } + x[i][1]),
    },
    // The number of written elements depends on data.
    Case {
        body: "
for i in range(T.Cast(\"int64\", T.max(T.min(x[0, 0], T.float32(8)), T.float32(0)))):
    y[i] = x[i, 0]
for i in range(8):
    y[i] = y[i] + x[i, 1]",
        expected: |x| of_rows(|i| if (i as f32) < x[0][0] { x[i][0] } else { 0.0 } + x[i][1]),
    },
    // Read at other indices than those written before.
    Case {
        body: "
for i in range(8):
    y[i] = T.if_then_else(x[i, 0] > T.float32(0), y[7 - i], T.float32(0)) + x[i, 1]",
        expected: |x| {
            let mut y = vec![0.0; 8];
            (0..8).for_each(|i| y[i] = if x[i][0] > 0.0 { y[7 - i] } else { 0.0 } + x[i][1]);
            y
        },
    },
    // A scan that may begin at an unwritten element.
    Case {
        body: "
for i in range(7):
    if x[i, 0] > T.float32(-9):
        y[i + 1] = x[i, 0]
for i in range(7):
    y[i + 1] = y[i] + y[i + 1]",
        expected: |x| {
            let mut y: Vec<f32> = of_rows(|i| if i > 0 { x[i - 1][0] } else { 0.0 });
            (0..7).for_each(|i| y[i + 1] += y[i]);
            y
        },
    },
    // A reduction axis that indexes the output.
    Case {
        body: "
for i, k in T.grid(8, 8):
    with T.sblock(\"sum\"):
        vi, vk = T.axis.remap(\"RR\", [i, k])
        if x[vi, vk] > T.float32(0):
            y[vi] = y[vi] + x[vi, vk]
        else:
            y[vi] = y[vi]",
        expected: |x| of_rows(|i| x[i].iter().copied().map(positive).sum()),
    },
    // A temporary buffer, new in each iteration.
    Case {
        body: "
for i in range(8):
    with T.sblock(\"row\"):
        vi = T.axis.spatial(8, i)
        t = T.sblock_alloc_buffer((8,), \"float32\")
        for k in range(8):
            if x[vi, k] > T.float32(0):
                t[k] = x[vi, k]
        y[vi] = T.float32(0)
        for k in range(8):
            y[vi] = y[vi] + t[k]",
        expected: |x| of_rows(|i| x[i].iter().copied().map(positive).sum()),
    },
    // A histogram with only its first bin initialized.
    Case {
        body: "
t = T.alloc_buffer((8,), \"int32\")
t[0] = 0
for i in range(8):
    if x[i, 0] > T.float32(0):
        t[T.Cast(\"int64\", T.max(T.min(x[i, 0], T.float32(7)), T.float32(0)))] = t[T.Cast(\"int64\", T.max(T.min(x[i, 0], T.float32(7)), T.float32(0)))] + 1
for i in range(8):
    y[i] = T.Cast(\"float32\", t[i])",
        expected: |x| of_rows(|b| (0..8).filter(|i| x[*i][0] > 0.0 && x[*i][0] as usize == b).count() as f32),
    },
];

/// Returns a matrix with values of both signs, small enough for exact sums.
fn matrix() -> Matrix {
    std::array::from_fn(|i| std::array::from_fn(|j| ((i * 3 + j * 5 + 6) % 7) as f32 - 3.0))
}

fn indented(text: &str, spaces: usize) -> String {
    text.trim_start_matches('\n').lines().map(|line| format!("{:spaces$}{line}\n", "")).collect()
}

const HOW: &[&[&str]] =
    &[&["-O0"], &["-O1"], &["-O2"], &["-O3"], &["-O0", "--exec-mode", "reference"], &["--exec-mode", "reference"]];

/// Returns the results of a program as JSON; they must be the same in every mode.
fn results(program: &str, args: &[&str]) -> Vec<Vec<f32>> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.py"), program).unwrap();
    let args: Vec<&str> = args.iter().flat_map(|arg| ["--arg", arg]).collect();
    let run = |how: &[&str]| stdout(hammock(folder.path(), &[&["run", "m.py", "--json"], how, &args].concat()));
    let first = run(HOW[0]);
    HOW[1..].iter().for_each(|how| assert_eq!(run(how), first, "{how:?}"));
    let tensors: serde_json::Value = serde_json::from_str(&first).unwrap();
    let tensors = tensors.as_array().cloned().unwrap_or_else(|| vec![tensors.clone()]);
    let data = |tensor: serde_json::Value| {
        let data = tensor["data"].as_array().unwrap();
        data.iter().map(|number| number.as_f64().unwrap() as f32).collect()
    };
    tensors.into_iter().map(data).collect()
}

#[test]
fn uninitialized_elements_are_zero() {
    let mut program = String::from("@I.ir_module\nclass Module:\n");
    for (at, case) in CASES.iter().enumerate() {
        program += &format!(
            "    @T.prim_func(private=True, s_tir=True)\n    \
             def f{at}(x: T.Buffer((8, 8), \"float32\"), y: T.Buffer((8,), \"float32\")):\n{}",
            indented(case.body, 8)
        );
    }
    program += "    @R.function\n    def main(x: R.Tensor((8, 8), \"float32\")):\n        cls = Module\n        with R.dataflow():\n";
    let mut names = Vec::new();
    for at in 0..CASES.len() {
        program += &format!("            y{at} = R.call_tir(cls.f{at}, (x,), out_ty=R.Tensor((8,), \"float32\"))\n");
        // Fused with its consumer, the result becomes a temporary.
        program += &format!("            a{at} = R.abs(y{at})\n            z{at} = R.add(a{at}, a{at})\n");
        names.extend([format!("y{at}"), format!("z{at}")]);
    }
    let names = names.join(", ");
    program += &format!("            R.output({names})\n        return ({names})\n");
    let x = matrix();
    let given = results(&program, &[&format!("{x:?}:float32")]);
    for (at, case) in CASES.iter().enumerate() {
        let expected = (case.expected)(&x);
        assert_eq!(given[2 * at], expected, "{}", case.body);
        let doubled: Vec<f32> = expected.iter().map(|y| 2.0 * y.abs()).collect();
        assert_eq!(given[2 * at + 1], doubled, "{}", case.body);
    }
}

#[test]
fn updated_tensors_are_not_zeroed() {
    // One kernel, called with new memory and with a tensor to update.
    let program = r#"@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            if x[i] > T.float32(0):
                y[i] = x[i]
        for i in range(4):
            y[i] = y[i] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        cls = Module
        new = R.call_tir(cls.f, (x,), out_ty=R.Tensor((4,), "float32"))
        own = R.add(y, y)
        updated = R.call_tir_inplace(cls.f, (x, own), inplace_indices=[1], out_ty=R.Tensor((4,), "float32"))
        return (new, updated)
"#;
    let given = results(program, &["[1, -1, 2, -2]:float32", "[10, 20, 30, 40]:float32"]);
    assert_eq!(given, [[2.0, 1.0, 3.0, 1.0], [2.0, 41.0, 3.0, 81.0]]);
}

/// Reductions of `x` of shape (m, n) in loop nests without a plan, with their initial values.
const REDUCTIONS: &[&str] = &[
    // Reduction axis outermost.
    "
for k, i in T.grid(n, m):
    with T.sblock(\"sum\"):
        vi, vk = T.axis.remap(\"SR\", [i, k])
        with T.init():
            y[vi] = T.float32(3)
        y[vi] = y[vi] + x[vi, vk]",
    // A tiled block with a predicate.
    "
for i0, k, i1 in T.grid(T.ceildiv(m, 4), n, 4):
    with T.sblock(\"sum\"):
        vi = T.axis.spatial(m, i0 * 4 + i1)
        vk = T.axis.reduce(n, k)
        T.where(i0 * 4 + i1 < m)
        with T.init():
            y[vi] = T.float32(3)
        y[vi] = y[vi] + x[vi, vk]",
    // A tiled reduction with a partial last tile.
    "
for i, k0, k1 in T.grid(m, T.ceildiv(n, 4), 4):
    with T.sblock(\"sum\"):
        vi = T.axis.spatial(m, i)
        vk = T.axis.reduce(n, k0 * 4 + k1)
        T.where(k0 * 4 + k1 < n)
        with T.init():
            y[vi] = T.float32(3)
        y[vi] = y[vi] + x[vi, vk]",
    // Guarded by a condition, next to other statements.
    "
for i in range(m):
    with T.sblock(\"row\"):
        vi = T.axis.spatial(m, i)
        y[vi] = T.float32(3)
        if vi >= 0:
            for k in range(n):
                with T.sblock(\"sum\"):
                    vk = T.axis.reduce(n, k)
                    with T.init():
                        y[vi] = T.float32(3)
                    y[vi] = y[vi] + x[vi, vk]",
    // Nested blocks and two reduction axes.
    "
for i in range(m):
    with T.sblock(\"row\"):
        vi = T.axis.spatial(m, i)
        for k, j in T.grid(n, 1):
            with T.sblock(\"sum\"):
                vk = T.axis.reduce(n, k)
                vj = T.axis.reduce(1, j)
                with T.init():
                    y[vi] = T.float32(3)
                y[vi] = y[vi] + x[vi, vk + vj]",
    // Two stores.
    "
t = T.sblock_alloc_buffer((m,), \"float32\")
for i, k in T.grid(m, n):
    with T.sblock(\"sum\"):
        vi, vk = T.axis.remap(\"SR\", [i, k])
        with T.init():
            t[vi] = T.float32(1)
            y[vi] = T.float32(2)
        t[vi] = t[vi] + x[vi, vk]
        y[vi] = y[vi] + x[vi, vk]
for i in range(m):
    with T.sblock(\"both\"):
        vi = T.axis.spatial(m, i)
        y[vi] = y[vi] + T.float32(1) + (t[vi] - t[vi])",
    // A plain one.
    "
for i, k in T.grid(m, n):
    with T.sblock(\"sum\"):
        vi, vk = T.axis.remap(\"SR\", [i, k])
        with T.init():
            y[vi] = T.float32(3)
        y[vi] = y[vi] + x[vi, vk]",
];

#[test]
fn empty_reductions_equal_their_initial_value() {
    let mut program = String::from("@I.ir_module\nclass Module:\n");
    for (at, body) in REDUCTIONS.iter().enumerate() {
        program += &format!(
            "    @T.prim_func(private=True, s_tir=True)\n    def f{at}(x_: T.handle, y_: T.handle):\n        \
             m, n = T.int64(), T.int64()\n        x = T.match_buffer(x_, (m, n), \"float32\")\n        \
             y = T.match_buffer(y_, (m,), \"float32\")\n{}",
            indented(body, 8)
        );
    }
    program += "    @R.function\n    def main(x: R.Tensor((\"m\", \"n\"), \"float32\")):\n        m, n = T.int64(), T.int64()\n        cls = Module\n";
    for at in 0..REDUCTIONS.len() {
        program += &format!("        y{at} = R.call_tir(cls.f{at}, (x,), out_ty=R.Tensor((m,), \"float32\"))\n");
    }
    let names: Vec<String> = (0..REDUCTIONS.len()).map(|at| format!("y{at}")).collect();
    program += &format!("        return ({})\n", names.join(", "));
    for (m, n) in [(5, 0), (3, 6), (0, 2)] {
        let given = results(&program, &[&format!("ones({m},{n}):float32")]);
        for (y, body) in given.iter().zip(REDUCTIONS) {
            assert_eq!(*y, vec![3.0 + n as f32; m], "{m} x {n}: {body}");
        }
    }
}
