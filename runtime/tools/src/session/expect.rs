//! Comparison of results with recorded ones.

use crate::{error::ToolError, weights::Weights};
use clap::Args;
use half::{bf16, f16};
use hammock_runtime::{
    ffi::Error,
    show::leaves,
    value::{Any, DType, Element, Tensor, small_float},
};
use std::path::PathBuf;

/// Flags that compare a result with a recorded one.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Comparing")]
pub struct ExpectFlags {
    /// Compare with the results in this .npz file, as `--output` wrote it, and print only how far they are from it; exit
    /// with status 1 on a mismatch
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "json"])]
    pub expect: Option<PathBuf>,
    /// Relative tolerance
    #[arg(long, value_name = "X", default_value_t = 1e-4)]
    pub rtol: f64,
    /// Absolute tolerance
    #[arg(long, value_name = "X", default_value_t = 1e-5)]
    pub atol: f64,
}

/// Result of comparing a tensor with the expected one.
struct Distance {
    /// Maximum absolute difference, infinite if numbers cannot be compared.
    largest: f64,
    /// Number of elements outside the tolerance.
    outside: usize,
    /// The first of them: its linear index, its value and the expected value.
    first: Option<(usize, f64, f64)>,
}

impl ExpectFlags {
    /// Compares a result with that of `--expect`, if the flag is set; returns one line per tensor.
    ///
    /// # Errors
    /// If the file cannot be read, or the result differs.
    pub fn check(&self, actual: &Any) -> Result<Option<String>, ToolError> {
        let Some(path) = &self.expect else { return Ok(None) };
        let recorded = Weights::open(path)?;
        let expected: Vec<(String, Tensor)> = recorded.iter().map(|(n, t)| (n.to_owned(), t.clone())).collect();
        let compared = self.tensors(&expected, &leaves(actual)?);
        compared
            .map(Some)
            .map_err(|why| ToolError::Mismatch(format!("the result differs from {}: {why}", path.display())))
    }

    /// The difference between two results; `None` if they are equal within the tolerances.
    ///
    /// # Errors
    /// If one of them has parts that are not tensors.
    pub fn difference(&self, expected: &Any, actual: &Any) -> Result<Option<String>, Error> {
        Ok(self.tensors(&leaves(expected)?, &leaves(actual)?).err())
    }

    fn tensors(&self, expected: &[(String, Tensor)], actual: &[(String, Tensor)]) -> Result<String, String> {
        let names = |all: &[(String, Tensor)]| {
            let mut names: Vec<String> = all.iter().map(|(name, _)| format!("`{name}`")).collect();
            names.sort();
            if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
        };
        if names(expected) != names(actual) {
            return Err(format!("it has {}, expected is {}", names(actual), names(expected)));
        }
        let mut lines = String::new();
        for (name, tensor) in actual {
            let Some((_, wanted)) = expected.iter().find(|(other, _)| other == name) else { continue };
            let distance = self.distance(wanted, tensor).map_err(|why| format!("output `{name}` {why}"))?;
            if let Some((at, is, should)) = distance.first {
                let (count, all) = (distance.outside, tensor.shape().iter().product::<i64>());
                let index = index(at, tensor.shape());
                return Err(format!(
                    "output `{name}` at {index} is {is}, expected {should} ({count} of {all} elements differ, max abs diff {:.1e})",
                    distance.largest
                ));
            }
            lines += &format!("output {name} matches (max abs diff {:.1e})\n", distance.largest);
        }
        Ok(lines)
    }

    fn distance(&self, expected: &Tensor, actual: &Tensor) -> Result<Distance, String> {
        let text = |t: &Tensor| format!("{} of shape {:?}", t.dtype(), t.shape());
        // .npz files hold floats that numpy lacks as float32.
        let written = |dtype: DType| if dtype.is_bfloat16() || dtype.is_float8() { DType::FLOAT32 } else { dtype };
        let same = expected.dtype() == actual.dtype() || expected.dtype() == written(actual.dtype());
        if expected.shape() != actual.shape() || !same {
            return Err(format!("is {} where {} is expected", text(actual), text(expected)));
        }
        let unknown = || format!("has elements of {}, which cannot be compared", actual.dtype());
        let (expected, actual) = (numbers(expected).ok_or_else(unknown)?, numbers(actual).ok_or_else(unknown)?);
        let mut distance = Distance { largest: 0.0, outside: 0, first: None };
        for (at, (should, is)) in expected.iter().zip(&actual).enumerate() {
            if should == is || should.is_nan() && is.is_nan() {
                continue;
            }
            let away = (should - is).abs();
            let away = if away.is_nan() { f64::INFINITY } else { away };
            distance.largest = distance.largest.max(away);
            // An expected infinity or NaN must match exactly.
            if !should.is_finite() || away > self.atol + self.rtol * should.abs() {
                distance.outside += 1;
                distance.first.get_or_insert((at, *is, *should));
            }
        }
        Ok(distance)
    }
}

/// The multi-index of an element: `[1, 2]`.
fn index(mut at: usize, shape: &[i64]) -> String {
    let mut indices: Vec<usize> = shape
        .iter()
        .rev()
        .map(|size| {
            let size = usize::try_from(*size).unwrap_or(1).max(1);
            let index = at % size;
            at /= size;
            index
        })
        .collect();
    indices.reverse();
    format!("{indices:?}")
}

/// The elements as float64; `None` for dtypes without a Rust type.
fn numbers(tensor: &Tensor) -> Option<Vec<f64>> {
    fn all<T: Element>(tensor: &Tensor, number: impl Fn(&T) -> f64) -> Option<Vec<f64>> {
        Some(tensor.as_slice::<T>().ok()?.iter().map(number).collect())
    }
    match tensor.dtype() {
        DType::FLOAT32 => all::<f32>(tensor, |v| f64::from(*v)),
        DType::FLOAT64 => all::<f64>(tensor, |v| *v),
        DType::FLOAT16 => all::<f16>(tensor, |v| v.to_f64()),
        DType::BFLOAT16 => all::<bf16>(tensor, |v| v.to_f64()),
        DType::BOOL => all::<bool>(tensor, |v| f64::from(u8::from(*v))),
        DType::INT8 => all::<i8>(tensor, |v| f64::from(*v)),
        DType::UINT8 => all::<u8>(tensor, |v| f64::from(*v)),
        DType::INT16 => all::<i16>(tensor, |v| f64::from(*v)),
        DType::UINT16 => all::<u16>(tensor, |v| f64::from(*v)),
        DType::UINT32 => all::<u32>(tensor, |v| f64::from(*v)),
        DType::INT32 => all::<i32>(tensor, |v| f64::from(*v)),
        DType::INT64 => all::<i64>(tensor, |v| *v as f64),
        DType::UINT64 => all::<u64>(tensor, |v| *v as f64),
        dtype if dtype.is_float8() => {
            let format = small_float::format(dtype)?;
            Some(tensor.as_bytes().ok()?.iter().map(|code| format.decode(*code)).collect())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags() -> ExpectFlags {
        ExpectFlags { expect: None, rtol: 1e-4, atol: 1e-5 }
    }

    #[test]
    fn distances_are_absolute_and_relative() {
        let tensor = |values: &[f32]| Tensor::from_slice(&[2, 2], values).unwrap();
        let expected = tensor(&[1000.0, 0.0, f32::NAN, f32::INFINITY]);
        let near = flags().distance(&expected, &tensor(&[1000.05, 0.000005, f32::NAN, f32::INFINITY])).unwrap();
        assert!(near.first.is_none() && near.outside == 0 && near.largest > 0.04);
        let far = flags().distance(&expected, &tensor(&[1000.0, 0.001, 1.0, 0.0])).unwrap();
        assert_eq!((far.outside, far.first.map(|f| f.0), far.largest), (3, Some(1), f64::INFINITY));
        assert!(flags().distance(&expected, &Tensor::from_slice(&[4], &[0.0_f32; 4]).unwrap()).is_err());
    }

    #[test]
    fn elements_are_named_by_indices() {
        assert_eq!(index(5, &[2, 3]), "[1, 2]");
        assert_eq!(index(0, &[]), "[]");
    }
}
