//! E03xx: passes and compilation.

super::codes! {
    UNKNOWN_PASS = "E0301", "unknown pass", "\
A pass was asked for by a name that no pass has.

`hammock passes` lists the passes and their options; names are written as Apache TVM writes them, for example
`FuseOps` or `LegalizeOps`.";

    BAD_PASS_OPTIONS = "E0302", "bad pass options", "\
The options written after a pass's name cannot be read.

They are written in braces, `Pass{name=value,other=value}`; values are numbers, `true`, `false` or text. `hammock
passes NAME` lists the options that a pass takes.";

    NOT_LOWERABLE = "E0303", "cannot be lowered", "\
A call cannot be turned into code: what it computes or what its result is must be known when compiling, and is not.

The message says what is missing. Often an operand has an unknown rank or dtype: give it a type by an annotation, or
by `R.match_cast`, which checks it at run time.";

    LINK_FAILED = "E0304", "linking failed", "\
The kernels' object code could not be joined into a shared library.

The message names the symbol or section. A kernel that calls an external function (`T.call_extern`) can only call
functions of the C library and its mathematics.";

    MISSING_KERNELS = "E0305", "bytecode calls what is not there", "\
Bytecode that was given with `--bytecode` calls functions by names that no kernel of the module and no builtin has.

Kernels are found by name. They must be in the text: print the module after the passes that ran before the bytecode was
generated. In Python, those of `relax.build` are `relax.get_pipeline()(mod).script(show_meta=True)`.";

    NOT_FOR_TVM = "E0306", "not for TVM's runtime", "\
With `--emit tvm` the result is a library that TVM's runtime loads, but the module uses something that only Hammock's
runtime has.

The message names the builtin. Most are how Hammock runs an operator whose result has a shape that only the data tells;
give such a part of the model to Hammock's own runtime.";

    BAD_LISTING = "E0307", "listing cannot be assembled", "\
A line of a listing that `hammock asm` reads is not of a form it knows, names something that is not there, or the program
breaks a rule that every executable obeys: a register that is read before it is written, a jump out of its function, a
wrong number of arguments.

`hammock inspect FILE --asm` writes listings; they show the form.";
}
