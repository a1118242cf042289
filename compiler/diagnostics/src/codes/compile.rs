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
breaks a rule that every executable obeys: it reads a register before writing it, jumps out of its function, or passes
the wrong number of arguments.

`hammock inspect FILE --asm` writes listings; look at one to see the format.",
    wrong r#"$ hammock asm model.py -o model.bin"#,
    right r#"$ hammock inspect model.so --asm > listing.txt && hammock asm listing.txt -o model.bin"#;

    BAD_PATTERN = "E0308", "bad pattern", "\
A file of patterns, or a pattern, that `FuseOpsByPattern` is given cannot be read.

A file has assignments, and at last the list `patterns` of names and patterns. A name is that of a code generator, a dot
and what the pattern is. Patterns are tried in the order of the list, as in TVM:

    x, w, b = wildcard(), is_const(), wildcard()
    conv = R.nn.conv2d(x, w, strides=[1, 1])
    biased = conv | R.add(conv, b)
    patterns = [
        (\"dnnl.conv2d_relu\", R.nn.relu(biased)),
        (\"dnnl.conv2d\", biased),
    ]

`R.nn.relu(x)` is a call of an operator, as `is_op(\"relax.nn.relu\")(x)` is. Operands come in order, `...` is any that
follow; attributes are named. `_` and `wildcard()` are anything; what has a name is the same value wherever the name
stands. There are `is_const()`, `is_var(\"name\")`, numbers, `is_shape([1, _])`, tuples `(x, y)`,
`is_tuple([x, y], unordered=True)`, members `x[0]` or `is_tuple_get_item(x)`, `is_gv(\"name\")`,
`is_call_tir(\"name\", [x])`, `is_call_dps_packed(\"name\", [x])` and `is_call_packed(\"name\", [x])`.
`p | q` is either, `p & q` both, `~p` not `p`. A pattern is narrowed by `.has_dtype(\"float32\")`,
`.has_shape([1, _])`, `.has_ty(R.Tensor(ndim=4))` and `.has_attr({\"groups\": 1})`, and by other values:

    y.same_shape_as(x)      has certainly the shape of `x`, if that is in the match
    x.used_by(call)         is an operand of `call`; of number 1: `x.used_by(call, 1)`
    x.only_used_by(call)    and nothing else uses it

A call that uses a value becomes a part of the group. TVM has these too, but its FuseOpsByPattern does not look at them.",
    wrong r#"$ hammock opt model.py --passes 'FuseOpsByPattern{patterns=[["dnnl.add", "R.ad(_, _)"]]}'"#,
    right r#"$ hammock opt model.py --passes 'FuseOpsByPattern{patterns=[["dnnl.add", "R.add(_, _)"]]}'"#;

    CYCLIC_GROUP = "E0309", "group needs its own result", "\
Values that a pattern groups into one function cannot be computed at once: something between them is not in the group,
and is computed from one of them for another.

Let the pattern cover what is between, or make it one that fits less. When all that is between is another name for a
value, `y = x`, run `CanonicalizeBindings` first.",
    wrong r#"$ hammock opt between.py --passes 'FuseOpsByPattern{patterns=[["dnnl.add", "R.add(R.nn.relu(_), _)"]]}'"#,
    right r#"$ hammock opt between.py --passes 'FuseOpsByPattern{patterns=[["dnnl.relu", "R.nn.relu(_)"]]}'"#;

    CODE_GENERATOR = "E0310", "code generator missing or failed", "\
`RunCodegen` asks the code generator that a function names to compile it. Either there is none of that name, or it
failed, or what it made is not what was asked for.

A program becomes one by the option `codegens`. It is started once, with the options of `target_options` as its
argument, in JSON, and reads a module on standard input, as text: functions with the attribute `Codegen`, and what they
use. It prints an ELF object file. For each of those functions, the object defines a function of C that writes the
results into its last arguments:

    int __tvm_ffi_SYMBOL(void *, const hammock_any *args, int count, hammock_any *result);

SYMBOL is the function's name. The arguments are those of the function, then a tensor for each result. The object may
use what kernels may: the mathematics of C, `memcpy` and the like. A program in Rust registers generators with
`hammock_compiler::Codegens`.",
    wrong r#"$ hammock opt between.py --passes 'FuseOpsByPattern{patterns=[["dnnl.relu", "R.nn.relu(_)"]],annotate_codegen=true},RunCodegen'"#,
    right r#"$ hammock opt between.py --passes 'FuseOpsByPattern{patterns=[["dnnl.relu", "R.nn.relu(_)"]]},RunCodegen'"#;

    BAD_PLAN = "E0311", "plan cannot be used", "\
A file of plans says how kernels are computed: for each stage of a kernel the loops, outermost first, with step and kind.
`hammock opt --print-plans` prints one, with remarks after `#`; `--plan FILE` reads it back after changes by hand. A
kernel with a plan from the file is computed as the plan says; rules choose for the others.

    add:
        elementwise: i parallel 4, j by 32, j vector

A plan changes how fast a result is computed, never the result. So every axis has loops down to single values (`by N`
alone leaves N); loops over the terms of a sum, `unrolled` and `vector` loops come last, for results in registers have no
loops inside; threads (`parallel`) share axes of the result only; and lanes (`vector`) lie side by side in memory, where
needed in a copy (`copy of BUFFER as [AXES] (rule: loops)`; `AXIS padded N` there has zeros up to a multiple of N). The message says which of these does not hold, or which name
is unknown: the axes and buffers of a kernel are those of its printed plan, and the kernels of a module depend on the
passes before.

A plan may also begin with what rules choose, or with loops, and go on with primitives (`hammock rules` lists them), each on a
line below and further to the right:

    matmul:
        planned
            split i by 64
            reorder i by 64, j
            cache_read w as [k, j] at j

What one of them needs and does not find is said at its line, and so is what keeps all loops together from computing the
stage: after the last one, not before.

Files that `--tune` writes have a hash of a kernel's structure, the CPU and the number of threads instead of its name, and
numbers instead of the names of axes, buffers and what else is copied: `axis0`, `part1`, `row0`. A record that cannot be used (after a change of
Hammock, say) can be removed; `--tune` then measures the kernel anew.",
    wrong r#"$ hammock opt model.py --print-plans > plan.txt; sed -i 's/vector/unroled/' plan.txt; hammock opt model.py --plan plan.txt"#,
    right r#"$ hammock opt model.py --print-plans > plan.txt; sed -i 's/by [0-9]*/by 2/' plan.txt; hammock opt model.py --plan plan.txt > same.txt"#;
}
