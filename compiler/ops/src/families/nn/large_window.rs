//! Poolings of large windows by doubling.
//!
//! Windows of `2 m` elements combine two of `m` elements, and those of any other extent a few whose extents are powers
//! of two (the sparse table of Bender and Farach-Colton, The LCA problem revisited, 2000). An axis takes `log2 k`
//! element-wise stages instead of a reduction over `k` taps. Nothing is subtracted, so NaN and infinities only affect
//! the windows that contain them.

use super::window::Window;
use crate::{
    dims,
    layout::Layout,
    legalize::{Builder, Combine, Input},
};
use hammock_ir::{PrimExpr, tir::Buffer};

/// Cost of an element of a stage, in taps of a reduction: two loads and a store that may miss the L1 cache.
const STAGE_COST: i64 = 6;

/// Maximum number of elements that a window spans along an axis.
const MAX_REACH: i64 = 1 << 31;

/// Returns true if doubling is faster than a reduction over all taps.
pub fn pays_off(kernel: &[i64], window: &Window, layout: &Layout) -> bool {
    let taps = kernel.iter().fold(1, |taps: i64, k| taps.saturating_mul(*k));
    // Elements for each result, of the stages of an axis.
    let mut elements = window.strides.iter().fold(1, |all: i64, stride| all.saturating_mul(*stride));
    let mut cost = elements.saturating_mul(STAGE_COST);
    for (kernel, stride) in kernel.iter().zip(&window.strides) {
        cost = cost.saturating_add(elements.saturating_mul(STAGE_COST * i64::from(kernel.ilog2())));
        elements /= stride;
        cost = cost.saturating_add(elements.saturating_mul(STAGE_COST));
    }
    let reaches = kernel.iter().zip(&window.dilation).map(|(kernel, dilation)| kernel.saturating_mul(*dilation));
    !layout.has_blocks() && taps > cost && reaches.max() <= Some(MAX_REACH)
}

/// Sliding windows along an axis of a tensor.
struct Windows {
    /// Index of the axis.
    axis: usize,
    kernel: i64,
    stride: i64,
    dilation: i64,
}

/// Folds the windows of a pooling along the spatial axes, which are the positions of `axes` in its result: `element`
/// returns the element at an index of the padded data.
pub fn fold(
    b: &mut Builder,
    kernel: &[i64],
    window: &Window,
    axes: &[usize],
    how: Combine,
    to: &Buffer,
    element: impl FnOnce(&[PrimExpr]) -> PrimExpr,
) {
    let windows = |(i, axis): (usize, &usize)| Windows {
        axis: *axis,
        kernel: kernel[i],
        stride: window.strides[i],
        dilation: window.dilation[i],
    };
    let axes: Vec<Windows> = axes.iter().enumerate().map(windows).collect();
    let mut shape = to.shape.clone();
    axes.iter().for_each(|windows| shape[windows.axis] = windows.length(&to.shape[windows.axis], windows.kernel));
    let mut x = b.stage("padded", shape, to.dtype, element);
    for (number, windows) in axes.iter().enumerate() {
        let mut shape = x.shape().to_vec();
        shape[windows.axis] = to.shape[windows.axis].clone();
        let folded = if number + 1 == axes.len() { to.clone() } else { b.temp("folded", shape, to.dtype) };
        windows.fold(b, x, how, &folded);
        x = Input::Buffer(folded);
    }
}

impl Windows {
    /// Number of elements that `positions` windows cover, less the taps beyond the first `kernel` of the last one.
    fn length(&self, positions: &PrimExpr, kernel: i64) -> PrimExpr {
        let last = dims::mul(&dims::offset(positions, -1), &self.stride.into());
        dims::offset(&last, (kernel - 1) * self.dilation + 1)
    }

    fn fold(&self, b: &mut Builder, x: Input, how: Combine, to: &Buffer) {
        let shifted = |i: &[PrimExpr], taps: i64| {
            let mut i = i.to_vec();
            i[self.axis] = dims::offset(&i[self.axis], taps * self.dilation);
            i
        };
        // Windows of 1, 2, 4, … elements at all positions.
        let mut powers = vec![x];
        for exponent in 0..self.kernel.ilog2() {
            let (half, size) = (powers[exponent as usize].clone(), 1i64 << exponent);
            let mut shape = half.shape().to_vec();
            shape[self.axis] = self.length(&to.shape[self.axis], self.kernel + 1 - 2 * size);
            let double = |i: &[PrimExpr]| how.apply(half.at(i), half.at(&shifted(i, size)));
            powers.push(b.stage("windows", shape, to.dtype, double));
        }
        let parts = self.parts(how);
        b.compute(to, |i| {
            let mut start = i.to_vec();
            start[self.axis] = dims::mul(&i[self.axis], &self.stride.into());
            let values = parts.iter().map(|(exponent, taps)| powers[*exponent].at(&shifted(&start, *taps)));
            values.reduce(|a, b| how.apply(a, b)).unwrap_or_else(|| how.identity(to.dtype))
        });
    }

    /// Windows of powers of two that cover a window: exponents, and the numbers of taps before them. They overlap only for
    /// maxima.
    fn parts(&self, how: Combine) -> Vec<(usize, i64)> {
        let top = self.kernel.ilog2() as usize;
        if how == Combine::Max {
            let rest = self.kernel - (1 << top);
            return if rest == 0 { vec![(top, 0)] } else { vec![(top, 0), (top, rest)] };
        }
        let bits = (0..=top).rev().filter(|bit| self.kernel & (1 << bit) != 0);
        bits.scan(0, |taps, bit| {
            let before = *taps;
            *taps += 1i64 << bit;
            Some((bit, before))
        })
        .collect()
    }
}
