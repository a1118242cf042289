//! What is printed reads back as what was printed: as the same text, and with the same meaning.

use hammock_diagnostics::{SourceFile, render_text};
use hammock_import::{ReadOptions, read_module};
use hammock_ir::{Module, equal, print};

fn read(text: &str) -> Module {
    let source = SourceFile::new("text.py", text).unwrap();
    read_module(&source, &ReadOptions::default())
        .unwrap_or_else(|found| panic!("{text}\n{}", render_text(&found[0], Some(&source), false)))
}

/// Reads a text, what is printed of it, and gives that.
fn printed(text: &str) -> String {
    let module = read(text);
    let once = print::module_text(&module, &Default::default());
    let again = read(&once);
    assert_eq!(once, print::module_text(&again, &Default::default()));
    if let Err(difference) = equal::modules(&module, &again) {
        panic!("{once}\n{difference}");
    }
    once
}

fn kernel(params: &str, body: &[&str]) -> String {
    let lines: String = body.iter().map(|line| format!("    {line}\n")).collect();
    printed(&format!("@T.prim_func\ndef f({params}):\n{lines}"))
}

/// An index may leave a buffer of one element: without it, another program would be printed.
#[test]
fn buffers_of_one_element_keep_their_indices() {
    let params = "P: T.Buffer((1,), \"float32\"), K: T.Buffer((4,), \"int32\"), A: T.Buffer((4,), \"float32\")";
    for (body, shows) in [
        (&["P[K[0]] = A[K[0]]"][..], "P[K[0]] = A[K[0]]"),
        (&["for i in range(4):", "    P[i // 2] = P[i // 2] + A[i]"], "P[i // 2] = P[i // 2] + A[i]"),
        (&["P[0] = P[0] + A[1]"], "P[0] = P[0] + A[1]"),
        (&["P = P + A[1]"], "P[0] = P[0] + A[1]"),
        (&["x: T.float32 = A[0]", "x[K[0]] = x[K[1]] + A[1]", "A[0] = x"], "x[K[0]] = x[K[1]] + A[1]"),
        (&["b = T.decl_buffer((1,), \"float32\", data=A.data)", "b[K[0]] = b[K[1] - 1]"], "b[K[0]] = b[K[1] - 1]"),
        (&["b = T.decl_buffer((1,), \"float32\", data=A.data)", "b = b + A[1]"], "b[0] = b[0] + A[1]"),
        (&["b = T.decl_scalar(\"float32\", A.data, \"global\")", "b = b + A[1]"], "b = b + A[1]"),
        (&["b = T.decl_scalar(T.float32, A.data, \"global\", 2)", "b = b + A[1]"], "elem_offset=2"),
        (&["T.evaluate(T.call_extern(\"int32\", \"f\", P[0], P.data))"], "P[0], P.data)"),
        (&["P.vstore([0], A[1], predicate=T.bool(True))"], "P.vstore([0], A[1]"),
        (&["P[0:1] = A[K[0]]"], "P[0] = A[K[0]]"),
    ] {
        let text = kernel(params, body);
        assert!(text.contains(shows), "{body:?}\n{text}");
    }
}

#[test]
fn arrays_of_one_element_keep_their_indices() {
    let params = "K: T.Buffer((4,), \"int32\"), A: T.Buffer((4,), \"float32\")";
    let text =
        kernel(params, &["c = T.alloc_local((1,), \"float32\")", "c[0] = A[1]", "c[K[0]] = c[0]", "A[0] = c[K[1]]"]);
    assert!(text.contains("c[K[0]] = c\n") && text.contains("A[0] = c[K[1]]"), "{text}");
}

/// Numbers written as scalars are the numbers that a graph writes: both become constants of the tensor's dtype.
#[test]
fn whole_numbers_beside_tensors_are_constants() {
    let text = printed(
        "@R.function\ndef main(x: R.Tensor((1,), \"int64\"), y: R.Tensor((1,), \"float32\")):\n    \
         a = R.add(x, T.int64(7))\n    b = R.add(y, T.int32(7))\n    c = R.add(y, T.float32(7))\n    \
         return (a, b, c, R.add(x, T.bool(True)))\n",
    );
    for shows in ["x, R.const(7, \"int64\")", "y, R.const(7.0, \"float32\")", "y, T.float32(7.0)"] {
        assert!(text.contains(shows), "{text}");
    }
}

#[test]
fn what_chooses_does_not_say_the_dtype_of_numbers() {
    let text = printed(
        "@R.function\ndef main(c: R.Tensor((3,), \"bool\"), x: R.Tensor((3,), \"float16\")):\n    \
         return (R.where(c, x, 0.5), R.where(c, 1, 2.5), R.where(c, 1, 0))\n",
    );
    for shows in ["R.const(0.5, \"float16\")", "R.const(1.0, \"float32\"), R.const(2.5", "R.const(0, \"int32\")"] {
        assert!(text.contains(shows), "{text}");
    }
}

/// Sizes of parameters may be read from parameters before them.
#[test]
fn sizes_of_parameters_may_be_elements() {
    let params = "m: T.Buffer((1,), \"int32\"), s: T.Buffer((2,), \"int32\"), a: T.handle";
    let text = kernel(params, &["A = T.match_buffer(a, (m[0], s[1]), \"float32\")", "A[0, 0] = T.float32(1)"]);
    assert!(text.contains("A: T.Buffer((m[0], s[1]), \"float32\")"), "{text}");
}

#[test]
fn the_least_integer_has_no_magnitude() {
    let text = kernel("A: T.Buffer((1,), \"int32\")", &["A[0] = T.max(T.abs(-2147483648), 2147483647)"]);
    assert!(text.contains("A[0] = 2147483647"), "{text}");
}

/// A handle that was matched is its buffer, and prints as the buffer's data.
#[test]
fn matched_handles_are_their_buffers() {
    let text =
        kernel("a: T.handle", &["A = T.match_buffer(a, (4,))", "T.evaluate(T.call_extern(\"int32\", \"f\", a))"]);
    assert!(text.contains("\"f\", A.data)"), "{text}");
}

/// A nested function may declare sizes of its own.
#[test]
fn nested_functions_declare_sizes() {
    printed(
        "@R.function\ndef main(x: R.Tensor((4,), \"float32\")):\n    \
         @R.function\n    def f(a: R.Tensor((\"k\",), \"float32\")) -> R.Tensor((\"k\",), \"float32\"):\n        \
         k = TypeVar(\"k\")\n        return a\n    return f(x)\n",
    );
}
