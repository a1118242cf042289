//! Kernels compiled, linked, loaded and run, against the reference interpreter.
#![cfg(feature = "native")]

#[path = "support/build.rs"]
mod build;
#[allow(dead_code)]
mod support;

use build::{elementwise, func};
use hammock_codegen::llvm::{self, Emit, Host, OptLevel};
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::{
        BinaryOp, Var, binary,
        intrinsics::{self, Of},
    },
    tir::{Buffer, ForKind, Loop, Param, Stmt, StmtKind},
};
use hammock_kernels::{Options, Target};
use hammock_runtime::{Any, Device, Error, Function, Str, Tensor, registry};
use support::{Kernel, check, check_kernel, function};

/// A spread of numbers that conversions and divisions stumble over.
fn floats() -> Vec<f32> {
    let special = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e-8, 6e-8, 3e38, 65519.0, 65520.0, 1e10, -1e10];
    // The ends of integers, and their neighbours.
    let ends = [7, 8, 15, 16, 31, 32, 63, 64].map(|k| 2f32.powi(k));
    let ends = ends.into_iter().flat_map(|e| [e, -e, e.next_down(), -e.next_up(), e - 0.5, 0.5 - e]);
    let special = special.into_iter().chain([f32::INFINITY, f32::NEG_INFINITY, f32::NAN]).chain(ends);
    special.chain((0..45).map(|i| (i as f32 - 20.0) * 0.37)).collect()
}

fn ints() -> Vec<i32> {
    let special = [0, 1, -1, 2, -2, 7, -7, 8, -8, 31, 32, 33, i32::MAX, i32::MIN, i32::MIN + 1];
    special.into_iter().chain((0..20).map(|i| i * 37 - 300)).collect()
}

fn tensor<T: hammock_runtime::Element>(values: &[T]) -> Tensor {
    Tensor::from_slice(&[values.len() as i64], values).unwrap()
}

#[test]
fn casts_between_all_dtypes() {
    let dtypes = [
        DType::BOOL,
        DType::INT8,
        DType::INT16,
        DType::INT32,
        DType::INT64,
        DType::UINT8,
        DType::UINT16,
        DType::UINT32,
        DType::UINT64,
        DType::FLOAT16,
        DType::BFLOAT16,
        DType::FLOAT32,
        DType::FLOAT64,
    ];
    let input = tensor(&floats());
    for target in [llvm::host(), Target::baseline()] {
        for middle in dtypes {
            let f = elementwise(1, DType::FLOAT32, |x| dtypes.map(|to| x[0].clone().cast(middle).cast(to)).to_vec());
            check_kernel(&Kernel::for_target(&f, &target), &[input.clone().into()]);
        }
    }
}

#[test]
fn float_arithmetic_rounds_once() {
    use BinaryOp::*;
    let values = floats();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for a in &values {
        left.extend(std::iter::repeat_n(*a, values.len()));
        right.extend(values.iter().copied());
    }
    for dtype in [DType::FLOAT16, DType::BFLOAT16, DType::FLOAT32, DType::FLOAT64] {
        let f = elementwise(2, DType::FLOAT32, |x| {
            let (a, b) = (x[0].clone().cast(dtype), x[1].clone().cast(dtype));
            let mut ops = vec![Add, Sub, Mul, Div, Min, Max];
            // Narrow floats round where they are stored, which makes a difference here.
            ops.extend((dtype.bits >= 32).then_some(FloorDiv));
            ops.into_iter().map(|op| binary(op, a.clone(), b.clone())).collect()
        });
        check(&f, &[tensor(&left).into(), tensor(&right).into()]);
    }
}

#[test]
fn integer_arithmetic_wraps_and_never_traps() {
    use BinaryOp::*;
    let values = ints();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for a in &values {
        left.extend(std::iter::repeat_n(*a, values.len()));
        right.extend(values.iter().map(|b| if *b == 0 { 3 } else { *b }));
    }
    for dtype in [DType::INT8, DType::INT32, DType::INT64, DType::UINT32] {
        let f = elementwise(2, DType::INT32, |x| {
            let (a, b) = (x[0].clone().cast(dtype), x[1].clone().cast(dtype));
            // Narrow casts make zeros: divide by their odd neighbours.
            let b = PrimExpr::intrin("bitwise_or", vec![b, PrimExpr::int(1, dtype)], dtype);
            let ops = [Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max, Lt, Eq, Ge];
            ops.map(|op| binary(op, a.clone(), b.clone())).to_vec()
        });
        check(&f, &[tensor(&left).into(), tensor(&right).into()]);
    }
}

/// The error of `out[i] = f(in0[i], in1[i])`, in a serial loop and in vectors.
fn errors(f: impl Fn(&PrimExpr, &PrimExpr) -> PrimExpr, left: &[i32], right: &[i32]) -> Vec<Option<String>> {
    let size = PrimExpr::int64(left.len() as i64);
    let kinds = [ForKind::Serial, ForKind::Vectorized];
    let run = kinds.map(|kind| {
        let buffers = ["a", "b", "out"].map(|name| Buffer::new(name, vec![size.clone()], DType::INT32));
        let i = Var::int64("i");
        let [a, b] = [0, 1].map(|k| PrimExpr::load(&buffers[k], vec![i.expr()]));
        let store = Stmt::store(&buffers[2], vec![i.expr()], f(&a, &b));
        let body = Stmt::for_kind(i, size.clone(), kind, store);
        let kernel = Kernel::new(&func(buffers.map(Param::buffer).to_vec(), body));
        let args: Vec<Any> = [left, right, left].map(|values| tensor(values).into()).to_vec();
        kernel.call(&args).err().map(|e| e.to_string())
    });
    run.to_vec()
}

#[test]
fn division_by_zero_is_an_error_where_it_is_reached() {
    let zero = || PrimExpr::int32(0);
    for op in DIVISIONS {
        let by_zero = errors(|a, b| binary(op, a.clone(), b.clone()), &[7, 8, 9, 10], &[1, 2, 0, 3]);
        let expected = "ValueError: f: integers are divided by zero".to_owned();
        assert_eq!(by_zero, vec![Some(expected); 2], "{op:?}");
        let wraps = errors(|a, b| binary(op, a.clone(), b.clone()), &[i32::MIN, 8], &[-1, 2]);
        assert_eq!(wraps, [None, None], "{op:?}: integers wrap");
        // By a condition on the divisor itself, which is proof, and by others.
        for other in [0i32, 1] {
            let guards: [fn(PrimExpr, PrimExpr, PrimExpr) -> PrimExpr; 2] = [PrimExpr::select, PrimExpr::if_then_else];
            for choose in guards {
                let guarded = |a: &PrimExpr, b: &PrimExpr| {
                    let condition = if other == 0 { b.clone().ne(zero()) } else { a.clone().gt(PrimExpr::int32(0)) };
                    choose(condition, binary(op, a.clone(), b.clone()), zero())
                };
                assert_eq!(errors(guarded, &[7, -1, 8, 9], &[1, 0, 2, 3]), [None, None], "{op:?}");
            }
        }
    }
}

#[test]
fn unsigned_constants_keep_their_value() {
    let f = elementwise(1, DType::INT64, |x| {
        let constant = |v: i64, dtype: DType| PrimExpr::int(v, dtype);
        let wrapped = constant(-1, DType::INT64).cast(DType::UINT8).eq(constant(255, DType::UINT8));
        let signed = constant(65535, DType::UINT16).cast(DType::INT16).cast(DType::INT64);
        let unsigned = constant(65535, DType::UINT16).cast(DType::INT64);
        let quotient = constant(200, DType::UINT8).floordiv(constant(7, DType::UINT8)).cast(DType::INT64);
        [wrapped.cast(DType::INT64), signed, unsigned, quotient].map(|v| &x[0] + v).to_vec()
    });
    check(&f, &[tensor(&[0i64, 3]).into()]);
}

#[test]
fn long_steps_end_at_the_last_number() {
    let (out, i) = (Buffer::new("out", vec![PrimExpr::int64(1)], DType::INT64), Var::int64("i"));
    let count = PrimExpr::load(&out, vec![PrimExpr::int64(0)]) + 1i64;
    let body = Stmt::store(&out, vec![PrimExpr::int64(0)], count);
    let (min, extent) = (PrimExpr::int64(i64::MAX - 7), PrimExpr::int64(7));
    let (step, annotations) = (Some(PrimExpr::int64(5)), Attrs::new());
    let l = Loop { var: i, min, extent, step, kind: ForKind::Serial, annotations, body };
    let f = func(vec![Param::buffer(out)], Stmt::new(StmtKind::For(Box::new(l))));
    let result: Tensor = tensor(&[0i64]);
    Kernel::new(&f).call(&[result.clone().into()]).unwrap();
    assert_eq!(result.as_slice::<i64>().unwrap(), [2]);
}

#[test]
fn shifts_past_the_width_are_errors() {
    for name in ["shift_left", "shift_right"] {
        let shift = |a: &PrimExpr, b: &PrimExpr| PrimExpr::intrin(name, vec![a.clone(), b.clone()], DType::INT32);
        assert_eq!(errors(shift, &[1, -1, 5], &[0, 31, 4]), [None, None]);
        let expected =
            "ValueError: f: an integer of 32 bits is shifted by a negative count or by 32 or more".to_owned();
        for wrong in [-1, 32, i32::MIN] {
            assert_eq!(errors(shift, &[1, -1, 5], &[0, wrong, 4]), vec![Some(expected.clone()); 2], "{wrong}");
        }
        let constant = |a: &PrimExpr, b: &PrimExpr| {
            let wrong = PrimExpr::intrin(name, vec![a.clone(), PrimExpr::int32(-128)], DType::INT32);
            b.clone().gt(PrimExpr::int32(0)).select(wrong, b.clone())
        };
        assert_eq!(errors(constant, &[1, 2], &[0, -5]), [None, None], "a wrong count that is not reached");
    }
}

const DIVISIONS: [BinaryOp; 4] = [BinaryOp::Div, BinaryOp::Mod, BinaryOp::FloorDiv, BinaryOp::FloorMod];

#[test]
fn division_by_constants() {
    let f = elementwise(1, DType::INT32, |x| {
        let by = |divisor| DIVISIONS.map(|op| binary(op, x[0].clone(), PrimExpr::int32(divisor)));
        [1, 2, 3, 8, 10, -1, -3].into_iter().flat_map(by).collect()
    });
    check(&f, &[tensor(&ints()).into()]);
}

#[test]
fn bits_and_shifts() {
    let rolled: Vec<i32> = ints().iter().cycle().skip(7).take(ints().len()).copied().collect();
    for dtype in [DType::INT32, DType::UINT32, DType::INT8] {
        let f = elementwise(2, DType::INT32, |x| {
            let args: Vec<PrimExpr> = x.iter().map(|e| e.clone().cast(dtype)).collect();
            let names = ["bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"];
            let count = PrimExpr::intrin("bitwise_and", vec![args[1].clone(), PrimExpr::int(7, dtype)], dtype);
            let two = names.map(|name| PrimExpr::intrin(name, vec![args[0].clone(), count.clone()], dtype));
            let one = ["bitwise_not", "popcount", "clz", "abs"].map(|name| args[0].clone().unary(name));
            two.into_iter().chain(one).collect()
        });
        check(&f, &[tensor(&ints()).into(), tensor(&rolled).into()]);
    }
}

#[test]
fn direct_functions_of_floats() {
    for dtype in [DType::FLOAT16, DType::FLOAT32, DType::FLOAT64] {
        let f = elementwise(1, DType::FLOAT32, |x| {
            let x = x[0].clone().cast(dtype);
            let same = ["sqrt", "floor", "ceil", "trunc", "round", "nearbyint", "fabs"].map(|n| x.clone().unary(n));
            let tests = ["isnan", "isinf", "isfinite"];
            let tests = tests.map(|n| PrimExpr::intrin(n, vec![x.clone()], DType::BOOL));
            same.into_iter().chain(tests).collect()
        });
        check(&f, &[tensor(&floats()).into()]);
    }
}

#[test]
fn each_lane_is_computed_as_in_the_interpreter() {
    let (x, y) = (tensor(&[0.25f32; 37]), tensor(&[0.75f32; 37]));
    for intrinsic in intrinsics::all() {
        let Some(of) = intrinsic.lanes else { continue };
        let f = elementwise(2, DType::FLOAT32, |x| {
            let int = |e: &PrimExpr, scale: f32| (e * PrimExpr::float(scale.into(), DType::FLOAT32)).cast(DType::INT32);
            let (small, large) = (int(&x[0], 12.0), int(&x[1], 1e9));
            let floats = [&x[0], &x[1], &x[0]].map(PrimExpr::clone).to_vec();
            let (mut args, result) = match (intrinsic.name, of) {
                ("reinterpret", _) => (vec![x[1].clone()], DType::INT32),
                ("ldexp", _) => (vec![x[1].clone(), small], DType::FLOAT32),
                ("q_multiply_shift", _) => {
                    (vec![large, PrimExpr::int32(1 << 30), PrimExpr::int32(31), small], DType::INT32)
                }
                (_, Of::Integers) => (vec![large, small], DType::INT32),
                (_, Of::Any) => (floats, DType::BOOL),
                _ if intrinsic.name == "acosh" => (vec![x[1].clone() + x[1].clone()], DType::FLOAT32),
                _ => (floats, DType::FLOAT32),
            };
            args.truncate(intrinsic.arity.0);
            vec![PrimExpr::intrin(intrinsic.name, args, result).cast(DType::FLOAT64)]
        });
        let inputs: [Any; 2] = [x.clone().into(), y.clone().into()];
        for target in [llvm::host(), Target::baseline()] {
            let kernel = Kernel::for_target(&f, &target);
            let expected = kernel.interpreted(&inputs).remove(0).as_slice::<f64>().unwrap()[0];
            for found in kernel.run(&inputs).remove(0).as_slice::<f64>().unwrap() {
                assert!((found - expected).abs() <= expected.abs() * 1e-6, "{}: {found}, {expected}", intrinsic.name);
            }
        }
    }
}

#[test]
fn rare_functions_come_from_the_mathematics_library() {
    let f = elementwise(1, DType::FLOAT64, |x| vec![x[0].clone().unary("atan")]);
    let values = [0.0f64, 0.5, -3.0, 1e9];
    let out = Kernel::new(&f).run(&[tensor(&values).into()]).remove(0);
    for (found, x) in out.as_slice::<f64>().unwrap().iter().zip(values) {
        assert!((found - x.atan()).abs() < 1e-15);
    }
}

#[test]
fn choices_touch_only_the_memory_they_choose() {
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
fn parallel_loops_inside_each_other() {
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
fn functions_without_arguments_are_refused() {
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
    // 16 KiB each, more than this thread's stack together. Where they are read is known only at run time.
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

#[test]
fn a_divisor_of_many_elements_is_inverted_where_its_inverse_is_normal() {
    let divisors = [3.0, -7.5, 0.0, -0.0, f32::INFINITY, f32::NAN, 1e-40, -1e-45, 3e38, 1e-38, 1.2e-38, 8e37, 1e38];
    let width = floats().len() as i64;
    let numbers: Vec<f32> = divisors.iter().flat_map(|_| floats()).collect();
    let numbers = Tensor::from_slice(&[divisors.len() as i64, width], &numbers).unwrap();
    for size in ["m".to_owned(), width.to_string()] {
        let func = support::function(&format!(
            "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(x_: T.handle, d_: T.handle, y_: T.handle):
    n = T.int64()
    m = T.int64()
    x = T.match_buffer(x_, (n, {size}), \"float32\")
    d = T.match_buffer(d_, (n,), \"float32\")
    y = T.match_buffer(y_, (n, {size}), \"float32\")
    for i, j in T.grid(n, {size}):
        with T.sblock(\"quotient\"):
            v, w = T.axis.remap(\"SS\", [i, j])
            y[v, w] = x[v, w] / d[v]
"
        ));
        let target = Target::host();
        let inputs = [numbers.clone().into(), tensor(&divisors).into()];
        let exact = Kernel::planned(&func, Options { strict_order: true, ..Options::new(&target) });
        check_kernel(&exact, &inputs);
        let fast = Kernel::planned(&func, Options::new(&target)).run(&inputs).remove(0);
        let exact = exact.run(&inputs).remove(0);
        let mut differ = 0;
        let (fast, exact) = (fast.as_slice::<f32>().unwrap(), exact.as_slice::<f32>().unwrap());
        for (at, (a, b)) in fast.iter().zip(exact).enumerate() {
            let same = a == b || a.is_nan() && b.is_nan();
            differ += i32::from(!same);
            let near = (a - b).abs() <= b.abs() * 2.0 * f32::EPSILON + f32::from_bits(1);
            assert!(same || near, "element {at}: {a:e} instead of {b:e}");
        }
        assert!(differ > 0, "nothing was inverted");
        let none = [Tensor::empty(DType::FLOAT32, &[2, 0], Device::CPU).unwrap().into(), tensor(&[1f32, 2.0]).into()];
        if size == "m" {
            assert!(Kernel::new(&func).run(&none)[0].as_bytes().unwrap().is_empty());
        }
    }
}

/// Checks that move out of loops stay where all that they need is known: here how often a loop runs depends on the block's
/// axis, and the index does not.
#[test]
fn checks_are_made_where_how_often_loops_run_is_known() {
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
