use super::*;
use crate::samples::{self, buffer, function, matmul, sblock};
use half::f16;
use hammock_ir::{
    prim::{IterKind, PrimType},
    tir::{Block, BlockAxis, ForKind, MatchBuffer, Param, Region, Stmt, StmtKind},
};

fn f32s(values: &[f32]) -> Tensor {
    Tensor::from_slice(&[values.len() as i64], values).unwrap()
}

fn run_map(values: &[f32], f: impl FnOnce(PrimExpr) -> PrimExpr) -> Vec<f32> {
    let func = samples::map(Var::int64("n").expr(), DType::FLOAT32, DType::FLOAT32, f);
    let out = call_tir(&func, &[f32s(values).into()], &[(vec![values.len() as i64], DType::FLOAT32)]).unwrap();
    out[0].as_slice::<f32>().unwrap().to_vec()
}

/// Evaluates an expression without free variables.
fn eval(e: PrimExpr) -> Result<Value, Fault> {
    evaluate(&e, &[])
}

#[test]
fn symbolic_matmul_binds_sizes_and_runs_init_once() {
    let (n, m, k) = (Var::int64("n"), Var::int64("m"), Var::int64("k"));
    let func = matmul(n.expr(), m.expr(), k.expr(), DType::INT32);
    let a = Tensor::from_slice(&[2, 3], &[1i32, 2, 3, 4, 5, 6]).unwrap();
    let b = Tensor::from_slice(&[3, 2], &[1i32, 0, 0, 1, 1, 1]).unwrap();
    let out = call_tir(&func, &[a.clone().into(), b.into()], &[(vec![2, 2], DType::INT32)]).unwrap();
    assert_eq!(out[0].as_slice::<i32>().unwrap(), [4, 5, 10, 11]);
    let wrong = call_tir(&func, &[a.clone().into(), a.into()], &[(vec![2, 2], DType::INT32)]).unwrap_err();
    assert_eq!(wrong.to_string(), "in TIR function `main`: argument `B`: size 0 should be 3, it is 2");
}

#[test]
fn out_of_bounds_indices_are_reported() {
    let func = samples::map(PrimExpr::int64(4), DType::FLOAT32, DType::FLOAT32, |x| x);
    let (a, b) = (func.buffers().next().unwrap().clone(), func.buffers().nth(1).unwrap().clone());
    let shifted = sblock("shift", &[('S', PrimExpr::int64(4))], |v| {
        (None, Stmt::store(&b, v.to_vec(), PrimExpr::load(&a, vec![&v[0] + PrimExpr::int64(1)])))
    });
    let error =
        call_tir(&function(&[&a, &b], &[], vec![shifted]), &[f32s(&[1.0; 4]).into()], &[(vec![4], DType::FLOAT32)]);
    assert_eq!(
        error.unwrap_err().to_string(),
        "in TIR function `main`: index 4 is outside of dimension 0 of buffer `A`, whose size is 4"
    );
}

#[test]
fn selects_are_lazy() {
    let guard = |x: PrimExpr| {
        let safe = x.clone().gt(PrimExpr::float(0.0, DType::FLOAT32));
        safe.if_then_else(x.unary("sqrt"), PrimExpr::float(-1.0, DType::FLOAT32))
    };
    assert_eq!(run_map(&[4.0, -4.0], guard), [2.0, -1.0]);
    let zero = PrimExpr::int32(0);
    let divides = PrimExpr::int32(1).floordiv(&zero).eq(&zero);
    assert_eq!(eval(PrimExpr::bool(false).and(divides.clone())), Ok(Value::Int(0)));
    assert_eq!(eval(PrimExpr::bool(true).and(divides)), Err(Fault::DivisionByZero));
}

#[test]
fn numbers_wrap_and_round_as_their_dtypes_do() {
    let int8 = |v| PrimExpr::int(v, DType::INT8);
    assert_eq!(eval(int8(100) + int8(100)), Ok(Value::Int(-56)));
    assert_eq!(eval(PrimExpr::int(200, DType::UINT8) + PrimExpr::int(100, DType::UINT8)), Ok(Value::Int(44)));
    let uint64 = |v| PrimExpr::int(v, DType::UINT64);
    assert_eq!(eval(uint64(-1).gt(uint64(1))), Ok(Value::Int(1)));
    assert_eq!(eval(uint64(-1).cast(DType::FLOAT32)), Ok(Value::Float(18446744073709551615.0)));
    let half = |v| PrimExpr::float(v, DType::FLOAT16);
    assert_eq!(eval(half(2048.0) + half(1.0)), Ok(Value::Float(2048.0)));
    assert_eq!(eval(half(65504.0) * half(2.0)), Ok(Value::Float(f64::INFINITY)));
    let int = PrimExpr::int32;
    for (a, b, div, modulo, quotient, rest) in [(-7, 2, -4, 1, -3, -1), (7, -2, -4, -1, -3, 1), (-8, 2, -4, 0, -4, 0)] {
        assert_eq!(eval(int(a).floordiv(int(b))), Ok(Value::Int(div)));
        assert_eq!(eval(int(a).floormod(int(b))), Ok(Value::Int(modulo)));
        assert_eq!(eval(int(a) / int(b)), Ok(Value::Int(quotient)));
        assert_eq!(
            eval(hammock_ir::prim::binary(hammock_ir::prim::BinaryOp::Mod, int(a), int(b))),
            Ok(Value::Int(rest))
        );
    }
}

#[test]
fn vectors_load_and_store_lanes() {
    let (a, b) =
        (buffer("A", &[PrimExpr::int64(8)], DType::FLOAT32), buffer("B", &[PrimExpr::int64(8)], DType::FLOAT32));
    let even = PrimExpr::ramp(PrimExpr::int64(0), PrimExpr::int64(2), 4);
    let odd = PrimExpr::ramp(PrimExpr::int64(7), PrimExpr::int64(-2), 4);
    let sum = PrimExpr::load(&a, vec![even.clone()]) + PrimExpr::float(0.5, DType::FLOAT32).broadcast(4);
    let body = vec![Stmt::store(&b, vec![even], sum.clone()), Stmt::store(&b, vec![odd], sum)];
    let x = f32s(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let out = call_tir(&function(&[&a, &b], &[], body), &[x.into()], &[(vec![8], DType::FLOAT32)]).unwrap();
    assert_eq!(out[0].as_slice::<f32>().unwrap(), [0.5, 6.5, 2.5, 4.5, 4.5, 2.5, 6.5, 0.5]);
}

#[test]
fn while_loops_break_and_return() {
    let n = Var::new("n", DType::INT32);
    let z = Buffer::scoped("z", vec![PrimExpr::int32(1)], DType::INT32, "local");
    let at = || vec![PrimExpr::int32(0)];
    let value = || PrimExpr::load(&z, at());
    let stop = Stmt::new(StmtKind::If(value().ge(&n), Box::new(Stmt::new(StmtKind::Break)), None));
    let step = Stmt::store(&z, at(), value() * PrimExpr::int32(2));
    let body = Stmt::seq([
        Stmt::new(StmtKind::Alloc(z.clone(), Default::default())),
        Stmt::store(&z, at(), PrimExpr::int32(1)),
        Stmt::new(StmtKind::While(PrimExpr::bool(true), Box::new(Stmt::seq([stop, step])))),
        Stmt::new(StmtKind::Return(value())),
    ]);
    let func = PrimFunc {
        params: vec![Param::scalar(n)],
        ret_ty: Some(PrimType::Scalar(DType::INT32)),
        body,
        ..function(&[], &[], Vec::new())
    };
    assert_eq!(run(&func, &mut [Arg::Int(20)]), Ok(Some(Value::Int(32))));
}

#[test]
fn matched_buffers_are_views_of_regions() {
    let a = buffer("A", &[PrimExpr::int64(4), PrimExpr::int64(6)], DType::INT64);
    let tile = buffer("T", &[PrimExpr::int64(2), PrimExpr::int64(3)], DType::INT64);
    let (i, j) = (Var::int64("i"), Var::int64("j"));
    let store = Stmt::store(&tile, vec![i.expr(), j.expr()], i.expr() * PrimExpr::int64(10) + j.expr());
    let region = Region {
        buffer: a.clone(),
        ranges: vec![(PrimExpr::int64(1), PrimExpr::int64(2)), (PrimExpr::int64(2), PrimExpr::int64(3))],
    };
    let body = Stmt::serial(i, PrimExpr::int64(2), Stmt::serial(j, PrimExpr::int64(3), store));
    let block =
        Block { match_buffers: vec![MatchBuffer { buffer: tile, source: region }], ..Block::root(vec![], body) };
    let mut args = [Tensor::from_slice(&[4, 6], &[0i64; 24]).unwrap().into()];
    run(&function(&[&a], &[], vec![block.into()]), &mut args).unwrap();
    let out = args[0].tensor().unwrap();
    assert_eq!(out.as_slice::<i64>().unwrap()[6..18], [0, 0, 0, 1, 2, 0, 0, 0, 10, 11, 12, 0]);
}

#[test]
fn strided_arguments_keep_their_layout() {
    let (n, s) = (Var::int64("n"), Var::int64("s"));
    let a = buffer("A", &[n.expr()], DType::INT32).change(|b| b.strides = vec![s.expr()]);
    let b = buffer("B", &[n.expr()], DType::INT32);
    let flat = buffer("F", &[n.expr() * s.expr()], DType::INT32).change(|f| f.data = a.data.clone());
    let stage = sblock("copy", &[('S', n.expr())], |v| {
        let same = PrimExpr::load(&a, v.to_vec()).eq(PrimExpr::load(&flat, vec![&v[0] * s.expr()]));
        (None, Stmt::store(&b, v.to_vec(), same.select(PrimExpr::load(&a, v.to_vec()), PrimExpr::int32(-1))))
    });
    let x = Tensor::from_slice(&[6], &[0i32, 1, 2, 3, 4, 5]).unwrap().strided(&[3], &[2], 0).unwrap();
    let out = call_tir(&function(&[&a, &b], &[], vec![stage]), &[x.into()], &[(vec![3], DType::INT32)]).unwrap();
    assert_eq!(out[0].as_slice::<i32>().unwrap(), [0, 2, 4]);
}

#[test]
fn the_same_tensor_twice_is_one_memory() {
    let (a, b) =
        (buffer("A", &[PrimExpr::int64(2)], DType::FLOAT32), buffer("B", &[PrimExpr::int64(2)], DType::FLOAT32));
    let one = PrimExpr::float(1.0, DType::FLOAT32);
    let bump = || {
        sblock("bump", &[('S', PrimExpr::int64(2))], |v| {
            (None, Stmt::store(&b, v.to_vec(), PrimExpr::load(&a, v.to_vec()) + &one))
        })
    };
    let x = f32s(&[1.0, 2.0]);
    let mut args = [x.clone().into(), x.clone().into()];
    run(&function(&[&a, &b], &[], vec![bump(), bump()]), &mut args).unwrap();
    assert_eq!(args[0].tensor().unwrap().as_slice::<f32>().unwrap(), [3.0, 4.0]);
    assert_eq!(x.as_slice::<f32>().unwrap(), [1.0, 2.0], "the caller's tensor stays");
}

#[test]
fn half_precision_memory_and_thread_loops() {
    let (a, b) =
        (buffer("A", &[PrimExpr::int64(2)], DType::FLOAT16), buffer("B", &[PrimExpr::int64(2)], DType::FLOAT16));
    let t = Var::int64("t");
    let store = Stmt::store(&b, vec![t.expr()], PrimExpr::load(&a, vec![t.expr()]).unary("exp"));
    let body = Stmt::for_kind(t, PrimExpr::int64(2), ForKind::ThreadBinding("threadIdx.x".into()), store);
    let x = Tensor::from_slice(&[2], &[f16::from_f32(0.0), f16::from_f32(1.0)]).unwrap();
    let out = call_tir(&function(&[&a, &b], &[], vec![body]), &[x.into()], &[(vec![2], DType::FLOAT16)]).unwrap();
    assert_eq!(out[0].as_slice::<f16>().unwrap(), [f16::from_f32(1.0), f16::from_f64(1f64.exp())]);
}

#[test]
fn unwritten_memory_reads_as_nan() {
    let (a, t) =
        (buffer("A", &[PrimExpr::int64(1)], DType::FLOAT32), buffer("T", &[PrimExpr::int64(1)], DType::FLOAT32));
    let copy = Stmt::store(&a, vec![PrimExpr::int64(0)], PrimExpr::load(&t, vec![PrimExpr::int64(0)]));
    let out = call_tir(&function(&[&a], &[&t], vec![copy]), &[], &[(vec![1], DType::FLOAT32)]).unwrap();
    assert!(out[0].as_slice::<f32>().unwrap()[0].is_nan());
}

#[test]
fn blocks_without_predicate_value_do_nothing() {
    let a = buffer("A", &[PrimExpr::int64(4)], DType::INT32);
    let (i, v) = (Var::int64("i"), Var::int64("v"));
    let axis = BlockAxis {
        var: v.clone(),
        dom: (PrimExpr::int64(0), PrimExpr::int64(4)),
        kind: IterKind::Spatial,
        binding: i.expr(),
    };
    let block = Block {
        axes: vec![axis],
        predicate: Some(i.expr().lt(PrimExpr::int64(4))),
        ..Block::root(vec![], Stmt::store(&a, vec![v.expr()], v.expr().cast(DType::INT32)))
    };
    let body = Stmt::serial(i, PrimExpr::int64(6), block.into());
    let out = call_tir(&function(&[&a], &[], vec![body]), &[], &[(vec![4], DType::INT32)]).unwrap();
    assert_eq!(out[0].as_slice::<i32>().unwrap(), [0, 1, 2, 3]);
}

#[test]
fn intrinsics_have_their_usual_values() {
    let f = |v| PrimExpr::float(v, DType::FLOAT32);
    let float = |e: PrimExpr| eval(e).unwrap().float().unwrap();
    assert_eq!(float(f(2.5).unary("round")), 2.0);
    assert_eq!(float(f(2.5).unary("nearbyint")), 2.0);
    assert_eq!(float(f(0.0).unary("sigmoid")), 0.5);
    assert_eq!(
        float(PrimExpr::intrin("nextafter", vec![f(1.0), f(2.0)], DType::FLOAT32)),
        f64::from(1.0 + f32::EPSILON)
    );
    assert_eq!(
        float(PrimExpr::intrin("nextafter", vec![f(0.0), f(-1.0)], DType::FLOAT32)),
        f64::from(-f32::from_bits(1))
    );
    assert_eq!(float(PrimExpr::intrin("ldexp", vec![f(3.0), PrimExpr::int32(4)], DType::FLOAT32)), 48.0);
    let int = |e: PrimExpr| eval(e).unwrap().int().unwrap();
    assert_eq!(int(PrimExpr::intrin("reinterpret", vec![f(1.0)], DType::INT32)), 0x3f80_0000);
    assert_eq!(int(PrimExpr::int(1, DType::INT8).unary("clz")), 7);
    assert_eq!(int(PrimExpr::int(-1, DType::INT16).unary("popcount")), 16);
    let shift = |name, a, b| PrimExpr::intrin(name, vec![PrimExpr::int32(a), PrimExpr::int32(b)], DType::INT32);
    assert_eq!(int(shift("shift_left", 1, 31)), i64::from(i32::MIN));
    assert_eq!(int(shift("shift_right", -8, 1)), -4);
    assert!(matches!(eval(f(1.0).unary("no_such")), Err(Fault::Callee(_))));
}

/// Launches `f` of one buffer on a block of 4 threads, whose body gets the index of its thread.
fn launched(body: impl Fn(PrimExpr, &Buffer) -> Stmt) -> Result<Vec<i64>, Fault> {
    use hammock_ir::{
        prim::{IterVar, intrinsics::LAUNCH_KERNEL},
        tir::AttrNode,
    };
    let handle = || Var::new("a", PrimType::Pointer(Some(DType::INT64), "global".into()));
    let over = |data: &Var| Buffer::new("A", vec![PrimExpr::int64(4)], DType::INT64).change(|b| b.data = data.clone());
    let (inner, outer, thread) = (handle(), handle(), Var::int64("thread"));
    let buffer = over(&inner);
    let iter = IterVar { var: thread.clone(), dom: None, kind: IterKind::ThreadIndex, thread: "threadIdx.x".into() };
    let nest = Stmt::new(StmtKind::Attr {
        node: AttrNode::Thread(iter),
        key: "thread_extent".into(),
        value: PrimExpr::int64(4),
        body: Box::new(body(thread.expr(), &buffer)),
    });
    let func = |data: &Var, body: Stmt| PrimFunc {
        params: vec![Param::scalar(data.clone())],
        ret_ty: None,
        body,
        attrs: Default::default(),
        s_tir: false,
        span: Default::default(),
    };
    let device = func(&inner, Stmt::new(StmtKind::Seq(vec![Stmt::new(StmtKind::Decl(buffer.clone())), nest])));
    let sizes = [1, 1, 1, 4, 1, 1, 0].map(PrimExpr::int64);
    let args = [PrimExpr::str("f")].into_iter().chain(sizes).chain([outer.expr()]).collect();
    let launch = Stmt::new(StmtKind::Evaluate(PrimExpr::intrin(LAUNCH_KERNEL, args, DType::VOID)));
    let mut args = [Arg::Tensor(Tensor::from_slice(&[4], &[1i64, 2, 3, 4]).unwrap())];
    run_kernel(&func(&outer, launch), &[("f".into(), device)], &mut args).map_err(|error| error.fault)?;
    Ok(args[0].tensor().unwrap().as_slice::<i64>().unwrap().to_vec())
}

#[test]
fn threads_exchange_values_and_wait_for_each_other() {
    let load = |a: &Buffer, at: PrimExpr| PrimExpr::load(a, vec![at]);
    let barrier = || {
        Stmt::new(StmtKind::Evaluate(PrimExpr::intrin("tvm_storage_sync", vec![PrimExpr::str("shared")], DType::VOID)))
    };
    let reversed = |thread: PrimExpr| PrimExpr::int64(3) - thread;
    let swapped = launched(|thread, a| {
        let value = Var::data("value", DType::INT64);
        let read = Stmt::new(StmtKind::Bind(value.clone(), load(a, reversed(thread.clone()))));
        Stmt::new(StmtKind::Seq(vec![read, barrier(), Stmt::store(a, vec![thread], value.expr())]))
    });
    assert_eq!(swapped, Ok(vec![4, 3, 2, 1]));
    let race = launched(|thread, a| Stmt::store(a, vec![thread.clone()], load(a, reversed(thread))));
    assert!(matches!(race, Err(Fault::Race(..))), "{race:?}");
    let divergent =
        launched(|thread, _| Stmt::new(StmtKind::If(thread.lt(PrimExpr::int64(2)), Box::new(barrier()), None)));
    assert_eq!(divergent, Err(Fault::Divergent("a barrier")));
    let shuffled = launched(|thread, a| {
        let other = Var::data("other", DType::INT64);
        let (mask, width) = (PrimExpr::int(0xffff_ffff, DType::UINT32), PrimExpr::int32(32));
        let args = vec![mask, load(a, thread.clone()), PrimExpr::int32(1), width.clone(), width];
        let exchange = PrimExpr::intrin("tvm_warp_shuffle_xor", args, DType::INT64);
        let read = Stmt::new(StmtKind::Bind(other.clone(), exchange));
        Stmt::new(StmtKind::Seq(vec![read, Stmt::store(a, vec![thread], other.expr())]))
    });
    assert_eq!(shuffled, Ok(vec![2, 1, 4, 3]));
}
