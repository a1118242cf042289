//! Arithmetic: casts, divisions, shifts and math functions.

use super::{
    build::{elementwise, func},
    support::{Kernel, check, check_kernel, function},
    tensor,
};
use hammock_codegen::llvm;
use hammock_ir::{
    Attrs, DType, PrimExpr,
    prim::{
        BinaryOp, Var, binary,
        intrinsics::{self, LaneKind},
    },
    tir::{Buffer, ForKind, Loop, Param, Stmt, StmtKind},
};
use hammock_kernels::Options;
use hammock_runtime::{Any, Device, Tensor};
use hammock_target::Target;

/// Edge cases of conversions and divisions.
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
            // Narrow floats are rounded when stored, which matters here.
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

/// Returns the errors of `out[i] = f(in0[i], in1[i])`, in a serial loop and vectorized.
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
        // Guarded by a condition on the divisor itself, which is a proof, and by others.
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
                (_, LaneKind::Integers) => (vec![large, small], DType::INT32),
                (_, LaneKind::Any) => (floats, DType::BOOL),
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
fn exponentials_of_all_magnitudes() {
    let ends = [87.0f32, 88.7, 88.8, 90.0, 103.9, 104.1, 110.0, 1e3, 1e6, 1e18, 1e30, f32::MAX, f32::INFINITY];
    let small = [0.0f32, 1e-45, 1e-30, 1e-3, 0.5, 1.0, 20.0];
    let x: Vec<f32> = ends.iter().chain(&small).flat_map(|v| [*v, -v]).chain([f32::NAN]).collect();
    let functions: [(&str, fn(f64) -> f64); 5] = [
        ("exp", f64::exp),
        ("exp2", f64::exp2),
        ("tanh", f64::tanh),
        ("sigmoid", |x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }),
        ("log1p", f64::ln_1p),
    ];
    for (name, exact) in functions {
        let f = elementwise(1, DType::FLOAT32, |x| vec![x[0].clone().unary(name)]);
        for target in [llvm::host(), Target::baseline()] {
            let out = Kernel::for_target(&f, &target).run(&[tensor(&x).into()]).remove(0);
            for (x, found) in x.iter().zip(out.as_slice::<f32>().unwrap()) {
                let exact = exact(f64::from(*x)) as f32;
                let near = (f64::from(*found) - f64::from(exact)).abs() <= f64::from(exact.abs()) * 4e-7 + 6e-45;
                assert!(
                    near || *found == exact || found.is_nan() && exact.is_nan(),
                    "{name}({x:e}): {found:e}, {exact:e}"
                );
            }
        }
    }
}

#[test]
fn rare_functions_use_libm() {
    let f = elementwise(1, DType::FLOAT64, |x| vec![x[0].clone().unary("atan")]);
    let values = [0.0f64, 0.5, -3.0, 1e9];
    let out = Kernel::new(&f).run(&[tensor(&values).into()]).remove(0);
    for (found, x) in out.as_slice::<f64>().unwrap().iter().zip(values) {
        assert!((found - x.atan()).abs() < 1e-15);
    }
}

#[test]
fn reciprocals_are_hoisted_if_they_are_normal() {
    let divisors = [3.0, -7.5, 0.0, -0.0, f32::INFINITY, f32::NAN, 1e-40, -1e-45, 3e38, 1e-38, 1.2e-38, 8e37, 1e38];
    let width = floats().len() as i64;
    let numbers: Vec<f32> = divisors.iter().flat_map(|_| floats()).collect();
    let numbers = Tensor::from_slice(&[divisors.len() as i64, width], &numbers).unwrap();
    for size in ["m".to_owned(), width.to_string()] {
        let func = function(&format!(
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

/// Returns the first result of a matmul whose reduction sums a large value and ones.
fn large_and_ones(terms: usize, shape: &str, indices: &str, attrs: &str, options: Options) -> f32 {
    let (rows, results) = (8, 64);
    let func = function(&format!(
        "# from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def f(x: T.Buffer(({rows}, {terms}), \"float32\"), w: T.Buffer(({shape}), \"float32\"), y: T.Buffer(({rows}, {results}), \"float32\")):
    for i, j, k in T.grid({rows}, {results}, {terms}):
        with T.sblock(\"matmul\"):
            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])
            T.sblock_attr({{{attrs}}})
            with T.init():
                y[vi, vj] = T.float32(0)
            y[vi, vj] = y[vi, vj] + x[vi, vk] * w[{indices}]
"
    ));
    let mut numbers = vec![1f32; rows * terms];
    numbers[0] = LARGE;
    let x = Tensor::from_slice(&[rows as i64, terms as i64], &numbers).unwrap();
    let sizes: Vec<i64> = shape.split(", ").map(|size| size.parse().unwrap()).collect();
    let w = Tensor::from_slice(&sizes, &vec![1f32; terms * results]).unwrap();
    Kernel::planned(&func, options).run(&[x.into(), w.into()]).remove(0).as_slice::<f32>().unwrap()[0]
}

/// Adding one to it is lost in rounding.
const LARGE: f32 = 16_777_216.0;

#[test]
fn long_sums_are_split_unless_the_order_is_strict() {
    let target = Target::host();
    // Vectorized results, with one or several outer reduction parts, and a vectorized reduction.
    for terms in [512, 1000, 4097] {
        for (shape, indices) in [(format!("{terms}, 64"), "vk, vj"), (format!("64, {terms}"), "vj, vk")] {
            let sum = |strict_order| {
                large_and_ones(terms, &shape, indices, "", Options { strict_order, ..Options::new(&target) })
            };
            assert_eq!(sum(true), LARGE, "{indices}: {terms}");
            // Only ones of the first part are lost.
            let left = sum(false) - LARGE;
            assert!(left >= terms as f32 - 256.0, "{indices}: {left} of {terms}");
        }
    }
}

#[test]
fn blocks_may_set_the_split_size() {
    let target = Target::host();
    let sum = |attrs: &str| large_and_ones(64, "64, 64", "vk, vj", attrs, Options::new(&target)) - LARGE;
    assert_eq!([sum(""), sum("\"sum_parts\": 16"), sum("\"sum_parts\": 0")], [0.0, 48.0, 0.0]);
}
