//! Selection and concatenation of features.

use super::{
    super::{Op, Result},
    op,
};
use crate::node::{Node, product};
use hammock_ir::{DType, PrimExpr, relax::Operand};

pub const OPS: &[Op] = &[
    op("ArrayFeatureExtractor", extract).on_strings(extract_strings),
    op("FeatureVectorizer", concatenate).attributes("inputdimensions"),
];

/// Gathers elements of the last axis.
fn extract(n: &mut Node) -> Result {
    let (x, indices) = (n.input(0)?, n.input_as_int64(1)?);
    let x = if n.rank(&x)? == 1 { n.call_with("expand_dims", [x], &[("axis", vec![0i64].into())])? } else { x };
    let count = product(&n.dims(&indices)?);
    let indices = n.reshape(indices, vec![count])?;
    let last = n.rank(&x)? as i64 - 1;
    Ok(n.call_with("take", [x, indices], &[("axis", last.into())])?.into())
}

/// Gathers strings of the last axis.
fn extract_strings(n: &mut Node) -> Result {
    let indices = n.input_as_int64(1)?;
    let count = product(&n.dims(&indices)?);
    let indices = n.reshape(indices, vec![count])?;
    Ok(n.gather_strings(0, indices)?.into())
}

/// Concatenates rows as float32. Each input has a declared number of features: others are dropped, missing ones are
/// zero.
fn concatenate(n: &mut Node) -> Result {
    let sizes = n.attrs.ints_or_empty("inputdimensions")?;
    let inputs = n.inputs_from(0)?;
    if sizes.len() != inputs.len() || sizes.iter().any(|size| *size < 0) {
        let (sizes, inputs) = (sizes.len(), inputs.len());
        return n.error(format!("its `inputdimensions` are {sizes} sizes, for {inputs} inputs"));
    }
    let mut parts = Vec::new();
    for (x, size) in inputs.into_iter().zip(sizes) {
        let x = if n.rank(&x)? == 1 { n.call_with("expand_dims", [x], &[("axis", vec![0i64].into())])? } else { x };
        let mut x = n.cast(x, DType::FLOAT32)?;
        let dims = n.dims(&x)?;
        let [rows, own] = dims.as_slice() else { return n.error("its inputs must have 1 or 2 dimensions") };
        match own.as_int() {
            Some(own) if own > size => {
                let indices = n.int64_vector(0..size)?;
                x = n.call_with("take", [x, indices], &[("axis", 1i64.into())])?;
            }
            Some(own) if own < size => {
                let shape = Operand::Shape(vec![rows.clone(), PrimExpr::int64(size - own)]);
                let zero = n.scalar_like(0.0, &x)?;
                let zeros = n.call("full", [shape, zero])?;
                x = n.call_with("concat", [Operand::Tuple(vec![x, zeros])], &[("axis", 1i64.into())])?;
            }
            Some(_) => {}
            None => x = n.assert_dims(x, &[(1, size.into())])?,
        }
        parts.push(x);
    }
    Ok(n.call_with("concat", [Operand::Tuple(parts)], &[("axis", 1i64.into())])?.into())
}
