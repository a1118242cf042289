//! E01xx: syntax.

super::codes! {
    UNEXPECTED_TOKEN = "E0101", "unexpected text", "\
The text does not follow the grammar at this place.

The message says what was found and what could have stood there. The grammar is the subset of Python that TVMScript
uses: imports, decorators, classes and functions, assignments, `with`, `for`, `while`, `if`, `assert`, `return`, and
expressions. Reading goes on with the next statement, so one run reports the errors of the whole file.";
}
