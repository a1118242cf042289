//! Valid patterns, and the errors of invalid ones.

use super::{read_pattern, read_patterns};
use hammock_diagnostics::{SourceFile, render_text};
use hammock_ops::ops;

fn file(text: &str) -> SourceFile {
    SourceFile::new("my.patterns", text).unwrap()
}

/// The first error in a pattern, with its text.
fn mistake(text: &str) -> (String, String) {
    let source = file(text);
    let found = read_pattern(&source).err().unwrap_or_else(|| panic!("{text} is read")).remove(0);
    assert!(render_text(&found, None, false).contains("my.patterns:1:"), "{text}");
    (found.message.clone(), source.slice(found.span()).to_owned())
}

#[test]
fn what_people_write_is_read() {
    let both = "from tvm.relax.dpl.pattern import *\nx = wildcard()\na, b = is_const(), R.nn.relu(x)\nlist = (a, b)\n";
    for list in [
        "patterns = [('x.add', R.add(a, b)), ('y', is_op('relax.concat')(list))]",
        "patterns = {'x.add': is_op('relax.add')(a, b).has_dtype('float16'), 'y': R.concat(list)}",
        "patterns = (['x.add', R.add(a, b) | R.multiply(a, ~b)], ('y', relax.op.nn.relu(list[1])))",
    ] {
        let source = file(&format!("{both}{list}\n"));
        let names: Vec<String> = read_patterns(&source).unwrap().into_iter().map(|p| p.name).collect();
        assert_eq!(names, ["x.add", "y"]);
    }
    for text in [
        "R.nn.conv2d(_, _, padding=1, out_dtype='float32', data_layout='NCHW')",
        "R.clip(_, -1, 6.0)",
        "R.reshape(_, is_shape([1, _]))",
        "R.nn.attention(_, _, _)",
        "is_op('relax.nn.attention')(_, _, _, varg_default_wildcard=True)",
        "R.nn.relu(_.has_ty(R.Tensor((1, _), 'float32')) & ~is_var('x') & _.has_shape([1, 2]))",
        "R.add(_.same_shape_as(_, R.exp(_)), R.exp(_).used_by(R.add(_, _), -1).only_used_by(R.exp(_), 0))",
        "R.sum(_).has_attr({'axis': [1], 'keepdims': True})",
        "is_call_tir('relu', [is_gv('x')(_)])",
        "is_call_dps_packed('f') | is_call_packed('g', [_]) | is_call_packed('h')",
        "R.nn.relu(is_tuple_get_item(is_tuple([_, is_gv()], unordered=True)))",
    ] {
        assert!(read_pattern(&file(text)).is_ok(), "{text}");
    }
}

#[test]
fn mistakes_are_shown_where_they_are() {
    for (text, message, name_span) in [
        ("R.nn.rleu(_)", "there is no operator `R.nn.rleu`", "R.nn.rleu"),
        ("is_op('relax.nn.rleu')(_)", "there is no operator `R.nn.rleu`", "'relax.nn.rleu'"),
        ("R.nn.relu(x)", "`x` is not assigned before", "x"),
        ("R.nn.relu(wildcrad())", "there is no `wildcrad` in patterns", "wildcrad"),
        ("R.nn.relu(_, _)", "`R.nn.relu` takes 1 operand, the pattern has 2", "R.nn.relu(_, _)"),
        ("R.add(_)", "`R.add` takes 2 operands, the pattern has 1", "R.add(_)"),
        ("R.sum(_, axes=1)", "`R.sum` has no attribute `axes`", "1"),
        ("R.sum(_, axis='a')", "attribute `axis` cannot be this", "'a'"),
        ("R.add(x1=_, x2=_)", "`x1` is an operand: give it by its position", "_"),
        ("R.astype(_, dtype='flaot32')", "`flaot32` is not a dtype", "'flaot32'"),
        ("R.nn.relu(_.used_by(_))", "only a call uses values", "_"),
        ("R.nn.relu(_.same_shape_as())", "`same_shape_as` takes patterns, none is given", "_.same_shape_as"),
        ("R.nn.relu(_.has_type('float32'))", "patterns have no `has_type`", "has_type"),
        ("R.nn.relu(_.has_dtype(2))", "expected a string", "2"),
        ("R.nn.relu(_.has_shape([n]))", "a size is an integer, or `_` for any", "n"),
        ("R.nn.relu(_.has_attr({'a': 1}))", "only a call of an operator has attributes", "_.has_attr({'a': 1})"),
        ("R.add(..., _)", "operands cannot follow `...`", "_"),
        ("R.nn.relu(_ + 1)", "patterns are joined by `|` and `&`, not by `+`", "_ + 1"),
        ("R.nn.relu(_[-1])", "the number of a member is an integer from 0", "-1"),
        ("R.nn.relu(*_)", "patterns take no `*`", "_"),
        ("R.nn.relu('x')", "this is no pattern", "'x'"),
        ("wildcard()", "a pattern as a whole is a call of an operator or function", "wildcard()"),
        ("R.add(_, _) | _", "a pattern as a whole is a call of an operator or function", "R.add(_, _) | _"),
        ("is_op('relax.add')", "the operator is not called", "is_op('relax.add')"),
        ("is_const(1)", "this takes no argument", "1"),
        ("x = R.add(_, _)", "expected one pattern", "x = R.add(_, _)"),
        ("R.add(_, _", "`(` was never closed", "("),
    ] {
        let (said, where_) = mistake(text);
        assert_eq!((said.as_str(), where_.as_str()), (message, name_span), "{text}");
    }
}

#[test]
fn files_say_what_they_lack() {
    for (text, message) in [
        ("", "`my.patterns` has no list of patterns"),
        ("x = wildcard()", "`my.patterns` has no list of patterns"),
        ("patterns = 3", "`patterns` is no list"),
        ("patterns = [R.add(_, _)]", "an entry of `patterns` is a pair"),
        ("patterns = [(1, R.add(_, _))]", "the name of a pattern is a string"),
        ("patterns = [('.add', R.add(_, _))]", "the name of a pattern begins with that of its code generator"),
        ("patterns = []\npatterns = []", "the list `patterns` is already defined"),
        ("R = wildcard()", "`R` cannot be the name of a pattern"),
        ("def f():\n    pass", "a pattern file contains only assignments"),
        ("a = b = wildcard()", "one name is assigned at a time"),
        ("a, b = wildcard()", "a pattern is assigned to a name"),
    ] {
        let found = read_patterns(&file(text)).err().unwrap_or_else(|| panic!("{text} is read")).remove(0);
        assert_eq!(found.message, message, "{text}");
    }
    let two = read_patterns(&file("a = R.nothing(_)\nb = c\npatterns = []")).err().unwrap();
    assert_eq!(two.len(), 2, "every statement is read");
}

#[test]
fn deep_patterns_are_refused() {
    let lines: String = (1..1000).map(|n| format!("x{n} = R.nn.relu(x{})\n", n - 1)).collect();
    let source = file(&format!("x0 = wildcard()\n{lines}patterns = [('x.y', x999)]"));
    assert_eq!(read_patterns(&source).err().unwrap()[0].message, "a pattern has at most 256 levels");
}

/// Every operator can occur in a pattern, with each of its attributes at its default.
#[test]
fn every_operator_can_be_in_a_pattern() {
    for op in ops() {
        let text = format!("R.{}(...)", op.name);
        assert!(read_pattern(&file(&text)).is_ok(), "{text}");
        for param in op.attrs() {
            for value in ["1", "[1, 1]", "True", "'a'", "None", "0.5"] {
                let _ = read_pattern(&file(&format!("R.{}(..., {}={value})", op.name, param.name)));
            }
        }
    }
}
