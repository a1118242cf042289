//! Graphs compiled to machine code: results, errors, listings and profiles equal those of bytecode.
#![cfg(all(feature = "cranelift", feature = "llvm"))]

use std::process::Output;

fn hammock(args: &[&str]) -> Output {
    crate::support::hammock(crate::support::root(), args)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the output of a program, which must be the same in every mode.
fn run(file: &str, args: &[&str], modes: &[&str]) -> String {
    let in_mode = |mode: &str| {
        let output = hammock(&[&["run", file, "--exec-mode", mode], args].concat());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let expected = in_mode("bytecode");
    modes.iter().for_each(|mode| assert_eq!(in_mode(mode), expected, "{file} in mode {mode}"));
    expected.1 + &expected.2
}

const CONTROL_FLOW: &str = "ir-examples/control_flow.py";

#[test]
fn examples_give_the_same_results() {
    let modes = ["compiled", "compiled=count", "compiled=main"];
    assert_eq!(run(CONTROL_FLOW, &["--arg", "1000.0:float32"], &modes).trim(), "10 (int64)");
    run("ir-examples/custom_kernel.py", &["--arg", "random(7):float32"], &["compiled"]);
    let weights = ["--params", "ir-examples/digits/weights.safetensors", "--arg", "random(3,64):float32"];
    run("ir-examples/digits/model.py", &weights, &["compiled"]);
}

#[test]
fn errors_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("checked.py");
    let two = "    y = R.match_cast(x, R.Tensor((2,), \"float32\"))\n    return y\n";
    let checked = format!("@R.function\ndef main(x: R.Tensor(dtype=\"float32\", ndim=1)):\n{two}");
    std::fs::write(&file, checked).unwrap();
    let printed = run(file.to_str().unwrap(), &["--arg", "zeros(3):float32"], &["compiled"]);
    assert!(printed.contains("checked.py:3"), "{printed}");
    // The position at which the timeout interrupts a call varies.
    let library = folder.path().join("model.so");
    let library = library.to_str().unwrap();
    // The timeout would include compilation, so it is done before.
    assert!(hammock(&["compile", CONTROL_FLOW, "--exec-mode", "compiled", "-o", library]).status.success());
    let endless = ["run", library, "--arg", "inf:float32", "--timeout", "0.2"];
    let message = text(&hammock(&endless).stderr);
    assert!(message.contains("TimeoutError") && message.contains("in count at"), "{message}");
}

#[test]
fn denormals_are_flushed_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("double.py");
    let double = "@R.function\ndef main(x: R.Tensor((\"n\",), \"float32\")):\n    y = R.add(x, x)\n    return y\n";
    std::fs::write(&file, double).unwrap();
    let file = file.to_str().unwrap();
    let argument = ["--arg", "[1e-39, 1.0]:float32"];
    let modes = ["compiled"];
    assert_eq!(run(file, &argument, &modes), "float32[2]\n[2e-39   2.0]\n");
    assert_eq!(run(file, &[&argument[..], &["--flush-denormals"]].concat(), &modes), "float32[2]\n[0.0 2.0]\n");
    let output = hammock(&["bench", file, "--arg", "[1e-39]:float32", "--flush-denormals", "--min-time", "0.01"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn libraries_contain_bytecode_and_machine_code() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("model.so");
    let library = library.to_str().unwrap();
    let output = hammock(&["compile", CONTROL_FLOW, "-o", library, "--exec-mode", "compiled=count"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = hammock(&["run", library, "--arg", "1000.0:float32"]);
    assert_eq!(text(&output.stdout).trim(), "10 (int64)");
    let listing = text(&hammock(&["inspect", library, "--text"]).stdout);
    assert!(listing.contains("@main:\n  call"), "{listing}");
    assert!(listing.contains("@count num_inputs=2 vm_tir_func;\n  call"), "{listing}");
}

#[test]
fn only_functions_of_the_module_can_be_compiled() {
    let output = hammock(&["run", CONTROL_FLOW, "--exec-mode", "compiled=halve", "--arg", "1.0:float32"]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    assert!(message.contains("there is no function `halve`") && message.contains("`count`"), "{message}");
    assert!(message.contains("-O1"), "{message}");
    let output = hammock(&["run", CONTROL_FLOW, "--exec-mode", "compiled=halve", "--arg", "1.0:float32", "-O1"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

const TUPLE: &str = r#"
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tuple(R.Tensor((2, 8), "float32"), R.Tuple(R.Tensor((3,), "float32"), R.Shape([4])))) -> R.Tensor((2, 8), "float32"):
        return x[0]
"#;

#[test]
fn tuple_fields_have_the_sizes_of_their_types() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuple.py");
    std::fs::write(&file, TUPLE).unwrap();
    let result = |x, y, s| {
        let arg = format!("(zeros({x}):float32, (zeros({y}):float32, shape({s})))");
        run(file.to_str().unwrap(), &["--arg", &arg], &["compiled"])
    };
    assert!(result("2,8", "3", "4").starts_with("float32[2, 8]"));
    for wrong in [result("3,8", "3", "4"), result("2,8", "4", "4"), result("2,8", "3", "5")] {
        assert!(wrong.contains("function `main`, parameter `x`: expected R.Tuple("), "{wrong}");
        assert!(wrong.contains("shape[0] is"), "{wrong}");
    }
}

const IN_PLACE: &str = r#"
from tvm.script import ir as I, relax as R, tirx as T
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add_to(a: T.Buffer((T.int64(2),), "float32"), b: T.Buffer((T.int64(2),), "float32")):
        for i in range(T.int64(2)):
            with T.sblock("b"):
                v = T.axis.spatial(T.int64(2), i)
                a[v] = a[v] + b[v]

    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), d: R.Tensor((2,), dtype="float32")):
        cls = Module
        p = R.add(d, x)
        t = R.multiply(p, p)
        q = R.call_tir_inplace(cls.add_to, (p, x), out_ty=R.Tensor((2,), dtype="float32"), inplace_indices=[0])
        y = R.add(t, R.multiply(q, q))
        z = R.negative(q)
        unused = R.call_tir_inplace(cls.add_to, (q, x), out_ty=R.Tensor((2,), dtype="float32"), inplace_indices=[0])
        return (y, z, p)
"#;

#[test]
fn bindings_are_not_moved_across_writes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("in_place.py");
    std::fs::write(&file, IN_PLACE).unwrap();
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        let args = ["--arg", "[1.0, 2.0]:float32", "--arg", "[1.0, 1.0]:float32", level];
        let printed = run(file.to_str().unwrap(), &args, &["compiled", "reference"]);
        let numbers: Vec<&str> = printed.lines().filter(|line| line.starts_with('[')).collect();
        assert_eq!(numbers, ["[13.0 34.0]", "[-3.0 -5.0]", "[4.0 7.0]"], "{level}");
    }
}

/// A kernel that is long enough for outlining: values that are used a few statements later, loops, branches, and a
/// buffer that all of them update.
fn long_kernel(statements: usize) -> String {
    let statement = |i: usize| match i % 3 {
        0 => format!(
            "        v{i} = A[{}] * T.float32({i}) + T.float32(0.5)\n        B[{i}] = v{i} + total[{}]\n",
            i * 7 % 11,
            i % 4
        ),
        1 => format!(
            "        for j in range(3):\n            total[j] = total[j] + A[{} + j]\n        B[{i}] = total[{}]\n",
            i % 8,
            i % 4
        ),
        _ => format!(
            "        if A[{}] > T.float32(0):\n            B[{i}] = T.max(A[0], total[1])\n        else:\n            \
             B[{i}] = v{} * T.float32(2)\n",
            i % 11,
            i - 2
        ),
    };
    let body: String = (0..statements).map(statement).collect();
    format!(
        "from tvm.script import ir as I, relax as R, tir as T\n@I.ir_module\nclass Module:\n    \
         @T.prim_func(private=True)\n    def k(x: T.handle, y: T.handle):\n        \
         A = T.match_buffer(x, (11,), \"float32\")\n        B = T.match_buffer(y, ({statements},), \"float32\")\n        \
         total = T.alloc_buffer((4,), \"float32\")\n        for i in range(4):\n            total[i] = T.float32(0)\n{body}    \
         @R.function\n    def main(x: R.Tensor((11,), \"float32\")):\n        \
         y = R.call_tir(Module.k, (x,), out_sinfo=R.Tensor(({statements},), \"float32\"))\n        return y\n"
    )
}

#[test]
fn outlined_statements_compute_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("long.py"), long_kernel(520)).unwrap();
    let compiled = hammock(&["compile", &path("long.py"), "--emit", "llvm", "-o", &path("long.ll")]);
    assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    let parts = std::fs::read_to_string(path("long.ll")).unwrap().matches(".part").count();
    assert!(parts > 6, "{parts} mentions of outlined functions");
    let results = [["--exec-mode", "reference"], ["-O", "2"]].map(|mode| {
        let output = path("result.npy");
        let args = ["run", &path("long.py"), "--arg", "random(11):float32", "--output", &output];
        let run = hammock(&[&args[..], &mode].concat());
        assert!(run.status.success(), "{}", text(&run.stderr));
        std::fs::read(output).unwrap()
    });
    assert_eq!(results[0], results[1]);
}
