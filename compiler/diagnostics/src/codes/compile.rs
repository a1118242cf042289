//! E03xx: passes and compilation.

super::codes! {
    UNKNOWN_PASS = "E0301", "unknown pass", "\
There is no pass with this name.

`hammock passes` lists the passes. Their names are those of Apache TVM, for example `LegalizeOps`.",
    wrong r#"$ hammock opt model.py --passes LegalizeOperators"#,
    right r#"$ hammock opt model.py --passes LegalizeOps"#;

    BAD_PASS_OPTIONS = "E0302", "bad pass options", "\
Options follow a pass's name in braces: `Pass{name=value,other=value}`. The pass has no option of this name, or the
option does not take this value.

Values are JSON: `true`, `3`, `\"text\"`, `[\"a\", \"b\"]`, `{\"n\": 3}`. `hammock passes Pass` lists a pass's options.",
    wrong r#"$ hammock opt model.py --passes 'DeadCodeElimination{entry_functions="main"}'"#,
    right r#"$ hammock opt model.py --passes 'DeadCodeElimination{entry_functions=["main"]}'"#;

    NOT_LOWERABLE = "E0303", "cannot be lowered", "\
A call cannot be turned into code, because something about its operands or its result is not known at compile time.

The message says what is missing. Often an operand has an unknown rank or dtype: give it a type with an annotation, or
with `R.match_cast`, which checks it at run time.",
    wrong r#"@R.function
def main(x: R.Tensor(ndim=2)):
    y = R.exp(x)
    return y"#,
    right r#"n = TypeVar("n")

@R.function
def main(x: R.Tensor((n, 3), "float32")):
    y = R.exp(x)
    return y"#;

    LINK_FAILED = "E0304", "linking failed", "\
The kernels' object code could not be joined into a shared library.

The message names the symbol or section. A kernel that calls an external function (`T.call_extern`) can only call
functions of the C math library.",
    wrong r#"@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.call_extern("float32", "my_function", A[i])"#,
    right r#"@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.call_extern("float32", "sinf", A[i])"#;

    MISSING_KERNELS = "E0305", "bytecode calls a missing function", "\
The bytecode given with `--bytecode` calls functions that the module does not have. They are neither kernels of the
module nor builtins, and the module does not name them as functions to find at run time (`R.call_packed`,
`R.ExternFunc`).

Bytecode goes with the module that it was generated from. Kernels are found by name, and must take as many arguments as
the bytecode passes. `hammock inspect FILE` shows the names that the bytecode calls; `hammock opt` shows the kernels in
the text. A text that was saved before compilation lacks the kernels that passes made from operators.

In Python, run the passes yourself, save the result, and build it without running them again:

    with target:
        mod = relax.get_default_pipeline(target)(mod)
    open(\"kernels.py\", \"w\").write(mod.script(show_meta=True))
    relax.build(mod, target, relax_pipeline=None).export_library(\"tvm.so\")",
    wrong r#"$ hammock compile other.py --bytecode model.so -o both.so"#,
    right r#"$ hammock compile model.py --bytecode model.so -o both.so"#;

    NOT_FOR_TVM = "E0306", "not for TVM's runtime", "\
`--emit tvm` writes a library for TVM's runtime, but the module uses something that only Hammock's runtime has.

The message names the builtin. Most of these builtins run operators whose result shape depends on the data. Run such a
part of the model with Hammock's own runtime.",
    wrong r#"$ hammock compile tagged.py --emit tvm -o tvm.so"#,
    right r#"$ hammock compile tagged.py -o ours.so"#;

    BAD_LISTING = "E0307", "listing cannot be assembled", "\
`hammock asm` does not understand a line of the listing, or the line names something that does not exist. Or the program
violates an invariant of executables: it reads a register before writing it, jumps out of its function, or passes the
wrong number of arguments.

`hammock inspect FILE --listing` writes listings; look at one to see the format.",
    wrong r#"$ hammock asm model.py -o model.bin"#,
    right r#"$ hammock inspect model.so --listing > listing.txt && hammock asm listing.txt -o model.bin"#;

    BAD_PATTERN = "E0308", "bad pattern", "\
A pattern, or a file of patterns, passed to `FuseOpsByPattern` is invalid.

A file has assignments, and finally the list `patterns` of names and patterns. A name is that of a code generator and
that of the pattern, separated by a dot. Patterns are tried in the order of the list, as in TVM:

    x, w, b = wildcard(), is_const(), wildcard()
    conv = R.nn.conv2d(x, w, strides=[1, 1])
    biased = conv | R.add(conv, b)
    patterns = [
        (\"dnnl.conv2d_relu\", R.nn.relu(biased)),
        (\"dnnl.conv2d\", biased),
    ]

`R.nn.relu(x)` is a call of an operator, like `is_op(\"relax.nn.relu\")(x)`. Operands are positional, `...` matches any
that follow; attributes are named. `_` and `wildcard()` match anything; a name matches the same value at each use.
There are `is_const()`, `is_var(\"name\")`, numbers, `is_shape([1, _])`, tuples `(x, y)`,
`is_tuple([x, y], unordered=True)`, members `x[0]` or `is_tuple_get_item(x)`, `is_gv(\"name\")`,
`is_call_tir(\"name\", [x])`, `is_call_dps_packed(\"name\", [x])` and `is_call_packed(\"name\", [x])`.
`p | q` matches either, `p & q` both, `~p` not `p`. Constraints on a pattern are `.has_dtype(\"float32\")`,
`.has_shape([1, _])`, `.has_ty(R.Tensor(ndim=4))` and `.has_attr({\"groups\": 1})`, and relations to other values:

    y.same_shape_as(x)      certainly has the shape of `x`, if that is in the match
    x.used_by(call)         is an operand of `call`; at index 1: `x.used_by(call, 1)`
    x.only_used_by(call)    and nothing else uses it

A call that uses a value becomes part of the group. TVM has these constraints, too, but its FuseOpsByPattern ignores
them.",
    wrong r#"$ hammock opt model.py --passes 'FuseOpsByPattern{patterns=[["dnnl.add", "R.ad(_, _)"]]}'"#,
    right r#"$ hammock opt model.py --passes 'FuseOpsByPattern{patterns=[["dnnl.add", "R.add(_, _)"]]}'"#;

    CYCLIC_GROUP = "E0309", "group needs its own result", "\
The group of values that a pattern matches has a cyclic dependence: a value outside the group depends on one in it, and
another value in the group depends on that.

Extend the pattern to the value between, or restrict it. If the value between is only an alias, `y = x`, run
`CanonicalizeBindings` first.",
    wrong r#"$ hammock opt between.py --passes 'FuseOpsByPattern{patterns=[["dnnl.add", "R.add(R.nn.relu(_), _)"]]}'"#,
    right r#"$ hammock opt between.py --passes 'FuseOpsByPattern{patterns=[["dnnl.relu", "R.nn.relu(_)"]]}'"#;

    CODE_GENERATOR = "E0310", "code generator missing or failed", "\
`RunCodegen` passes a function to the code generator that it names. Either there is no such code generator, or it
failed, or its output is invalid.

The option `codegens` registers a program as a code generator. It is started once, with the options of `target_options`
as its argument, in JSON, and reads a module on standard input, as text: the functions with the attribute `Codegen` and
their dependencies. It prints an ELF object file. For each of those functions, the object defines a C function that
writes the results into its last arguments:

    int __tvm_ffi_SYMBOL(void *, const hammock_any *args, int count, hammock_any *result);

SYMBOL is the function's name. The arguments are those of the function, then a tensor for each result. The object may
call the functions that kernels may call: the C math library, `memcpy` and similar. A Rust program registers generators
with `hammock_compiler::Codegens`.",
    wrong r#"$ hammock opt between.py --passes 'FuseOpsByPattern{patterns=[["dnnl.relu", "R.nn.relu(_)"]],annotate_codegen=true},RunCodegen'"#,
    right r#"$ hammock opt between.py --passes 'FuseOpsByPattern{patterns=[["dnnl.relu", "R.nn.relu(_)"]]},RunCodegen'"#;

    BAD_PLAN = "E0311", "plan cannot be used", "\
A plan file has the schedules of kernels: for each stage of a kernel the loops, outermost first, with step and kind.
`hammock opt --print-plans` prints one, with remarks after `#`; `--plan FILE` reads it back after manual edits. Kernels
with a plan in the file use it; rules choose the plans of the others.

    add:
        elementwise: i parallel 4, j by 32, j vector

A plan changes the speed of a kernel, never its result. So every axis has loops down to single values (`by N` alone
leaves N); reduction, `unrolled` and `vector` loops are innermost, because accumulators in registers have no loops
inside; `parallel` loops are over axes of the result only; and `vector` loops need contiguous data, if necessary in a
packed copy (`copy of BUFFER as [AXES] (rule: loops)`; `AXIS padded N` pads it with zeros to a multiple of N). The
message says which of these is violated, or which name is unknown: the axes and buffers of a kernel are those of its
printed plan, and the kernels of a module depend on the passes that ran before.

A plan may also begin with the rules' choice, or with loops, followed by primitives (`hammock rules` lists them), each
on a more deeply indented line:

    matmul:
        planned
            split i by 64
            reorder i by 64, j
            cache_read w as [k, j] at j

Errors of a primitive are reported at its line; the loops as a whole are checked after the last one.

Files that `--tune` writes have a hash of a kernel's structure, the CPU and the number of threads instead of its name,
and numbered names of axes, buffers and other copies: `axis0`, `part1`, `row0`. A record that cannot be used (for
example, after an upgrade of Hammock) can be removed; `--tune` then measures the kernel again.",
    wrong r#"$ hammock opt model.py --print-plans > plan.txt; sed -i 's/vector/unroled/' plan.txt; hammock opt model.py --plan plan.txt"#,
    right r#"$ hammock opt model.py --print-plans > plan.txt; sed -i 's/by [0-9]*/by 2/' plan.txt; hammock opt model.py --plan plan.txt > same.txt"#;
}
