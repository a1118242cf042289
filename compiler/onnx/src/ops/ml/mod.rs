//! ONNX's operators for classical machine learning, of the domain `ai.onnx.ml`: what converters of scikit-learn, LightGBM
//! and XGBoost write. Where their reference leaves details open, such as the scores of binary classifiers, they follow
//! ONNX Runtime.

mod classes;
mod encode;
mod features;
mod labels;
mod linear;
mod scale;
mod scores;
mod svm;
mod table;
mod trees;
mod zip_map;

use super::{Import, Op};
use crate::node::{self, Node};
use hammock_ir::{
    DType, Tensor,
    relax::{Constant, InferError, Operand},
};

/// Families of operators of the domain.
pub const FAMILIES: [&[Op]; 7] =
    [encode::OPS, features::OPS, linear::OPS, scale::OPS, svm::OPS, trees::OPS, zip_map::OPS];

/// Declares an operator of the domain.
const fn op(name: &'static str, import: Import) -> Op {
    super::op(name, import).in_domain("ai.onnx.ml")
}

/// Returns the first input as a matrix of a row for each example: a vector is one row.
fn rows(n: &mut Node) -> node::Result<Operand> {
    let x = n.input(0)?;
    match n.dims(&x)?.as_slice() {
        [_, _] => Ok(x),
        [_] => n.call_with("expand_dims", [x], &[("axis", vec![0i64].into())]),
        dims => n.error(format!("its input has {} dimensions, not 2", dims.len())),
    }
}

/// Returns the elements of the first input as floats: float64 as they are, other numbers as float32.
fn float_elements(n: &mut Node) -> node::Result<Operand> {
    let x = n.input(0)?;
    let dtype = if n.dtype(&x)? == DType::FLOAT64 { DType::FLOAT64 } else { DType::FLOAT32 };
    n.cast(x, dtype)
}

/// Returns the rows as float32.
fn float32_rows(n: &mut Node) -> node::Result<Operand> {
    let x = rows(n)?;
    n.cast(x, DType::FLOAT32)
}

/// Returns the rows in floats: float64 as it is, other numbers as float32.
fn float_rows(n: &mut Node) -> node::Result<Operand> {
    let x = rows(n)?;
    let dtype = if n.dtype(&x)? == DType::FLOAT64 { DType::FLOAT64 } else { DType::FLOAT32 };
    n.cast(x, dtype)
}

/// Reads a list of numbers, from a list of floats or a tensor of doubles.
pub fn reals(n: &mut Node, name: &str) -> node::Result<Option<Vec<f64>>> {
    let tensor = n.attrs.tensor(&format!("{name}_as_tensor"));
    match (n.attrs.floats(name)?, tensor) {
        (floats, None) => Ok(floats),
        (None, Some(proto)) => n.tensor_numbers(proto).map(Some),
        (Some(floats), Some(_)) if !floats.is_empty() => {
            n.error(format!("it has both `{name}` and `{name}_as_tensor`"))
        }
        (Some(_), Some(proto)) => n.tensor_numbers(proto).map(Some),
    }
}

/// Returns a constant of float32 or float64.
fn constant_floats(dtype: DType, shape: &[usize], values: &[f64]) -> node::Result<Operand> {
    match dtype {
        DType::FLOAT64 => constant(shape, values),
        _ => constant(shape, &values.iter().map(|value| *value as f32).collect::<Vec<_>>()),
    }
}

/// Returns a constant.
fn constant<T: hammock_runtime::Element>(shape: &[usize], values: &[T]) -> node::Result<Operand> {
    let shape: Vec<i64> = shape.iter().map(|size| *size as i64).collect();
    let tensor = Tensor::from_slice(&shape, values).map_err(|error| InferError::new(error.to_string()))?;
    Ok(Operand::Const(Constant::new(tensor)))
}
