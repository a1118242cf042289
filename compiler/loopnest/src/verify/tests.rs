use super::*;
use crate::{ArgResult, Axis, Epilogue};
use hammock_ir::{
    Attrs, DType, PrimExpr, Span,
    tir::{Param, Stmt},
};

/// Buffers of the function under test, all of 4 elements: a parameter, and local ones.
struct Buffers {
    x: Buffer,
    sums: Buffer,
    out: Buffer,
    index: Buffer,
}

fn buffers() -> Buffers {
    let buffer = |name: &str, dtype: DType| Buffer::new(name, vec![PrimExpr::int64(4)], dtype);
    let [x, sums, out] = ["x", "sums", "out"].map(|name| buffer(name, DType::FLOAT32));
    Buffers { x, sums, out, index: buffer("index", DType::INT64) }
}

fn zero() -> PrimExpr {
    PrimExpr::constant(0.0, DType::FLOAT32)
}

/// `sums[i] = sums[i] op x[k]`
fn reduction(buffers: &Buffers, op: impl Fn(PrimExpr, PrimExpr) -> PrimExpr) -> Stage {
    let [i, k] = ["i", "k"].map(|name| Axis::spatial(Var::int64(name), PrimExpr::int64(4)));
    let at = vec![i.var.expr()];
    let load = PrimExpr::load(&buffers.x, vec![k.var.expr()]);
    let value = op(PrimExpr::load(&buffers.sums, at.clone()), load);
    Stage::new("sum", vec![i, Axis { reduce: true, ..k }], buffers.sums.clone(), at, value).with_init(Some(zero()))
}

fn sum(buffers: &Buffers) -> Stage {
    reduction(buffers, |old, new| old + new)
}

fn maximum(buffers: &Buffers) -> Stage {
    let init = PrimExpr::int64(0);
    let arg = ArgResult { buffer: buffers.index.clone(), init, selects_nan: false, stores_value: true };
    reduction(buffers, PrimExpr::max).with_arg_result(arg)
}

fn with_epilogue(buffers: &Buffers) -> Stage {
    let stage = sum(buffers);
    let indices = stage.indices.clone();
    let value = PrimExpr::load(&buffers.sums, indices.clone()) + zero();
    Stage { epilogue: Some(Epilogue { buffer: buffers.out.clone(), indices, value }), ..stage }
}

/// The name of the rule that a kernel of these stages breaks.
fn broken(buffers: &Buffers, stages: impl IntoIterator<Item = Stage>) -> Option<&'static str> {
    let func = PrimFunc {
        params: vec![Param::buffer(buffers.x.clone())],
        ret_ty: None,
        body: Stmt::nop(),
        attrs: Attrs::new(),
        s_tir: true,
        span: Span::default(),
    };
    let kernel = Kernel { parts: stages.into_iter().map(Part::Stage).collect() };
    let verifier = Verifier { func: &func, surrounding: FxHashSet::default(), uninitialized: FxHashSet::default() };
    let own = [&buffers.sums, &buffers.out, &buffers.index].map(Buffer::clone);
    verifier.check(&kernel, &own).err().map(|violation| violation.rule.name)
}

#[test]
fn valid_stages_break_no_rule() {
    let buffers = buffers();
    assert_eq!(broken(&buffers, [sum(&buffers), maximum(&buffers), with_epilogue(&buffers)]), None);
}

/// Makes a stage that breaks a rule.
type Breaker = fn(&Buffers) -> Stage;

/// A stage for each rule that breaks it.
const BROKEN: &[(&str, Breaker)] = &[
    ("distinct-axes", |buffers| {
        let mut stage = sum(buffers);
        stage.axes.push(stage.axes[0].clone());
        stage
    }),
    ("rectangular", |buffers| {
        let mut stage = sum(buffers);
        stage.axes[1].extent = stage.axes[0].var.expr();
        stage
    }),
    ("rectangular", |buffers| {
        let mut stage = sum(buffers);
        stage.axes[1].extent = PrimExpr::int64(-1);
        stage
    }),
    ("index-per-dimension", |buffers| {
        let stage = sum(buffers);
        Stage { indices: vec![], ..stage }
    }),
    ("stored-dtype", |buffers| {
        let stage = sum(buffers);
        Stage { init: Some(PrimExpr::int64(0)), ..stage }
    }),
    ("spatial-store", |buffers| {
        let mut stage = sum(buffers);
        stage.axes[0].reduce = true;
        stage
    }),
    ("own-element", |buffers| {
        let stage = sum(buffers);
        let other = PrimExpr::load(&buffers.sums, vec![PrimExpr::int64(0)]);
        Stage { value: stage.value.clone() + other, ..stage }
    }),
    ("own-element", |buffers| {
        let stage = sum(buffers);
        let init = PrimExpr::load(&buffers.sums, stage.indices.clone());
        stage.with_init(Some(init))
    }),
    ("epilogue-element", |buffers| {
        let mut stage = with_epilogue(buffers);
        let first = PrimExpr::load(&buffers.sums, vec![PrimExpr::int64(0)]);
        stage.epilogue.iter_mut().for_each(|epilogue| epilogue.value = first.clone());
        stage
    }),
    ("reduction-parts", |buffers| {
        let mut stage = sum(buffers);
        stage.axes[1].reduce = false;
        stage
    }),
    ("arg-reduction", |buffers| Stage { arg_result: maximum(buffers).arg_result, ..sum(buffers) }),
    ("arg-reduction", |buffers| maximum(buffers).with_init(None)),
    ("defined", |buffers| {
        let stage = sum(buffers);
        Stage { value: stage.value.clone() + Var::new("s", DType::FLOAT32).expr(), ..stage }
    }),
    ("defined", |buffers| Stage {
        buffer: Buffer::new("other", vec![PrimExpr::int64(4)], DType::FLOAT32),
        ..copy(buffers)
    }),
    ("written-before-read", copy),
];

/// `out[i] = sums[i]`
fn copy(buffers: &Buffers) -> Stage {
    let i = Axis::spatial(Var::int64("i"), PrimExpr::int64(4));
    let at = vec![i.var.expr()];
    Stage::new("copy", vec![i], buffers.out.clone(), at.clone(), PrimExpr::load(&buffers.sums, at))
}

#[test]
fn each_rule_is_broken_by_a_stage() {
    for (rule, stage) in BROKEN {
        let buffers = buffers();
        assert_eq!(broken(&buffers, [stage(&buffers)]), Some(*rule));
    }
    for rule in RULES {
        assert!(BROKEN.iter().any(|(name, _)| *name == rule.name), "no stage breaks `{}`", rule.name);
    }
}

#[test]
fn memory_is_initialized_by_an_earlier_stage() {
    let buffers = buffers();
    assert_eq!(broken(&buffers, [sum(&buffers), copy(&buffers)]), None);
    assert_eq!(broken(&buffers, [copy(&buffers), sum(&buffers)]), Some("written-before-read"));
}
