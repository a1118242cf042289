//! Printed modules read back as equal modules and print as the same text.

use hammock_diagnostics::{SourceFile, render_text};
use hammock_import::{ReadOptions, read_module};
use hammock_ir::{Module, equal, print};

fn read(text: &str) -> Module {
    let source = SourceFile::new("text.py", text).unwrap();
    read_module(&source, &ReadOptions::default())
        .unwrap_or_else(|found| panic!("{text}\n{}", render_text(&found[0], Some(&source), false)))
}

/// Reads and prints a text twice, and returns the printed text.
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

/// An index may be out of bounds of a buffer of one element: without it, another program would be printed.
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

/// Inferred regions of a block's reads, with symbolic bounds.
#[test]
fn regions_that_were_found_are_those_that_are_written() {
    let text = printed(
        "n = TypeVar(\"n\")\n\
         @T.prim_func(private=True, s_tir=True)\n\
         def f(A: T.Buffer((n,), \"float32\"), B: T.Buffer((n,), \"float32\")):\n\
         \x20   for i in range(n):\n\
         \x20       with T.sblock(\"B\"):\n\
         \x20           v = T.axis.spatial(n, i)\n\
         \x20           B[v] = A[T.max(v - T.int64(1), T.int64(0))] + A[v] + A[T.min(v + T.int64(1), n - T.int64(1))]\n",
    );
    assert!(text.contains("T.reads(A[T.min("), "{text}");
}

#[test]
fn arrays_of_one_element_keep_their_indices() {
    let params = "K: T.Buffer((4,), \"int32\"), A: T.Buffer((4,), \"float32\")";
    let text =
        kernel(params, &["c = T.alloc_local((1,), \"float32\")", "c[0] = A[1]", "c[K[0]] = c[0]", "A[0] = c[K[1]]"]);
    assert!(text.contains("c[K[0]] = c\n") && text.contains("A[0] = c[K[1]]"), "{text}");
}

/// Scalar numbers are equivalent to plain numbers in graphs: both become constants of the tensor's dtype.
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
fn the_minimum_integer_has_no_magnitude() {
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

/// A kernel that is one block.
fn blocked(params: &str, body: &[&str]) -> String {
    let lines: String = body.iter().map(|line| format!("        {line}\n")).collect();
    printed(&format!("@T.prim_func(s_tir=True)\ndef f({params}):\n    with T.sblock(\"b\"):\n{lines}"))
}

/// All properties of buffers, in every kind of declaration.
#[test]
fn buffers_keep_what_is_said_about_them() {
    let said = [
        "align=0",
        "align=64",
        "align=16",
        "offset_factor=0",
        "offset_factor=1",
        "offset_factor=4",
        "elem_offset=T.int32()",
        "elem_offset=T.int64()",
        "elem_offset=T.int32(), offset_factor=1",
        "elem_offset=T.int64(), offset_factor=4",
        "elem_offset=\"q\"",
        "elem_offset=\"q\", offset_factor=1",
        "elem_offset=3",
        "elem_offset=0, offset_factor=4",
        "strides=(\"s\", \"t\")",
        "strides=(\"s\", \"s\")",
        "strides=(\"s\", 1), elem_offset=\"s\"",
        "strides=(\"s\", T.int32(1))",
        "axis_separators=[1]",
        "byte_offset=8",
        "scope=\"shared\"",
        "layout=None",
    ];
    for said in said {
        kernel(&format!("A: T.Buffer((16, 4), \"float32\", {said})"), &["A[0, 0] = T.float32(1)"]);
        for line in [
            format!("C = T.match_buffer(A[0:16, 0:4], (16, 4), \"float32\", {said})"),
            format!("C = T.sblock_alloc_buffer((16, 4), \"float32\", {said})"),
            format!("C = T.decl_buffer((16, 4), \"float32\", data=A.data, {said})"),
            format!("C = T.alloc_buffer((16, 4), \"float32\", {said})"),
        ] {
            blocked("A: T.Buffer((16, 8), \"float32\")", &[&line, "C[0, 0] = T.float32(1)"]);
        }
    }
}

/// A quoted stride has the sizes' type; one of another type has a name.
#[test]
fn strides_keep_their_types() {
    let params = "A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")";
    let text = blocked(params, &["s = T.int64()", "C = T.match_buffer(A[0:4], (4,), strides=(s,))", "B[0] = C[0]"]);
    assert!(text.contains("s = T.int64()") && text.contains("strides=(s,)"), "{text}");
}

/// Equivalent notations: the default, and an offset of any number of elements.
#[test]
fn what_goes_without_saying_is_equal() {
    let with =
        |said: &str| read(&format!("@T.prim_func\ndef f(A: T.Buffer((4,), \"float32\"{said})):\n    A[0] = 1.0\n"));
    for (one, other) in
        [("", ", align=64"), (", elem_offset=T.int32()", ", offset_factor=1"), (", elem_offset=0", ", offset_factor=0")]
    {
        equal::modules(&with(one), &with(other)).unwrap();
    }
    assert!(equal::modules(&with(""), &with(", align=16")).is_err());
    assert!(equal::modules(&with(", offset_factor=1"), &with(", offset_factor=2")).is_err());
    assert!(equal::modules(&with(""), &with(", offset_factor=1")).is_err());
}

/// Regions refer to outer buffers, through all matched buffers.
#[test]
fn matched_buffers_may_be_of_matched_ones() {
    let params = "A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")";
    let text = blocked(
        params,
        &["C = T.match_buffer(A[2:6], (4,))", "D = T.match_buffer(C[1:3], (2,), offset_factor=1)", "B[0] = D[0]"],
    );
    assert!(text.contains("T.reads(A[3])"), "{text}");
    let text = blocked(params, &["C = T.sblock_alloc_buffer((4,))", "D = T.match_buffer(C[1:3], (2,))", "B[0] = D[0]"]);
    assert!(text.contains("T.reads()"), "{text}");
}

/// A block's own buffers that occur in its regions are printed before those.
#[test]
fn blocks_may_mention_their_own_buffers() {
    let params = "A: T.Buffer((16,), \"float32\"), B: T.Buffer((16,), \"float32\")";
    for own in ["C = T.sblock_alloc_buffer((4,))", "C = T.match_buffer(A[2:6], (4,))"] {
        for mentions in
            ["T.reads(C[0])", "T.writes(C[0])", "T.reads(A[T.Cast(\"int32\", C[0])])", "T.where(C[0] < B[0])"]
        {
            blocked(params, &[own, mentions, "B[0] = C[0]"]);
        }
    }
}

/// A single size is int64, like the sizes of a list, even if a number in it has another dtype.
#[test]
fn lone_sizes_are_sizes() {
    let text = printed(
        "m = TypeVar(\"m\")\n@R.function\ndef main(x: R.Tensor((m,), \"float32\")):\n    \
         z = R.zeros((m - 9223372036854775808), \"float32\")\n    return z\n",
    );
    assert!(text.contains("R.shape([T.Cast(\"int64\", T.Cast(\"uint64\", m) - "), "{text}");
}

/// An expression that simplifies to a scalar parameter is the parameter, whose name is printed.
#[test]
fn sums_that_are_a_parameter_are_the_parameter() {
    let text = printed(
        "@I.ir_module\n\
         class M:\n\
         \x20   @R.function(private=True)\n\
         \x20   def twice(x: R.Tensor((4,), \"float32\"), k: T.int64) -> R.Tensor((4,), \"float32\"):\n\
         \x20       return x\n\
         \x20   @R.function\n\
         \x20   def main(x: R.Tensor((4,), \"float32\"), k: T.int64):\n\
         \x20       y = M.twice(x, k + 0)\n\
         \x20       z = M.twice(y, (k + 1) * 1)\n\
         \x20       return (z, k * 1)\n",
    );
    for shows in ["cls.twice(x, k)", "cls.twice(y, k + 1)", "return (z, k)"] {
        assert!(text.contains(shows), "{text}");
    }
}

/// The declaration of a size that is a parameter defines nothing new: the name still denotes the parameter.
#[test]
fn sizes_that_are_parameters_stay_parameters() {
    let text = printed(
        "@R.function\ndef main(x: R.Tensor((c, 4), \"float32\"), c: T.int64):\n    \
         a = R.call_packed(\"f\", x, c, c + 1, sinfo_args=R.Tensor((c, 4), \"float32\"))\n    return (a, c)\n",
    );
    assert!(text.contains("    c = T.int64()\n"), "{text}");
}

fn refused(text: &str, why: &str) {
    let source = SourceFile::new("text.py", text).unwrap();
    let found = read_module(&source, &ReadOptions::default()).err().unwrap_or_else(|| panic!("{text}"));
    assert!(found[0].message.contains(why), "{text}{}", found[0].message);
}

/// Loop bounds, axes and indices are integers: a pointer, though a scalar, is not.
#[test]
fn pointers_do_not_count() {
    let head = "@T.prim_func(s_tir=True)\ndef f(p: T.handle, A: T.Buffer((16,), \"float32\")):\n";
    for iter in [
        "range(p)",
        "range(0, p)",
        "range(0, 8, p)",
        "T.grid(p)",
        "T.grid((0, p))",
        "T.grid(8, dtype=\"handle\")",
        "T.serial(8, dtype=\"float32\")",
        "T.parallel(T.float32(8))",
        "T.vectorized(T.broadcast(8, 4))",
    ] {
        refused(&format!("{head}    for i in {iter}:\n        A[0] = 1.0\n"), "the bounds of a loop are integers");
    }
    for (axis, why) in [
        ("T.axis.spatial(p, 0)", "the domain of an axis"),
        ("T.axis.spatial((0, p), 0)", "the domain of an axis"),
        ("T.axis.spatial(8, p)", "an axis is bound to an integer"),
    ] {
        refused(&format!("{head}    with T.sblock(\"b\"):\n        v = {axis}\n        A[v] = 1.0\n"), why);
    }
    for index in ["p", "0:p", "p:8", "0:8:p", "0:1.5"] {
        refused(&format!("{head}    with T.sblock(\"b\"):\n        T.reads(A[{index}])\n"), "an index of `A` is");
    }
}

/// Parts of a block apply to all of it: in a loop, or outside any block, they are errors.
#[test]
fn parts_of_blocks_stand_at_their_top() {
    let head = "@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((16,), \"float32\")):\n";
    for part in [
        "C = T.match_buffer(A[j:j + 4], (4,))",
        "vj = T.axis.spatial(4, j)",
        "T.reads(A[j])",
        "T.writes(A[j])",
        "T.where(j < 3)",
    ] {
        refused(&format!("{head}    j = T.int32()\n    {part}\n    A[0] = T.float32(1)\n"), "only allowed in a block");
        let block = format!("{head}    with T.sblock(\"b\"):\n");
        refused(
            &format!("{block}        for j in range(4):\n            {part}\n            A[j] = 1.0\n"),
            "top of a block",
        );
        refused(&format!("{block}        j = T.int32()\n        if j < 3:\n            {part}\n"), "top of a block");
        read(&format!("{block}        j = T.int32()\n        {part}\n        A[0] = T.float32(1)\n"));
    }
    // Buffers and attributes may be nested, if they depend only on definitions of the block.
    for (part, made_of) in [("C = T.sblock_alloc_buffer((j,))", "(8,)"), ("T.sblock_attr({\"a\": [j]})", "[8]")] {
        let below =
            |part: &str| format!("{head}    with T.sblock(\"b\"):\n        for j in range(4):\n            {part}\n");
        refused(&below(part), "what a statement in the block defines");
        printed(&below(&part.replace("(j,)", made_of).replace("[j]", made_of)));
    }
    refused(
        &format!("{head}    C = T.decl_buffer((4,), data=A.data, offset_factor=-3)\n    C[0] = 1.0\n"),
        "there are no multiples of -3",
    );
}
