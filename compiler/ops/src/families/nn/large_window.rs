//! Poolings of large windows, one axis after another.
//!
//! An axis of a few taps with a stride is a reduction over them. Any other is folded by doubling: windows of `2 m` elements combine
//! two of `m` elements, and those of any other extent a few whose extents are powers of two (the sparse table of Bender
//! and Farach-Colton, The LCA problem revisited, 2000), so it takes `log2 k` element-wise stages instead of a reduction
//! over `k` taps. Nothing is subtracted, so NaN and infinities only affect the windows that contain them.

use super::window::Window;
use crate::{
    dims,
    layout::Layout,
    legalize::{Builder, Combine, Input},
};
use hammock_ir::{PrimExpr, tir::Buffer};

/// Cost of an element of a stage, in taps of a reduction: two loads and a store that may miss the L1 cache.
const STAGE_COST: i64 = 6;

/// Cost of a result of a reduction that is stored, in taps.
const STORE_COST: i64 = 2;

/// Cost of reductions along axes of dynamic size, in per cent: means of windows of 8 x 8 by 3 over 56 x 56 elements are
/// faster over all taps, those of 7 x 7 by 2 over 112 x 112 are not.
const DYNAMIC_SIZE_COST: i64 = 170;

/// Maximum number of elements that a window spans along an axis.
const MAX_REACH: i64 = 1 << 31;

/// Returns true if one axis after another is faster than a reduction over all taps, for data of these sizes.
pub fn pays_off(kernel: &[i64], window: &Window, layout: &Layout, sizes: &[PrimExpr]) -> bool {
    let taps = kernel.iter().fold(1, |taps: i64, k| taps.saturating_mul(*k));
    // Elements for each result, of the stages of an axis.
    let mut elements = window.strides.iter().fold(1, |all: i64, stride| all.saturating_mul(*stride));
    let mut cost = 0i64;
    for (number, (kernel, stride)) in kernel.iter().zip(&window.strides).enumerate() {
        let results = elements / stride;
        let axis = if doubles(*kernel, *stride) {
            let stages = i64::from(kernel.ilog2()) + i64::from(number == 0);
            elements.saturating_mul(stages).saturating_add(results).saturating_mul(STAGE_COST)
        } else {
            results.saturating_mul(kernel.saturating_add(STORE_COST))
        };
        cost = cost.saturating_add(axis);
        elements = results;
    }
    let reaches = kernel.iter().zip(&window.dilation).map(|(kernel, dilation)| kernel.saturating_mul(*dilation));
    let mut axes = kernel.iter().zip(&window.strides);
    // Reductions along an axis of dynamic size have masked tails.
    if sizes.iter().any(|size| size.as_int().is_none()) && axes.any(|(kernel, stride)| !doubles(*kernel, *stride)) {
        cost = cost.saturating_mul(DYNAMIC_SIZE_COST) / 100;
    }
    !layout.has_blocks() && taps > cost && reaches.max() <= Some(MAX_REACH)
}

/// Returns true if doubling along an axis is faster than a reduction over its taps. With a stride, there are fewer
/// results to reduce than positions to double.
fn doubles(kernel: i64, stride: i64) -> bool {
    stride == 1 || kernel > stride.saturating_mul(STAGE_COST * i64::from(kernel.ilog2()))
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
    element: impl Fn(&[PrimExpr]) -> PrimExpr,
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
    let mut x: Option<Input> = None;
    for (number, windows) in axes.iter().enumerate() {
        let mut folded = shape.clone();
        folded[windows.axis] = to.shape[windows.axis].clone();
        let folded = if number + 1 == axes.len() { to.clone() } else { b.temp("folded", folded, to.dtype) };
        if doubles(windows.kernel, windows.stride) {
            let x = x.unwrap_or_else(|| b.stage("padded", shape, to.dtype, &element));
            windows.double(b, x, how, &folded);
        } else {
            windows.reduce(b, how, &folded, |at| x.as_ref().map_or_else(|| element(at), |x| x.at(at)));
        }
        shape = folded.shape.clone();
        x = Some(Input::Buffer(folded));
    }
}

impl Windows {
    /// Number of elements that `positions` windows cover, less the taps beyond the first `kernel` of the last one.
    fn length(&self, positions: &PrimExpr, kernel: i64) -> PrimExpr {
        let last = dims::mul(&dims::offset(positions, -1), &self.stride.into());
        dims::offset(&last, (kernel - 1) * self.dilation + 1)
    }

    /// Folds each window by a reduction over its taps.
    fn reduce(&self, b: &mut Builder, how: Combine, to: &Buffer, read: impl Fn(&[PrimExpr]) -> PrimExpr) {
        b.reduce(to, &[("tap".to_owned(), self.kernel.into())], how, |at, k| {
            let mut at = at.to_vec();
            let start = dims::mul(&at[self.axis], &self.stride.into());
            at[self.axis] = dims::add(&start, &dims::mul(&k[0], &self.dilation.into()));
            read(&at)
        });
    }

    /// Folds windows of 1, 2, 4, … elements at all positions, of which those of each window are combined.
    fn double(&self, b: &mut Builder, x: Input, how: Combine, to: &Buffer) {
        let shifted = |i: &[PrimExpr], taps: i64| {
            let mut i = i.to_vec();
            i[self.axis] = dims::offset(&i[self.axis], taps * self.dilation);
            i
        };
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
