//! E025x: what the verifier finds.

super::codes! {
    BOUND_TWICE = "E0250", "variable bound twice", "\
Two bindings bind the same variable, or a kernel defines one where it is defined already. Each binding has a variable
of its own; in the text of a graph, a second binding of a name makes a new variable of that name, so only a pass with a
mistake leaves this behind. In a kernel, give the second definition another name.",
    wrong r#"@T.prim_func
def kernel(B: T.Buffer((8,), "int32")):
    x = T.int32()
    T.bind(T.int32(1), var=x)
    B[0] = x
    T.bind(T.int32(2), var=x)
    B[1] = x"#,
    right r#"@T.prim_func
def kernel(B: T.Buffer((8,), "int32")):
    x, y = T.int32(), T.int32()
    T.bind(T.int32(1), var=x)
    B[0] = x
    T.bind(T.int32(2), var=y)
    B[1] = y"#;

    OUT_OF_SCOPE = "E0251", "variable out of scope", "\
A variable is used where its binding has not run: before it, after the branch or nested function that holds it, or
outside its dataflow block. In a kernel: before its definition, or outside the loop or block that has it.

To use a dataflow variable after its block, name it in `R.output(…)` at the end of the block. To use a value after an
`if`, bind it to the same name at the end of both branches.",
    wrong r#"@T.prim_func
def kernel(B: T.Buffer((8,), "int32")):
    x = T.int32()
    for i in range(4):
        T.bind(i * 2, var=x)
        B[i] = x
    B[7] = x"#,
    right r#"@T.prim_func
def kernel(B: T.Buffer((8,), "int32")):
    x = T.int32()
    for i in range(4):
        T.bind(i * 2, var=x)
        B[i] = x
        B[i + 4] = x"#;

    DATAFLOW = "E0252", "against the rules of dataflow blocks", "\
A dataflow block (`with R.dataflow():`) holds computations without control flow, so that passes may reorder them.
Variables that only a dataflow block may use are bound in one.

A text that breaks these rules gets E0210, at the line where it does. This code is for modules that a pass made: the
pass has a mistake. Please report it, with the module that it was given (`hammock opt --print-after all` shows it).";

    IMPURE = "E0253", "impure call", "\
A pure function, or a dataflow block, calls something that has side effects: `R.print`, a packed function, a kernel, or
a function declared with `pure=False`.

Declare the function with `@R.function(pure=False)`, move the call out of the dataflow block, or, when the packed
function has no side effect after all, call it through `R.call_pure_packed`.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    R.print(x, format="{}")
    return x"#,
    right r#"@R.function(pure=False)
def main(x: R.Tensor((2, 3), "float32")):
    R.print(x, format="{}")
    return x"#;

    WRONG_ARITY = "E0254", "wrong number of arguments", "\
A function is called with another number of arguments than it has parameters. For `R.call_tir`, the kernel's parameters
are the inputs and scalars given in the tuple, then one buffer for each result named by `out_ty`.",
    wrong r#"@I.ir_module
class Module:
    @T.prim_func
    def double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i] + A[i]

    @R.function
    def main(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "int32")):
        z = R.call_tir(Module.double, (x, x), out_ty=R.Tensor((8,), "float32"))
        return z"#,
    right r#"@I.ir_module
class Module:
    @T.prim_func
    def double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i] + A[i]

    @R.function
    def main(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "int32")):
        z = R.call_tir(Module.double, (x,), out_ty=R.Tensor((8,), "float32"))
        return z"#;

    WRONG_CALLEE = "E0255", "wrong kind of function", "\
`R.call_tir` calls a TIR function (`@T.prim_func`). A Relax function is called directly, as `cls.name(…)`; an external
function through `R.call_packed` or `R.call_dps_packed`.

Kernels call other kernels of the module (`Module.kernel(A, B)`), but not themselves, and functions of C's mathematics
(`T.call_extern(\"float32\", \"sinf\", x)`), but none that take addresses, like `memcpy`: nothing could check those.",
    wrong r#"@I.ir_module
class Module:
    @T.prim_func
    def double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i] + A[i]

    @R.function
    def main(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "int32")):
        z = R.call_tir(Module.main, (x, y), out_ty=R.Tensor((8,), "float32"))
        return z"#,
    right r#"@I.ir_module
class Module:
    @T.prim_func
    def double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i] + A[i]

    @R.function
    def main(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "int32")):
        z = R.call_tir(Module.double, (x,), out_ty=R.Tensor((8,), "float32"))
        return z"#;

    TYPE_MISMATCH = "E0256", "types contradict each other", "\
A variable is annotated with a type that its value cannot have, or a function's result cannot have the type after `->`.

The message says what differs. Correct the annotation or leave it out: types are inferred. Where a fact is known only
at run time, `R.match_cast` states it and checks it.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y: R.Tensor((2, 4), "float32") = R.add(x, x)
    return y"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y: R.Tensor((2, 3), "float32") = R.add(x, x)
    return y"#;

    WRONG_ARGUMENT = "E0257", "argument that does not fit", "\
A function or kernel gets an argument that its parameter cannot be: a scalar for a tensor, another dtype, another number
of dimensions, a dimension of another size. The message names the parameter and says what differs.

A kernel that another one calls gets buffers (`Module.kernel(A, B)`), whose sizes it is told, or addresses
(`A.data`, `T.address_of(A[i])`), where it has to know all sizes itself.",
    wrong r#"@I.ir_module
class Module:
    @T.prim_func
    def double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i] + A[i]

    @R.function
    def main(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "int32")):
        z = R.call_tir(Module.double, (y,), out_ty=R.Tensor((8,), "float32"))
        return z"#,
    right r#"@I.ir_module
class Module:
    @T.prim_func
    def double(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = A[i] + A[i]

    @R.function
    def main(x: R.Tensor((8,), "float32"), y: R.Tensor((8,), "int32")):
        z = R.call_tir(Module.double, (x,), out_ty=R.Tensor((8,), "float32"))
        return z"#;

    UNDEFINED_SYMBOL = "E0258", "symbolic variable without a value", "\
A symbolic variable is used that nothing at this place gives a value. A variable gets its value where it stands alone as
a dimension of a parameter's type, by a parameter of type `T.int64`, or by `R.match_cast`.",
    wrong r#"n = TypeVar("n")

@R.function
def main(x: R.Tensor((n * 2, 3), "float32")):
    return x"#,
    right r#"n = TypeVar("n")

@R.function
def main(x: R.Tensor((n, 3), "float32")):
    return x"#;

    KERNEL_TYPES = "E0259", "dtypes in a kernel", "\
The operands of an arithmetic operation have different dtypes, a condition is not bool, an index is not an integer, or
a value is stored into a buffer of another dtype. TIR converts nothing by itself: write `T.Cast(\"float32\", x)`.",
    wrong r#"@T.prim_func
def kernel(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.Cast("float32", T.exp(A[i]))"#,
    right r#"@T.prim_func
def kernel(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.exp(T.Cast("float32", A[i]))"#;

    WRONG_INDEX_COUNT = "E0260", "wrong number of indices", "\
A buffer is accessed with more or fewer indices than it has dimensions. Flatten the index yourself, or declare the
buffer with the shape you mean.",
    wrong r#"@T.prim_func
def kernel(A: T.Buffer((4, 2), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i]"#,
    right r#"@T.prim_func
def kernel(A: T.Buffer((4, 2), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i, 0]"#;

    KERNEL_STRUCTURE = "E0261", "malformed loop or block", "\
A block stands in a kernel that is not of the dialect with blocks (`@T.prim_func(s_tir=True)`), an axis is bound to a
value of another dtype, a loop's variable and bounds are not of one integer dtype, or a jump stands outside of any loop.

A warning with this code: the block reads or writes memory that its `T.reads` or `T.writes` leave out. Passes that move
code rely on them. Without these two lines the regions are found from the block's body.",
    wrong r#"@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i]
    break"#,
    right r#"@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        if A[i] < T.float32(0):
            break
        B[i] = A[i]"#;

    WRONG_SYMBOL = "E0262", "symbol is not the name", "\
A function that others may call has its name as `global_symbol`. Another symbol would make it two things at once.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    R.func_attr({"global_symbol": "forward"})
    return x"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return x"#;

    OUT_OF_BOUNDS = "E0263", "index out of bounds", "\
A kernel accesses an element that its buffer does not have: in some iteration of the loops around it, the index is
negative, or not less than the size of the dimension. Indices count from 0, and negative ones do not count from the end.

This is said of what certainly happens. Accesses that may be outside, because they depend on data, on sizes or on
conditions, are checked when the kernel runs, and are errors (`IndexError`) then.",
    wrong r#"@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    B[8] = A[0]"#,
    right r#"@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    B[7] = A[0]"#;
}
