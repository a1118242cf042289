//! E025x: errors of the verifier.

super::codes! {
    BOUND_TWICE = "E0250", "variable bound twice", "\
Two bindings bind the same variable, or a kernel defines a variable that is already defined. Each binding needs its own
variable. In the text of a graph, binding a name a second time makes a new variable of that name, so only a faulty pass
can cause this error. In a kernel, give the second definition another name.",
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
A variable is used where its binding has not run: before the binding, after the branch or nested function that holds it,
or outside its dataflow block. In a kernel, it is used before its definition, or outside the loop or block that defines
it.

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

    DATAFLOW = "E0252", "dataflow block rule broken", "\
A dataflow block (`with R.dataflow():`) contains computations without control flow, so that passes may reorder them.
Variables that only a dataflow block may use must be bound in one.

A text that violates these rules gets E0210 at the line in question. This code is for modules that a pass created: the
pass has a bug. Please report it, with the module that was passed to it (`hammock opt --print-after all` shows it).";

    IMPURE = "E0253", "impure call", "\
A pure function, or a dataflow block, calls something that has side effects: `R.print`, a packed function, a kernel, or
a function declared with `pure=False`.

Declare the function with `@R.function(pure=False)`, move the call out of the dataflow block, or, if the packed
function has no side effects after all, call it through `R.call_pure_packed`.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    R.print(x, format="{}")
    return x"#,
    right r#"@R.function(pure=False)
def main(x: R.Tensor((2, 3), "float32")):
    R.print(x, format="{}")
    return x"#;

    WRONG_ARITY = "E0254", "wrong number of arguments", "\
A function is called with more or fewer arguments than it has parameters. For `R.call_tir`, the kernel's parameters
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
`R.call_tir` calls a TIR function (`@T.prim_func`). Call a Relax function directly, as `cls.name(…)`, and an external
function through `R.call_packed` or `R.call_dps_packed`.

Kernels can call other kernels of the module (`Module.kernel(A, B)`), but not themselves. They can also call functions of
the C math library (`T.call_extern(\"float32\", \"sinf\", x)`), but no function that takes addresses, such as `memcpy`,
because nothing could check those.",
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

The message says what differs. Correct the annotation or leave it out: types are inferred. If a fact is known only at
run time, state it with `R.match_cast`, which checks it.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y: R.Tensor((2, 4), "float32") = R.add(x, x)
    return y"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y: R.Tensor((2, 3), "float32") = R.add(x, x)
    return y"#;

    WRONG_ARGUMENT = "E0257", "argument does not fit", "\
An argument does not fit the parameter of a function or kernel: for example, a scalar for a tensor, a different dtype, a
different number of dimensions, or a dimension of a different size. The message names the parameter and says what
differs.

One kernel can pass another buffers (`Module.kernel(A, B)`), together with their sizes, or addresses (`A.data`,
`T.address_of(A[i])`); in that case the called kernel must know all sizes itself.",
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
A symbolic variable is used where it has no value. A variable gets its value from a parameter's type in which it is a
whole dimension, from a parameter of type `T.int64`, or from `R.match_cast`.",
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
a value is stored into a buffer of another dtype. TIR converts nothing automatically: write `T.Cast(\"float32\", x)`.",
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
A kernel has a block but is not in the dialect with blocks (`@T.prim_func(s_tir=True)`), an axis is bound to a value of
another dtype, a loop's variable and bounds do not have the same integer dtype, or a jump is outside any loop.

A warning with this code means that a block reads or writes memory that its `T.reads` or `T.writes` do not list. Passes
that move code rely on these lists. If you omit both lines, the regions are inferred from the block's body.",
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

    WRONG_SYMBOL = "E0262", "symbol differs from the name", "\
The `global_symbol` of a function that others may call must be the function's name. Another symbol would give it two
names.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    R.func_attr({"global_symbol": "forward"})
    return x"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return x"#;

    OUT_OF_BOUNDS = "E0263", "index out of bounds", "\
A kernel accesses an element that its buffer does not have: in some iteration of the enclosing loops, the index is
negative, or not less than the size of the dimension. Indices count from 0, and negative ones do not count from the end.

This code is for accesses that are certain to happen. Accesses that may be out of bounds, because they depend on data,
sizes or conditions, are checked when the kernel runs and give an `IndexError` then.",
    wrong r#"@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    B[8] = A[0]"#,
    right r#"@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    B[7] = A[0]"#;

    UNINITIALIZED = "E0264", "uninitialized memory", "\
A kernel reads uninitialized memory: memory that it allocates itself, or that `R.call_tir` allocates for an output.
Write each element first: the elements of a reduction in `T.init()`, which runs in the first iteration of all reduction
axes. An axis that indexes the output is not a reduction axis.

A kernel that updates a tensor takes it as an argument: call it by `R.call_tir_inplace`. Kernels that are run on their
own may read all their parameters, because the caller passes tensors for them.

Reads that precede every write are errors. If a read may precede a write, depending on conditions, data or sizes, or
because the analysis cannot prove otherwise, this is a warning: the kernel then zero-initializes the memory, at every
level and in every mode. Kernels that provably write each element before reading it are not changed.",
    wrong r#"@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    sums = T.alloc_buffer((8,), "float32")
    for i in range(8):
        sums[i] = sums[i] + A[i]
    for i in range(8):
        B[i] = sums[i]"#,
    right r#"@T.prim_func
def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    sums = T.alloc_buffer((8,), "float32")
    for i in range(8):
        sums[i] = T.float32(0)
    for i in range(8):
        sums[i] = sums[i] + A[i]
    for i in range(8):
        B[i] = sums[i]"#;
}
