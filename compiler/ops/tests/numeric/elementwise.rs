//! Unary, binary and ternary functions, creation.

use crate::{
    run::{Arg, error, run1, stops},
    values::*,
};
use hammock_ir::{DType, PrimExpr};

type Unary = fn(f64) -> f64;
type Binary = fn(f64, f64) -> f64;

/// Numbers that functions treat in special ways.
fn special() -> hammock_ir::Tensor {
    vector(&[0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 100.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN])
}

#[test]
fn float_functions() {
    let cases: &[(&str, Unary)] = &[
        ("acos", f64::acos),
        ("acosh", f64::acosh),
        ("asin", f64::asin),
        ("asinh", f64::asinh),
        ("atan", f64::atan),
        ("atanh", f64::atanh),
        ("cos", f64::cos),
        ("cosh", f64::cosh),
        ("erf", erf),
        ("exp", f64::exp),
        ("log", f64::ln),
        ("rsqrt", |x| 1.0 / x.sqrt()),
        ("sigmoid", |x| 1.0 / (1.0 + (-x).exp())),
        ("sin", f64::sin),
        ("sinh", f64::sinh),
        ("sqrt", f64::sqrt),
        ("tan", f64::tan),
        ("tanh", f64::tanh),
    ];
    for &(op, f) in cases {
        for x in [special(), noise(&[2, 3], 1)] {
            let clamp = |v: f64| if v.abs() > f64::from(f32::MAX) { v.signum() * f64::INFINITY } else { v };
            assert_close(&run1(op, &[(&x).into()], &[]), x.shape(), 1e-6, |i| clamp(f(view(&x).at(i))));
            let half = convert(&x, DType::FLOAT16);
            let result = run1(op, &[(&half).into()], &[]);
            assert_eq!(result.dtype(), DType::FLOAT16);
            let clamp = |v: f64| if v.abs() > 65519.0 { v.signum() * f64::INFINITY } else { v };
            assert_close(&result, x.shape(), 1e-3, |i| clamp(f(view(&half).at(i))));
        }
    }
}

/// By its series and continued fraction; exact enough to compare with.
fn erf(x: f64) -> f64 {
    if x.is_nan() || x.abs() > 6.0 {
        return if x.is_nan() { x } else { x.signum() };
    }
    let mut term = x;
    let mut sum = x;
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

#[test]
fn number_functions() {
    let cases: &[(&str, Unary)] = &[
        ("nn.relu6", |x| if x.is_nan() { x } else { x.clamp(0.0, 6.0) }),
        ("abs", f64::abs),
        ("ceil", f64::ceil),
        ("floor", f64::floor),
        ("negative", |x| -x),
        ("round", f64::round_ties_even),
        ("sign", |x| if x == 0.0 || x.is_nan() { x } else { x.signum() }),
        ("square", |x| x * x),
        ("trunc", f64::trunc),
        ("nn.relu", |x| if x > 0.0 || x.is_nan() { x } else { 0.0 }),
    ];
    for &(op, f) in cases {
        let x = special();
        assert_close(&run1(op, &[(&x).into()], &[]), x.shape(), 1e-6, |i| f(view(&x).at(i)));
        let x = tensor(&[5], &[0i32, 7, -7, i32::MAX, -1]);
        let wrapped = |v: f64| f64::from(v as i64 as i32);
        if op != "square" {
            assert_exact(&run1(op, &[(&x).into()], &[]), &[5], |i| wrapped(f(view(&x).at(i))));
        }
    }
}

#[test]
fn bits_and_questions() {
    let x = special();
    let ask = |op| elements(&run1(op, &[(&x).into()], &[]));
    assert_eq!(ask("isnan"), [0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 1.]);
    assert_eq!(ask("isinf"), [0., 0., 0., 0., 0., 0., 0., 0., 1., 1., 0.]);
    assert_eq!(ask("isfinite"), [1., 1., 1., 1., 1., 1., 1., 1., 0., 0., 0.]);
    let n = tensor(&[3], &[0i32, -1, 5]);
    assert_eq!(elements(&run1("bitwise_not", &[(&n).into()], &[])), [-1., 0., -6.]);
    assert_eq!(elements(&run1("logical_not", &[(&n).into()], &[])), [1., 0., 0.]);
    assert_eq!(elements(&run1("isinf", &[(&n).into()], &[])), [0., 0., 0.]);
    let b = tensor(&[2], &[true, false]);
    assert_eq!(elements(&run1("logical_not", &[(&b).into()], &[])), [0., 1.]);
    assert_eq!(elements(&run1("bitwise_not", &[(&b).into()], &[])), [0., 1.]);
}

#[test]
fn binary_functions_broadcast() {
    let cases: &[(&str, Binary)] = &[
        ("add", |a, b| a + b),
        ("subtract", |a, b| a - b),
        ("multiply", |a, b| a * b),
        ("divide", |a, b| a / b),
        ("floor_divide", |a, b| (a / b).floor()),
        ("mod", |a, b| a % b),
        ("floor_mod", |a, b| a - (a / b).floor() * b),
        ("power", f64::powf),
        ("maximum", |a, b| if a.is_nan() || a > b { a } else { b }),
        ("minimum", |a, b| if a.is_nan() || a < b { a } else { b }),
        ("atan2", f64::atan2),
        ("log_add_exp", |a, b| (a.exp() + b.exp()).ln()),
    ];
    let shapes: [(&[i64], &[i64], &[i64]); 4] =
        [(&[2, 3], &[2, 3], &[2, 3]), (&[2, 1], &[3], &[2, 3]), (&[], &[4], &[4]), (&[5, 1, 2], &[3, 1], &[5, 3, 2])];
    for &(op, f) in cases {
        for (a, b, out) in shapes {
            let (x, y) = (noise(a, 2), noise(b, 3));
            let result = run1(op, &[(&x).into(), (&y).into()], &[]);
            assert_close(&result, out, 2e-6, |i| f(view(&x).at(i), view(&y).at(i)));
        }
        let x = noise(&[2, 3], 4);
        let result = run1(op, &[(&x).into(), Arg::Const(tensor(&[], &[1.5f32]))], &[]);
        assert_close(&result, &[2, 3], 2e-6, |i| f(view(&x).at(i), 1.5));
        let result = run1(op, &[2i64.into(), (&x).into()], &[]);
        assert_close(&result, &[2, 3], 2e-6, |i| f(2.0, view(&x).at(i)));
    }
}

#[test]
fn nan_and_infinity_go_through() {
    let (a, b) =
        (vector(&[f32::NAN, 1.0, f32::INFINITY, f32::NEG_INFINITY]), vector(&[1.0, f32::NAN, 1.0, f32::NEG_INFINITY]));
    let both = |op| elements(&run1(op, &[(&a).into(), (&b).into()], &[]));
    for op in ["maximum", "minimum", "add", "log_add_exp"] {
        assert!(both(op)[..2].iter().all(|v| v.is_nan()), "{op}");
    }
    assert_eq!(both("maximum")[2..], [f64::INFINITY, f64::NEG_INFINITY]);
    assert_eq!(both("log_add_exp")[2..], [f64::INFINITY, f64::NEG_INFINITY]);
    for op in ["maximum", "minimum"] {
        assert!(elements(&run1(op, &[(&a).into(), 0i64.into()], &[]))[0].is_nan());
        assert!(elements(&run1(op, &[0i64.into(), (&a).into()], &[]))[0].is_nan());
    }
    assert!(elements(&run1("clip", &[(&a).into(), 0i64.into(), 6i64.into()], &[]))[0].is_nan());
}

/// As numpy's `clip`: the upper bound wins.
#[test]
fn clip_between_crossed_bounds_is_the_upper_one() {
    let x = vector(&[-2.0, 1.5, 6.0, f32::INFINITY, f32::NEG_INFINITY]);
    let clip = |low: f64, high: f64| elements(&run1("clip", &[(&x).into(), low.into(), high.into()], &[]));
    assert_eq!(clip(2.0, 1.0), [1.0; 5]);
    assert_eq!(clip(f64::INFINITY, f64::NEG_INFINITY), [f64::NEG_INFINITY; 5]);
    assert!(clip(f64::NAN, 1.0).iter().chain(&clip(0.0, f64::NAN)).all(|v| v.is_nan()));
    let half = convert(&x, DType::FLOAT16);
    assert_eq!(elements(&run1("clip", &[(&half).into(), 2.0.into(), 1.0.into()], &[])), [1.0; 5]);
    let whole = tensor(&[3], &[-3i32, 2, 9]);
    assert_eq!(elements(&run1("clip", &[(&whole).into(), 5i64.into(), 4i64.into()], &[])), [4.0; 3]);
}

#[test]
fn slopes_are_of_what_is_below_zero() {
    let x = vector(&[0.0, -0.0, 2.0, -1.0, f32::NAN]);
    let slope = tensor(&[1], &[f32::INFINITY]);
    let leaky = elements(&run1("nn.leakyrelu", &[(&x).into()], &[("alpha", f64::INFINITY.into())]));
    let prelu = elements(&run1("nn.prelu", &[(&x).into(), slope.into()], &[("axis", 0i64.into())]));
    for y in [leaky, prelu] {
        assert_eq!(y[..4], [0.0, 0.0, 2.0, f64::NEG_INFINITY]);
        assert!(y[4].is_nan());
    }
}

#[test]
fn integer_division_rounds_and_wraps() {
    let a = tensor(&[4], &[7i32, -7, 7, i32::MIN]);
    let b = tensor(&[4], &[2i32, 2, -2, -1]);
    let run = |op| elements(&run1(op, &[(&a).into(), (&b).into()], &[]));
    let least = f64::from(i32::MIN);
    assert_eq!(run("divide"), [3., -3., -3., least]);
    assert_eq!(run("floor_divide"), [3., -4., -4., least]);
    assert_eq!(run("mod"), [1., -1., 1., 0.]);
    assert_eq!(run("floor_mod"), [1., 1., -1., 0.]);
    let (u, v) = (tensor(&[2], &[7u8, 255]), tensor(&[2], &[2u8, 255]));
    assert_eq!(elements(&run1("floor_divide", &[(&u).into(), (&v).into()], &[])), [3., 1.]);
    let (a, b) = (tensor(&[2, 0], &[0i32; 0]), tensor(&[2, 1], &[1i32, 2]));
    assert!(elements(&run1("divide", &[(&a).into(), (&b).into()], &[])).is_empty());
}

#[test]
fn integers_are_not_divided_by_zero() {
    let (a, b) = (tensor(&[2], &[7i64, 8]), tensor(&[2], &[3i64, 0]));
    for op in ["divide", "floor_divide", "mod", "floor_mod"] {
        assert!(stops(op, &[(&a).into(), (&b).into()], &[]).contains("divided by zero"));
        assert!(stops(op, &[(&a).into(), tensor(&[], &[0i64]).into()], &[]).contains("divided by zero"));
        assert!(error(op, &[(&a).into(), 0i64.into()], &[]).contains("divided by zero"));
    }
    let (a, b) = (tensor(&[1], &[1f32]), tensor(&[1], &[0f32]));
    assert_eq!(elements(&run1("divide", &[(&a).into(), (&b).into()], &[])), [f64::INFINITY]);
}

#[test]
fn integer_powers_and_shifts() {
    let (a, b) = (tensor(&[4], &[2i64, -3, 10, 7]), tensor(&[4], &[10i64, 3, 18, 0]));
    assert_eq!(elements(&run1("power", &[(&a).into(), (&b).into()], &[])), [1024., -27., 1e18, 1.]);
    let (a, b) = (tensor(&[5], &[1i32, -8, 3, -1, 1]), tensor(&[5], &[4i32, 1, 32, 40, -1]));
    let run = |op| elements(&run1(op, &[(&a).into(), (&b).into()], &[]));
    assert_eq!(run("left_shift"), [16., -16., 0., 0., 0.]);
    assert_eq!(run("right_shift"), [0., -4., 0., -1., 0.]);
    assert_eq!(elements(&run1("left_shift", &[(&a).into(), 33i64.into()], &[])), [0.; 5]);
    let run = |op| elements(&run1(op, &[(&a).into(), 3i64.into()], &[]));
    assert_eq!(run("bitwise_and"), [1., 0., 3., 3., 1.]);
    assert_eq!(run("bitwise_or"), [3., -5., 3., -1., 3.]);
    assert_eq!(run("bitwise_xor"), [2., -5., 0., -4., 2.]);
}

#[test]
fn logic() {
    let (a, b) = (tensor(&[4], &[true, true, false, false]), tensor(&[4], &[true, false, true, false]));
    let run = |op| elements(&run1(op, &[(&a).into(), (&b).into()], &[]));
    assert_eq!(run("logical_and"), [1., 0., 0., 0.]);
    assert_eq!(run("logical_or"), [1., 1., 1., 0.]);
    assert_eq!(run("logical_xor"), [0., 1., 1., 0.]);
    assert_eq!(run("bitwise_xor"), [0., 1., 1., 0.]);
    assert_eq!(run("add"), [1., 1., 1., 0.]);
    assert_eq!(run("multiply"), [1., 0., 0., 0.]);
    assert_eq!(run("equal"), [1., 0., 0., 1.]);
    let (a, b) = (tensor(&[3], &[0i32, 2, -3]), tensor(&[3], &[1i32, 4, 0]));
    let run = |op| elements(&run1(op, &[(&a).into(), (&b).into()], &[]));
    assert_eq!(run("logical_and"), [0., 1., 0.]);
    assert_eq!(run("logical_xor"), [1., 0., 1.]);
}

#[test]
fn comparisons() {
    type Question = fn(f64, f64) -> bool;
    let cases: &[(&str, Question)] = &[
        ("equal", |a, b| a == b),
        ("not_equal", |a, b| a != b),
        ("less", |a, b| a < b),
        ("less_equal", |a, b| a <= b),
        ("greater", |a, b| a > b),
        ("greater_equal", |a, b| a >= b),
    ];
    let (x, y) = (special(), vector(&[0.0]));
    for &(op, f) in cases {
        let result = run1(op, &[(&x).into(), (&y).into()], &[]);
        assert_eq!(result.dtype(), DType::BOOL);
        assert_exact(&result, x.shape(), |i| f64::from(u8::from(f(view(&x).at(i), 0.0))));
    }
}

#[test]
fn three_operands() {
    let c = tensor(&[2, 1], &[true, false]);
    let (x, y) = (noise(&[3], 5), noise(&[2, 3], 6));
    let result = run1("where", &[(&c).into(), (&x).into(), (&y).into()], &[]);
    assert_exact(&result, &[2, 3], |i| if i[0] == 0 { view(&x).at(i) } else { view(&y).at(i) });
    let result = run1("clip", &[(&y).into(), Arg::Prim(PrimExpr::float(-0.5, DType::FLOAT64)), 1i64.into()], &[]);
    assert_exact(&result, &[2, 3], |i| view(&y).at(i).clamp(-0.5, 1.0));
    let n = tensor(&[4], &[-5i8, 0, 3, 100]);
    let result = run1("clip", &[(&n).into(), (-0.5).into(), 1000i64.into()], &[]);
    assert_eq!(elements(&result), [0., 0., 3., 100.]);
    let result = run1("ewise_fma", &[(&y).into(), (&y).into(), (&y).into()], &[]);
    assert_close(&result, &[2, 3], 1e-6, |i| view(&y).at(i) * view(&y).at(i) + view(&y).at(i));
}

#[test]
fn conversions() {
    let x = vector(&[1.9, -1.9, 0.0, 300.0]);
    let to = |dtype| elements(&run1("astype", &[(&x).into()], &[("dtype", DType::into(dtype))]));
    assert_eq!(to(DType::INT32), [1., -1., 0., 300.]);
    assert_eq!(to(DType::BOOL), [1., 1., 0., 1.]);
    assert_eq!(to(DType::FLOAT16)[3], 300.0);
}

#[test]
fn constants_of_a_shape() {
    let value = || Arg::Const(tensor(&[], &[2.5f32]));
    assert_exact(&run1("full", &[Arg::Shape(vec![2, 3]), value()], &[]), &[2, 3], |_| 2.5);
    let as_int = [("dtype", DType::INT32.into())];
    assert_exact(&run1("full", &[Arg::Shape(vec![2]), value()], &as_int), &[2], |_| 2.0);
    let x = noise(&[2, 2], 7);
    assert_exact(&run1("full_like", &[(&x).into(), value()], &[]), &[2, 2], |_| 2.5);
    assert_exact(&run1("zeros_like", &[(&x).into()], &[]), &[2, 2], |_| 0.0);
    assert_exact(&run1("ones_like", &[(&x).into()], &as_int), &[2, 2], |_| 1.0);
    assert_exact(&run1("ones", &[Arg::Shape(vec![])], &as_int), &[], |_| 1.0);
    assert_exact(&run1("zeros", &[Arg::Shape(vec![3, 0])], &as_int), &[3, 0], |_| 0.0);
}

#[test]
fn matrices_of_zeros_and_ones() {
    let eye = run1("eye", &[3i64.into(), 4i64.into(), 1i64.into()], &[]);
    assert_exact(&eye, &[3, 4], |i| f64::from(u8::from(i[1] == i[0] + 1)));
    let square = run1("eye", &[3i64.into()], &[]);
    assert_exact(&square, &[3, 3], |i| f64::from(u8::from(i[1] == i[0])));
    let x = noise(&[2, 3, 4], 8);
    let like = run1("eye_like", &[noise(&[3, 2], 1).into(), (-1i64).into()], &[]);
    assert_exact(&like, &[3, 2], |i| f64::from(u8::from(i[1] + 1 == i[0])));
    let lower = run1("tril", &[(&x).into(), 1i64.into()], &[]);
    assert_exact(&lower, &[2, 3, 4], |i| if i[2] <= i[1] + 1 { view(&x).at(i) } else { 0.0 });
    let upper = run1("triu", &[(&x).into()], &[]);
    assert_exact(&upper, &[2, 3, 4], |i| if i[2] >= i[1] { view(&x).at(i) } else { 0.0 });
    let classes = ints(&[1, 0, 5, -1]);
    let args = [
        (&classes).into(),
        Arg::Prim(PrimExpr::float(2.0, DType::FLOAT32)),
        Arg::Prim(PrimExpr::float(-1.0, DType::FLOAT32)),
    ];
    let hot = run1("one_hot", &args, &[("depth", 3i64.into()), ("axis", 0i64.into())]);
    let class = view(&classes);
    assert_exact(&hot, &[3, 4], |i| if class.at(&i[1..]) == i[0] as f64 { 2.0 } else { -1.0 });
}

#[test]
fn sequences() {
    let range = |args: &[Arg]| elements(&run1("arange", args, &[]));
    assert_eq!(range(&[4i64.into()]), [0., 1., 2., 3.]);
    assert_eq!(range(&[10i64.into(), 0i64.into(), (-3i64).into()]), [10., 7., 4., 1.]);
    assert_eq!(range(&[1.5.into(), 4.0.into(), 0.5.into()]), [1.5, 2.0, 2.5, 3.0, 3.5]);
    assert!(range(&[3i64.into(), 1i64.into()]).is_empty());
    let window = |periodic| {
        let args = [8i64.into(), Arg::Prim(PrimExpr::bool(periodic)), 0.54.into(), 0.46.into()];
        run1("hamming_window", &args, &[("dtype", DType::FLOAT32.into())])
    };
    let value = |n: f64, gaps: f64| 0.54 - 0.46 * (std::f64::consts::TAU * n / gaps).cos();
    assert_close(&window(true), &[8], 1e-6, |i| value(i[0] as f64, 8.0));
    assert_close(&window(false), &[8], 1e-6, |i| value(i[0] as f64, 7.0));
}

#[test]
fn grids() {
    let (x, y) = (noise(&[2], 9), noise(&[3], 10));
    let list = || Arg::List(vec![(&x).into(), (&y).into()]);
    let grids = crate::run::run("meshgrid", &[list()], &[]);
    assert_exact(&grids[0], &[2, 3], |i| view(&x).at(&i[..1]));
    assert_exact(&grids[1], &[2, 3], |i| view(&y).at(&i[1..]));
    let grids = crate::run::run("meshgrid", &[list()], &[("indexing", "xy".into())]);
    assert_exact(&grids[0], &[3, 2], |i| view(&x).at(&i[1..]));
    assert_exact(&grids[1], &[3, 2], |i| view(&y).at(&i[..1]));
}
