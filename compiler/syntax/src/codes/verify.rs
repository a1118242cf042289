//! E025x: what the verifier finds.

super::codes! {
    BOUND_TWICE = "E0250", "variable bound twice", "\
Two bindings bind the same variable. Each binding has a variable of its own; in the text, a second binding of a name
makes a new variable of that name. A pass that leaves this behind is broken.";

    OUT_OF_SCOPE = "E0251", "variable out of scope", "\
A variable is used where its binding has not run: before it, after the branch or nested function that holds it, or
outside its dataflow block.

To use a dataflow variable after its block, name it in `R.output(…)` at the end of the block. To use a value after an
`if`, bind it to the same name at the end of both branches.";

    DATAFLOW = "E0252", "branch in a dataflow block", "\
A dataflow block (`with R.dataflow():`) holds computations without control flow, so that passes may reorder them. End
the block before the `if`.";

    IMPURE = "E0253", "impure call", "\
A pure function, or a dataflow block, calls something that has side effects: `R.print`, a packed function, a kernel, or
a function declared with `pure=False`.

Declare the function with `@R.function(pure=False)`, move the call out of the dataflow block, or, when the packed
function has no side effect after all, call it through `R.call_pure_packed`.";

    WRONG_ARITY = "E0254", "wrong number of arguments", "\
A function is called with another number of arguments than it has parameters. For `R.call_tir`, the kernel's parameters
are the inputs and scalars given in the tuple, then one buffer for each result named by `out_ty`.";

    WRONG_CALLEE = "E0255", "wrong kind of function", "\
`R.call_tir` calls a TIR function (`@T.prim_func`). A Relax function is called directly, as `cls.name(…)`; an external
function through `R.call_packed` or `R.call_dps_packed`.";

    TYPE_MISMATCH = "E0256", "types contradict each other", "\
A variable is annotated with a type that its value cannot have, or a function's result cannot have the type after `->`.

The message says what differs. Correct the annotation or leave it out: types are inferred. Where a fact is known only
at run time, `R.match_cast` states it and checks it.";

    OPERATOR_RULE = "E0257", "operands against the operator's rule", "\
The operands or attributes of an operator break its rule: a rank, a dtype, sizes that do not go together, an axis out of
range. The message names the operator and the argument; `hammock ops NAME` prints the rule.";

    UNDEFINED_SYMBOL = "E0258", "symbolic variable without a value", "\
A symbolic variable is used that nothing at this place gives a value. A variable gets its value where it stands alone as
a dimension of a parameter's type, by a parameter of type `T.int64`, or by `R.match_cast`.";

    KERNEL_TYPES = "E0259", "dtypes in a kernel", "\
The operands of an arithmetic operation have different dtypes, a condition is not bool, an index is not an integer, or
a value is stored into a buffer of another dtype. TIR converts nothing by itself: write `T.Cast(\"float32\", x)`.";

    WRONG_INDEX_COUNT = "E0260", "wrong number of indices", "\
A buffer is accessed with more or fewer indices than it has dimensions. Flatten the index yourself, or declare the
buffer with the shape you mean.";
}
