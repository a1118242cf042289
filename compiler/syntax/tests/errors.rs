//! Syntax errors: each input with its messages, in `snapshots/syntax/`.

use std::path::Path;

use hammock_diagnostics::{SourceFile, render_text};
use hammock_syntax::parse;

fn check(name: &str, text: &str) {
    let file = SourceFile::new("model.py", text).unwrap();
    let (_, diagnostics) = parse(&file);
    let shown: String = diagnostics.iter().map(|diagnostic| render_text(diagnostic, Some(&file), false)).collect();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots/syntax"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, format!("{text}\n---\n{}", shown.trim_end())));
}

macro_rules! errors {
    ($($name:ident: $text:expr;)*) => {
        $(#[test] fn $name() { check(stringify!($name), $text); })*
    };
}

errors! {
    five_statements: "\
a = = 1
b = f(1,, 2)
c = d +
ok = 1
if ok
    e = 1
f = $
g = 2
";
    missing_colon: "\
@R.function
def main(x: R.Tensor((4,), dtype=\"float32\"))
    with R.dataflow()
        lv = R.add(x x)
        R.output(lv)
    return lv
";
    missing_block: "\
def f():
def g():
    if a:
    b = 1
for i in range(3):
";
    unclosed_parenthesis: "\
class Module:
    def main(x):
        lv = R.add(x, x
        lv1 = R.multiply(lv, lv)
        return lv1
";
    unclosed_in_signature: "\
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), \"float32\") -> R.Tensor:
        lv = R.add(x, x)
        return lv
    @R.function
    def other(x):
        return x
";
    unclosed_at_the_end: "x = [1, (2, 3\n";
    mismatched_brackets: "a = [1, 2)\nb = (1, [2)\nc = 3]\n";
    unexpected_indent: "a = 1\n    b = 2\n    c = 3\nd = 4\n";
    dedent_between_levels: "if a:\n        b = 1\n    c = 2\nd = 3\n";
    tabs_and_spaces: "if a:\n        b = 1\n\tc = 2\n";
    open_strings: "a = \"abc\nb = f('x)\nc = 1\nd = [\n    \"a,\n    \"b\",\n]\n";
    open_triple_string: "metadata = tvm.ir.load_json(\"\"\"{\nclass Module:\n    pass\n";
    bad_escapes: r#"
a = "\d"
b = "\x4"
c = "caf\xe9"
d = "\ud800 \N{BULLET}"
e = f"{x}"
g = uu"x"
h = "a" b"b"
"#;
    bad_numbers: "a = 012\nb = 1.5f\nc = 0x\nd = 3j\ne = 1__0\n";
    bad_targets: "\
f(x) = 1
a == b = 2
1, x = 3
a, b: T = 4
x + 1 += 5
for f(i) in range(3):
    pass
with T.sblock(\"b\") as 3:
    pass
";
    assignment_in_condition: "if a = 1:\n    b = 2\nwhile c = 3:\n    pass\nassert d = 4\n";
    foreign_statements: "\
try:
    a = 1
except ValueError:
    b = 2
finally:
    c = 3
del a
global b
raise ValueError(\"x\")
yield a
async def f():
    await g()
if (n := 10) > 5:
    pass
match a:
    pass
print a
";
    foreign_operators: "a = b && c\na = b || c\na = !b\nb++\na = b => c\na = b <> c\na = b ? c : d\na = b === c\n";
    foreign_lambdas: "f = lambda x=1: x\ng = lambda *xs: xs\nh = lambda: 0\n";
    computed_decorator: "@(f if a else g)\ndef main():\n    pass\n";
    decorator_of_nothing: "class Module:\n    @R.function\na = 1\n@R.function\n";
    decorator_then_indent: "@R.function\n    def main():\n        return a\n";
    else_alone: "a = 1\nelse:\n    b = 2\nfor i in r:\n    pass\nelse:\n    c = 3\n";
    misspelled_keywords: "retrun x\nwhit R.dataflow():\n    pass\ndfe main():\n    pass\nform a import b\n";
    keyword_as_name: "def class(x):\n    pass\nx.in = 1\nlambda = 3\ndef f(if):\n    pass\n";
    missing_comma: "x = f(a b)\ny = [1 2]\nz = {1: 2 3: 4}\n";
    typographic_quotes: "a = “abc”\nb = x – y\n";
    argument_order: "f(a=1, b)\nf(=3)\nf(a, *)\n";
    imports: "import a.\nfrom a import\nfrom import b\nfrom . import (a as b, c)\n";
    deep_brackets: &format!("a = {}1{}\nb = $\n", "(".repeat(300), ")".repeat(300));
    deep_prefixes: &format!("a = {}b\nc = {}d\n", "-".repeat(400), "not ".repeat(400));
}

#[test]
fn many_errors_are_cut_short() {
    let file = SourceFile::new("model.py", "a = = 1\n".repeat(1000)).unwrap();
    let (_, diagnostics) = parse(&file);
    assert_eq!(diagnostics.len(), 101);
    assert_eq!(diagnostics[100].message, "the file has more errors, which are not shown");
}
