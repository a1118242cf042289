//! Compares each expansion with the library's function in float64, over all magnitudes and at edge cases.
//!
//! To print the table of errors, with forty times as many samples:
//! `ULP_EFFORT=40 cargo test --release -p hammock-kernels math -- --nocapture`.

use super::*;
use hammock_interp::{Value, evaluate};
use hammock_ir::prim::Var;

const MACHINES: [Machine; 3] = [
    Machine { fma: true, rounds: true, scales: false },
    Machine { fma: false, rounds: false, scales: false },
    Machine { fma: true, rounds: true, scales: true },
];

/// A function of floats: its expansion if there is a target, otherwise the library's.
struct Function {
    vars: Vec<Var>,
    body: PrimExpr,
}

impl Function {
    fn library(name: &'static str, operands: usize) -> Self {
        let vars: Vec<Var> = (0..operands).map(|_| Var::new("x", DType::FLOAT64)).collect();
        let body = PrimExpr::intrin(name, vars.iter().map(Var::expr).collect(), DType::FLOAT64);
        Function { vars, body }
    }

    fn expanded(name: &str, operands: usize, dtype: DType, machine: Machine) -> Self {
        let vars: Vec<Var> = (0..operands).map(|_| Var::new("x", dtype)).collect();
        let args: Vec<PrimExpr> = vars.iter().map(Var::expr).collect();
        let body = expand(name, &args, machine).unwrap();
        Function { vars, body }
    }

    fn at(&self, args: &[f64]) -> f64 {
        let values: Vec<_> = self.vars.iter().cloned().zip(args.iter().map(|v| Value::Float(*v))).collect();
        match evaluate(&self.body, &values).unwrap() {
            Value::Float(v) => v,
            Value::Int(v) => v as f64,
            other => panic!("{other}"),
        }
    }
}

/// Error in ulps of the exact value.
fn ulps(actual: f64, exact: f64, dtype: DType) -> f64 {
    let rounded = if dtype.bits == 32 { f64::from(exact as f32) } else { exact };
    if actual.is_nan() && exact.is_nan() || actual == rounded && actual.is_sign_negative() == exact.is_sign_negative() {
        return 0.0;
    }
    if actual == exact || !actual.is_finite() || !rounded.is_finite() {
        // Close to overflow, the exact value decides.
        let largest = if dtype.bits == 32 { f64::from(f32::MAX) } else { f64::MAX };
        let near = actual.abs().min(exact.abs()) >= largest * 0.9999999 && actual.signum() == exact.signum();
        return if near { 1.0 } else { f64::INFINITY };
    }
    let (digits, minimum) = if dtype.bits == 32 { (23, -149) } else { (52, -1074) };
    let exponent = (rounded.abs().max(f64::MIN_POSITIVE).log2().floor() as i32 - digits).max(minimum);
    let unit = if exponent < -1022 { f64::from_bits(1 << (exponent + 1074)) } else { 2f64.powi(exponent) };
    (actual - exact).abs() / unit
}

/// Numbers of all magnitudes and signs, denser around one, and the edges of the format.
fn samples(dtype: DType, count: u64) -> Vec<f64> {
    let single = dtype.bits == 32;
    let round = |v: f64| if single { f64::from(v as f32) } else { v };
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut values = Vec::new();
    for i in 0..count {
        let bits = random();
        let any = if single { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) };
        let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
        let scale = [1.0, 1e-3, 4.0, 20.0, 100.0, 750.0, 1e5, 1e9][i as usize % 8];
        values.extend([any, round((unit - 0.5) * scale), round(1.0 + (unit - 0.5) * 0.01 * scale.min(100.0))]);
    }
    let minimum = if single { f64::from(f32::from_bits(1)) } else { f64::from_bits(1) };
    let normal = if single { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
    let largest = if single { f64::from(f32::MAX) } else { f64::MAX };
    let pi = std::f64::consts::PI;
    let edges = [
        0.0,
        minimum,
        minimum * 5.0,
        normal,
        normal * 1.5,
        largest,
        f64::INFINITY,
        1.0,
        0.5,
        1.5,
        2.5,
        2.0,
        3.0,
        0.6,
        0.95,
        round(1.0 + 1e-7),
        round(1.0 - 1e-7),
        88.0,
        88.72,
        88.73,
        89.4,
        103.9,
        104.1,
        709.7,
        709.79,
        710.4,
        745.1,
        746.0,
        127.0,
        128.0,
        149.5,
        1023.5,
        1074.5,
        22.0,
        8388607.5,
        8388608.5,
        4503599627370495.5,
        6381956970095103.0 * 2.0,
        6134899525417045.0,
        round(pi),
        round(pi / 2.0),
        round(pi / 4.0),
        round(100.0 * pi),
        1e22,
        8.886_189_6e7,
        134217729.0,
        1048577.0,
    ];
    values.extend(edges.iter().flat_map(|v| [round(*v), -round(*v)]));
    values.push(f64::NAN);
    values
}

/// Factor by which the number of samples is multiplied.
fn effort() -> u64 {
    std::env::var("ULP_EFFORT").ok().and_then(|v| v.parse().ok()).unwrap_or(1)
}

fn check_unary(name: &'static str, single: f64, double: f64) {
    let library = Function::library(name, 1);
    for (dtype, bound) in [(DType::FLOAT32, single), (DType::FLOAT64, double)] {
        for machine in MACHINES {
            let function = Function::expanded(name, 1, dtype, machine);
            let count = effort() * if machine.fma { 400 } else { 100 };
            let errors =
                samples(dtype, count).into_iter().map(|x| (ulps(function.at(&[x]), library.at(&[x]), dtype), x));
            let (worst, x) = errors.fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
            let (actual, exact) = (function.at(&[x]), library.at(&[x]));
            println!("{name:<9} {dtype} {:<5} {worst:6.3} ulp at {x:e}", if machine.fma { "fma" } else { "plain" });
            assert!(worst <= bound, "{name} {dtype} {machine:?}: {worst} at {x:e}: {actual:e}, exactly {exact:e}");
        }
    }
}

fn check_binary(name: &'static str, single: f64, double: f64) {
    let library = Function::library(name, 2);
    for (dtype, bound) in [(DType::FLOAT32, single), (DType::FLOAT64, double)] {
        let some = samples(dtype, 40 * effort().isqrt());
        for machine in MACHINES {
            let function = Function::expanded(name, 2, dtype, machine);
            let mut worst = (0.0, 0.0, 0.0);
            for (i, x) in some.iter().enumerate() {
                for y in some.iter().skip(i % 7).step_by(7) {
                    let (actual, exact) = (function.at(&[*x, *y]), library.at(&[*x, *y]));
                    let error = ulps(actual, exact, dtype);
                    if error > worst.0 {
                        worst = (error, *x, *y);
                    }
                    assert!(error <= bound, "{name}({x:e}, {y:e}) {dtype}: {error}, {actual:e}, exactly {exact:e}");
                }
            }
            let how = if machine.fma { "fma" } else { "plain" };
            println!("{name:<9} {dtype} {how:<5} {:6.3} ulp at {:e}, {:e}", worst.0, worst.1, worst.2);
        }
    }
}

macro_rules! bounds {
    ($($test:ident: $check:ident $($name:literal $single:literal $double:literal),+;)*) => {
        $(#[test] fn $test() { $($check($name, $single, $double);)+ })*
    };
}

// The library's own float64 results may be off by one unit.
bounds! {
    exponentials: check_unary "exp" 2.0 2.0, "exp2" 2.0 2.0, "exp10" 1.0 4.0, "expm1" 1.0 4.0;
    logarithms: check_unary "log" 2.0 2.0, "log2" 2.0 2.0, "log10" 1.0 4.0, "log1p" 2.0 4.0;
    trigonometry: check_unary "sin" 2.0 2.0, "cos" 2.0 2.0, "tan" 3.0 3.0;
    arcs: check_unary "asin" 1.0 4.0, "acos" 1.0 4.0, "atan" 1.0 4.0;
    hyperbolic: check_unary "sinh" 1.0 4.0, "cosh" 1.0 4.0, "tanh" 2.0 3.0, "sigmoid" 3.0 3.0;
    inverse_hyperbolic: check_unary "asinh" 1.0 4.0, "acosh" 1.0 4.0, "atanh" 1.0 4.0;
    error_function: check_unary "erf" 2.0 3.0;
    square_roots: check_unary "rsqrt" 2.0 2.0;
    rounding: check_unary "round" 0.0 0.0;
    classes: check_unary "isnan" 0.0 0.0, "isinf" 0.0 0.0, "isfinite" 0.0 0.0;
    powers: check_binary "pow" 1.0 4.0;
    angles: check_binary "atan2" 1.0 4.0;
    lengths: check_binary "hypot" 1.0 4.0;
    remainders: check_binary "fmod" 0.0 0.0;
    signs: check_binary "copysign" 0.0 0.0;
}

/// The largest error of a function of float32 that has no intrinsic.
fn check_alone(name: &str, bound: f64, within: impl Fn(f64) -> bool, exact: fn(f64) -> f64) {
    for machine in MACHINES {
        let function = Function::expanded(name, 1, DType::FLOAT32, machine);
        let errors = samples(DType::FLOAT32, effort() * 400).into_iter().filter(|x| within(*x));
        let (worst, x) = errors
            .map(|x| (ulps(function.at(&[x]), exact(x), DType::FLOAT32), x))
            .fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
        println!("{name} {worst:6.3} ulp at {x:e}");
        assert!(worst <= bound, "{name} {machine:?}: {worst} at {x:e}: {:e}, {:e}", function.at(&[x]), exact(x));
    }
}

#[test]
fn logarithms_of_fractions() {
    check_alone(LOG1P_OF_FRACTION, 2.0, |x| x.is_sign_positive() && x <= 1.0, f64::ln_1p);
}

#[test]
fn hyperbolic_tangents_above_minus_one() {
    let exact = |x: f64| if x < 0.0 { 2.0 * (2.0 * x).exp() / (1.0 + (2.0 * x).exp()) } else { 1.0 + x.tanh() };
    check_alone(ONE_PLUS_TANH, 3.0, |_| true, exact);
}

#[test]
fn hyperbolic_tangents_of_softplus() {
    // e^x of small numbers, one of large ones.
    let exact = |x: f64| {
        let w = x.min(40.0).exp();
        let n = w * (w + 2.0);
        if x.is_nan() { x } else { n / (n + 2.0) }
    };
    check_alone(TANH_OF_SOFTPLUS, 4.0, |_| true, exact);
    for x in [-3.0, -0.5, 0.0, 1.0, 5.0] {
        assert!((exact(x) - x.exp().ln_1p().tanh()).abs() < 1e-15, "{x}");
    }
}

#[test]
fn emulated_rounding_is_exact() {
    for name in ["floor", "ceil", "trunc", "nearbyint"] {
        let library = Function::library(name, 1);
        for dtype in [DType::FLOAT32, DType::FLOAT64] {
            let function = Function::expanded(name, 1, dtype, MACHINES[1]);
            for x in samples(dtype, 100) {
                assert_eq!(ulps(function.at(&[x]), library.at(&[x]), dtype), 0.0, "{name} {x:e}");
            }
        }
    }
}

#[test]
fn bounded_functions_reach_their_bounds_and_stay_within() {
    for (name, minimum) in [("erf", -1.0), ("tanh", -1.0), ("sigmoid", 0.0)] {
        for machine in MACHINES {
            let function = Function::expanded(name, 1, DType::FLOAT32, machine);
            for x in [40.0, 1e30, f64::INFINITY] {
                assert_eq!(function.at(&[x]), 1.0, "{name} {x}");
            }
            assert_eq!(function.at(&[f64::NEG_INFINITY]), minimum, "{name}");
            for x in (0..4000).map(|i| f64::from(i as f32 * 0.0025)) {
                let (value, mirrored) = (function.at(&[x]), function.at(&[-x]));
                assert!(value <= 1.0 && mirrored >= minimum, "{name} {x}: {value}, {mirrored}");
            }
        }
    }
}

#[test]
fn nextafter_and_ldexp_are_exact() {
    for dtype in [DType::FLOAT32, DType::FLOAT64] {
        let (x, y) = (Var::new("x", dtype), Var::new("y", dtype));
        let next = expand("nextafter", &[x.expr(), y.expr()], MACHINES[0]).unwrap();
        let expected = PrimExpr::intrin("nextafter", vec![x.expr(), y.expr()], dtype);
        let n = Var::new("n", DType::INT32);
        let scaled = expand("ldexp", &[x.expr(), n.expr()], MACHINES[0]).unwrap();
        let exact = PrimExpr::intrin("ldexp", vec![x.expr(), n.expr()], dtype);
        let some = samples(dtype, 10);
        for (i, a) in some.iter().enumerate() {
            for b in some.iter().skip(i % 5).step_by(5) {
                let values = [(x.clone(), Value::Float(*a)), (y.clone(), Value::Float(*b))];
                let (actual, wanted) = (evaluate(&next, &values).unwrap(), evaluate(&expected, &values).unwrap());
                assert!(actual == wanted || a.is_nan() || b.is_nan(), "nextafter({a:e}, {b:e})");
            }
            for power in [-3000, -1074, -1060, -149, -30, 0, 5, 127, 1023, 2000] {
                let values = [(x.clone(), Value::Float(*a)), (n.clone(), Value::Int(power))];
                let (actual, wanted) = (evaluate(&scaled, &values).unwrap(), evaluate(&exact, &values).unwrap());
                assert!(actual == wanted || a.is_nan(), "ldexp({a:e}, {power}): {actual} {wanted}");
            }
        }
    }
}

#[test]
fn vectors_take_the_long_path_only_where_a_lane_needs_it() {
    let x = Var::new("x", DType::FLOAT32.with_lanes(4));
    let sin = expand("sin", &[x.expr()], MACHINES[0]).unwrap();
    for huge in [0.25f32, 1e30] {
        let lanes = [0.5f32, huge, -2.0, 1e6];
        let value = Value::Vector(lanes.iter().map(|v| Value::Float(f64::from(*v))).collect());
        let Value::Vector(result) = evaluate(&sin, &[(x.clone(), value)]).unwrap() else { panic!() };
        for (lane, result) in lanes.iter().zip(result) {
            let Value::Float(result) = result else { panic!() };
            assert!(ulps(result, f64::from(*lane).sin(), DType::FLOAT32) <= 2.0);
        }
    }
}

#[test]
fn the_angle_nearest_to_a_quarter_turn() {
    // The hardest case of float64 (Muller, Elementary Functions, chapter 11); libraries differ here.
    let cos = Function::expanded("cos", 1, DType::FLOAT64, MACHINES[0]).at(&[6381956970095103.0 * 2f64.powi(797)]);
    assert!(ulps(cos, -4.687_165_924_254_628e-19, DType::FLOAT64) <= 1.0, "{cos:e}");
}
