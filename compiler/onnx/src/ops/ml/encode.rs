//! Encoders of categories.

use super::{
    super::{Op, Result},
    constant, op,
};
use crate::{
    node::{self, Node, product},
    tensor::numbers,
};
use hammock_ir::{
    DType, PrimExpr, Tensor, Type,
    relax::{Constant, InferError, Operand},
};

pub const OPS: &[Op] = &[
    op("LabelEncoder", encode_labels).attributes(
        "classes_strings@-1 default_float default_int64 default_string default_tensor@4 keys_floats@2 keys_int64s@2 \
         keys_strings@2 keys_tensor@4 values_floats@2 values_int64s@2 values_strings@2 values_tensor@4",
    ),
    op("OneHotEncoder", encode_one_hot).attributes("cats_int64s cats_strings zeros"),
];

/// One where an element is the category, zero elsewhere, along a new last axis.
fn encode_one_hot(n: &mut Node) -> Result {
    if n.attrs.strings("cats_strings")?.is_some_and(|categories| !categories.is_empty()) {
        return Err(no_strings("categories"));
    }
    let categories = n.attrs.ints_or_empty("cats_int64s")?;
    if categories.is_empty() {
        return n.error("it has no categories");
    }
    let x = n.input(0)?;
    let x = n.cast(x, DType::INT64)?;
    let mut dims = n.dims(&x)?;
    let count = product(&dims);
    dims.push(1i64.into());
    let x = n.reshape(x, dims)?;
    let categories = n.int64_vector(categories)?;
    let is_category = n.call("equal", [x, categories])?;
    let y = n.cast(is_category, DType::FLOAT32)?;
    if !n.attrs.has("zeros") || n.attrs.flag("zeros")? {
        return Ok(y.into());
    }
    expect_found(n, &y, count)?;
    Ok(y.into())
}

/// Checks at run time that each element is one of the categories.
fn expect_found(n: &mut Node, encoded: &Operand, count: PrimExpr) -> node::Result<()> {
    let counts = n.cast(encoded.clone(), DType::INT64)?;
    let found = n.call("sum", [counts])?;
    let found = n.reshape(found, vec![1i64.into()])?;
    let found = n.symbolic_dims(found)?;
    n.importer.build.match_cast(Operand::Shape(found), Type::shape([count]))?;
    Ok(())
}

fn no_strings(what: &str) -> InferError {
    InferError::new(format!("its {what} are strings, which are not supported"))
        .help("convert them to integers before the model")
}

/// Maps each element that is a key to its value, others to a default.
fn encode_labels(n: &mut Node) -> Result {
    if n.opset < 2 {
        return Err(no_strings("labels"));
    }
    let x = n.input(0)?;
    let dtype = n.dtype(&x)?;
    let keys = table(n, "keys")?;
    let values = table(n, "values")?;
    if keys.dtype() != dtype {
        return n.error(format!("its keys are {}, but its input is {dtype}", keys.dtype()));
    }
    if keys.element_count() != values.element_count() {
        let (keys, values) = (keys.element_count(), values.element_count());
        return n.error(format!("it has {keys} keys, but {values} values"));
    }
    let default = default_value(n, values.dtype())?;
    let Entries { sorted, order, missing } = Entries::new(&keys, n.opset)?;
    let all = Operand::Const(Constant::new(values));
    let at = |n: &mut Node, index: usize| {
        let index = node::scalar(index as f64, DType::INT64)?;
        n.call_with("take", [all.clone(), index], &[("axis", 0i64.into())])
    };
    let mut y = if sorted.is_empty() {
        let shape = n.dims(&x)?;
        n.call("full", [Operand::Shape(shape), default])?
    } else {
        let last = sorted.len() as f64 - 1.0;
        let order = n.int64_vector(order)?;
        let values = n.call_with("take", [all.clone(), order], &[("axis", 0i64.into())])?;
        let keys = elements_of(&keys, &sorted)?;
        let index = n.call("bucketize", [x.clone(), keys.clone()])?;
        let index = n.with_scalar("minimum", &index, last)?;
        let found = n.call_with("take", [keys, index.clone()], &[("axis", 0i64.into())])?;
        let is_key = n.call("equal", [found, x.clone()])?;
        let value = n.call_with("take", [values, index], &[("axis", 0i64.into())])?;
        n.call("where", [is_key, value, default])?
    };
    if let Some(index) = missing {
        let (is_nan, value) = (n.call("isnan", [x])?, at(n, index)?);
        y = n.call("where", [is_nan, value, y])?;
    }
    Ok(y.into())
}

/// Distinct keys in ascending order, as positions in the list of keys. Since version 4, the last one of equal keys counts,
/// and NaN is a key; before, the first one, and NaN equals nothing.
struct Entries {
    /// Positions of the keys.
    sorted: Vec<usize>,
    /// The same, for indexing.
    order: Vec<i64>,
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
        let order = sorted.iter().map(|at| *at as i64).collect();
        let missing = values.iter().rposition(|value| value.is_nan()).filter(|_| opset >= 4);
        Ok(Entries { sorted, order, missing })
    }
}

/// Returns a constant of some elements of a vector.
fn elements_of(tensor: &Tensor, positions: &[usize]) -> node::Result<Operand> {
    let failed = |error: hammock_runtime::value::TensorError| InferError::new(error.to_string());
    let bytes = tensor.as_bytes().map_err(failed)?;
    let size = tensor.dtype().bytes();
    let chosen: Vec<u8> = positions.iter().flat_map(|at| bytes[at * size..(at + 1) * size].iter().copied()).collect();
    let chosen = Tensor::from_bytes(tensor.dtype(), &[positions.len() as i64], &chosen).map_err(failed)?;
    Ok(Operand::Const(Constant::new(chosen)))
}

/// Reads the keys or values: a vector of numbers.
fn table(n: &mut Node, name: &str) -> node::Result<Tensor> {
    if n.attrs.strings(&format!("{name}_strings"))?.is_some_and(|strings| !strings.is_empty()) {
        return Err(no_strings(name));
    }
    let made = if let Some(proto) = n.attrs.tensor(&format!("{name}_tensor")) {
        if proto.data_type == crate::dtype::STRING {
            return Err(no_strings(name));
        }
        n.importer.read_tensor(proto).map_err(InferError::new)?
    } else if let Some(values) = n.attrs.ints(&format!("{name}_int64s"))?.filter(|values| !values.is_empty()) {
        tensor_of(constant(&[values.len()], &values)?)?
    } else if let Some(values) = n.attrs.floats(&format!("{name}_floats"))?.filter(|values| !values.is_empty()) {
        let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
        tensor_of(constant(&[values.len()], &values)?)?
    } else {
        return n.error(format!("it has no {name}"));
    };
    match made.shape() {
        [_] => Ok(made),
        _ => n.error(format!("its {name} must be a vector")),
    }
}

fn tensor_of(operand: Operand) -> node::Result<Tensor> {
    match operand {
        Operand::Const(constant) => Ok(constant.tensor),
        _ => Err(InferError::new("a constant was expected")),
    }
}

/// Reads the value of elements that are no key.
fn default_value(n: &mut Node, dtype: DType) -> node::Result<Operand> {
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
