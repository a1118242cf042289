//! Trees of valid text.

use hammock_diagnostics::{SourceFile, Span, render_text};
use hammock_syntax::ast::{Expr, ExprKind, Index, Stmt, StmtKind};
use hammock_syntax::{parse, parse_expression};

fn file(text: &str) -> SourceFile {
    SourceFile::new("model.py", text).unwrap()
}

fn body(text: &str) -> Vec<Stmt> {
    let (module, diagnostics) = parse(&file(text));
    assert_eq!(diagnostics, [], "{text}");
    module.body
}

fn expr(text: &str) -> Expr {
    match body(text).remove(0).kind {
        StmtKind::Expr(expr) => expr,
        other => panic!("{other:?}"),
    }
}

/// Operators as nested lists, so that grouping shows.
fn show(expr: &Expr) -> String {
    let all = |items: &[Expr]| items.iter().map(show).collect::<Vec<_>>().join(" ");
    match &expr.kind {
        ExprKind::Name(name) => name.to_string(),
        ExprKind::Int(value) => value.to_string(),
        ExprKind::Unary(op, operand) => format!("({} {})", op.symbol(), show(operand)),
        ExprKind::Binary(binary) => binary
            .rest
            .iter()
            .fold(show(&binary.first), |left, (op, right)| format!("({left} {} {})", op.symbol(), show(right))),
        ExprKind::Compare(compare) => {
            let rest = compare.rest.iter().map(|(op, right)| format!(" {} {}", op.symbol(), show(right)));
            format!("({}{})", show(&compare.first), rest.collect::<String>())
        }
        ExprKind::BoolChain(op, items) => format!("({} {})", op.symbol(), all(items)),
        ExprKind::Tuple(items) => format!("(, {})", all(items)),
        ExprKind::If(choice) => {
            format!("(if {} {} {})", show(&choice.cond), show(&choice.then), show(&choice.orelse))
        }
        ExprKind::Lambda(lambda) => format!("(lambda {})", show(&lambda.body)),
        ExprKind::Starred(inner) => format!("(* {})", show(inner)),
        other => format!("{other:?}"),
    }
}

#[test]
fn operators_group_as_in_python() {
    let cases = [
        ("a + b * c - d", "((a + (b * c)) - d)"),
        ("-a ** -b ** c", "(- (a ** (- (b ** c))))"),
        ("a ** b * c", "((a ** b) * c)"),
        ("not a == b and c or d", "(or (and (not (a == b)) c) d)"),
        ("a < b <= c != d", "(a < b <= c != d)"),
        ("a not in b is not c", "(a not in b is not c)"),
        ("a is (not b)", "(a is (not b))"),
        ("a | b ^ c & d << e + f @ g", "(a | (b ^ (c & (d << (e + (f @ g))))))"),
        ("a or b and c or d", "(or a (and b c) d)"),
        ("(a or b) or c", "(or (or a b) c)"),
        ("a // b % c / d", "(((a // b) % c) / d)"),
        ("a - (b - c)", "(a - (b - c))"),
        ("~-+a", "(~ (- (+ a)))"),
        ("a if b else c if d else e", "(if b a (if d c e))"),
        ("lambda x: x, 1", "(, (lambda x) 1)"),
        ("a, *b", "(, a (* b))"),
        ("()", "(, )"),
        ("a,", "(, a)"),
    ];
    for (text, expected) in cases {
        assert_eq!(show(&expr(text)), expected, "{text}");
    }
}

#[test]
fn literals_have_their_values() {
    let value = |text: &str| expr(text).kind;
    assert_eq!(value("18446744073709551615"), ExprKind::Int(u64::MAX));
    assert_eq!(value("18446744073709551616"), ExprKind::BigInt("18446744073709551616".into()));
    assert_eq!(value("0xFF_FF"), ExprKind::Int(0xFFFF));
    assert_eq!(value("0b101"), ExprKind::Int(5));
    assert_eq!(value("00"), ExprKind::Int(0));
    assert_eq!(value("0.10000000000000001"), ExprKind::Float(0.1));
    assert_eq!(value("1000000000000000019884624838656.0"), ExprKind::Float(1e30));
    assert_eq!(value("1_0.5e-1_0"), ExprKind::Float(10.5e-10));
    assert_eq!(value(r#""caf\xC3\xA9" 'é' "\n""#), ExprKind::Str("caféé\n".into()));
    assert_eq!(value(r#""\xC3" "\xA9""#), ExprKind::Str("é".into()));
    assert_eq!(value(r#"b"\xff""#), ExprKind::Bytes([0xFF].into()));
    assert_eq!(value(r#"r"\x""#), ExprKind::Str("\\x".into()));
}

#[test]
fn spans_cover_parentheses_and_blocks() {
    let text = "if (a) + f(b).c[0]:\n    x = 1\nelse:\n    y = 2\n\nz\n";
    let file = file(text);
    let (module, _) = parse(&file);
    assert_eq!(file.slice(module.body[0].span), "if (a) + f(b).c[0]:\n    x = 1\nelse:\n    y = 2");
    assert_eq!(file.slice(module.body[1].span), "z");
    let StmtKind::If(choice) = &module.body[0].kind else { panic!() };
    assert_eq!(file.slice(choice.cond.span), "(a) + f(b).c[0]");
    let ExprKind::Binary(sum) = &choice.cond.kind else { panic!() };
    assert_eq!(file.slice(sum.first.span), "(a)");
    let ExprKind::Subscript(subscript) = &sum.rest[0].1.kind else { panic!() };
    let ExprKind::Attribute(attribute) = &subscript.value.kind else { panic!() };
    assert_eq!((file.slice(subscript.value.span), file.slice(attribute.name.span)), ("f(b).c", "c"));
}

#[test]
fn elif_nests_and_else_may_be_missing() {
    let body = body("if a:\n    b\nelif c:\n    d\nelif e: f\n");
    let StmtKind::If(first) = &body[0].kind else { panic!() };
    let [Stmt { kind: StmtKind::If(second), .. }] = &first.orelse[..] else { panic!() };
    let [Stmt { kind: StmtKind::If(third), .. }] = &second.orelse[..] else { panic!() };
    assert_eq!((second.then.len(), third.then.len(), third.orelse.len()), (1, 1, 0));
    assert_eq!(body[0].depth(), 4);
}

#[test]
fn statements_keep_their_parts() {
    let body = body(
        "a = b = c, d\nx, *y = z\nx: T\nimport a.b as c, d\nfrom ..e import f as g\nfrom . import *\n\
         @R.function(pure=False)\ndef f[n, m: int](a: T = 1, *b, **c) -> R: pass\nclass C(B, k=1): pass\na; b; c;\n",
    );
    let StmtKind::Assign(assign) = &body[0].kind else { panic!() };
    assert_eq!((assign.targets.len(), show(&assign.value)), (2, "(, c d)".into()));
    assert!(matches!(&body[2].kind, StmtKind::AnnAssign(ann) if ann.value.is_none()));
    assert!(matches!(&body[3].kind, StmtKind::Import(names) if &*names[0].path == "a.b" && names.len() == 2));
    assert!(matches!(&body[4].kind, StmtKind::FromImport(from) if from.level == 2 && &*from.path == "e"));
    assert!(matches!(&body[5].kind, StmtKind::FromImport(from) if &*from.names[0].path == "*"));
    let StmtKind::FunctionDef(function) = &body[6].kind else { panic!() };
    assert_eq!((function.decorators.len(), function.type_params.len(), function.params.len()), (1, 2, 3));
    assert!(function.type_params[1].bound.is_some() && function.params[0].default.is_some());
    assert!(matches!(&body[7].kind, StmtKind::ClassDef(class) if class.args.len() == 2));
    assert_eq!(body.len(), 11);
}

#[test]
fn indices_and_slices() {
    let ExprKind::Subscript(subscript) = expr("x[a, 1:, ::2, ()]").kind else { panic!() };
    assert_eq!(subscript.indices.len(), 4);
    let Index::Slice(slice) = &subscript.indices[2] else { panic!() };
    assert!(slice.start.is_none() && slice.end.is_none() && slice.step.is_some());
    assert!(
        matches!(&subscript.indices[3], Index::Expr(Expr { kind: ExprKind::Tuple(items), .. }) if items.is_empty())
    );
}

/// The quoted text of `text`'s first statement, an expression, and the file.
fn quoted(text: &str) -> (SourceFile, Span, String) {
    let literal = expr(text);
    let ExprKind::Str(quoted) = literal.kind else { panic!() };
    (file(text), literal.span, quoted.to_string())
}

#[test]
fn quoted_expressions_lie_in_their_file() {
    let (file, literal, text) = quoted("(\n \"n * (m + 2)\")\n");
    let product = parse_expression(&text, &file, literal).unwrap();
    assert_eq!((show(&product).as_str(), file.slice(product.span)), ("(n * (m + 2))", "n * (m + 2)"));

    let (file, literal, text) = quoted(r#""T.Cast(\"int64\", n)""#);
    let cast = parse_expression(&text, &file, literal).unwrap();
    let ExprKind::Call(call) = &cast.kind else { panic!() };
    assert_eq!((cast.span, call.args[0].value.span), (literal, literal));
}

#[test]
fn quoted_errors_lie_in_their_file() {
    for (source, underlined) in [("'n * '", ""), ("'n m'", "m"), (r#""\x6e m""#, r#""\x6e m""#)] {
        let (file, literal, text) = quoted(source);
        let errors = parse_expression(&text, &file, literal).unwrap_err();
        assert_eq!(errors.len(), 1);
        assert_eq!(file.slice(errors[0].span()), underlined, "{}", render_text(&errors[0], Some(&file), false));
    }
    for text in ["", "a = 1", "a; b", "(a", "a)", "\"", "a\nb", "   "] {
        let file = file("''");
        assert!(!parse_expression(text, &file, Span::new(0, 2)).unwrap_err().is_empty(), "{text:?}");
    }
}

/// Every name of a tree is reached through the direct parts of its nodes.
#[test]
fn nodes_list_their_parts() {
    let text = "@a(b)\ndef f[n: c](x: d, y=e) -> g:\n    with h as i, j:\n        for k in l:\n            while m:\n\
                \x20               if o:\n                    p[q, r:s:t] = u\n                elif v:\n\
                \x20                   w: aa = ab + ac - ad\n                else:\n                    ae += af(ag, ah=ai)\n\
                \x20   assert aj, ak\n    al = [am, (an, {ao: ap}), {aq}, -ar, not as_, at < au]\n\
                \x20   av = aw if ax else ay\n    az = [ba for bb in bc if bd]\n    be = lambda bf: bg.bh and bi\n\
                \x20   return f(*bj)\nclass bk(bl, bm=bn):\n    pass\n";
    fn names(expr: &Expr, found: &mut Vec<String>) {
        if let ExprKind::Name(name) = &expr.kind {
            found.push(name.to_string());
        }
        expr.each_child(&mut |child| names(child, found));
    }
    fn all(stmt: &Stmt, found: &mut Vec<String>) {
        stmt.each_expr(&mut |expr| names(expr, found));
        stmt.block().for_each(|stmt| all(stmt, found));
    }
    let mut found = Vec::new();
    body(text).iter().for_each(|stmt| all(stmt, &mut found));
    let expected = "a b c d e g h i j k l m o p q r s t u v w aa ab ac ad ae af ag ai aj ak al am an ao ap aq ar as_ \
                    at au av ax aw ay az ba bb bc bd be bg bi f bj bl bn";
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(sorted(found), sorted(expected.split(' ').map(str::to_owned).collect()));
}
