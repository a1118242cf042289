//! Programs that would corrupt memory or not terminate without checks: each gives a correct result or a clear error.

use std::process::{Command, Output};

/// Text module.
const HEAD: &str = "\
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.script import relax as R

@I.ir_module
class Module:
";

/// A kernel over matrices of one size, called as a function value in every way that the language supports.
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

/// A kernel that writes its argument, called with a constant and a parameter.
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

/// Kernels with a scalar parameter that determines tensor sizes.
const SIZES: &str = r#"
    @T.prim_func
    def total(a: T.handle, w: T.handle, p: T.int64, b: T.handle):
        s = T.int64()
        W = T.match_buffer(w, (s,), "float32")
        A = T.match_buffer(a, (p + s,), "float32")
        B = T.match_buffer(b, (s + p,), "float32")
        for i in T.serial(p + s):
            with T.block("all"):
                vi = T.axis.spatial(p + s, i)
                B[vi] = A[vi] + T.float32(1)
        for i in T.serial(p):
            with T.block("first"):
                vi = T.axis.spatial(p, i)
                B[vi] = B[vi] + A[vi + s] + T.float32(1)

    @T.prim_func
    def twice(e: T.handle, p: T.int64, c: T.handle):
        E = T.match_buffer(e, (p * 2,), "int8")
        C = T.match_buffer(c, (100,), "int8")
        for i in range(1):
            with T.block("put"):
                vi = T.axis.spatial(1, i)
                if p < 100:
                    C[p] = T.int8(7)
"#;

/// Loops that create values of a given nesting depth.
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

/// Kernels that call kernels; the callees write through buffers over the caller's memory.
const CALLS: &str = r#"
    @T.prim_func
    def add_one(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            B[i] = A[i] + T.float32(1)

    @T.prim_func
    def four(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        Module.add_one(A, B)

    @T.prim_func
    def fill(A: T.handle("float32"), n: T.int64):
        B = T.decl_buffer((n, n), "float32", data=A)
        B[n - 1, n - 1] = T.float32(7)

    @T.prim_func
    def shapes(a: T.handle, b: T.handle):
        n = T.int64()
        m = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (m,), "float32")
        Module.add_one(A, B)

    @T.prim_func
    def parts(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(2):
            Module.four(T.address_of(A[i * 4]), T.address_of(B[i * 4]))

    @T.prim_func
    def column(a: T.handle, value: T.int64):
        step = T.int64()
        A = T.match_buffer(a, (4,), "float32", strides=(step,))
        for i in range(4):
            A[i] = T.Cast("float32", value)

    @T.prim_func
    def columns(A: T.Buffer((4, 4), "float32"), step: T.int64):
        for j in range(4):
            Module.column(T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(4), T.tvm_stack_make_shape(step), 1, T.float32(0), j), T.Cast("int64", j))

    @T.prim_func
    def square(A: T.Buffer((4,), "float32"), n: T.int64):
        Module.fill(A.data, n)

    @T.prim_func
    def bump(A: T.Buffer((4,), "float32")):
        Module.square(A, T.int64(2))

    @R.function(pure=False)
    def constant() -> R.Tensor((4,), dtype="float32"):
        cls = Module
        y = R.call_tir_inplace(cls.bump, (R.const([1, 2, 3, 4], dtype="float32"),), inplace_indices=[0], out_ty=R.Tensor((4,), dtype="float32"))
        return y

    @R.function(pure=False)
    def call_shapes(x: R.Tensor(("n",), dtype="float32"), y: R.Tensor(("m",), dtype="float32")) -> R.Object:
        _: R.Tuple = Module.shapes(x, y)
        return y

    @R.function(pure=False)
    def call_parts(x: R.Tensor(("n",), dtype="float32"), y: R.Tensor(("n",), dtype="float32")) -> R.Object:
        _: R.Tuple = Module.parts(x, y)
        return y

    @R.function(pure=False)
    def call_columns(x: R.Tensor((4, 4), dtype="float32"), step: R.Prim("int64")) -> R.Object:
        _: R.Tuple = Module.columns(x, step)
        return x

    @R.function(pure=False)
    def call_square(x: R.Tensor((4,), dtype="float32"), n: R.Prim("int64")) -> R.Object:
        _: R.Tuple = Module.square(x, n)
        return x
"#;

/// Kernels that pass buffers that are too small, and invalid addresses.
const ADDRESSES: &str = r#"
    @T.prim_func
    def sort(A: T.Buffer((4,), "float32"), n: T.int64, B: T.Buffer((4,), "float32")):
        T.evaluate(T.call_packed("tvm.contrib.sort.sort", T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(n), 0, 1, T.float32(0), 0), B, 0, True))

    @T.prim_func
    def over(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.evaluate(T.call_packed("tvm.contrib.sort.sort", A, B, 0, True))

    @T.prim_func
    def first(a: T.handle("float32"), B: T.Buffer((4,), "float32")):
        A = T.decl_buffer((4,), "float32", data=a)
        B[0] = A[0]

    @R.function(pure=False)
    def call_sort(x: R.Tensor((4,), dtype="float32"), n: R.Prim("int64"), y: R.Tensor((4,), dtype="float32")) -> R.Object:
        _: R.Tuple = Module.sort(x, n, y)
        return y

    @R.function(pure=False)
    def into_constant(x: R.Tensor((4,), dtype="float32")) -> R.Object:
        _: R.Tuple = Module.over(x, R.const([1, 2, 3, 4], dtype="float32"))
        return x

    @R.function(pure=False)
    def of_constant(y: R.Tensor((4,), dtype="float32")) -> R.Object:
        _: R.Tuple = Module.over(R.const([4, 2, 3, 1], dtype="float32"), y)
        return y

    @R.function(pure=False)
    def null(y: R.Tensor((4,), dtype="float32")) -> R.Object:
        nothing: R.Object = R.null_value()
        _: R.Tuple = R.vm.call_tir_dyn(Module.first, (nothing, y, R.shape([])))
        return y
"#;

/// A kernel with a pointer of unknown origin.
fn pointer_from(source: &str) -> String {
    let declared = r#"        B = T.decl_buffer((4,), "float32", data=p)"#;
    let head = r#"    def main(A: T.Buffer((4,), "int64"), C: T.Buffer((4,), "float32")):"#;
    format!(
        "    @T.prim_func\n{head}\n        Q = T.decl_buffer((4,), \"handle\", data=A.data)\n        p: T.handle(\"float32\") = {source}\n{declared}\n        C[0] = B[0]\n"
    )
}

/// Sizes that cannot be computed for some arguments, but are not used for these.
const BRANCHES: &str = r#"
    @R.function(pure=False)
    def main(x: R.Tensor(("n", "m"), dtype="float32"), divide: R.Tensor((), dtype="bool")) -> R.Object:
        n = T.int64()
        m = T.int64()
        if divide:
            y: R.Object = R.shape([n // m, n * 4611686018427387904])
        else:
            y: R.Object = R.shape([n])
        return y
"#;

/// Module in a temporary folder.
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

    /// Returns the output of a run.
    fn run(&self, args: &[&str]) -> String {
        let output = self.hammock(&[&["run"], args].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the message of a run that ends with status 1.
    fn refusal(&self, args: &[&str]) -> String {
        let output = self.hammock(&[&["run"], args].concat());
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {error}");
        error
    }
}

#[test]
fn kernels_as_values_check_their_arguments() {
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
fn invalid_operations_report_their_position() {
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
fn scalars_that_determine_sizes_are_checked() {
    // Twice each of these values wraps around to ten.
    for (dtype, wraps) in [("T.int64", "--arg=-9223372036854775803"), ("T.int32", "--arg=-2147483643")] {
        let module = Module::new(&SIZES.replace("T.int64", dtype));
        for mode in ["bytecode", "reference"] {
            let start = ["model.py", "--exec-mode", mode, "--func"];
            let total = |p: &str, s: &str| {
                let args = ["total", "--arg", "zeros(5):float32", "--arg", s, p, "--arg", "zeros(5):float32"];
                [&start[..], &args].concat().iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>()
            };
            let twice = |p: &str| {
                let args = ["twice", "--arg", "zeros(10):int8", p, "--arg", "zeros(100):int8"];
                [&start[..], &args].concat().iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>()
            };
            for (p, s, result) in [("2", 3, "[2.0 2.0 1.0"), ("0", 5, "[1.0 1.0 1.0"), ("-2", 7, "[1.0 1.0 1.0")] {
                let args = total(&format!("--arg={p}"), &format!("zeros({s}):float32"));
                assert!(module.run(&texts(&args)).contains(result), "{mode}: {p}");
            }
            for p in
                ["3", "-2", "-8", "2147483647", "9223372036854775807", "9223372036854775805", "-9223372036854775808"]
            {
                let error = module.refusal(&texts(&total(&format!("--arg={p}"), "zeros(3):float32")));
                assert!(error.contains("argument `A`") || error.contains("int32"), "{mode}: {error}");
            }
            assert!(module.run(&texts(&twice("--arg=5"))).contains("[0 0 0 0 0 7 0 0"));
            module.refusal(&texts(&twice(wraps)));
        }
    }
}

fn texts(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
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
fn called_kernels_stay_inside_their_buffers() {
    let module = Module::new(CALLS);
    module.compile("model.so", &[]);
    let reference = &["model.py", "--exec-mode", "reference"][..];
    for program in [&["model.so"][..], &["model.py"], reference] {
        let args = |func, x, y| [program, &["--func", func, "--arg", x, "--arg", y]].concat();
        let run = |func, x, y| module.run(&args(func, x, y));
        assert!(run("call_shapes", "[1, 2, 3]:float32", "zeros(3):float32").contains("[2.0 3.0 4.0]"));
        assert!(run("call_parts", "zeros(8):float32", "zeros(8):float32").contains("1.0 1.0]"));
        assert!(run("call_square", "zeros(4):float32", "2").contains("[0.0 0.0 0.0 7.0]"));
        assert!(run("call_columns", "zeros(4,4):float32", "4").contains("[0.0 1.0 2.0 3.0]"));
        for (func, x, y, why) in [
            ("call_columns", "zeros(4,4):float32", "5", "buffer `column.A` reaches"),
            ("call_columns", "zeros(4,4):float32", "-1", "buffer `column.A` reaches"),
            ("call_columns", "zeros(4,4):float32", "6148914691236517205", "buffer `column.A` reaches"),
            (
                "call_shapes",
                "zeros(400):float32",
                "zeros(3):float32",
                "dimension 0 of `B` of kernel `add_one` must be 400, but is 3",
            ),
            (
                "call_shapes",
                "zeros(3):float32",
                "zeros(4):float32",
                "dimension 0 of `B` of kernel `add_one` is 4, but must be 3",
            ),
            ("call_parts", "zeros(7):float32", "zeros(7):float32", "buffer `four.A` reaches"),
            ("call_square", "zeros(4):float32", "3", "buffer `B` reaches"),
            ("call_square", "zeros(4):float32", "4294967296", "buffer `B` reaches"),
            ("call_square", "zeros(4):float32", "0", "index -1 "),
        ] {
            let error = module.refusal(&args(func, x, y));
            assert!(error.contains(why), "{program:?} {func}: {error}");
            let names_the_line = program == reference || error.contains("(model.py:");
            assert!(names_the_line, "{program:?} {func}: {error}");
        }
    }
    let error = module.refusal(&["model.so", "--func", "constant"]);
    assert!(error.contains("kernel `bump` writes parameter `A`, which must not change"), "{error}");
    let error = module.refusal(&[reference, &["--func", "constant"]].concat());
    assert!(error.contains("must not be written"), "{error}");
}

#[test]
fn buffers_passed_to_functions_are_checked() {
    let module = Module::new(ADDRESSES);
    module.compile("model.so", &[]);
    let sort = |n, y| ["model.so", "--func", "call_sort", "--arg", "[4, 3, 2, 1]:float32", "--arg", n, "--arg", y];
    assert!(module.run(&sort("4", "zeros(4):float32")).contains("[1.0 2.0 3.0 4.0]"));
    for n in ["5", "100000000", "4611686018427387905", "-1"] {
        let error = module.refusal(&sort(n, "zeros(4):float32"));
        assert!(error.contains("what describes `A` reaches"), "{n}: {error}");
    }
    let y = ["--arg", "zeros(4):float32"];
    assert!(module.run(&[&["model.so", "--func", "of_constant"], &y[..]].concat()).contains("[1.0 2.0 3.0 4.0]"));
    let error = module.refusal(&[&["model.so", "--func", "into_constant"], &y[..]].concat());
    assert!(error.contains("kernel `over` writes parameter `B`, which must not change"), "{error}");
    let error = module.refusal(&[&["model.so", "--func", "null"], &y[..]].concat());
    assert!(error.contains("kernel `first` expects handle for parameter `a`, got None"), "{error}");
}

#[test]
fn invalid_addresses_are_rejected() {
    for source in [
        "Q[0]",
        r#"T.call_intrin("handle", "tirx.tvm_call_packed", "vm.builtin.copy", A.data)"#,
        r#"T.call_extern("handle", "sin", T.float64(0))"#,
        r#"T.reinterpret("handle", A[0])"#,
        r#"T.Cast("handle", A[0])"#,
        r#"T.tvm_struct_get(A.data, 0, 1, "handle")"#,
        "T.if_then_else(A[0] > 0, A.data, C.data)",
        r#"T.Call("tirx.tvm_access_ptr", [T.type_annotation("float32"), C.data, T.int64(-1000000)], ret_ty=T.handle("float32").ty)"#,
    ] {
        let module = Module::new(&pointer_from(source));
        let error = module.refusal(&["model.py", "--arg", "zeros(4):int64", "--arg", "zeros(4):float32"]);
        let refused = error.contains("there is no memory behind buffer `B`") || error.contains("error[E025");
        assert!(refused, "{source}: {error}");
    }
}

#[test]
fn unused_sizes_of_branches_are_not_computed() {
    let module = Module::new(BRANCHES);
    module.compile("model.so", &[]);
    let args = |x, divide| ["--arg", x, "--arg", divide];
    for program in [&["model.so"][..], &["model.py", "--exec-mode", "reference"]] {
        let run = |x, divide| module.run(&[program, &args(x, divide)].concat());
        assert!(run("zeros(4,0):float32", "zeros():bool").contains('4'), "{program:?}");
        assert!(run("zeros(1,1):float32", "ones():bool").contains("4611686018427387904"), "{program:?}");
        for (x, why) in [("zeros(1,0):float32", "by zero"), ("zeros(4,1):float32", "4611686018427387904")] {
            let error = module.refusal(&[program, &args(x, "ones():bool")].concat());
            assert!(error.contains(why), "{program:?}: {error}");
        }
    }
}

#[test]
fn rejected_workspaces_report_their_size() {
    let kernel = r#"    def main(n: T.int64, B: T.Buffer((1,), "float32")):"#;
    let body =
        "        W = T.alloc_buffer((n,), \"float32\")\n        W[n - 1] = T.float32(3)\n        B[0] = W[n - 1]\n";
    let module = Module::new(&format!("    @T.prim_func\n{kernel}\n{body}"));
    let args = |n| ["model.py", "--max-memory", "4M", "--arg", n, "--arg", "zeros(1):float32"];
    assert!(module.run(&args("1000")).contains("[3.0]"));
    let error = module.refusal(&args("10000000"));
    assert!(error.contains("MemoryError") && error.contains("a workspace of 40000000 bytes"), "{error}");
}

#[test]
fn deeply_nested_values_are_created_printed_and_saved() {
    let module = Module::new(LOOPS);
    module.compile("model.so", &[]);
    let views = ["model.so", "--func", "views", "--arg", "[1, 2]:float32", "--arg", "20000:int64"];
    assert!(module.run(&views).contains("[1.0 2.0]"));
    let nest = |steps| ["model.so", "--func", "nest", "--arg", "7", "--arg", steps];
    // 2^40 parts, by sharing of forty nodes.
    let shown = module.run(&nest("40:int64"));
    assert!(shown.lines().count() == 41 && shown.ends_with("\n1: as 0\n"), "{shown}");
    let deep = nest("20000:int64");
    assert!(module.run(&deep).lines().count() < 200);
    assert!(module.run(&[&deep[..], &["--json=graph"]].concat()).len() > 20_000);
    let save = |args: &[&str]| module.refusal(&[args, &["--output", "out.npz"]].concat());
    assert!(save(&deep).contains("more than 1000 deep") || save(&deep).contains("parts"));
    assert!(save(&nest("40:int64")).contains("parts"));
}
