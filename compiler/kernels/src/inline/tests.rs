//! Tests of inlining.

use super::*;
use hammock_interp::{self as interp, Arg};
use hammock_ir::{
    Attrs,
    prim::PrimCallee,
    tir::{ForKind, Param},
};

fn int(value: i64) -> PrimExpr {
    PrimExpr::int64(value)
}

fn call(name: &str, args: Vec<PrimExpr>) -> PrimExpr {
    PrimExpr::call(PrimCallee::Global(name.into()), args, Attrs::new(), DType::INT64)
}

/// `def f(x: int64) -> int64: body`
fn function(x: &Var, body: Vec<Stmt>) -> PrimFunc {
    let body = Stmt::seq(body);
    let params = vec![Param::scalar(x.clone())];
    PrimFunc { params, ret_ty: Some(DType::INT64.into()), body, attrs: Attrs::new(), s_tir: false, span: Span::NONE }
}

fn give(value: PrimExpr) -> Stmt {
    Stmt::new(StmtKind::Return(value))
}

fn when(condition: PrimExpr, then: Stmt) -> Stmt {
    Stmt::new(StmtKind::If(condition, Box::new(then), None))
}

/// Returns the results of a kernel that calls `f` twice, or the error.
fn results(f: &PrimFunc, numbers: &[i64]) -> Result<Vec<i64>, String> {
    let x = Var::int64("x");
    let twice = call("f", vec![call("f", vec![x.expr()])]);
    let main = function(&x, vec![give(twice)]);
    let whole = inline_calls(&main, &|_| Some(f), &|_| None).map_err(|e| e.to_string())?;
    assert!(callees(&whole).is_empty());
    let value = |n: &i64| match interp::run(&whole, &mut [Arg::Int(*n)]) {
        Ok(Some(interp::Value::Int(v))) => Ok(v),
        other => Err(format!("{other:?}")),
    };
    numbers.iter().map(value).collect()
}

#[test]
fn early_returns_are_removed() {
    let x = Var::int64("x");
    let add = |n: i64| give(x.expr() + int(n));
    let small = || when(x.expr().lt(int(10)), add(1));
    let middle = || when(x.expr().lt(int(20)), add(100));
    let nested = Stmt::new(StmtKind::If(
        x.expr().lt(int(20)),
        Box::new(Stmt::seq([small(), add(100)])),
        Some(Box::new(add(1000))),
    ));
    for body in [vec![small(), middle(), add(1000)], vec![nested], vec![small(), middle(), add(1000), add(7)]] {
        assert_eq!(results(&function(&x, body), &[0, 9, 15, 50]), Ok(vec![2, 110, 1115, 2050]));
    }
}

#[test]
fn returns_from_loops_are_rejected() {
    let x = Var::int64("x");
    let body = Stmt::for_kind(Var::int64("i"), int(4), ForKind::Serial, when(x.expr().lt(int(2)), give(int(1))));
    let error = results(&function(&x, vec![body, give(int(0))]), &[0]).unwrap_err();
    assert!(error.contains("the call of kernel `f` cannot be made: it returns from the middle"), "{error}");
}

#[test]
fn inlining_is_bounded() {
    let x = Var::int64("x");
    let last = function(&x, vec![give(x.expr())]);
    let name = |n: usize| format!("f{n}");
    let doubles: Vec<PrimFunc> = (0..40)
        .map(|n| function(&x, vec![give(call(&name(n + 1), vec![call(&name(n + 1), vec![x.expr()])]))]))
        .collect();
    let find = |name: &str| {
        let number: usize = name[1..].parse().unwrap();
        Some(doubles.get(number).unwrap_or(&last))
    };
    let error = inline_calls(&doubles[0], &find, &|_| None).unwrap_err().to_string();
    assert!(error.contains("too long"), "{error}");
    let error = inline_calls(&doubles[0], &|_| Some(&doubles[0]), &|_| None).unwrap_err().to_string();
    assert!(error.contains("in circles"), "{error}");
}
