//! Comparison of arguments with the types of their parameters, for errors that show both.
//!
//! A model checks its arguments itself, as part of its first instructions. Only arguments of a call that failed are
//! compared here, and arrays that would have to be copied.
use hammock_runtime::{
    Any, DType, Shape, Tensor, Tuple,
    image::signature::{Dims, Signature, Size, ValueType},
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
};

/// A value that does not fit a parameter's type.
pub enum Misfit {
    /// Another kind of value, or another dtype: a `TypeError`.
    Kind(String),
    /// Another shape, or another number of fields: a `ValueError`.
    Size(String),
}

impl Misfit {
    /// The exception, with the function and the parameter if they are known.
    pub fn into_error(self, prefix: &str) -> PyErr {
        match self {
            Misfit::Kind(text) => PyTypeError::new_err(format!("{prefix}{text}")),
            Misfit::Size(text) => PyValueError::new_err(format!("{prefix}{text}")),
        }
    }
}

/// Sizes that symbols have by the arguments so far, with the parameter that each was first seen in.
#[derive(Default)]
struct Symbols<'a>(Vec<(&'a str, i64, &'a str)>);

impl<'a> Symbols<'a> {
    /// Binds a symbol. If it has another size already, returns that size with its parameter.
    fn bind(&mut self, name: &'a str, size: i64, param: &'a str) -> Option<(i64, &'a str)> {
        match self.0.iter().find(|(known, ..)| *known == name) {
            Some((_, known, first)) => (*known != size).then_some((*known, *first)),
            None => {
                self.0.push((name, size, param));
                None
            }
        }
    }
}

/// The beginning of a message about a parameter: `main(), parameter `x`: `.
pub fn prefix(signature: &Signature, param: &str) -> String {
    format!("{}(), parameter `{param}`: ", signature.function)
}

/// The error for the first argument that does not fit its parameter; `None` if all fit.
#[cold]
pub fn misfit(signature: &Signature, values: &[Any]) -> Option<PyErr> {
    let mut symbols = Symbols::default();
    signature.given().zip(values).find_map(|(param, value)| {
        let misfit = compare(&param.ty, value, &param.name, &mut symbols)?;
        Some(misfit.into_error(&prefix(signature, &param.name)))
    })
}

fn compare<'a>(ty: &'a ValueType, value: &Any, param: &'a str, symbols: &mut Symbols<'a>) -> Option<Misfit> {
    let other_kind = || Some(Misfit::Kind(format!("expected {ty}, got {}", described(value))));
    match ty {
        ValueType::Tensor { .. } => match value.get::<&Tensor>() {
            Some(tensor) => compare_tensor(ty, tensor.dtype(), tensor.shape(), param, symbols),
            None => other_kind(),
        },
        ValueType::Shape(dims) => match value.get::<&Shape>() {
            Some(shape) => compare_sizes(ty, dims, shape.as_slice(), &described(value), param, symbols),
            None => other_kind(),
        },
        ValueType::Scalar(dtype) if is_number(*dtype, value) => None,
        ValueType::Scalar(_) => other_kind(),
        ValueType::Tuple(types) => match value.get::<&Tuple>() {
            Some(fields) if fields.len() != types.len() => {
                let (expected, found) = (types.len(), fields.len());
                Some(Misfit::Size(format!("expected a tuple of {expected} values {ty}, got one of {found}")))
            }
            Some(fields) => types.iter().zip(fields.iter()).find_map(|(ty, field)| compare(ty, field, param, symbols)),
            None => other_kind(),
        },
        ValueType::Other(_) => None,
    }
}

/// Compares dtype and shape of an array with a parameter's type.
pub fn compare_array(ty: &ValueType, dtype: DType, sizes: &[i64]) -> Option<Misfit> {
    compare_tensor(ty, dtype, sizes, "", &mut Symbols::default())
}

fn compare_tensor<'a>(
    ty: &'a ValueType,
    dtype: DType,
    sizes: &[i64],
    param: &'a str,
    symbols: &mut Symbols<'a>,
) -> Option<Misfit> {
    let ValueType::Tensor { dtype: expected, shape } = ty else { return None };
    let found = format!("{dtype}{}", Dims::from(sizes));
    if let Some(expected) = expected
        && *expected != dtype
    {
        let advice = format!("the dtype is {dtype}, not {expected}; convert it, as with astype(\"{expected}\")");
        return Some(Misfit::Kind(format!("expected {ty}, got {found}: {advice}")));
    }
    compare_sizes(ty, shape, sizes, &found, param, symbols)
}

fn compare_sizes<'a>(
    ty: &ValueType,
    dims: &'a Dims,
    sizes: &[i64],
    found: &str,
    param: &'a str,
    symbols: &mut Symbols<'a>,
) -> Option<Misfit> {
    let misfit = |why: String| Some(Misfit::Size(format!("expected {ty}, got {found}: {why}")));
    let rank = match dims {
        Dims::Unknown => return None,
        Dims::Rank(rank) => *rank,
        Dims::Known(expected) => expected.len(),
    };
    if rank != sizes.len() {
        return misfit(format!("the rank is {}, not {rank}", sizes.len()));
    }
    let Dims::Known(expected) = dims else { return None };
    expected.iter().zip(sizes).enumerate().find_map(|(axis, (expected, size))| match expected {
        Size::Static(expected) if expected != size => misfit(format!("axis {axis} is {size}, not {expected}")),
        Size::Symbol(name) if is_name(name) => {
            let (known, first) = symbols.bind(name, *size, param)?;
            misfit(format!("axis {axis} is {size}, but {name} is {known} in parameter `{first}`"))
        }
        _ => None,
    })
}

/// Returns true for a symbol, false for an expression such as `n * 2`.
fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Returns true if a value is a number of a dtype.
fn is_number(dtype: DType, value: &Any) -> bool {
    match dtype {
        _ if dtype.is_handle() => true,
        _ if dtype.is_floating() => value.get::<f64>().is_some(),
        _ => value.get::<i64>().is_some(),
    }
}

/// Describes a value for a message: `float32[3, 4]`, `a str`.
fn described(value: &Any) -> String {
    if let Some(tensor) = value.get::<&Tensor>() {
        return format!("{}{}", tensor.dtype(), Dims::from(tensor.shape()));
    }
    if let Some(shape) = value.get::<&Shape>() {
        return format!("shape{}", Dims::from(shape.as_slice()));
    }
    if let Some(fields) = value.get::<&Tuple>() {
        return format!("a tuple of {}", fields.len());
    }
    if value.is_none() { "None".to_owned() } else { format!("a value of type {}", value.type_name()) }
}
