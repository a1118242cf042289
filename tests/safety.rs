//! Programs that would corrupt memory, or never end, if nobody looked: a right result or a clear error comes of each.

use std::process::{Command, Output};

/// A module in TVMScript.
const HEAD: &str = "\
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
";

/// A kernel over matrices of one size, called as a function value in every way that the language has.
const VALUES: &str = r#"
    @T.prim_func
    def copy(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 5), "float32")
        B = T.match_buffer(b, (n, 5), "float32")
        for i, j in T.grid(n, 5):
            with T.block("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)

    @R.function(pure=False)
    def dynamic(x: R.Object, y: R.Tensor(("p", 5), dtype="float32")) -> R.Object:
        cls = Module
        _: R.Tuple = R.vm.call_tir_dyn(cls.copy, (x, y, R.shape([])))
        return y

    @R.function(pure=False)
    def closure(x: R.Object, y: R.Tensor(("p", 5), dtype="float32")) -> R.Object:
        cls = Module
        f: R.Object = R.make_closure(cls.copy, (y,))
        _: R.Object = R.invoke_closure(f, (x,), ty_args=(R.Object,))
        return y
"#;

/// A kernel that changes its argument, given a constant and a parameter.
const IN_PLACE: &str = r#"
    @T.prim_func
    def bump(a: T.handle):
        A = T.match_buffer(a, (4,), "float32")
        for i in range(4):
            with T.block("bump"):
                vi = T.axis.spatial(4, i)
                A[vi] = A[vi] + T.float32(1)

    @R.function(pure=False)
    def main() -> R.Tensor((4,), dtype="float32"):
        cls = Module
        y = R.call_tir_inplace(cls.bump, (R.const([1, 2, 3, 4], dtype="float32"),), inplace_indices=[0], out_ty=R.Tensor((4,), dtype="float32"))
        return y

    @R.function(pure=False)
    def given(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        cls = Module
        y = R.call_tir_inplace(cls.bump, (x,), inplace_indices=[0], out_ty=R.Tensor((4,), dtype="float32"))
        return y
"#;

/// A kernel that divides, shifts and gathers.
const OPERATIONS: &str = r#"
    @T.prim_func
    def main(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
        for i in range(4):
            with T.block("operate"):
                vi = T.axis.spatial(4, i)
                C[vi] = A[vi] // B[vi]
                C[vi] = C[vi] + T.shift_left(A[vi], B[vi])
                C[vi] = C[vi] + A[B[vi]]
"#;

/// Loops that make values as deep as they are told.
const LOOPS: &str = r#"
    @R.function(pure=False)
    def views(x: R.Tensor((2,), dtype="float32"), steps: R.Tensor((), dtype="int64")) -> R.Tensor((2,), dtype="float32"):
        cls = Module
        done: R.Tensor((), dtype="bool") = R.less(steps, R.const(1, "int64"))
        if done:
            result: R.Tensor((2,), dtype="float32") = x
        else:
            view: R.Tensor((2,), dtype="float32") = R.memory.view(x, R.shape([2]), R.dtype("float32"), R.prim_value(0))
            less: R.Tensor((), dtype="int64") = R.subtract(steps, R.const(1, "int64"))
            result: R.Tensor((2,), dtype="float32") = cls.views(view, less)
        return result

    @R.function(pure=False)
    def nest(x: R.Object, steps: R.Tensor((), dtype="int64")) -> R.Object:
        cls = Module
        done: R.Tensor((), dtype="bool") = R.less(steps, R.const(1, "int64"))
        if done:
            result: R.Object = x
        else:
            pair: R.Tuple(R.Object, R.Object) = (x, x)
            less: R.Tensor((), dtype="int64") = R.subtract(steps, R.const(1, "int64"))
            result: R.Object = cls.nest(pair, less)
        return result
"#;

/// A module in a folder of its own.
struct Module(tempfile::TempDir);

impl Module {
    fn new(body: &str) -> Module {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("model.py"), format!("{HEAD}{body}")).unwrap();
        Module(folder)
    }

    /// Compiles it.
    fn compile(&self, name: &str, flags: &[&str]) {
        let output = self.hammock(&[&["compile", "model.py", "-o", name], flags].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn hammock(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_hammock")).args(args).current_dir(self.0.path()).output().unwrap()
    }

    /// What a run prints.
    fn run(&self, args: &[&str]) -> String {
        let output = self.hammock(&[&["run"], args].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What is wrong with a run that ends with status 1.
    fn refusal(&self, args: &[&str]) -> String {
        let output = self.hammock(&[&["run"], args].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {error}");
        error
    }
}

#[test]
fn kernels_that_are_values_look_at_their_arguments() {
    let module = Module::new(VALUES);
    module.compile("model.so", &[]);
    for func in ["dynamic", "closure"] {
        let run = |x, y| ["model.so", "--func", func, "--arg", x, "--arg", y];
        assert!(module.run(&run("zeros(1,5):float32", "zeros(1,5):float32")).contains("[[1.0 1.0 1.0 1.0 1.0]]"));
        for (x, y, why) in [
            ("zeros(300,5):float32", "zeros(1,5):float32", "expects shape[0] to be 300 for parameter `b`, got 1"),
            ("zeros(1,4):float32", "zeros(1,5):float32", "expects shape[1] to be 5 for parameter `a`, got 4"),
            ("zeros(1,5):int32", "zeros(1,5):float32", "expects elements of float32 for parameter `a`, got int32"),
            ("7", "zeros(1,5):float32", "expects a Tensor for parameter `a`, got 7"),
        ] {
            let error = module.refusal(&run(x, y));
            assert!(error.contains(why) && error.contains("model.py:"), "{func}: {error}");
        }
    }
}

#[test]
fn operations_without_a_result_say_where_they_stand() {
    let module = Module::new(OPERATIONS);
    let run = |b| ["model.py", "--arg", "[8, 8, 8, 8]:int32", "--arg", b, "--arg", "zeros(4):int32"];
    assert!(module.run(&run("[1, 2, 3, 1]:int32")).contains("[32 44 74 32]"));
    for (b, why) in [
        ("[1, 0, 1, 1]:int32", "integers are divided by zero (model.py:13)"),
        ("[1, 32, 1, 1]:int32", "by 32 or more (model.py:14)"),
        ("[1, 4, 1, 1]:int32", "index 4 is outside of dimension 0 of buffer `A`, whose size is 4 (model.py:15)"),
    ] {
        let error = module.refusal(&run(b));
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn kernels_do_not_write_constants() {
    let module = Module::new(IN_PLACE);
    module.compile("model.so", &[]);
    module.compile("compiled.so", &["--exec-mode", "compiled"]);
    for program in [&["model.so"][..], &["compiled.so"], &["model.py"]] {
        let error = module.refusal(program);
        assert!(error.contains("kernel `bump` writes parameter `a`, which must not change"), "{program:?}: {error}");
        let given = [program, &["--func", "given", "--arg", "[1, 2, 3, 4]:float32"]].concat();
        assert!(module.run(&given).contains("[2.0 3.0 4.0 5.0]"), "{program:?}");
    }
    let error = module.refusal(&["model.py", "--exec-mode", "reference"]);
    assert!(error.contains("must not be written"), "{error}");
}

#[test]
fn values_of_any_depth_are_made_shown_and_saved() {
    let module = Module::new(LOOPS);
    module.compile("model.so", &[]);
    let views = ["model.so", "--func", "views", "--arg", "[1, 2]:float32", "--arg", "20000:int64"];
    assert!(module.run(&views).contains("[1.0 2.0]"));
    let nest = |steps| ["model.so", "--func", "nest", "--arg", "7", "--arg", steps];
    // Two to the power of forty parts, of which there are forty.
    let shown = module.run(&nest("40:int64"));
    assert!(shown.lines().count() == 41 && shown.ends_with("\n1: as 0\n"), "{shown}");
    let deep = nest("20000:int64");
    assert!(module.run(&deep).lines().count() < 200);
    assert!(module.run(&[&deep[..], &["--json=graph"]].concat()).len() > 20_000);
    let save = |args: &[&str]| module.refusal(&[args, &["--output", "out.npz"]].concat());
    assert!(save(&deep).contains("more than 1000 deep") || save(&deep).contains("parts"));
    assert!(save(&nest("40:int64")).contains("parts"));
}
