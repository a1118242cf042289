//! Axes of `permute_dims`.

use hammock_ir::{AttrValue, relax::Call};

/// Returns the source axis of each axis of the result of `permute_dims`.
pub fn permutation(permute: &Call, ndim: usize) -> Option<Vec<i64>> {
    let ndim = ndim as i64;
    match permute.attrs.get("axes")? {
        axes if axes.is_none() => Some((0..ndim).rev().collect()),
        axes => {
            let axis = |axis: &AttrValue| axis.as_int().map(|axis| if axis < 0 { axis + ndim } else { axis });
            axes.as_list()?.iter().map(axis).collect()
        }
    }
}
