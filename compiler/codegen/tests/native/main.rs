//! Kernels compiled, linked, loaded and run, against the reference interpreter.
#![cfg(feature = "native")]

mod arithmetic;
#[path = "../support/build.rs"]
mod build;
#[allow(dead_code)]
#[path = "../support/mod.rs"]
mod support;
mod wrapping;

use build::{elementwise, func};
use hammock_codegen::llvm::{self, Emit, Host, OptLevel};
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::Var,
    tir::{Buffer, ForKind, Param, Stmt, StmtKind},
};
use hammock_runtime::{Any, Error, Function, Str, Tensor, registry};
use hammock_target::Target;
use support::{Kernel, check, function};

fn tensor<T: hammock_runtime::Element>(values: &[T]) -> Tensor {
    Tensor::from_slice(&[values.len() as i64], values).unwrap()
}

#[test]
fn lazy_selects_access_only_the_selected_memory() {
    let n = Var::int64("n");
    let (a, b) =
        (Buffer::new("A", vec![n.expr()], DType::FLOAT32), Buffer::new("B", vec![n.expr() * 2i64], DType::FLOAT32));
    for kind in [ForKind::Serial, ForKind::Vectorized] {
        let i = Var::int64("i");
        let inside =
            i.expr().lt(n.expr()).and(PrimExpr::load(&a, vec![i.expr()]).gt(PrimExpr::float(0.0, DType::FLOAT32)));
        let value = inside.if_then_else(PrimExpr::load(&a, vec![i.expr()]), PrimExpr::float(-1.0, DType::FLOAT32));
        let lanes = if kind == ForKind::Vectorized { PrimExpr::int64(10) } else { n.expr() * 2i64 };
        let body = Stmt::for_kind(i.clone(), lanes, kind, Stmt::store(&b, vec![i.expr()], value));
        let f = func(vec![Param::buffer(a.clone()), Param::buffer(b.clone())], body);
        check(&f, &[tensor(&[1f32, -2.0, 3.0, 0.0, 5.0]).into()]);
    }
}

#[test]
fn sums_over_rows_in_parallel() {
    let (n, m) = (Var::int64("n"), Var::int64("m"));
    let a = Buffer::new("A", vec![n.expr(), m.expr()], DType::FLOAT32);
    let b = Buffer::new("B", vec![n.expr()], DType::FLOAT32);
    let (i, j) = (Var::int64("i"), Var::int64("j"));
    let sum = PrimExpr::load(&b, vec![i.expr()]) + PrimExpr::load(&a, vec![i.expr(), j.expr()]);
    let inner = Stmt::serial(j, m.expr(), Stmt::store(&b, vec![i.expr()], sum));
    let zero = Stmt::store(&b, vec![i.expr()], PrimExpr::float(0.0, DType::FLOAT32));
    let body = Stmt::for_kind(i, n.expr(), ForKind::Parallel, Stmt::seq([zero, inner]));
    let f = func(vec![Param::buffer(a), Param::buffer(b)], body);
    let values: Vec<f32> = (0..131 * 17).map(|v| (v % 29) as f32 * 0.25).collect();
    let input = Tensor::from_slice(&[131, 17], &values).unwrap();
    check(&f, &[input.into()]);
}

#[test]
fn nested_parallel_loops() {
    for sizes in [[1, 1, 1], [2, 3, 5], [7, 1, 64], [1, 40, 3], [0, 3, 4], [3, 0, 4], [64, 5, 0]] {
        let [n, m, k] = ["n", "m", "k"].map(Var::int64);
        let shape: Vec<PrimExpr> = [&n, &m, &k].map(Var::expr).to_vec();
        let (a, b) = (Buffer::new("A", shape.clone(), DType::FLOAT32), Buffer::new("B", shape, DType::FLOAT32));
        let vars = ["h", "i", "j"].map(Var::int64);
        let at: Vec<PrimExpr> = vars.iter().map(Var::expr).collect();
        let value = PrimExpr::load(&a, at.clone()) + PrimExpr::load(&b, at.clone());
        let parallel = |body, (var, extent): (Var, &Var)| Stmt::for_kind(var, extent.expr(), ForKind::Parallel, body);
        let body = vars.into_iter().zip([&n, &m, &k]).rev().fold(Stmt::store(&b, at, value), parallel);
        let f = func(vec![Param::buffer(a), Param::buffer(b)], body);
        let values: Vec<f32> = (0..sizes.iter().product()).map(|v| v as f32).collect();
        check(&f, &[Tensor::from_slice(&sizes, &values).unwrap().into()]);
    }
}

#[test]
fn parallel_failures_are_reported() {
    let a = Buffer::new("A", vec![PrimExpr::int64(100)], DType::INT32);
    let i = Var::int64("i");
    let holds = PrimExpr::load(&a, vec![i.expr()]).lt(PrimExpr::int32(50));
    let assert = Stmt::new(StmtKind::Assert(holds, "ValueError".into(), vec!["too ".into(), "large".into()]));
    let workspace = Buffer::new("W", vec![PrimExpr::int64(100_000)], DType::FLOAT32);
    let alloc = Stmt::new(StmtKind::Alloc(workspace, Attrs::new()));
    let body = Stmt::for_kind(i, PrimExpr::int64(100), ForKind::Parallel, Stmt::seq([alloc, assert]));
    let kernel = Kernel::new(&func(vec![Param::buffer(a)], body));
    let good: Vec<i32> = (0..100).map(|v| v / 2).collect();
    kernel.call(&[tensor(&good).into()]).unwrap();
    let bad: Vec<i32> = (0..100).collect();
    let error = kernel.call(&[tensor(&bad).into()]).unwrap_err();
    assert_eq!(error.to_string(), "ValueError: f: too large");
}

#[test]
fn functions_without_arguments_are_rejected() {
    for name in ["exp", "sigmoid", "likely", "reinterpret", "pow", "fma"] {
        let b = Buffer::new("B", vec![PrimExpr::int64(1)], DType::FLOAT32);
        let nothing = PrimExpr::intrin(name, Vec::new(), DType::FLOAT32);
        let f = func(vec![Param::buffer(b.clone())], Stmt::store(&b, vec![PrimExpr::int64(0)], nothing));
        let error = support::compile(&f, &llvm::host()).unwrap_err().to_string();
        assert!(error.contains(&format!("`T.{name}`")), "{error}");
    }
}

#[test]
fn many_small_buffers_do_not_fill_the_stack() {
    let (a, b) = (
        Buffer::new("A", vec![PrimExpr::int64(1)], DType::INT64),
        Buffer::new("B", vec![PrimExpr::int64(1)], DType::INT64),
    );
    let zero = || vec![PrimExpr::int64(0)];
    // 16 KiB each, together more than this thread's stack. Their indices are known only at run time.
    let locals: Vec<Buffer> = (0..600).map(|_| Buffer::new("L", vec![PrimExpr::int64(2048)], DType::INT64)).collect();
    let at = PrimExpr::load(&a, zero());
    let fill = |l: &Buffer| Stmt::store(l, vec![at.clone()], at.clone());
    let add = |l: &Buffer| Stmt::store(&b, zero(), PrimExpr::load(&b, zero()) + PrimExpr::load(l, vec![at.clone()]));
    let allocs = locals.iter().map(|l| Stmt::new(StmtKind::Alloc(l.clone(), Attrs::new())));
    let first = Stmt::store(&b, zero(), PrimExpr::int64(1));
    let stmts = allocs.chain([first]).chain(locals.iter().map(fill)).chain(locals.iter().map(add));
    let f = func(vec![Param::buffer(a.clone()), Param::buffer(b.clone())], Stmt::seq(stmts.collect::<Vec<_>>()));
    check(&f, &[tensor(&[7i64]).into()]);
}

#[test]
fn loops_break_continue_and_step() {
    let b = Buffer::new("B", vec![PrimExpr::int64(64)], DType::INT32);
    let (i, j) = (Var::int64("i"), Var::int64("j"));
    let clear = Stmt::serial(i.clone(), PrimExpr::int64(64), Stmt::store(&b, vec![i.expr()], PrimExpr::int32(0)));
    let when = |condition: PrimExpr, kind| Stmt::new(StmtKind::If(condition, Box::new(Stmt::new(kind)), None));
    let body = Stmt::seq([
        when(j.expr().eq(PrimExpr::int64(9)), StmtKind::Continue),
        when(j.expr().ge(PrimExpr::int64(40)), StmtKind::Break),
        Stmt::store(&b, vec![j.expr()], j.expr().cast(DType::INT32)),
    ]);
    let mut steps = Stmt::serial(j, PrimExpr::int64(64), body);
    if let StmtKind::For(l) = &mut steps.kind {
        l.step = Some(PrimExpr::int64(3));
    }
    check(&func(vec![Param::buffer(b)], Stmt::seq([clear, steps])), &[]);
}

#[test]
fn scalars_and_results() {
    let (n, x) = (Var::int64("n"), Var::new("x", DType::FLOAT32));
    let sum = n.expr().cast(DType::FLOAT32) + x.expr();
    let mut f = func(vec![Param::scalar(n), Param::scalar(x)], Stmt::new(StmtKind::Return(sum)));
    f.ret_ty = Some(DType::FLOAT32.into());
    let kernel = Kernel::new(&f);
    assert_eq!(kernel.call(&[Any::from(3i64), Any::from(0.5f64)]).unwrap().get::<f64>(), Some(3.5));
    assert_eq!(kernel.call(&[Any::from(3i64), Any::from(2i64)]).unwrap().get::<f64>(), Some(5.0));
}

#[test]
fn global_functions_are_called_with_numbers_and_strings() {
    registry::register(
        "test.native.scale",
        Function::new(|args| {
            let text: Str = args[0].get().unwrap();
            let (a, b): (i64, f64) = (args[1].get().unwrap(), args[2].get().unwrap());
            if a < 0 { Err(Error::value(text.as_str())) } else { Ok(Any::from(a as f64 * b)) }
        }),
    );
    let (n, out) = (Var::new("n", DType::INT32), Buffer::new("B", vec![PrimExpr::int64(1)], DType::FLOAT32));
    let args = vec![
        PrimExpr::str("test.native.scale"),
        PrimExpr::str("below"),
        n.expr(),
        PrimExpr::float(1.5, DType::FLOAT32),
    ];
    let call = PrimExpr::intrin("call_packed", args, DType::FLOAT32);
    let body = Stmt::store(&out, vec![PrimExpr::int64(0)], call);
    let kernel = Kernel::new(&func(vec![Param::scalar(n), Param::buffer(out)], body));
    let out = tensor(&[0f32]);
    kernel.call(&[Any::from(4i64), out.clone().into()]).unwrap();
    assert_eq!(out.as_slice::<f32>().unwrap(), [6.0]);
    let error = kernel.call(&[Any::from(-4i64), out.into()]).unwrap_err();
    assert_eq!(error.to_string(), "ValueError: below");
}

#[test]
fn strided_tensors_say_their_strides_or_are_compact() {
    let (n, m, s) = (Var::int64("n"), Var::int64("m"), Var::int64("s"));
    let a = Buffer::new("A", vec![n.expr(), m.expr()], DType::FLOAT32);
    let a = a.change(|b| b.strides = vec![s.expr(), PrimExpr::int64(1)]);
    let b = Buffer::new("B", vec![n.expr(), m.expr()], DType::FLOAT32);
    let (i, j) = (Var::int64("i"), Var::int64("j"));
    let at = vec![i.expr(), j.expr()];
    let copy = Stmt::store(&b, at.clone(), PrimExpr::load(&a, at));
    let body = Stmt::serial(i, n.expr(), Stmt::serial(j, m.expr(), copy));
    let kernel = Kernel::new(&func(vec![Param::buffer(a), Param::buffer(b)], body));
    let whole = Tensor::from_slice(&[3, 4], &[0f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]).unwrap();
    assert_eq!(kernel.run(&[whole.clone().into()])[0].as_slice::<f32>().unwrap(), whole.as_slice::<f32>().unwrap());
    let part = whole.strided(&[3, 2], &[4, 1], 4).unwrap();
    assert_eq!(kernel.run(&[part.into()])[0].as_slice::<f32>().unwrap(), [1.0, 2.0, 5.0, 6.0, 9.0, 10.0]);
}

#[test]
fn every_level_and_form_works() {
    let f = elementwise(1, DType::FLOAT32, |x| vec![x[0].clone().unary("sqrt")]);
    let flat = hammock_kernels::lower(&f, &Target::host()).unwrap();
    for level in [OptLevel::None, OptLevel::Lean, OptLevel::Unroll, OptLevel::Full] {
        let text = |emit| String::from_utf8(compile(&flat, level, emit)).unwrap();
        assert!(text(Emit::Ir).contains("@f.raw"));
        assert!(text(Emit::Assembly).contains("f.raw:"));
        assert!(compile(&flat, level, Emit::Object).starts_with(b"\x7fELF"));
    }
}

fn compile(flat: &hammock_kernels::FlatKernel, level: OptLevel, emit: Emit) -> Vec<u8> {
    llvm::compile(std::slice::from_ref(flat), &llvm::host(), Host::Hammock, level, emit).unwrap()
}

#[test]
fn strided_and_gathered_vectors() {
    let (a, b) = (
        Buffer::new("A", vec![PrimExpr::int64(64)], DType::FLOAT32),
        Buffer::new("B", vec![PrimExpr::int64(64)], DType::FLOAT32),
    );
    let indices: [fn(PrimExpr) -> PrimExpr; 4] = [
        |i| i * 4i64,
        |i| PrimExpr::int64(15) - i,
        |i| (i * 7i64).floormod(PrimExpr::int64(16)),
        |i| i.floordiv(PrimExpr::int64(4)),
    ];
    for to in indices {
        let fill = Var::int64("f");
        let clear = Stmt::serial(
            fill.clone(),
            PrimExpr::int64(64),
            Stmt::store(&b, vec![fill.expr()], PrimExpr::float(0.0, DType::FLOAT32)),
        );
        let i = Var::int64("i");
        let gather = Stmt::store(&b, vec![i.expr()], PrimExpr::load(&a, vec![to(i.expr())]));
        let gather = Stmt::for_kind(i, PrimExpr::int64(16), ForKind::Vectorized, gather);
        let j = Var::int64("j");
        let scatter = Stmt::store(&b, vec![to(j.expr()) + 0i64], PrimExpr::load(&a, vec![j.expr()]));
        let scatter = Stmt::for_kind(j, PrimExpr::int64(16), ForKind::Vectorized, scatter);
        let f = func(vec![Param::buffer(a.clone()), Param::buffer(b.clone())], Stmt::seq([clear, gather, scatter]));
        let values: Vec<f32> = (0..64).map(|v| v as f32).collect();
        check(&f, &[tensor(&values).into()]);
    }
}

#[test]
fn fallible_names_are_errors() {
    let f = elementwise(1, DType::FLOAT32, |x| {
        let args = vec![PrimExpr::str("llvm.nvvm.barrier0"), x[0].clone()];
        vec![PrimExpr::intrin("call_llvm_pure_intrin", args, DType::FLOAT32)]
    });
    let error = support::compile(&f, &llvm::host()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel `f`: `T.llvm.nvvm.barrier0` of these arguments cannot be compiled for this processor"
    );
}

/// Checks are hoisted only to where their operands are defined: here the trip count of a loop depends on the block
/// axis, and the index does not.
#[test]
fn checks_are_hoisted_to_where_trip_counts_are_defined() {
    let func = function(
        "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(x: T.Buffer((100,), \"float32\"), y: T.Buffer((100,), \"float32\")):
    for i in range(2):
        with T.sblock(\"halves\"):
            v = T.axis.spatial(2, i)
            own = T.alloc_buffer((64,), \"float32\", scope=\"local\")
            for j, l in T.grid(T.min(64, 100 - v * 64) // 4, 4):
                own[j * 4 + l] = x[v * 64 + j * 4 + l]
            for j, l in T.grid(T.min(64, 100 - v * 64) // 4, 4):
                y[v * 64 + j * 4 + l] = own[j * 4 + l]
",
    );
    check(&func, &[tensor(&(0..100).map(|n| n as f32).collect::<Vec<_>>()).into()]);
}
