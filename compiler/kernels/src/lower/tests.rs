use super::*;
use crate::RawParam;
use hammock_interp::{
    self as interp, Arg,
    samples::{buffer, function, matmul, sblock},
};
use hammock_ir::{
    DType, PrimExpr, Tensor,
    prim::{IterKind, PrimKind, Var},
    tir::{Block, BlockAxis, Buffer, ForKind, Loop, MatchBuffer, Param, Region, StmtKind},
};
use hammock_runtime::Device;

/// Converts packed arguments to those of the raw entry.
pub fn raw_args(kernel: &FlatKernel, args: &[Arg]) -> Vec<Arg> {
    let tensor = |i: usize| args[i].tensor().unwrap();
    let value = |raw: &RawParam| match *raw {
        RawParam::Data(i) | RawParam::Scalar(i) => args[i].clone(),
        RawParam::Size(i, axis) => Arg::Int(tensor(i).shape()[axis]),
        RawParam::Stride(i, axis) => {
            let compact = || tensor(i).shape()[axis + 1..].iter().product();
            Arg::Int(tensor(i).strides().get(axis).copied().unwrap_or_else(compact))
        }
        RawParam::Result => Tensor::empty(DType::INT64, &[1], Device::CPU).unwrap().into(),
    };
    kernel.signature.raw.iter().map(value).collect()
}

/// Small integers as elements, so that sums are exact in any order.
pub fn sample(dtype: DType, shape: &[i64], seed: i64) -> Tensor {
    let n = shape.iter().product::<i64>();
    let value = |i: i64| (i * 7 + seed * 3) % 11 - 5;
    match dtype {
        DType::FLOAT32 => Tensor::from_slice(shape, &(0..n).map(|i| value(i) as f32).collect::<Vec<_>>()).unwrap(),
        DType::INT32 => Tensor::from_slice(shape, &(0..n).map(|i| value(i) as i32).collect::<Vec<_>>()).unwrap(),
        DType::INT64 => Tensor::from_slice(shape, &(0..n).map(value).collect::<Vec<_>>()).unwrap(),
        DType::INT8 => Tensor::from_slice(shape, &(0..n).map(|i| value(i) as i8).collect::<Vec<_>>()).unwrap(),
        DType::UINT8 => Tensor::from_slice(shape, &(0..n).map(|i| value(i) as u8).collect::<Vec<_>>()).unwrap(),
        DType::FLOAT16 => {
            Tensor::from_slice(shape, &(0..n).map(|i| half::f16::from_f32(value(i) as f32)).collect::<Vec<_>>())
                .unwrap()
        }
        DType::BFLOAT16 => {
            let values = (0..n).map(|i| half::bf16::from_f32(value(i) as f32));
            Tensor::from_slice(shape, &values.collect::<Vec<_>>()).unwrap()
        }
        other => panic!("no samples of {other}"),
    }
}

/// Runs a function on tensors of these shapes before and after lowering, and compares all tensors bitwise.
fn check(func: &PrimFunc, shapes: &[&[i64]]) {
    for target in [Target::avx512(), Target::avx2()] {
        let kernel = lower(func, &target).unwrap();
        let tensor = |(i, (b, shape)): (usize, (&Buffer, &&[i64]))| Arg::from(sample(b.dtype, shape, i as i64));
        let args: Vec<Arg> = func.buffers().zip(shapes).enumerate().map(tensor).collect();
        let (mut expected, mut actual) = (args.clone(), raw_args(&kernel, &args));
        interp::run(func, &mut expected).unwrap();
        interp::run(&kernel.func, &mut actual).unwrap_or_else(|e| panic!("{e}\n{:#?}", kernel.func.body));
        for (expected, actual) in expected.iter().zip(&actual) {
            let (expected, actual) = (expected.tensor().unwrap(), actual.tensor().unwrap());
            assert_eq!(expected.as_bytes(), actual.as_bytes(), "shapes {shapes:?}: {:#?}", kernel.func.body);
        }
    }
}

fn int(v: i64) -> PrimExpr {
    PrimExpr::int64(v)
}

#[test]
fn matmul_of_symbolic_sizes() {
    let (n, m, k) = (Var::int64("n"), Var::int64("m"), Var::int64("k"));
    let func = matmul(n.expr(), m.expr(), k.expr(), DType::FLOAT32);
    for (n, m, k) in [(1, 1, 1), (3, 5, 7), (8, 16, 4), (17, 33, 2), (0, 4, 4), (4, 0, 4), (13, 70, 9)] {
        check(&func, &[&[n, k], &[k, m], &[n, m]]);
    }
    let kernel = lower(&func, &Target::avx512()).unwrap();
    // An empty sum is its initial value.
    let empty = |shape| Arg::from(sample(DType::FLOAT32, shape, 1));
    let args = [empty(&[4, 0]), empty(&[0, 4]), empty(&[4, 4])];
    let mut raw = raw_args(&kernel, &args);
    interp::run(&kernel.func, &mut raw).unwrap();
    assert_eq!(raw[2].tensor().unwrap().as_slice::<f32>().unwrap(), [0.0; 16]);
    use RawParam::{Data, Size};
    assert_eq!(kernel.signature.raw, [Data(0), Data(1), Data(2), Size(0, 0), Size(0, 1), Size(1, 1)]);
}

/// `B` is `A` with a border of zeros: a condition that guards an access.
fn padded(n: i64, guard: impl Fn(PrimExpr, PrimExpr, PrimExpr) -> PrimExpr) -> PrimFunc {
    let (a, b) =
        (buffer("A", &[int(n), int(n)], DType::FLOAT32), buffer("B", &[int(n + 2), int(n + 3)], DType::FLOAT32));
    let stage = sblock("pad", &[('S', int(n + 2)), ('S', int(n + 3))], |v| {
        let inside = |e: &PrimExpr| int(1).le(e).and(e.clone().lt(int(n + 1)));
        let load = PrimExpr::load(&a, vec![&v[0] - int(1), &v[1] - int(1)]);
        let zero = PrimExpr::float(0.0, DType::FLOAT32);
        (None, Stmt::store(&b, v.to_vec(), guard(inside(&v[0]).and(inside(&v[1])), load, zero)))
    });
    function(&[&a, &b], &[], vec![stage])
}

#[test]
fn guarded_accesses_stay_guarded() {
    for n in [1, 3, 5, 16, 40] {
        check(&padded(n, |c, a, b| c.if_then_else(a, b)), &[&[n, n], &[n + 2, n + 3]]);
        check(&padded(n, |c, a, b| c.select(a, b)), &[&[n, n], &[n + 2, n + 3]]);
    }
}

#[test]
fn scheduled_loops_become_vectors() {
    for kind in
        [ForKind::Vectorized, ForKind::Unrolled, ForKind::Parallel, ForKind::ThreadBinding("threadIdx.x".into())]
    {
        for guarded in [false, true] {
            let (a, b) = (buffer("A", &[int(100)], DType::INT32), buffer("B", &[int(100)], DType::INT32));
            let (i, j) = (Var::new("i", DType::INT32), Var::new("j", DType::INT32));
            let at = i.expr() * PrimExpr::int32(16) + j.expr();
            let value = PrimExpr::load(&a, vec![at.clone()]) * PrimExpr::int32(3) + j.expr();
            let store = Stmt::store(&b, vec![at.clone()], value);
            let body = if guarded {
                Stmt::new(StmtKind::If(at.lt(PrimExpr::int32(100)), Box::new(store), None))
            } else {
                store
            };
            let rows = PrimExpr::int32(if guarded { 7 } else { 6 });
            let nest = Stmt::serial(i, rows, Stmt::for_kind(j, PrimExpr::int32(16), kind.clone(), body));
            let func = function(&[&a, &b], &[], vec![nest]);
            check(&func, &[&[100], &[100]]);
            let vectors = lower(&func, &Target::avx512()).unwrap();
            let mut lanes = 1;
            vectors.func.body.walk(&mut |s| s.each_expr(&mut |e| e.walk(&mut |e| lanes = lanes.max(e.dtype().lanes))));
            assert_eq!(lanes, if kind == ForKind::Vectorized { 16 } else { 1 });
        }
    }
}

#[test]
fn statements_without_vector_form_are_scalarized() {
    let (a, b) = (buffer("A", &[int(8)], DType::INT32), buffer("B", &[int(8)], DType::INT32));
    let v = Var::int64("v");
    let bound = Var::new("x", DType::INT32);
    let value = PrimExpr::load(&a, vec![v.expr()]);
    let last = Stmt::store(&b, vec![int(0)], value.clone());
    let sum = Stmt::store(&b, vec![int(1)], PrimExpr::load(&b, vec![int(1)]) + &value);
    let reversed = Stmt::store(&b, vec![int(7) - v.expr().floordiv(int(2))], bound.expr());
    let body = Stmt::seq([Stmt::new(StmtKind::Bind(bound, value)), reversed, last, sum]);
    let l = Stmt::for_kind(v, int(8), ForKind::Vectorized, body);
    check(&function(&[&a, &b], &[], vec![l]), &[&[8], &[8]]);
}

#[test]
fn matched_regions_and_strided_buffers_share_memory() {
    let (n, s) = (Var::int64("n"), Var::int64("s"));
    let a = buffer("A", &[n.expr(), int(6)], DType::INT64).change(|b| b.strides = vec![s.expr(), int(1)]);
    let (off, step) = (Var::int64("off"), Var::int64("step"));
    let tile = buffer("T", &[int(3)], DType::INT64).change(|b| {
        b.strides = vec![step.expr()];
        b.elem_offset = Some(off.expr());
    });
    let (i, j) = (Var::int64("i"), Var::int64("j"));
    let store = Stmt::store(&tile, vec![j.expr()], PrimExpr::load(&tile, vec![j.expr()]) * int(10) + i.expr());
    let region = Region { buffer: a.clone(), ranges: vec![(i.expr(), int(1)), (int(2), int(3))] };
    let block = Block {
        match_buffers: vec![MatchBuffer { buffer: tile, source: region }],
        ..Block::root(vec![], Stmt::serial(j, int(3), store))
    };
    let func = function(&[&a], &[], vec![Stmt::serial(i, n.expr(), block.into())]);
    check(&func, &[&[4, 6]]);
    assert_eq!(lower(&func, &Target::avx2()).unwrap().signature.raw.len(), 3);
}

#[test]
fn functions_return_values_and_take_scalars() {
    let (n, x) = (Var::new("n", DType::INT32), Var::new("x", DType::FLOAT32));
    let body = Stmt::new(StmtKind::Return(n.expr().cast(DType::INT64) * int(3)));
    let func = PrimFunc {
        params: vec![Param::scalar(n), Param::scalar(x)],
        ret_ty: Some(DType::INT64.into()),
        body,
        ..function(&[], &[], vec![])
    };
    let kernel = lower(&func, &Target::avx2()).unwrap();
    assert_eq!(kernel.signature.raw, [RawParam::Scalar(0), RawParam::Scalar(1), RawParam::Result]);
    let mut args = raw_args(&kernel, &[Arg::Int(5), Arg::Float(0.5)]);
    assert_eq!(interp::run(&kernel.func, &mut args), Ok(Some(interp::Value::Int(0))));
    assert_eq!(args[2].tensor().unwrap().as_slice::<i64>().unwrap(), [15]);
}

#[test]
fn flat_code_has_no_blocks_and_one_dimensional_buffers() {
    let (n, m) = (Var::int64("n"), Var::int64("m"));
    let kernel = lower(&matmul(n.expr(), m.expr(), int(4), DType::FLOAT32), &Target::avx512()).unwrap();
    kernel.func.body.walk(&mut |s| {
        assert!(!matches!(s.kind, StmtKind::Block(_)));
        s.each_expr(&mut |e| {
            e.walk(&mut |e| assert!(!matches!(e.kind(), PrimKind::Load(b, i, _) if b.ndim() != 1 || i.len() != 1)));
        });
    });
}

#[test]
fn gpu_cooperation_and_free_variables_are_errors() {
    let a = buffer("A", &[int(4)], DType::INT32);
    let sync = PrimExpr::intrin("tvm_storage_sync", vec![PrimExpr::str("shared")], DType::INT32);
    let func = function(&[&a], &[], vec![Stmt::new(StmtKind::Evaluate(sync))]);
    let error = lower(&func, &Target::avx2()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "TIR function `main` cannot be compiled: `tvm_storage_sync` works on threads of a GPU only"
    );
    let free = Stmt::store(&a, vec![Var::int64("k").expr()], PrimExpr::int32(0));
    assert_eq!(lower(&function(&[&a], &[], vec![free]), &Target::avx2()).unwrap_err().reason, Reason::Free("k".into()));
}

#[test]
fn blocks_with_predicates_and_split_axes() {
    let (a, b) = (buffer("A", &[int(10)], DType::INT32), buffer("B", &[int(10)], DType::INT32));
    let (i, j, v) = (Var::new("i", DType::INT32), Var::new("j", DType::INT32), Var::new("v", DType::INT32));
    let at = i.expr() * PrimExpr::int32(4) + j.expr();
    let axis = BlockAxis {
        var: v.clone(),
        dom: (PrimExpr::int32(0), PrimExpr::int32(10)),
        kind: IterKind::Spatial,
        binding: at.clone(),
    };
    let store = Stmt::store(&b, vec![v.expr()], PrimExpr::load(&a, vec![v.expr()]) + PrimExpr::int32(1));
    let block = Block { axes: vec![axis], predicate: Some(at.lt(PrimExpr::int32(10))), ..Block::root(vec![], store) };
    let inner = |body| Loop {
        var: j,
        min: PrimExpr::int32(0),
        extent: PrimExpr::int32(4),
        step: None,
        kind: ForKind::Vectorized,
        annotations: Default::default(),
        body,
    };
    let nest = Stmt::serial(i, PrimExpr::int32(3), Stmt::new(StmtKind::For(Box::new(inner(block.into())))));
    check(&function(&[&a, &b], &[], vec![nest]), &[&[10], &[10]]);
}

/// Runs `B[i] = f(A[i])` before and after lowering, vectorized and scalar.
fn check_map(from: DType, to: DType, bytes: &[u8], f: impl Fn(PrimExpr) -> PrimExpr) {
    let n = (bytes.len() / from.bytes()) as i64;
    let x = Tensor::from_bytes(from, &[n], bytes).unwrap();
    for target in [Target::avx512(), Target::baseline()] {
        for kind in [ForKind::Serial, ForKind::Vectorized] {
            let (a, b) = (buffer("A", &[int(n)], from), buffer("B", &[int(n)], to));
            let (i, j) = (Var::int64("i"), Var::int64("j"));
            let at = || vec![i.expr() * int(4) + j.expr()];
            let store = Stmt::store(&b, at(), f(PrimExpr::load(&a, at())));
            let nest = Stmt::serial(i.clone(), int(n / 4), Stmt::for_kind(j.clone(), int(4), kind, store));
            let func = function(&[&a, &b], &[], vec![nest]);
            let expected = interp::call_tir(&func, &[x.clone().into()], &[(vec![n], to)]).unwrap();
            let kernel = lower(&func, &target).unwrap();
            let actual = interp::call_tir(&kernel.func, &[x.clone().into()], &[(vec![n], to)]).unwrap();
            let (expected, actual) = (expected[0].as_bytes().unwrap(), actual[0].as_bytes().unwrap());
            let elements = expected.chunks(to.bytes()).zip(actual.chunks(to.bytes()));
            for (i, (expected, actual)) in elements.enumerate() {
                assert_eq!(
                    expected,
                    actual,
                    "{from} to {to}: element {i} is {:?}",
                    &bytes[i * from.bytes()..][..from.bytes()]
                );
            }
        }
    }
}

#[test]
fn narrow_floats_load_compute_and_store() {
    let all16: Vec<u8> = (0..=u16::MAX).step_by(7).flat_map(u16::to_le_bytes).collect();
    let all16 = &all16[..all16.len() / 8 * 8];
    let is_number = |x: PrimExpr| x.clone().eq(x);
    for dtype in [DType::FLOAT16, DType::BFLOAT16] {
        check_map(dtype, DType::FLOAT32, all16, |x| {
            let zero = PrimExpr::float(0.0, DType::FLOAT32);
            is_number(x.clone()).select(x.cast(DType::FLOAT32), zero)
        });
        let one = PrimExpr::float(1.5, dtype);
        check_map(dtype, dtype, all16, |x| is_number(x.clone()).select(x.clone() + &one, one.clone()));
    }
    let singles: Vec<u8> = (0..1u64 << 32).step_by(1_234_567).flat_map(|v| (v as u32).to_le_bytes()).collect();
    let singles = &singles[..singles.len() / 16 * 16];
    for name in ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e3m4", "float8_e4m3fnuz", "float8_e4m3"]
    {
        let dtype: DType = name.parse().unwrap();
        check_map(DType::FLOAT32, dtype, singles, |x| {
            is_number(x.clone()).select(x, PrimExpr::float(0.0, DType::FLOAT32)).cast(dtype)
        });
    }
    let bytes: Vec<u8> = (0..=u8::MAX).collect();
    for name in ["float8_e4m3fn", "float8_e5m2", "float8_e3m4", "float8_e4m3fnuz", "float8_e5m2fnuz"] {
        let dtype: DType = name.parse().unwrap();
        check_map(dtype, DType::FLOAT32, &bytes, |x| {
            let single = x.cast(DType::FLOAT32);
            is_number(single.clone()).select(single, PrimExpr::float(0.0, DType::FLOAT32))
        });
    }
}

#[test]
fn integer_functions_are_exact() {
    let bytes: Vec<u8> = (0..=u8::MAX).collect();
    use hammock_ir::prim::{BinaryOp, binary};
    for dtype in [DType::INT8, DType::UINT8] {
        let c = |v: i64| PrimExpr::int(v, dtype);
        for d in [1, 2, 3, 7, 16, 100] {
            for op in [BinaryOp::FloorDiv, BinaryOp::FloorMod, BinaryOp::Div, BinaryOp::Mod] {
                check_map(dtype, dtype, &bytes, |x| binary(op, x, c(d)));
            }
        }
        check_map(dtype, dtype, &bytes, |x| PrimExpr::intrin("pow", vec![x, c(5)], dtype));
        check_map(dtype, dtype, &bytes, |x| PrimExpr::intrin("pow", vec![c(-1), x], dtype));
        check_map(dtype, dtype, &bytes, |x| x.unary("abs"));
    }
    let minus = PrimExpr::int(-3, DType::INT8);
    check_map(DType::INT8, DType::INT8, &bytes, |x| x.clone().floordiv(&minus) + x.floormod(&minus));
    let data = |x: PrimExpr| {
        let divisor = x.clone().ne(PrimExpr::int(0, DType::INT8)).select(x.clone(), PrimExpr::int(5, DType::INT8));
        PrimExpr::int(-128, DType::INT8).floordiv(divisor)
    };
    check_map(DType::INT8, DType::INT8, &bytes, data);
    let fixed = [PrimExpr::int32(1 << 30), PrimExpr::int32(31), PrimExpr::int32(-2)];
    check_map(DType::INT32, DType::INT32, &bytes, |x| {
        PrimExpr::intrin("q_multiply_shift", [vec![x], fixed.to_vec()].concat(), DType::INT32)
    });
}

#[test]
fn tanh_of_softplus_has_one_exponential() {
    let float = |v: f64| PrimExpr::float(v, DType::FLOAT32);
    let size = |x: &PrimExpr| x.clone().unary("fabs");
    let stable = |x: &PrimExpr| x.clone().max(float(0.0)) + (float(0.0) - size(x)).unary("exp").unary("log1p");
    let with_large = |x: &PrimExpr| x.clone().gt(float(20.0)).select(x.clone(), x.clone().unary("exp").unary("log1p"));
    let plain = |x: &PrimExpr| (float(1.0) + x.clone().unary("exp")).unary("log");
    // No match: another value is selected, or the bound is too small.
    let other = |x: &PrimExpr| x.clone().gt(float(20.0)).select(float(1.0), x.clone().unary("exp").unary("log1p"));
    let near = |x: &PrimExpr| x.clone().gt(float(2.0)).select(x.clone(), x.clone().unary("exp").unary("log1p"));
    let forms: [(&dyn Fn(&PrimExpr) -> PrimExpr, usize); 5] =
        [(&stable, 1), (&with_large, 1), (&plain, 1), (&other, 2), (&near, 2)];
    let numbers = [0.3f32, -1.5, 2.0, 4.0, -30.0, 19.0, 21.0, 0.0];
    let x = Tensor::from_slice(&[8], &numbers).unwrap();
    for (soft, exponentials) in forms {
        let map = |x: PrimExpr| &x * soft(&x).unary("tanh");
        let func = hammock_interp::samples::map(int(8), DType::FLOAT32, DType::FLOAT32, map);
        let lowered = lower(&func, &Target::avx512()).unwrap().func;
        let text = format!("{:?}", lowered.body);
        assert_eq!(text.matches("\"ldexp\"").count(), exponentials, "{text}");
        let [expected, actual] = [&func, &lowered]
            .map(|func| interp::call_tir(func, &[x.clone().into()], &[(vec![8], DType::FLOAT32)]).unwrap().remove(0));
        for (expected, actual) in expected.as_slice::<f32>().unwrap().iter().zip(actual.as_slice::<f32>().unwrap()) {
            // The plain form loses values that are small compared to one.
            assert!((expected - actual).abs() <= expected.abs() * 1e-6 + 1e-11, "{actual}, {expected}");
        }
    }
}

#[test]
fn one_plus_tanh_does_not_cancel() {
    let one = PrimExpr::float(1.0, DType::FLOAT32);
    let numbers = [0.3f32, -1.5, 2.0, -8.0, -30.0, 19.0, 0.0, -0.5];
    let x = Tensor::from_slice(&[8], &numbers).unwrap();
    for swapped in [false, true] {
        let sum = |x: PrimExpr| if swapped { x.unary("tanh") + &one } else { &one + x.unary("tanh") };
        let func = hammock_interp::samples::map(int(8), DType::FLOAT32, DType::FLOAT32, sum);
        let lowered = lower(&func, &Target::avx2()).unwrap().func;
        let out = interp::call_tir(&lowered, &[x.clone().into()], &[(vec![8], DType::FLOAT32)]).unwrap().remove(0);
        for (x, found) in numbers.iter().zip(out.as_slice::<f32>().unwrap()) {
            let exact = 2.0 / (1.0 + (-2.0 * f64::from(*x)).exp());
            assert!((f64::from(*found) - exact).abs() <= exact * 1e-6, "{x}: {found:e}, {exact:e}");
        }
    }
}

#[test]
fn unsupported_intrinsics_are_legalized() {
    let x = [0.3f32, -1.5, 2.0, 4.0].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let two = PrimExpr::float(2.0, DType::FLOAT32);
    check_map(DType::FLOAT32, DType::FLOAT32, &x, |x| {
        PrimExpr::intrin("pow", vec![x.clone(), two.clone()], DType::FLOAT32) + x.floormod(&two)
    });
    let func = hammock_interp::samples::map(int(8), DType::FLOAT32, DType::FLOAT32, |x| {
        ["exp", "tanh", "erf", "sin", "log1p", "sigmoid", "round", "rsqrt"].into_iter().fold(x, |x, f| x.unary(f))
    });
    let kernel = lower(&func, &Target::avx512()).unwrap();
    let known = [
        "fma",
        "sqrt",
        "fabs",
        "nearbyint",
        "trunc",
        "ldexp",
        "reinterpret",
        "if_then_else",
        "vector_any",
        "exp2_step",
        "within",
    ];
    kernel.func.body.walk(&mut |s| {
        s.each_expr(&mut |e| {
            e.walk(&mut |e| {
                if let PrimKind::Call(call) = e.kind() {
                    let hammock_ir::prim::PrimCallee::Intrin(name) = &call.callee else { panic!() };
                    assert!(
                        known.contains(&name.as_str()) || name.starts_with("bitwise_") || name.starts_with("shift_"),
                        "{name}"
                    );
                }
            })
        })
    });
}

/// `B` of shape (b, s, 4, 6) is `A` of shape (b, s, 24), by the index among all elements.
fn reshape(index: impl Fn(&[PrimExpr], &PrimExpr) -> PrimExpr) -> PrimFunc {
    let [b, s] = ["b", "s"].map(|name| Var::int64(name).expr());
    let from = buffer("A", &[b.clone(), s.clone(), int(24)], DType::FLOAT32);
    let to = buffer("B", &[b.clone(), s.clone(), int(4), int(6)], DType::FLOAT32);
    let stage = sblock("reshape", &[('S', b.clone()), ('S', s.clone()), ('S', int(4)), ('S', int(6))], |v| {
        let flat = index(v, &s);
        let row = flat.clone().floordiv(int(24)).floormod(&s);
        let load =
            PrimExpr::load(&from, vec![flat.clone().floordiv(&s * 24i64).floormod(&b), row, flat.floormod(int(24))]);
        (None, Stmt::store(&to, v.to_vec(), load))
    });
    function(&[&from, &to], &[], vec![stage])
}

/// Counts the divisions and remainders by a divisor in the code.
fn divisions(func: &PrimFunc, by: impl Fn(&PrimExpr) -> bool) -> usize {
    let mut count = 0;
    func.body.walk(&mut |s| {
        s.each_expr(&mut |e| {
            e.walk(&mut |x| match x.kind() {
                PrimKind::Binary(op, _, d) if hammock_ir::prim::check::divides(*op) => count += usize::from(by(d)),
                _ => {}
            })
        })
    });
    count
}

#[test]
fn reshapes_of_symbolic_sizes_do_not_divide_by_them() {
    let plain = reshape(|v, s| ((&v[0] * s + &v[1]) * int(4) + &v[2]) * int(6) + &v[3]);
    for shape in [[2, 3], [1, 7], [5, 1], [0, 3], [3, 0]] {
        check(&plain, &[&[shape[0], shape[1], 24], &[shape[0], shape[1], 4, 6]]);
    }
    let lowered = lower(&plain, &Target::avx512()).unwrap().func;
    assert_eq!(divisions(&lowered, |d| d.as_int().is_none()), 0, "{:#?}", lowered.body);
    // An index that may be in another row is unchanged.
    let other = reshape(|v, s| ((&v[0] * s + &v[1]) * int(4) + &v[2]) * int(6) + &v[3] * int(2));
    check(&other, &[&[2, 3, 24], &[2, 3, 4, 6]]);
    assert!(divisions(&lower(&other, &Target::avx512()).unwrap().func, |d| d.as_int().is_none()) > 0);
}

/// Division by `n = 0` must be an error, though `i * n // n` is `i` otherwise.
#[test]
fn divisors_that_may_be_zero_are_still_checked() {
    let n = Var::int64("n");
    let (a, b) = (buffer("A", &[int(8)], DType::FLOAT32), buffer("B", &[int(8)], DType::FLOAT32));
    let stage = sblock("quotient", &[('S', int(8))], |v| {
        let load = PrimExpr::load(&a, vec![(&v[0] * n.expr()).floordiv(n.expr())]);
        (None, Stmt::store(&b, v.to_vec(), load))
    });
    let mut func = function(&[&a, &b], &[], vec![stage]);
    func.params.push(Param::scalar(n));
    let kernel = lower(&func, &Target::avx512()).unwrap();
    let mut checks = 0;
    let is_check = |e: &PrimExpr| e.as_intrin(hammock_ir::prim::check::DIVISOR).is_some();
    kernel.func.body.walk(&mut |s| s.each_expr(&mut |e| e.walk(&mut |x| checks += usize::from(is_check(x)))));
    assert!(checks > 0, "{:#?}", kernel.func.body);
}
