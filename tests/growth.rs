//! Inputs that would take minutes to compile if any part of the compiler were superlinear in them. Each has a CPU time
//! limit that is far above its actual time and far below the superlinear one.

use std::{fmt::Write, os::unix::process::ExitStatusExt, process::Command};

/// Limit of CPU time in seconds, summed over all threads.
const LIMIT: u32 = 200;
const SIZES: [&str; 8] = ["n", "m", "k", "a", "b", "c", "d", "e"];

fn size(i: usize) -> &'static str {
    SIZES[i % SIZES.len()]
}

fn joined(count: usize, by: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(by)
}

fn module(functions: &str) -> String {
    format!("from tvm.script import ir as I, relax as R, tir as T\n@I.ir_module\nclass Module:\n{functions}")
}

/// Returns a function that creates a tensor of this size.
fn of_size(dim: &str) -> String {
    let sizes = SIZES.join(", ");
    let params = joined(8, ", ", |i| format!("\"{}\"", size(i)));
    let types = joined(8, ", ", |_| "T.int64()".to_owned());
    module(&format!(
        "    @R.function\n    def main(x: R.Tensor(({params}), \"float32\")):\n        {sizes} = {types}\n        \
         y = R.zeros(R.shape([{dim}]), \"float32\")\n        return y\n"
    ))
}

/// Compiles a text; returns the exit status and standard error.
fn compile(name: &str, text: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("growth.py"), text).unwrap();
    let script = format!("ulimit -t {LIMIT} && exec \"$0\" compile growth.py -o growth.so");
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", &script, env!("CARGO_BIN_EXE_hammock")]).current_dir(&folder).output().unwrap();
    let killed = output.status.signal();
    assert_eq!(killed, None, "{name} is killed, as it is after {LIMIT} seconds of work");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[track_caller]
fn compiles(name: &str, text: &str) {
    let (status, said) = compile(name, text);
    assert_eq!(status, Some(0), "{name}: {said}");
}

#[test]
fn sizes_of_many_operations() {
    let sum = format!("({} + 1)", SIZES.join(" + "));
    compiles("a power of a sum", &of_size(&joined(8, " * ", |_| sum.clone())));
    compiles(
        "a product of minima",
        &of_size(&joined(30, " * ", |i| format!("T.min({} + {i}, {})", size(i), size(i + 1)))),
    );
    let minima = joined(12, " + ", |i| format!("T.min({} * {}, {} * 2)", size(i), i + 1, size(i + 1)));
    let maxima = joined(12, " + ", |i| format!("T.max({} * {}, {})", size(i), i + 2, size(i + 3)));
    compiles("a maximum of sums", &of_size(&format!("T.max({minima}, {maxima})")));
    let nested =
        (0..40).fold("n".to_owned(), |e, i| format!("(({e} + {}) // {} + {} % 3)", size(i), i + 2, size(i + 1)));
    compiles("quotients of quotients", &of_size(&nested));
    let nested = (0..40).fold("n".to_owned(), |e, i| format!("T.max({e}, {} * {} + m)", size(i), i + 1));
    compiles("maxima of maxima", &of_size(&nested));
}

#[test]
fn products_of_sizes() {
    let params = joined(12, ", ", |i| format!("\"{} + {} + {i}\"", size(i), size(i + 1)));
    let sizes = joined(8, ", ", |i| format!("\"{}\"", size(i)));
    compiles(
        "many sums in one product",
        &module(&format!(
            "    @R.function\n    def main(x: R.Tensor(({params}, {sizes}), \"float32\")):\n        y = R.flatten(x)\n        \
             z = R.reshape(y, R.shape([-1, 2]))\n        return z\n"
        )),
    );
}

#[test]
fn sizes_that_grow_from_step_to_step() {
    let mut body = String::from(
        "    @R.function\n    def main(x: R.Tensor((1, 3, \"n\", \"m\"), \"float32\")):\n        v0 = x\n",
    );
    for i in 1..40 {
        let pool = "pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1], ceil_mode=True";
        writeln!(body, "        v{i} = R.nn.max_pool2d(v{}, {pool})", i - 1).unwrap();
    }
    let (status, said) = compile("pools of pools", &module(&(body + "        return v39\n")));
    assert_eq!(status, Some(1));
    assert!(said.contains("is an expression of more than"), "{said}");
}

#[test]
fn many_parameters_and_bindings() {
    let params = joined(10_000, ", ", |i| format!("p{i}: R.Tensor((\"n{i}\",), \"float32\")"));
    compiles(
        "many parameters",
        &module(&format!("    @R.function\n    def main({params}):\n        y = R.add(p0, p0)\n        return y\n")),
    );
    let buffers = joined(10_000, ", ", |i| format!("A{i}: T.Buffer((4,), \"float32\")"));
    compiles("many buffers", &module(&format!("    @T.prim_func\n    def f({buffers}):\n        A0[0] = A1[0]\n")));
    let body = joined(5000, "", |i| format!("        v{} = R.add(v{i}, x)\n", i + 1));
    compiles(
        "many bindings",
        &module(&format!(
            "    @R.function\n    def main(x: R.Tensor((4,), \"float32\")):\n        v0 = x\n{body}        return v5000\n"
        )),
    );
}

#[test]
fn concatenation_of_many_tensors() {
    let parts = joined(3000, ", ", |_| "x".to_owned());
    let text = |call: &str| {
        module(&format!(
            "    @R.function\n    def main(x: R.Tensor((4,), \"float32\")):\n        y = R.{call}(({parts}), axis=0)\n        \
             return y\n"
        ))
    };
    compiles("many tensors concatenated", &text("concat"));
    compiles("many tensors stacked", &text("stack"));
}

#[test]
fn a_long_chain_is_several_kernels() {
    let chain = joined(1500, "", |i| format!("            v{} = R.add(v{i}, w)\n", i + 1));
    let text = module(&format!(
        "    @R.function\n    def main(v0: R.Tensor((8,), \"float32\"), w: R.Tensor((8,), \"float32\")):\n        with \
         R.dataflow():\n{chain}            R.output(v1500)\n        return v1500\n"
    ));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("chain.py"), text).unwrap();
    let mut hammock = Command::new(env!("CARGO_BIN_EXE_hammock"));
    let output = hammock.args(["opt", "-O2", "chain.py"]).current_dir(&folder).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let kernels = printed.matches("@T.prim_func").count();
    assert!((2..=1500 / 128).contains(&kernels), "{kernels} kernels");
}
