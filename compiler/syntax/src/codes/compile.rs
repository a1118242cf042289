//! E03xx: passes and compilation.

super::codes! {
    UNKNOWN_PASS = "E0301", "unknown pass", "\
A pass was asked for by a name that no pass has.

`hammock passes` lists the passes; names are written as Apache TVM writes them, for example
`FuseOps` or `LegalizeOps`.",
    wrong r#"$ hammock opt model.py --passes LegalizeOperators"#,
    right r#"$ hammock opt model.py --passes LegalizeOps"#;

    BAD_PASS_OPTIONS = "E0302", "bad pass options", "\
Options were written in braces after a pass's name, `Pass{name=value,other=value}`, and the pass has none of that name,
or it does not take that value.

Values are JSON: `true`, `3`, `\"text\"`, `[\"a\", \"b\"]`, `{\"n\": 3}`. `hammock passes Pass` lists a pass's options.",
    wrong r#"$ hammock opt model.py --passes 'DeadCodeElimination{entry_functions="main"}'"#,
    right r#"$ hammock opt model.py --passes 'DeadCodeElimination{entry_functions=["main"]}'"#;

    NOT_LOWERABLE = "E0303", "cannot be lowered", "\
A call cannot be turned into code: what it computes or what its result is must be known when compiling, and is not.

The message says what is missing. Often an operand has an unknown rank or dtype: give it a type by an annotation, or
by `R.match_cast`, which checks it at run time.",
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
functions of C's mathematics.",
    wrong r#"@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.call_extern("float32", "my_function", A[i])"#,
    right r#"@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.call_extern("float32", "sinf", A[i])"#;

    MISSING_KERNELS = "E0305", "bytecode calls what is not there", "\
Bytecode that was given with `--bytecode` calls functions by names that no kernel of the module and no builtin has, and
that the module does not name as functions found at run time (`R.call_packed`, `R.ExternFunc`).

The bytecode goes with one module: the one that it was generated from. Kernels are found by name, and take as many
arguments as the bytecode gives. Look which names the bytecode calls with `hammock inspect FILE`, and which kernels the
text has with `hammock opt`. A text that was saved before compilation lacks the kernels that passes made from operators.

In Python, run the passes yourself, save what they make, and build that without them:

    with target:
        mod = relax.get_default_pipeline(target)(mod)
    open(\"kernels.py\", \"w\").write(mod.script(show_meta=True))
    relax.build(mod, target, relax_pipeline=None).export_library(\"tvm.so\")",
    wrong r#"$ hammock compile other.py --bytecode model.so -o both.so"#,
    right r#"$ hammock compile model.py --bytecode model.so -o both.so"#;

    NOT_FOR_TVM = "E0306", "not for TVM's runtime", "\
With `--emit tvm` the result is a library that TVM's runtime loads, but the module uses something that only Hammock's
runtime has.

The message names the builtin. Most are how Hammock runs an operator whose result has a shape that only the data tells;
give such a part of the model to Hammock's own runtime.",
    wrong r#"$ hammock compile tagged.py --emit tvm -o tvm.so"#,
    right r#"$ hammock compile tagged.py -o ours.so"#;

    BAD_LISTING = "E0307", "listing cannot be assembled", "\
A line of a listing that `hammock asm` reads is not of a form it knows, names something that is not there, or the program
breaks a rule that every executable obeys: a register that is read before it is written, a jump out of its function, a
wrong number of arguments.

`hammock inspect FILE --asm` writes listings; they show the form.",
    wrong r#"$ hammock asm model.py -o model.bin"#,
    right r#"$ hammock inspect model.so --asm > listing.txt && hammock asm listing.txt -o model.bin"#;
}
