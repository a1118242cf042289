//! Comparing results: with a recorded one, or with those of the same program compiled in another way.

use clap::Args;
use half::{bf16, f16};
use hammock_compiler::Failure;
use hammock_diagnostics::codes;
use hammock_ir::{
    Module, Span, Type,
    relax::{Binding, Function, Operand, Value},
};
use hammock_runtime::{
    Any, DType, Element, Tensor,
    tools::{InputError, Weights, leaves},
    value::small_float,
};
use std::path::PathBuf;

/// Flags of `hammock run` that compare results.
#[derive(Args)]
#[command(next_help_heading = "Comparing")]
pub struct CompareFlags {
    /// Print nothing but how far the result is from the one in this .npz file, as `--output` wrote it; fail if it differs
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "json"])]
    pub expect: Option<PathBuf>,
    /// Compare with the same program at level 0 (`=1`, `=2`, `=3`), or in another mode (`=reference`, `=bytecode`, `=compiled`),
    /// and find the first binding that differs
    #[arg(long, value_name = "WITH", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub compare_levels: Option<String>,
    /// How much numbers may differ, relative to the expected one
    #[arg(long, value_name = "X", default_value_t = 1e-4)]
    pub rtol: f64,
    /// How much numbers may differ besides
    #[arg(long, value_name = "X", default_value_t = 1e-5)]
    pub atol: f64,
}

/// How far a tensor is from the expected one.
struct Distance {
    /// The largest absolute difference, infinite where numbers cannot be compared.
    largest: f64,
    /// How many elements differ by more than allowed.
    outside: usize,
    /// The first of them, as an index into the elements, with what it is and what it should be.
    first: Option<(usize, f64, f64)>,
}

impl CompareFlags {
    /// Compares a result with that of the file; gives one line for each tensor.
    pub fn with_file(&self, actual: &Any, path: &std::path::Path) -> Result<String, Failure> {
        let bad = |error: InputError| Failure::of_input(codes::BAD_ARGUMENT, error);
        let recorded = Weights::open(path).map_err(bad)?;
        let expected: Vec<(String, Tensor)> = recorded.iter().map(|(n, t)| (n.to_owned(), t.clone())).collect();
        self.tensors(&expected, &tensors(actual)?).map_err(|why| {
            let message = format!("the result differs from {}: {why}", path.display());
            let help = "`--compare-levels` finds the first binding that differs between two ways of compiling";
            Failure::new(codes::RUN_FAILED, message).help(help)
        })
    }

    /// How two results differ; `None` when they are as near as the flags ask for.
    pub fn difference(&self, expected: &Any, actual: &Any) -> Result<Option<String>, Failure> {
        Ok(self.tensors(&tensors(expected)?, &tensors(actual)?).err())
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
            let distance = self.distance(wanted, tensor).map_err(|why| format!("tensor `{name}` {why}"))?;
            if let Some((at, is, should)) = distance.first {
                let (count, all) = (distance.outside, tensor.shape().iter().product::<i64>());
                let place = index(at, tensor.shape());
                return Err(format!(
                    "tensor `{name}` at {place} is {is} where {should} is expected ({count} of {all} numbers differ, by {:.3e} at most)",
                    distance.largest
                ));
            }
            lines += &format!("{name}: as expected, at most {:.3e} away\n", distance.largest);
        }
        Ok(lines)
    }

    fn distance(&self, expected: &Tensor, actual: &Tensor) -> Result<Distance, String> {
        let text = |t: &Tensor| format!("{} of shape {:?}", t.dtype(), t.shape());
        // Files of numpy have floats that numpy has not as float32.
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
            // What should be infinite or no number, and is not, differs by any measure.
            if !should.is_finite() || away > self.atol + self.rtol * should.abs() {
                distance.outside += 1;
                distance.first.get_or_insert((at, *is, *should));
            }
        }
        Ok(distance)
    }
}

fn tensors(value: &Any) -> Result<Vec<(String, Tensor)>, Failure> {
    leaves(value).map_err(|e| Failure::new(codes::RUN_FAILED, e.to_string()))
}

/// The place of an element: `[1, 2]`.
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

/// The elements as numbers; `None` for dtypes that are no numbers of Rust.
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

/// The bindings of a function, outer ones, whose values can be results.
pub fn comparable(function: &Function) -> Vec<usize> {
    let tensors =
        |binding: &Binding| is_tensors(function.ty(binding.var)) && !matches!(binding.value, Value::Function(_));
    let bindings = function.lambda.body.bindings().enumerate();
    bindings.filter(|(_, binding)| tensors(binding)).map(|(at, _)| at).collect()
}

fn is_tensors(ty: &Type) -> bool {
    match ty {
        Type::Tuple(fields) => !fields.is_empty() && fields.iter().all(is_tensors),
        Type::Tensor(_) => true,
        _ => false,
    }
}

/// The module with a function that ends with one of its bindings and gives its value; the binding's name and place.
pub fn up_to(module: &Module, func: &str, last: usize) -> Option<(Module, String, Span)> {
    let mut module = module.clone();
    let (_, function) = module.relax_functions_mut().find(|(name, _)| &***name == func)?;
    let mut left = last + 1;
    for block in &mut function.lambda.body.blocks {
        block.bindings.truncate(left);
        left -= block.bindings.len();
    }
    function.lambda.body.blocks.retain(|block| !block.bindings.is_empty());
    let binding = function.lambda.body.blocks.last()?.bindings.last()?;
    let (var, span) = (binding.var, binding.span);
    function.lambda.body.result = Operand::Var(var);
    function.lambda.ret_ty = function.ty(var).clone();
    function.vars[var].dataflow = false;
    let name = function.vars[var].name.to_string();
    Some((module, name, span))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags() -> CompareFlags {
        CompareFlags { expect: None, compare_levels: None, rtol: 1e-4, atol: 1e-5 }
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
    fn places_are_indices() {
        assert_eq!(index(5, &[2, 3]), "[1, 2]");
        assert_eq!(index(0, &[]), "[]");
    }
}
