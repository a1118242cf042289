//! Formatted texts.

use super::format;
use crate::layout::{Brackets, Content, Layout};
use crate::lexer::Token;
use hammock_diagnostics::{SourceFile, codes};
use std::{fs, path::Path};

fn formatted(text: &str) -> String {
    let once =
        format(&SourceFile::new("model.py", text).unwrap()).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let twice = format(&SourceFile::new("model.py", &*once).unwrap()).unwrap();
    assert_eq!(once, twice, "formatting it again changes it");
    once
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(formatted(text), expected);
}

#[test]
fn spaces() {
    for (text, expected) in [
        ("x=a+b*c", "x = a + b * c"),
        ("x = - a ** - 1", "x = -a ** -1"),
        ("x=not  a", "x = not a"),
        ("f ( a,b = 1,* c , ** d )", "f(a, b=1, *c, **d)"),
        ("x [ a , 0 ] = ( n , )", "x[a, 0] = (n,)"),
        ("x[a : b], x[a+1:b], x[:f(b)], x[a.b::2], x[-1:]", "x[a:b], x[a + 1 : b], x[: f(b)], x[a.b :: 2], x[-1:]"),
        ("x = { a:b ,c : d }", "x = {a: b, c: d}"),
        ("x = lambda  a,b :a+b", "x = lambda a, b: a + b"),
        ("x = f(lambda a,b:a, lambda:0)", "x = f(lambda a, b: a, lambda: 0)"),
        ("x : T.int64=1", "x: T.int64 = 1"),
        ("x = 1 .a, 1.5 .a, a . b . c", "x = 1 .a, 1.5.a, a.b.c"),
        ("from . a import b", "from .a import b"),
        ("from ..a import(b,c)", "from ..a import (b, c)"),
        ("from ... import a", "from ... import a"),
        ("x = 'a'  \"b\"", "x = 'a' \"b\""),
        ("x=a if b else-c", "x = a if b else -c"),
        ("x = a@b", "x = a @ b"),
        ("x = a if(b)else[c]", "x = a if (b) else [c]"),
        ("x = [i+1 for i,j in y if(i)]", "x = [i + 1 for i, j in y if (i)]"),
        ("x+=1;y=2 ;", "x += 1; y = 2;"),
        ("x = a \\\n    + b", "x = a + b"),
        ("return_ = a is not  b not  in c", "return_ = a is not b not in c"),
        ("x = ...", "x = ..."),
    ] {
        check(text, &format!("{expected}\n"));
    }
}

#[test]
fn definitions() {
    check(
        "@I . ir_module\nclass  A :\n  @ T.prim_func( private = True )\n  def f [n:int]( a:T.int64=1,b=2 )->T.int64 :\n   return  a\n",
        "@I.ir_module\nclass A:\n    @T.prim_func(private=True)\n    def f[n: int](a: T.int64 = 1, b=2) -> T.int64:\n        return a\n",
    );
}

#[test]
fn comments() {
    check(
        "#first\n#!kept\n##kept\nif a:#  why  \n      # b\n      x=1   #c\n      #inner\n  # outer\n#last\ny\n# end\n\n",
        "# first\n#!kept\n##kept\nif a:  #  why\n    # b\n    x = 1  # c\n    # inner\n# outer\n# last\ny\n# end\n",
    );
    check(
        "f( # open\n  # before\n  a, # a\n  b # b\n  # after\n )  # end\n",
        "f(  # open\n    # before\n    a,  # a\n    b,  # b\n    # after\n)  # end\n",
    );
    check("f(a # middle\n + b # last\n , c)\n", "f(\n    # middle\n    a + b,  # last\n    c,\n)\n");
    check("x = ( a # c\n )\n", "x = (\n    a  # c\n)\n");
    check("f( # only\n)\nf(\n# only\n)\n", "f(  # only\n)\nf(\n    # only\n)\n");
}

#[test]
fn blank_lines() {
    check(
        "\n\n# header\n\n\n\nimport a\n# of f\n@b\n\n# c\ndef f():\n\n\n    x\n\n\n\n    y\nz\n\n\n\n\nu\n\n\n",
        "# header\n\n\nimport a\n\n\n# of f\n@b\n# c\ndef f():\n\n    x\n\n    y\n\n\nz\n\n\nu\n",
    );
}

#[test]
fn long_lines() {
    let name = "a".repeat(50);
    let text = format!("x: R.Tensor((1, 2)) = f({name}, g({name}, {name}, k=({name},)), [{name}])\n");
    let expected = format!(
        "x: R.Tensor((1, 2)) = f(\n    {name},\n    g(\n        {name},\n        {name},\n        k=({name},),\n    ),\n    [{name}],\n)\n"
    );
    check(&text, &expected);
    check(
        &format!("def f(a: {name}, b: {name}) -> R.Tensor((1, 2), 'float32'):\n  pass\n"),
        &format!("def f(\n    a: {name},\n    b: {name},\n) -> R.Tensor((1, 2), 'float32'):\n    pass\n"),
    );
    check(&format!("x[{name} + {name}] = y\n"), &format!("x[{name} + {name}] = y\n"));
    check(&format!("x[{name} + {name}] = ({name})\n"), &format!("x[{name} + {name}] = (\n    {name}\n)\n"));
}

#[test]
fn long_operands() {
    let name = "a".repeat(60);
    check(
        &format!("x = ({name} * 2 - {name} + f(-1)) / 3\n"),
        &format!("x = (\n    {name} * 2\n    - {name}\n    + f(-1)\n) / 3\n"),
    );
    check(
        &format!("f({name} if {name} is not {name} and not b else c)\n"),
        &format!("f(\n    {name}\n    if {name}\n    is not {name}\n    and not b\n    else c,\n)\n"),
    );
    check(
        &format!("x = [{name} for a in {name} if {name}]\n"),
        &format!("x = [\n    {name}\n    for a in {name}\n    if {name}\n]\n"),
    );
    let fits = "b".repeat(114);
    check(&format!("x = ({fits} + {fits})\n"), &format!("x = (\n    {fits}\n    + {fits}\n)\n"));
}

#[test]
fn lines_that_fit_are_joined() {
    check("f(\n  a,\n  b)\n", "f(a, b)\n");
    check("f(a, (b, c,))\n", "f(\n    a,\n    (\n        b,\n        c,\n    ),\n)\n");
    check("f((a,), x[b,])\n", "f((a,), x[b,])\n");
    check("x = '''a\n  b''', f(\n)\n", "x = '''a\n  b''', f()\n");
}

#[test]
fn line_breaks_and_tabs() {
    check("if a:\r\n\tx\r\n\tif b:\r\n\t\ty\r\n", "if a:\n    x\n    if b:\n        y\n");
    check("\u{feff}x\r# c", "x\n# c\n");
    check("", "");
    check("\n\n", "");
    check("# a", "# a\n");
}

#[test]
fn syntax_errors_are_reported() {
    for (text, code) in [
        ("f(a\n", codes::UNMATCHED_BRACKET),
        ("x = 'a\n", codes::OPEN_STRING),
        ("if a:\n\tx\n        y\n", codes::BAD_INDENTATION),
        ("x = = 1\n", codes::UNEXPECTED_TOKEN),
    ] {
        let errors = format(&SourceFile::new("model.py", text).unwrap()).unwrap_err();
        assert_eq!(errors[0].code, code, "{text}");
    }
}

#[test]
fn deep_nesting() {
    let deep = format!("x = {}a{}\n", "f(".repeat(190), ")".repeat(190));
    formatted(&deep);
}

/// The texts of the repository without syntax errors.
fn texts() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("ir-examples"), root.join("tests")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "py") {
                found.extend(fs::read_to_string(&path).ok().filter(|text| is_correct(text)));
            }
        }
    }
    found
}

fn is_correct(text: &str) -> bool {
    let (_, found) = crate::parse(&SourceFile::new("model.py", text).unwrap());
    !found.iter().any(hammock_diagnostics::Diagnostic::is_error)
}

#[test]
fn formatting_is_idempotent() {
    let texts = texts();
    assert!(texts.len() > 600, "{}", texts.len());
    texts.iter().for_each(|text| drop(formatted(text)));
}

/// Line breaks, comments, blanks, commas and long names at random positions in brackets.
#[test]
fn scattered_line_breaks_and_comments() {
    let mut state = 1u64;
    let mut random = |bound: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % bound
    };
    let mut count = 0;
    for text in texts().iter().filter(|text| text.len() < 3000) {
        for rarity in [3, 10, 50] {
            let scattered = scatter(text, rarity, &mut random);
            if is_correct(&scattered) {
                let comments = |text: &str| text.matches("#:").count();
                assert_eq!(comments(&formatted(&scattered)), comments(&scattered), "{scattered}");
                count += 1;
            }
        }
    }
    assert!(count > 800, "{count}");
}

fn scatter(text: &str, rarity: u64, random: &mut impl FnMut(u64) -> u64) -> String {
    let mut out = String::new();
    let (mut depth, mut last) = (0, 0);
    for (start, token, end) in Layout::new(text, 0, Content::File, Brackets::Trusted) {
        if matches!(token, Token::StartFile | Token::Indent | Token::Dedent | Token::Newline) {
            continue;
        }
        out.push_str(&text[last..start as usize]);
        if depth > 0 && random(rarity) == 0 {
            let inserted = ["\n", "  \n\n", " #:a\n", "\n  #:b\n", " #:c\n#:d\n\n\n", " \\\n"];
            out.push_str(inserted[random(inserted.len() as u64) as usize]);
        }
        if token.closes() && depth > 0 && random(2 * rarity) == 0 {
            out.push(',');
        }
        out.push_str(&text[start as usize..end as usize]);
        if token == Token::Str && random(rarity) == 0 {
            out.push_str(&format!(" '{}'", "long ".repeat(random(30) as usize)));
        }
        depth += usize::from(token.opens());
        depth -= usize::from(token.closes());
        last = end as usize;
    }
    out + &text[last..]
}

/// Many lines, many elements of one bracket, and many brackets of one line, 400 KB each, take linear time.
#[test]
fn large_texts() {
    let lines = "def f(a: T.int64):\n  x[a , 0] = f(a, (b, c), k=1) # d\n".repeat(8_000);
    let elements = format!("x = [{}]\n", "f(a, [1, 2]), ".repeat(28_000));
    let brackets = format!("x = {}0\n", "f(a, some_name, 1) + ".repeat(20_000));
    let operands = format!("x = ({}0)\n", "f(a, some_name, 1) + ".repeat(20_000));
    for text in [lines, elements, brackets, operands] {
        let start = std::time::Instant::now();
        formatted(&text);
        assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    }
}
