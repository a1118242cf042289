//! Edge cases of floats at every vector width, compared with the reference interpreter and with expected values: NaN in
//! minima and maxima, and conversions to narrow floats, which round once.

use crate::support::{Kernel, check_kernel, function};
use hammock_ir::{DType, Tensor};
use hammock_kernels::Options;
use hammock_runtime::{Any, value::small_float};
use hammock_target::Target;

/// Targets of every vector width that this machine can run.
fn targets() -> Vec<Target> {
    let (names, host) = (["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"], Target::host());
    let known = names.iter().filter_map(|name| Target::named(name));
    let targets: Vec<Target> = known.filter(|target| target.vector_bytes <= host.vector_bytes).collect();
    assert!(!targets.is_empty());
    targets
}

/// Returns a kernel that computes each of `count` elements of `y` from those of two inputs.
fn elementwise(from: &str, to: &str, count: usize, value: &str) -> String {
    format!(
        "# from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n\
         def f(a: T.Buffer(({count},), \"{from}\"), b: T.Buffer(({count},), \"{from}\"), y: T.Buffer(({count},), \"{to}\")):\n    \
         for i in range({count}):\n        with T.sblock(\"stage\"):\n            \
         vi = T.axis.spatial({count}, i)\n            y[vi] = {value}\n"
    )
}

/// Returns the elements of `y` for each target, which equal the interpreter's.
fn results(text: &str, inputs: &[Tensor]) -> Vec<Tensor> {
    let (func, inputs) = (function(text), inputs.iter().cloned().map(Any::from).collect::<Vec<_>>());
    let run = |target: &Target| {
        let kernel = Kernel::for_options(&func, Options::new(target));
        check_kernel(&kernel, &inputs);
        kernel.run(&inputs).remove(0)
    };
    targets().iter().map(run).collect()
}

#[test]
fn minima_and_maxima_propagate_nan() {
    let numbers = [f32::NAN, -f32::NAN, 1.0, -2.0, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, 3.5];
    let pairs: Vec<(f32, f32)> = numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))).collect();
    let input = |f: fn(&(f32, f32)) -> f32| {
        Tensor::from_slice(&[pairs.len() as i64], &pairs.iter().map(f).collect::<Vec<_>>()).unwrap()
    };
    let (a, b) = (input(|pair| pair.0), input(|pair| pair.1));
    type Reference = fn(f32, f32) -> f32;
    let max: Reference = |a, b| if a > b || a.is_nan() { a } else { b };
    let min: Reference = |a, b| if a < b || a.is_nan() { a } else { b };
    let cases: [(&str, Reference, Option<f32>); 8] = [
        ("T.max(a[vi], b[vi])", max, None),
        ("T.min(a[vi], b[vi])", min, None),
        ("T.max(a[vi], T.float32(0))", max, Some(0.0)),
        ("T.min(a[vi], T.float32(0))", min, Some(0.0)),
        ("T.max(a[vi], T.float32(-0.0))", max, Some(-0.0)),
        ("T.max(a[vi], T.float32(1))", max, Some(1.0)),
        ("T.min(a[vi], T.float32(1))", min, Some(1.0)),
        ("T.max(a[vi], T.float32(\"nan\"))", max, Some(f32::NAN)),
    ];
    for (value, reference, constant) in cases {
        let swapped = value.replace("(a[vi], T", "(@T").replace("))", "), a[vi])").replace('@', "");
        for (value, is_swapped) in [(value, false), (&swapped, constant.is_some())] {
            for found in results(&elementwise("float32", "float32", pairs.len(), value), &[a.clone(), b.clone()]) {
                for ((a, b), found) in pairs.iter().zip(found.as_slice::<f32>().unwrap()) {
                    let b = constant.unwrap_or(*b);
                    let expected = if is_swapped { reference(b, *a) } else { reference(*a, b) };
                    let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
                    assert!(same, "{value} of {a} and {b}: {found} instead of {expected}");
                }
            }
        }
    }
}

/// Numbers close to ties of the format: closer than float32 can represent.
fn near_ties(fraction_bits: i32) -> Vec<f64> {
    let ulp = |bits: i32| 2f64.powi(-bits);
    let near = |exponent: i32| {
        let middle = (1.0 + ulp(fraction_bits + 1)) * 2f64.powi(exponent);
        let next = (1.0 + 3.0 * ulp(fraction_bits + 1)) * 2f64.powi(exponent);
        [middle, next].into_iter().flat_map(|v| [v * (1.0 - ulp(50)), v, v * (1.0 + ulp(50))])
    };
    let all = [0, -3, 5, -9, 3].into_iter().flat_map(near);
    all.chain([0.0, 1e-300, 1e300, 65519.999, 65520.0, f64::INFINITY]).flat_map(|v| [v, -v]).chain([f64::NAN]).collect()
}

#[test]
fn float64_is_rounded_once() {
    for (to, fraction_bits) in [
        ("float16", 10),
        ("bfloat16", 7),
        ("float8_e4m3fn", 3),
        ("float8_e5m2", 2),
        ("float8_e4m3fnuz", 3),
        ("float8_e5m2fnuz", 2),
    ] {
        let dtype: DType = to.parse().unwrap();
        let values = near_ties(fraction_bits);
        let input = Tensor::from_slice(&[values.len() as i64], &values).unwrap();
        let nearest = |v: f64| match to {
            "float16" => small_float::to_float16(v).to_f64(),
            "bfloat16" => small_float::to_bfloat16(v).to_f64(),
            _ => small_float::format(dtype).unwrap().decode(small_float::format(dtype).unwrap().encode(v)),
        };
        // Once as stored, once as computed with.
        for (value, to) in [
            (format!("T.Cast(\"{to}\", a[vi])"), to),
            (format!("T.Cast(\"float32\", T.Cast(\"{to}\", a[vi]))"), "float32"),
        ] {
            for found in results(&elementwise("float64", to, values.len(), &value), &[input.clone(), input.clone()]) {
                let Ok(found) = found.as_slice::<f32>() else { continue };
                for (v, found) in values.iter().zip(found) {
                    let expected = nearest(*v);
                    let same = f64::from(*found) == expected || found.is_nan() && expected.is_nan();
                    assert!(same, "{to} of {v:e}: {found:e} instead of {expected:e}");
                }
            }
        }
    }
}

#[test]
fn integers_are_rounded_once() {
    let middle = |exponent: u32| (1i64 << exponent) + (1 << (exponent - 8));
    let long: Vec<i64> = [62, 60, 54, 53, 40, 30, 25]
        .into_iter()
        .flat_map(|exponent| [middle(exponent) - 1, middle(exponent), middle(exponent) + 1])
        .chain([0, 5, 70_000, i64::MAX, i64::MIN])
        .flat_map(|v| [v, v.wrapping_neg()])
        .collect();
    // Upper half of the bits, rounded to 8 significant bits in integer arithmetic.
    let nearest = |v: i128| {
        let (size, sign) = (v.unsigned_abs(), if v < 0 { -1.0 } else { 1.0 });
        let dropped = (128 - size.leading_zeros()).saturating_sub(8);
        let (kept, rest) = (size >> dropped, size & ((1 << dropped) - 1));
        let half = if dropped == 0 { 1 } else { 1u128 << (dropped - 1) };
        let up = rest > half || rest == half && dropped > 0 && kept % 2 == 1;
        sign * (kept + u128::from(up)) as f64 * 2f64.powi(dropped as i32)
    };
    let count = long.len();
    let short: Vec<i32> = long.iter().map(|v| *v as i32).collect();
    let unsigned: Vec<u64> = long.iter().map(|v| *v as u64).collect();
    let shape = [count as i64];
    let inputs: [(&str, Tensor, Vec<i128>); 3] = [
        ("int64", Tensor::from_slice(&shape, &long).unwrap(), long.iter().map(|v| i128::from(*v)).collect()),
        ("int32", Tensor::from_slice(&shape, &short).unwrap(), short.iter().map(|v| i128::from(*v)).collect()),
        ("uint64", Tensor::from_slice(&shape, &unsigned).unwrap(), unsigned.iter().map(|v| i128::from(*v)).collect()),
    ];
    for (from, input, values) in inputs {
        let value = "T.Cast(\"float32\", T.Cast(\"bfloat16\", a[vi]))";
        for found in results(&elementwise(from, "float32", count, value), &[input.clone(), input.clone()]) {
            for (v, found) in values.iter().zip(found.as_slice::<f32>().unwrap()) {
                assert_eq!(f64::from(*found), nearest(*v), "{from} {v}");
            }
        }
        check_stored(from, &input, count);
    }
}

/// The same for a value that is stored directly.
fn check_stored(from: &str, input: &Tensor, count: usize) {
    results(&elementwise(from, "bfloat16", count, "T.Cast(\"bfloat16\", a[vi])"), &[input.clone(), input.clone()]);
    results(&elementwise(from, "float16", count, "T.Cast(\"float16\", a[vi])"), &[input.clone(), input.clone()]);
}
