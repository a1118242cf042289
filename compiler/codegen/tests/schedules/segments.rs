//! Rows of dynamic size that are loaded in segments (padding, selects by position), at every vector width, compared with
//! the reference interpreter.

use crate::support::{Kernel, check_kernel, floats, function, rng::Rng, targets};
use hammock_kernels::{Options, plan_text};
use hammock_runtime::Any;
use hammock_target::Target;

fn numbers(shape: &[i64], dtype: &str, rng: &mut Rng) -> Any {
    let count = shape.iter().product::<i64>();
    floats(dtype, shape, (0..count).map(|_| rng.between(-99, 99)))
}

fn check(text: &str, inputs: &[Any]) {
    let func = function(text);
    for target in targets() {
        println!("vectors of {} bytes\n{text}", target.vector_bytes);
        check_kernel(&Kernel::planned(&func, Options::new(&target)), inputs);
    }
}

/// Text of a padding of rows, which reflects or wraps once if `n` is long enough.
fn padding(mode: &str, before: i64, after: i64, dtype: &str) -> String {
    let width = before.max(after);
    let (minimum, low, high, index) = match mode {
        "reflect" => (
            width + 1,
            format!("{before} - vj"),
            format!("n * 2 - {} - vj", 2 - before),
            format!(
                "T.min(T.min((vj - {before}) % T.max(n * 2 - 2, 1), T.max(n * 2 - 2, 1) - (vj - {before}) % T.max(n * 2 - 2, 1)), n - 1)"
            ),
        ),
        "circular" => {
            (width, format!("vj + n - {before}"), format!("vj - n - {before}"), format!("(vj - {before}) % n"))
        }
        _ => (1, "0".to_owned(), "n - 1".to_owned(), format!("T.min(T.max(vj - {before}, 0), n - 1)")),
    };
    let more = before + after;
    format!(
        "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(data: T.handle, result: T.handle):
    T.func_attr({{\"tirx.noalias\": True}})
    m, n = T.int64(), T.int64()
    x = T.match_buffer(data, (m, n), \"{dtype}\")
    y = T.match_buffer(result, (m, n + {more}), \"{dtype}\")
    for i, j in T.grid(m, n + {more}):
        with T.sblock(\"pad\"):
            vi, vj = T.axis.remap(\"SS\", [i, j])
            y[vi, vj] = T.if_then_else(n >= {minimum}, T.if_then_else(vj < {before}, x[vi, {low}], T.if_then_else(vj < n + {before}, x[vi, vj - {before}], x[vi, {high}])), x[vi, {index}])
"
    )
}

#[test]
fn padded_rows_match_the_interpreter() {
    let mut rng = Rng::new(0);
    for _ in 0..20 {
        let (before, after) = (rng.between(1, 5), rng.between(1, 40));
        let mode = *rng.pick(&["reflect", "circular", "replicate"]);
        let dtype = *rng.pick(&["float32", "float16", "bfloat16"]);
        let text = padding(mode, before, after, dtype);
        for n in [rng.between(1, 4), rng.between(5, 70), rng.between(71, 200)] {
            check(&text, &[numbers(&[rng.between(1, 3), n], dtype, &mut rng)]);
        }
    }
}

#[test]
fn rows_that_are_long_enough_are_vectors() {
    let target = Target::avx512();
    let plan = plan_text(&function(&padding("reflect", 3, 3, "float32")), Options::new(&target)).unwrap();
    let loops: Vec<&str> = plan.lines().filter(|line| line.starts_with("elementwise:")).collect();
    assert_eq!(loops.len(), 2, "{plan}");
    assert!(loops[0].ends_with("vector") && !loops[1].ends_with("vector"), "{plan}");
}

/// Boundaries that may be anywhere, below zero and beyond the row too.
#[test]
fn boundaries_outside_of_a_row() {
    let mut rng = Rng::new(1);
    for condition in ["vj < q - p", "vj >= q - p", "q - vj > p", "q - p <= vj"] {
        let text = format!(
            "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(left: T.handle, right: T.handle, one: T.handle, two: T.handle, result: T.handle):
    T.func_attr({{\"tirx.noalias\": True}})
    m, n, p, q = T.int64(), T.int64(), T.int64(), T.int64()
    a = T.match_buffer(left, (m, n), \"float32\")
    b = T.match_buffer(right, (m, n), \"float32\")
    o = T.match_buffer(one, (p,), \"float32\")
    t = T.match_buffer(two, (q,), \"float32\")
    y = T.match_buffer(result, (m, n), \"float32\")
    for i, j in T.grid(m, n):
        with T.sblock(\"select\"):
            vi, vj = T.axis.remap(\"SS\", [i, j])
            y[vi, vj] = T.if_then_else({condition}, a[vi, vj], T.if_then_else(vj < 20, b[vi, vj], a[vi, vj] + b[vi, vj]))
"
        );
        for (p, q) in [(3, 40), (40, 3), (0, 90), (5, 5), (7, 8)] {
            let (m, n) = (rng.between(1, 3), rng.between(1, 70));
            let shapes: [&[i64]; 4] = [&[m, n], &[m, n], &[p], &[q]];
            check(&text, &shapes.map(|shape| numbers(shape, "float32", &mut rng)));
        }
    }
}
