//! E02xx: names, types and verification.

super::codes! {
    UNDEFINED_NAME = "E0201", "undefined name", "\
This name is not defined here.

The names you can use are the parameters and earlier bindings of the function, the module's functions (through `cls` or
the module's name), symbolic dimensions declared with `TypeVar`, and the namespaces `R`, `T` and `I`. A binding in one
branch of an `if` is visible after it only if both branches have it.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.add(x, z)"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    z = R.add(x, x)
    return R.add(x, z)"#;

    UNKNOWN_FUNCTION = "E0202", "unknown function or attribute", "\
A namespace or a value has no member of this name.

`hammock ops` lists the operators of `R`. Names imported from other Python packages mean nothing here: the
text is read, not run.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.ad(x, x)"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.add(x, x)"#;

    WRONG_ARGUMENTS = "E0203", "wrong arguments", "\
A call has too many arguments, too few, or one that the function does not have.

`hammock ops NAME` shows an operator's arguments, in the order in which you can give them without names.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.sum(x, dim=1)"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.sum(x, axis=1)"#;

    MEANINGLESS_SYNTAX = "E0204", "syntax without meaning here", "\
This construct is valid Python, but means nothing in a model's text.

Models are read, not run: there are no comprehensions, macros, classes with methods, or calls of Python functions. Write
out what they would produce; Apache TVM's `mod.show()` does that.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    for i in range(4):
        x = R.add(x, x)
    return x"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.add(x, x)
    z = R.add(y, y)
    return z"#;

    WRONG_VALUE = "E0205", "wrong kind of value", "\
A different kind of value is expected here, for example the name of a dtype instead of a number, or one value instead
of a list.

The message says what was expected and what was found.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.sum(x, keepdims="yes")"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.sum(x, keepdims=True)"#;

    BAD_TYPE = "E0206", "malformed type", "\
A type annotation cannot be understood.

A type is `R.Tensor((n, 4), dtype=\"float32\")`, `R.Shape([n, 4])`, `R.Tuple(…)`, `R.Callable((…,), …)`, `R.Any`, a
scalar type such as `T.int64`, or, in a `T.prim_func`, also `T.Buffer((n, 4), \"float32\")` and `T.handle`.",
    wrong r#"@R.function
def main(x: R.Tensor(("?", 3), "float32")):
    return x"#,
    right r#"n = TypeVar("n")

@R.function
def main(x: R.Tensor((n, 3), "float32")):
    return x"#;

    SCALAR_MISMATCH = "E0207", "scalar types do not match", "\
A scalar operation has operands without a common type, or a value is stored where its type does not fit.

Integers and floats of different widths are converted to the wider type automatically; pointers, strings and vectors of
different lengths are not. `/` on integers is an error because its rounding is ambiguous: write `//`, or `T.Div(a, b)`.",
    wrong r#"@T.prim_func
def kernel(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = A[i] / 2"#,
    right r#"@T.prim_func
def kernel(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = A[i] // 2"#;

    BAD_BINDING = "E0208", "invalid binding", "\
An assignment does not match its value, or a value that needs a name has none.

Unpacking needs as many names as there are members. Both branches of an `if` must end with an assignment to the same
name. Only calls without a result can be statements.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    a, b, c = R.split(x, 2, axis=0)
    return a"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    a, b = R.split(x, 2, axis=0)
    return a"#;

    BAD_FUNCTION = "E0209", "malformed function", "\
A function's header or structure is wrong.

A function has a decorator, `@R.function` or `@T.prim_func`. Every parameter has a type, and a Relax function ends with
`return`.",
    wrong r#"@R.function
def main(x):
    return x"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return x"#;

    BAD_BLOCK = "E0210", "misplaced part of a block", "\
A statement is in a place where it has no meaning: for example, an axis outside a block, a second `T.init()`, or
`R.output` outside a dataflow block.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.add(x, x)
    R.output(y)
    return y"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    with R.dataflow():
        y = R.add(x, x)
        R.output(y)
    return y"#;

    BAD_METADATA = "E0211", "damaged metadata section", "\
The `metadata = tvm.ir.load_json(…)` section at the head of the file cannot be read, or lacks something that the
text uses.",
    wrong r#"metadata = tvm.ir.load_json("{")

@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return x"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return x"#;

    MISSING_METADATA = "E0212", "constant missing from the text", "\
The text uses a constant, `metadata[\"…\"][i]`, but has no metadata section: it was printed without its constants.

Print it with its constants (`mod.show(show_meta=True)`), or pass a file that contains them (`--params
weights.safetensors`), with tensors that are named by the constants' indices or are in the same order.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.add(x, metadata["ir.GenericConst"][0])
    return y"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.add(x, R.const([1.0, 2.0, 3.0], "float32"))
    return y"#;

    NO_MODULE = "E0213", "no module to read", "\
The file has no module, or no module of the name given with `--module`, or several modules and you have not chosen one.

A module is a class decorated with `@I.ir_module`, or one function decorated with `@R.function` or `@T.prim_func`.",
    wrong r#"class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        return x"#,
    right r#"@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        return x"#;

    TYPE_RULE = "E0214", "operands do not fit the operator", "\
An operator does not support these operands: for example, shapes do not broadcast, a dtype is wrong, or an axis does
not exist.

The message names the operator and the argument. `hammock ops NAME` documents it.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.matmul(x, x)"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.matmul(x, R.permute_dims(x))"#;

    DUPLICATE_NAME = "E0215", "name defined twice", "\
Two functions of a module have the same name, so a call could mean either. Give one of them another name; a later
definition does not replace an earlier one.",
    wrong r#"@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        return x

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return x"#,
    right r#"@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        return x

    @R.function
    def other(x: R.Tensor((4,), "float32")):
        return x"#;
}
