//! Comparison of tensors with the types of parameters.

use hammock_runtime::{
    Tensor,
    image::signature::{Dims, Size, ValueType},
};
use std::collections::HashMap;

/// Checks that a tensor has a type; the error says why not, unless that is obvious. `sizes` holds the symbols' values.
pub(crate) fn check_type<'a>(
    ty: &'a ValueType,
    tensor: &Tensor,
    sizes: &mut HashMap<&'a str, i64>,
) -> Result<(), String> {
    let ValueType::Tensor { dtype, shape } = ty else { return Ok(()) };
    let rank = match shape {
        Dims::Unknown => tensor.shape().len(),
        Dims::Rank(rank) => *rank,
        Dims::Known(sizes) => sizes.len(),
    };
    if dtype.is_some_and(|dtype| dtype != tensor.dtype()) || rank != tensor.shape().len() {
        return Err(String::new());
    }
    for (size, actual) in ty.sizes().into_iter().flatten().zip(tensor.shape()) {
        match size {
            Size::Static(size) if size == actual => {}
            Size::Static(_) => return Err(String::new()),
            Size::Symbol(name) => {
                let known = *sizes.entry(name).or_insert(*actual);
                if known != *actual {
                    return Err(format!(", since `{name}` is {known} by another"));
                }
            }
        }
    }
    Ok(())
}
