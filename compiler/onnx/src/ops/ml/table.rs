//! Tables that map numbers and strings to numbers and strings.

use super::{super::Result, constant};
use crate::{
    node::{self, Node},
    tensor::numbers,
};
use hammock_ir::{
    DType, Tensor,
    relax::{Constant, InferError, Operand},
};

/// Keys or values of a table.
pub enum Keys {
    /// Vector of numbers.
    Numbers(Tensor),
    /// Strings.
    Strings(Vec<String>),
}

/// Keys with their values.
pub struct Table {
    pub keys: Keys,
    pub values: Keys,
}

impl Table {
    /// Appends the value of each element of the first input, or the default.
    pub fn look_up(&self, n: &mut Node) -> Result {
        let (keys, values) = (self.keys.len(), self.values.len());
        if keys != values {
            return n.error(format!("it has {keys} keys, but {values} values"));
        }
        let positions = self.keys.positions(n)?;
        // Position 0 is that of the default.
        match &self.values {
            Keys::Strings(values) => {
                let default = default_string(n)?;
                let table: Vec<&str> =
                    std::iter::once(default.as_str()).chain(values.iter().map(String::as_str)).collect();
                Ok(n.strings_at(&table, positions)?.into())
            }
            Keys::Numbers(values) => {
                let table = with_default(values, default_number(n, values.dtype())?)?;
                Ok(n.call_with("take", [table, positions], &[("axis", 0i64.into())])?.into())
            }
        }
    }
}

impl Keys {
    /// Creates integers.
    pub fn integers(values: &[i64]) -> node::Result<Keys> {
        Ok(Keys::Numbers(tensor_of(constant(&[values.len()], values)?)?))
    }

    /// Reads one of the attributes for keys or values.
    pub fn of(n: &mut Node, name: &str) -> node::Result<Keys> {
        if let Some(strings) = n.attrs.strings(&format!("{name}_strings"))?.filter(|strings| !strings.is_empty()) {
            return Ok(Keys::Strings(strings));
        }
        let tensor = if let Some(proto) = n.attrs.tensor(&format!("{name}_tensor")) {
            if proto.data_type == crate::dtype::STRING {
                return strings_of(proto).map(Keys::Strings);
            }
            n.importer.read_tensor(proto).map_err(InferError::new)?
        } else if let Some(values) = n.attrs.ints(&format!("{name}_int64s"))?.filter(|values| !values.is_empty()) {
            return Keys::integers(&values);
        } else if let Some(values) = n.attrs.floats(&format!("{name}_floats"))?.filter(|values| !values.is_empty()) {
            let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
            tensor_of(constant(&[values.len()], &values)?)?
        } else {
            return n.error(format!("it has no {name}"));
        };
        match tensor.shape() {
            [_] => Ok(Keys::Numbers(tensor)),
            _ => n.error(format!("its {name} must be a vector")),
        }
    }

    fn len(&self) -> usize {
        match self {
            Keys::Numbers(tensor) => tensor.element_count(),
            Keys::Strings(strings) => strings.len(),
        }
    }

    /// Appends the position of each element of the first input among the keys, from 1 on; 0 for other elements.
    pub fn positions(&self, n: &mut Node) -> node::Result<Operand> {
        match self {
            Keys::Strings(keys) => {
                let mut distinct: Vec<(usize, &str)> = keys.iter().map(String::as_str).enumerate().collect();
                retain_one_of_equal(&mut distinct, n.opset >= 4);
                let table: Vec<&str> = distinct.iter().map(|(_, key)| *key).collect();
                let found = n.find_strings(0, &table)?;
                let found = n.with_scalar("add", &found, 1.0)?;
                let order = std::iter::once(0).chain(distinct.iter().map(|(at, _)| *at as i64 + 1));
                let order = n.int64_vector(order)?;
                n.call_with("take", [order, found], &[("axis", 0i64.into())])
            }
            Keys::Numbers(keys) => number_positions(n, keys),
        }
    }
}

/// Removes strings that are there twice: all but the last one, or but the first.
fn retain_one_of_equal(keys: &mut Vec<(usize, &str)>, last: bool) {
    keys.sort_by_key(|(at, key)| (*key, if last { usize::MAX - at } else { *at }));
    keys.dedup_by_key(|(_, key)| *key);
}

fn number_positions(n: &mut Node, keys: &Tensor) -> node::Result<Operand> {
    let x = n.input(0)?;
    let dtype = n.dtype(&x)?;
    if keys.dtype() != dtype {
        return n.error(format!("its keys are {}, but its input is {dtype}", keys.dtype()));
    }
    let Entries { sorted, missing } = Entries::new(keys, n.opset)?;
    let zero = node::scalar(0.0, DType::INT64)?;
    let mut positions = if sorted.is_empty() {
        let shape = n.dims(&x)?;
        n.call("full", [Operand::Shape(shape), zero])?
    } else {
        let order = n.int64_vector(sorted.iter().map(|at| *at as i64 + 1))?;
        let keys = elements_of(keys, &sorted)?;
        let index = n.call("bucketize", [x.clone(), keys.clone()])?;
        let index = n.with_scalar("minimum", &index, sorted.len() as f64 - 1.0)?;
        let found = n.call_with("take", [keys, index.clone()], &[("axis", 0i64.into())])?;
        let is_key = n.call("equal", [found, x.clone()])?;
        let position = n.call_with("take", [order, index], &[("axis", 0i64.into())])?;
        n.call("where", [is_key, position, zero])?
    };
    if let Some(missing) = missing {
        let is_nan = n.call("isnan", [x])?;
        let position = node::scalar(missing as f64 + 1.0, DType::INT64)?;
        positions = n.call("where", [is_nan, position, positions])?;
    }
    Ok(positions)
}

/// Distinct keys. Since version 4, the last one of equal keys counts, and NaN is a key; before, the first one, and NaN
/// equals nothing.
struct Entries {
    /// Positions of the keys in ascending order.
    sorted: Vec<usize>,
    /// Position of NaN.
    missing: Option<usize>,
}

impl Entries {
    fn new(keys: &Tensor, opset: i64) -> node::Result<Entries> {
        let values = numbers(keys).map_err(InferError::new)?;
        let exact: Option<&[i64]> = keys.as_slice::<i64>().ok();
        let compare = |a: &usize, b: &usize| match exact {
            Some(keys) => keys[*a].cmp(&keys[*b]),
            None => values[*a].partial_cmp(&values[*b]).unwrap_or(std::cmp::Ordering::Equal),
        };
        let mut sorted: Vec<usize> = (0..values.len()).filter(|at| !values[*at].is_nan()).collect();
        // The sort is stable, and the first one of equal keys stays.
        if opset >= 4 {
            sorted.reverse();
        }
        sorted.sort_by(compare);
        sorted.dedup_by(|a, b| compare(a, b).is_eq());
        let missing = values.iter().rposition(|value| value.is_nan()).filter(|_| opset >= 4);
        Ok(Entries { sorted, missing })
    }
}

/// Returns a constant of some elements of a vector.
fn elements_of(tensor: &Tensor, positions: &[usize]) -> node::Result<Operand> {
    let bytes = tensor.as_bytes().map_err(failed)?;
    let size = tensor.dtype().bytes();
    let chosen: Vec<u8> = positions.iter().flat_map(|at| bytes[at * size..(at + 1) * size].iter().copied()).collect();
    let chosen = Tensor::from_bytes(tensor.dtype(), &[positions.len() as i64], &chosen).map_err(failed)?;
    Ok(Operand::Const(Constant::new(chosen)))
}

/// Returns a constant of a default and values.
fn with_default(values: &Tensor, default: Operand) -> node::Result<Operand> {
    let default = tensor_of(default)?;
    let bytes = [default.as_bytes().map_err(failed)?, values.as_bytes().map_err(failed)?].concat();
    let shape = [values.element_count() as i64 + 1];
    let table = Tensor::from_bytes(values.dtype(), &shape, &bytes).map_err(failed)?;
    Ok(Operand::Const(Constant::new(table)))
}

fn failed(error: hammock_runtime::value::TensorError) -> InferError {
    InferError::new(error.to_string())
}

fn tensor_of(operand: Operand) -> node::Result<Tensor> {
    match operand {
        Operand::Const(constant) => Ok(constant.tensor),
        _ => Err(InferError::new("a constant was expected")),
    }
}

fn strings_of(proto: &crate::schema::TensorProto) -> node::Result<Vec<String>> {
    let texts = proto.string_data.iter().map(|text| std::str::from_utf8(text).map(str::to_owned));
    texts.collect::<std::result::Result<_, _>>().map_err(|_| InferError::new("its strings are not valid UTF-8"))
}

/// Reads the value of elements that are no key.
fn default_number(n: &mut Node, dtype: DType) -> node::Result<Operand> {
    if let Some(proto) = n.attrs.tensor("default_tensor") {
        let value = n.tensor_numbers(proto)?;
        return match value.as_slice() {
            [value] => node::scalar(*value, dtype),
            _ => n.error("its `default_tensor` must have one element"),
        };
    }
    if dtype.is_floating() {
        return node::scalar(n.attrs.float_or("default_float", -0.0)?, dtype);
    }
    node::scalar(n.attrs.int_or("default_int64", -1)? as f64, dtype)
}

fn default_string(n: &Node) -> node::Result<String> {
    if let Some(proto) = n.attrs.tensor("default_tensor") {
        return match strings_of(proto)?.as_slice() {
            [default] => Ok(default.clone()),
            _ => n.error("its `default_tensor` must have one string"),
        };
    }
    Ok(n.attrs.str_or("default_string", "_Unused")?.to_owned())
}
