//! Axes of `permute_dims`.

use hammock_ir::{AttrValue, relax::Call};

/// Returns the source axis of each axis of the result of `permute_dims`.
pub fn permutation(permute: &Call, ndim: usize) -> Option<Vec<i64>> {
    let ndim = ndim as i64;
    match permute.attrs.get("axes").filter(|axes| !axes.is_none()) {
        None => Some((0..ndim).rev().collect()),
        Some(axes) => {
            let axis = |axis: &AttrValue| axis.as_int().map(|axis| if axis < 0 { axis + ndim } else { axis });
            axes.as_list()?.iter().map(axis).collect()
        }
    }
}

/// Returns true if `permute_dims` exchanges the last two axes and leaves the others.
pub fn swaps_last_two(permute: &Call, ndim: usize) -> bool {
    let swapped = |at: usize| match ndim - at {
        1 => ndim as i64 - 2,
        2 => ndim as i64 - 1,
        _ => at as i64,
    };
    ndim >= 2 && permutation(permute, ndim).is_some_and(|axes| axes == (0..ndim).map(swapped).collect::<Vec<_>>())
}
