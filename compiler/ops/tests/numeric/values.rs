//! Tensors to compute with, and their elements as `f64`.

use half::{bf16, f16};
use hammock_ir::{DType, Tensor};
use hammock_runtime::Element;

/// A tensor of the given elements.
pub fn tensor<T: Element>(shape: &[i64], values: &[T]) -> Tensor {
    Tensor::from_slice(shape, values).unwrap()
}

/// A float32 vector.
pub fn vector(values: &[f32]) -> Tensor {
    tensor(&[values.len() as i64], values)
}

/// An int64 vector.
pub fn ints(values: &[i64]) -> Tensor {
    tensor(&[values.len() as i64], values)
}

/// Different numbers between -4 and 4, the same for each seed.
pub fn noise(shape: &[i64], seed: u64) -> Tensor {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 / (1u64 << 24) as f32 - 0.5) * 8.0
    };
    let count = shape.iter().product::<i64>() as usize;
    tensor(shape, &(0..count).map(|_| next()).collect::<Vec<_>>())
}

/// `0, 1, 2, …` as float32.
pub fn counting(shape: &[i64]) -> Tensor {
    let count = shape.iter().product::<i64>();
    tensor(shape, &(0..count).map(|v| v as f32).collect::<Vec<_>>())
}

/// A tensor with its elements converted.
pub fn convert(t: &Tensor, dtype: DType) -> Tensor {
    let (shape, v) = (t.shape(), elements(t));
    match dtype {
        DType::FLOAT16 => tensor(shape, &v.iter().map(|v| f16::from_f64(*v)).collect::<Vec<_>>()),
        DType::BFLOAT16 => tensor(shape, &v.iter().map(|v| bf16::from_f64(*v)).collect::<Vec<_>>()),
        DType::FLOAT32 => tensor(shape, &v.iter().map(|v| *v as f32).collect::<Vec<_>>()),
        DType::FLOAT64 => tensor(shape, &v),
        DType::INT32 => tensor(shape, &v.iter().map(|v| *v as i32).collect::<Vec<_>>()),
        DType::INT64 => tensor(shape, &v.iter().map(|v| *v as i64).collect::<Vec<_>>()),
        DType::BOOL => tensor(shape, &v.iter().map(|v| *v != 0.0).collect::<Vec<_>>()),
        other => panic!("{other}"),
    }
}

/// The elements as `f64`.
pub fn elements(t: &Tensor) -> Vec<f64> {
    fn read<T: Element>(t: &Tensor, f: impl Fn(T) -> f64) -> Vec<f64> {
        t.as_slice::<T>().unwrap().iter().map(|v| f(*v)).collect()
    }
    match t.dtype() {
        DType::FLOAT16 => read::<f16>(t, f64::from),
        DType::BFLOAT16 => read::<bf16>(t, f64::from),
        DType::FLOAT32 => read::<f32>(t, f64::from),
        DType::FLOAT64 => read::<f64>(t, |v| v),
        DType::INT8 => read::<i8>(t, f64::from),
        DType::INT16 => read::<i16>(t, f64::from),
        DType::UINT8 => read::<u8>(t, f64::from),
        DType::UINT16 => read::<u16>(t, f64::from),
        DType::INT32 => read::<i32>(t, f64::from),
        DType::INT64 => read::<i64>(t, |v| v as f64),
        DType::BOOL => read::<bool>(t, |v| f64::from(u8::from(v))),
        other => panic!("{other}"),
    }
}

/// Every index of a shape, in row-major order.
pub fn indices(shape: &[i64]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for size in shape {
        let extend = |i: Vec<usize>| (0..*size as usize).map(move |n| [&i[..], &[n]].concat());
        all = all.into_iter().flat_map(extend).collect();
    }
    all
}

/// A tensor to read in a reference: elements by index, broadcasting over missing leading axes and axes of size 1.
pub struct View {
    shape: Vec<i64>,
    values: Vec<f64>,
}

/// The view of a tensor.
pub fn view(t: &Tensor) -> View {
    View { shape: t.shape().to_vec(), values: elements(t) }
}

impl View {
    /// The element at an index.
    pub fn at(&self, i: &[usize]) -> f64 {
        let own = &i[i.len() - self.shape.len()..];
        let position = own.iter().zip(&self.shape).fold(0, |p, (i, d)| p * *d as usize + if *d == 1 { 0 } else { *i });
        self.values[position]
    }
}

/// Checks shape and elements against a reference, within a relative error.
#[track_caller]
pub fn assert_close(actual: &Tensor, shape: &[i64], tolerance: f64, reference: impl Fn(&[usize]) -> f64) {
    assert_eq!(actual.shape(), shape);
    for (i, value) in indices(shape).iter().zip(elements(actual)) {
        let expected = reference(i);
        let close = value == expected
            || (value.is_nan() && expected.is_nan())
            || (value - expected).abs() <= tolerance * expected.abs().max(1.0);
        assert!(close, "at {i:?}: {value}, expected {expected}");
    }
}

/// Checks shape and elements, which must be exact.
#[track_caller]
pub fn assert_exact(actual: &Tensor, shape: &[i64], reference: impl Fn(&[usize]) -> f64) {
    assert_close(actual, shape, 0.0, reference)
}
