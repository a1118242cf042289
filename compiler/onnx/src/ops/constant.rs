//! Constants and generators.

use super::{Op, Result, dynamic_shape, op};
use crate::{
    dtype,
    known_tensor::KnownTensor,
    node::{self, Node},
    tensor,
    value::{Value, strings::Strings},
};
use hammock_ir::{
    PrimExpr, Tensor,
    relax::{Constant, InferError, Operand},
};

pub const OPS: &[Op] = &[
    op("Constant", constant).attributes(
        "sparse_value@11 value value_float@12 value_floats@12 value_int@12 value_ints@12 value_string@12 \
         value_strings@12",
    ),
    op("ConstantOfShape", constant_of_shape).attributes("value"),
    op("EyeLike", eye_like).attributes("dtype k"),
    op("Range", range).attributes("stash_type@27"),
];

fn constant(n: &mut Node) -> Result {
    let floats = |values: &[f64]| values.iter().map(|v| *v as f32).collect::<Vec<_>>();
    let failed = |e: hammock_runtime::value::TensorError| InferError::new(e.to_string());
    if let Some(strings) = constant_strings(n)? {
        return Ok(Value::Strings(strings).into());
    }
    let tensor = if let Some(proto) = n.attrs.tensor("value") {
        let tensor = n.importer.read_tensor(proto).map_err(InferError::new)?;
        return Ok(tensor::value(proto, tensor).into());
    } else if let Some(proto) = n.attrs.get("sparse_value").and_then(|attribute| attribute.sparse_tensor.as_ref()) {
        crate::sparse::read(proto, &n.importer.model.folder).map_err(InferError::new)?
    } else if let Some(value) = n.attrs.float("value_float")? {
        Tensor::from_slice(&[], &floats(&[value])).map_err(failed)?
    } else if let Some(values) = n.attrs.floats("value_floats")? {
        Tensor::from_slice(&[values.len() as i64], &floats(&values)).map_err(failed)?
    } else if let Some(value) = n.attrs.int("value_int")? {
        Tensor::from_slice(&[], &[value]).map_err(failed)?
    } else if let Some(values) = n.attrs.ints("value_ints")? {
        Tensor::from_slice(&[values.len() as i64], &values).map_err(failed)?
    } else {
        return n.error("it has no value that is supported: a tensor, numbers, strings");
    };
    Ok(Value::Operand(Operand::Const(Constant::new(tensor))).into())
}

fn constant_strings(n: &Node) -> node::Result<Option<Strings>> {
    if let Some(proto) = n.attrs.tensor("value").filter(|proto| proto.data_type == dtype::STRING) {
        return Strings::read(proto).map(Some);
    }
    if n.attrs.has("value_string") {
        return Strings::known(&[], &[n.attrs.str_or("value_string", "")?]).map(Some);
    }
    let Some(texts) = n.attrs.strings("value_strings")? else { return Ok(None) };
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Strings::known(&[texts.len() as i64], &texts).map(Some)
}

fn constant_of_shape(n: &mut Node) -> Result {
    let value = match n.attrs.tensor("value") {
        Some(proto) => {
            n.dtype_from_code(i64::from(proto.data_type))?;
            n.importer.read_tensor(proto).map_err(InferError::new)?
        }
        None => Tensor::scalar(0.0f32).map_err(|e| InferError::new(e.to_string()))?,
    };
    if value.element_count() != 1 {
        return n.error("its `value` has to be one number");
    }
    let shape = match n.known(0) {
        Some(known) => known.elements.to_vec(),
        None => {
            let shape = n.input_as_int64(0)?;
            n.symbolic_dims(shape)?
        }
    };
    let sizes: Option<Vec<i64>> = shape.iter().map(PrimExpr::as_int).collect();
    let element = KnownTensor::of_tensor(&value).and_then(|value| value.elements.first().cloned());
    if let (Some(sizes), Some(element)) = (sizes, element)
        && sizes.iter().try_fold(1i64, |all, size| all.checked_mul(*size)).is_some_and(|count| count <= 64)
        && let Some(known) =
            KnownTensor::new(&sizes, value.dtype(), vec![element; sizes.iter().product::<i64>().max(0) as usize])
    {
        return Ok(known.into());
    }
    let failed = |e: hammock_runtime::value::TensorError| InferError::new(e.to_string());
    let bytes = value.as_bytes().map_err(failed)?;
    let value = Tensor::from_bytes(value.dtype(), &[], bytes).map_err(failed)?;
    Ok(n.call("full", [Operand::Shape(shape), Operand::Const(Constant::new(value))])?.into())
}

fn eye_like(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let dtype = match n.attrs.int("dtype")? {
        Some(number) => n.dtype_from_code(number)?,
        None => n.dtype(&x)?,
    };
    let [rows, columns] = n.dims(&x)?.try_into().or_else(|_| n.error("its input has to be a matrix"))?;
    let k = n.attrs.int_or("k", 0)?;
    let args = [Operand::Prim(rows), Operand::Prim(columns), Operand::int(k)];
    Ok(n.call_with("eye", args, &[("dtype", dtype.into())])?.into())
}

fn range(n: &mut Node) -> Result {
    let given: Option<Vec<KnownTensor>> = (0..3).map(|at| n.known(at)).collect();
    let Some([start, limit, delta]) = given.as_deref() else {
        return dynamic_shape::range(n);
    };
    let dtype = start.dtype;
    let numbers = |known: &KnownTensor| known.ints().filter(|_| !dtype.is_floating()).and_then(|v| v.first().copied());
    if let (Some(start), Some(limit), Some(delta)) = (numbers(start), numbers(limit), numbers(delta)) {
        if delta == 0 {
            return n.error("its `delta` is zero");
        }
        let span = i128::from(limit) - i128::from(start);
        let count = (span + i128::from(delta) - i128::from(delta.signum())) / i128::from(delta);
        if count <= 256 {
            let elements = (0..count.max(0) as i64).map(|i| PrimExpr::int64(start + i * delta));
            if let Some(known) = KnownTensor::new(&[count.max(0) as i64], dtype, elements) {
                return Ok(known.into());
            }
        }
    }
    let first = |known: &KnownTensor| known.elements.first().cloned().unwrap_or_else(|| PrimExpr::int64(0));
    let args = [start, limit, delta].map(|known| Operand::Prim(first(known)));
    Ok(n.call_with("arange", args, &[("dtype", dtype.into())])?.into())
}
