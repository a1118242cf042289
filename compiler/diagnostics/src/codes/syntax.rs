//! E01xx: syntax.

super::codes! {
    UNEXPECTED_TOKEN = "E0101", "unexpected text", "\
The text does not follow the grammar here.

The message says what was found and what was expected. The grammar is the subset of Python that TVMScript
uses: imports, decorators, classes and functions, assignments, `with`, `for`, `while`, `if`, `assert`, `return`, and
expressions. Reading continues with the next statement, so one run reports all errors in the file.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.add(x x)"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.add(x, x)"#;

    UNMATCHED_BRACKET = "E0102", "unmatched bracket", "\
A bracket is never closed, closes nothing, or is closed by a bracket of another kind.

A line inside brackets continues until they close, so an unclosed bracket includes the lines after it. The error is
reported where the bracket was opened. Its end is guessed: the next line that looks like a statement.

    x = R.add(a, b        # `(` was never closed
    y = R.nn.relu(x)",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.add(x, x
    return y"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.add(x, x)
    return y"#;

    BAD_INDENTATION = "E0103", "bad indentation", "\
The indentation of a line does not match the lines above.

Only indentation marks blocks. A line belongs to the block whose first line is indented exactly like it; only
the line after a `:` may be deeper. Any width is fine, but you cannot mix tabs and spaces in a way that makes the depth
depend on the width of a tab. `hammock opt` prints four spaces per level.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.add(x, x)
      return y"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.add(x, x)
    return y"#;

    BAD_CHARACTER = "E0104", "unknown character", "\
A character outside strings and comments is not part of the language.

Often it is a typographic quote or dash from pasted text, or an operator from another language: write `not`
for `!`, `and` for `&&`, `or` for `||`.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.add(x, x) $"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.add(x, x)"#;

    BAD_NUMBER = "E0105", "malformed number", "\
A number literal is malformed.

Integers are decimal (`12`, `1_000`), hexadecimal (`0x1F`), octal (`0o17`) or binary (`0b101`); decimal ones do not
start with a zero. Floating-point numbers have a point or an exponent (`1.5`, `1e-05`). There are no suffixes: for
other types, write `T.float16(1.5)` or `R.const(1.5, \"float16\")`. There are no complex numbers.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.add(x, R.const(1.5f, "float32"))"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.add(x, R.const(1.5, "float32"))"#;

    OPEN_STRING = "E0106", "unclosed string", "\
A string literal is not closed.

A string in single or double quotes ends on the line where it starts. Put text of several lines between triple quotes,
as in `metadata = tvm.ir.load_json(\"\"\"…\"\"\")`.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.astype(x, "float16)"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.astype(x, "float16")"#;

    BAD_STRING = "E0107", "malformed string", "\
A string literal cannot be decoded.

Escapes are those of Python, with one exception that follows how TVM prints text: `\\xHH` is a byte, and the bytes of a
string together must be UTF-8. Write `é` as itself, as `\\u00e9` or as `\\xc3\\xa9`. The escape `\\N{…}` is not
supported. An unknown escape such as `\\d` is kept literally, with a warning: double the backslash, or use a raw string.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.astype(x, "\x")
    return y"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.astype(x, "float16")
    return y"#;

    BAD_TARGET = "E0108", "cannot assign to this", "\
You cannot assign to the expression to the left of `=`, after `as`, or after `for`.

Targets are names, attributes, subscripts, and tuples or lists of them. With an annotation or an operator (`x: T = …`,
`x += …`) only one name, attribute or subscript is allowed. To compare, write `==`.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    f(x) = R.add(x, x)
    return x"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.add(x, x)
    return y"#;

    UNSUPPORTED_SYNTAX = "E0109", "Python that is not part of the language", "\
The text is valid Python, but this construct is not part of TVMScript.

A module is data: it is read, not run. Constructs that only make sense if Python runs the file, such as `try`,
`yield`, `del`, `global`, assignment expressions, f-strings or default arguments of a lambda, have no meaning. If they
compute parts of the module, run the Python program and print the module with its `script()` method, then use the
printed text.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    try:
        y = R.add(x, x)
    except ValueError:
        y = x
    return y"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    y = R.add(x, x)
    return y"#;

    NESTED_TOO_DEEPLY = "E0110", "nested too deeply", "\
Brackets, blocks or expressions are nested too deeply.

The limits are 200 levels of brackets, 200 levels of blocks (each `elif` counts as one), and 256 levels of
expressions. Long chains such as `a + b + c + …` and long lists are not nested and have no limit. Bind the inner parts
to variables, or move blocks to separate functions.",
    wrong r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.add(x, R.const(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1.0)))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))), "float32"))"#,
    right r#"@R.function
def main(x: R.Tensor((2, 3), "float32")):
    return R.add(x, R.const(1.0, "float32"))"#;

    TOO_MANY_ERRORS = "E0111", "too many errors", "\
The file has so many errors that the rest are not shown.

Correct the first ones; they often cause the others. If the file is not a text module at all, the first
error says so best.",
    wrong r#"$ seq -f 'x%g =' 200 | hammock check -"#,
    right r#"$ seq -f 'x%g = %g' 200 | cat model.py - | hammock check -"#;
}
