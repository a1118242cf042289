//! Sliding windows: strides, padding and dilation of convolutions and poolings.
//!
//! Attributes have short forms: one number for all spatial axes; padding as one number per axis, or `[begin…, end…]`. A
//! call in the IR has the full form ([`complete`]); rules accept both.

use crate::{CallContext, dims, legalize::Builder};
use hammock_ir::{Attrs, PrimExpr, relax::InferError};

/// A sliding window over the spatial axes; one entry per axis.
#[derive(Clone, Debug)]
pub struct Window {
    /// Stride between windows.
    pub strides: Vec<i64>,
    /// Dilation: stride between elements of a window.
    pub dilation: Vec<i64>,
    /// Elements added before the first.
    pub before: Vec<i64>,
    /// Elements added after the last.
    pub after: Vec<i64>,
}

impl Window {
    /// The window that a call's attributes describe, over `rank` spatial axes.
    ///
    /// # Errors
    /// When an attribute has none of the allowed lengths, a stride is not positive, or padding is negative.
    pub fn of(cx: &CallContext, rank: usize) -> Result<Window, InferError> {
        let (strides, dilation) = (steps(cx, "strides", rank)?, steps(cx, "dilation", rank)?);
        let padding = cx.ints("padding")?;
        let full = full_padding(&padding, rank).filter(|p| p.iter().all(|v| *v >= 0)).ok_or_else(|| {
            let lengths = if rank == 1 { "1 or 2".to_owned() } else { format!("1, {rank} or {}", 2 * rank) };
            cx.error_at(
                "padding",
                format_args!("`padding` must be {lengths} numbers that are not negative, not {padding:?}"),
            )
        })?;
        Ok(Window { strides, dilation, before: full[..rank].to_vec(), after: full[rank..].to_vec() })
    }

    /// Returns true if there is padding.
    pub fn pads(&self) -> bool {
        self.before.iter().chain(&self.after).any(|p| *p != 0)
    }

    /// The index in the padded data that tap `k` of the window at `position` reads.
    pub fn source(&self, axis: usize, position: &PrimExpr, k: &PrimExpr) -> PrimExpr {
        let start = dims::mul(position, &self.strides[axis].into());
        dims::add(&start, &dims::mul(k, &self.dilation[axis].into()))
    }

    /// The condition that an index in the padded data is in the data itself, of these sizes; `None` if it always is.
    pub fn inside(&self, index: &[PrimExpr], sizes: &[PrimExpr]) -> Option<PrimExpr> {
        let mut conditions = Vec::new();
        for (i, (at, size)) in index.iter().zip(sizes).enumerate() {
            let (before, after) = (self.before[i], self.after[i]);
            conditions.extend((before > 0).then(|| at.clone().ge(before)));
            conditions.extend((after > 0).then(|| at.clone().lt(dims::offset(size, before))));
        }
        conditions.into_iter().reduce(PrimExpr::and)
    }

    /// Adds a run-time check that the padded data, of these sizes without padding, is at least as large as the window.
    pub fn require_fit(&self, b: &mut Builder, sizes: &[PrimExpr], kernel: &[PrimExpr]) {
        for (axis, (size, kernel)) in sizes.iter().zip(kernel).enumerate() {
            let room = dims::offset(size, self.before[axis] + self.after[axis]);
            let window = dims::offset(&dims::mul(&dims::offset(kernel, -1), &self.dilation[axis].into()), 1);
            b.require(room.ge(window), &format!("the padded data are smaller than the window on spatial axis {axis}"));
        }
    }

    /// Number of window positions along one axis, with a partial last window (`ceil`) or without it.
    pub fn positions(&self, axis: usize, size: &PrimExpr, kernel: &PrimExpr, ceil: bool) -> PrimExpr {
        let (stride, dilation) = (self.strides[axis], self.dilation[axis]);
        let round_up = if ceil { stride - 1 } else { 0 };
        let around = self.before[axis] + self.after[axis] - 1 + round_up;
        let reach = dims::mul(&dims::offset(kernel, -1), &dilation.into());
        let room = dims::offset(&dims::sub(size, &reach), around);
        let last = dims::simplify(&dims::floordiv(&room, &stride.into()));
        let count = dims::simplify(&dims::offset(&last, 1));
        if !ceil {
            return count;
        }
        let start = dims::mul(&last, &stride.into());
        let end = dims::offset(size, self.before[axis]);
        match dims::at_least(&start, &end) {
            Some(true) => last,
            Some(false) => count,
            None => start.ge(end).if_then_else(last, count),
        }
    }
}

/// The parameters of an example on data with `rank` spatial axes.
pub fn example_data(rank: usize) -> &'static str {
    match rank {
        1 => "x: float32[1, 2, 6]",
        2 => "x: float32[1, 2, 6, 6]",
        _ => "x: float32[1, 2, 6, 6, 6]",
    }
}

/// The same, with a kernel.
pub fn example_convolution(rank: usize) -> &'static str {
    match rank {
        1 => "x: float32[1, 2, 6]; w: float32[2, 2, 3]",
        2 => "x: float32[1, 2, 6, 6]; w: float32[2, 2, 3, 3]",
        _ => "x: float32[1, 2, 6, 6, 6]; w: float32[2, 2, 3, 3, 3]",
    }
}

/// One positive number per spatial axis.
///
/// # Errors
/// When the attribute is anything else.
pub fn steps(cx: &CallContext, name: &str, rank: usize) -> Result<Vec<i64>, InferError> {
    let given = cx.ints(name)?;
    full_steps(&given, rank).filter(|s| s.iter().all(|v| *v > 0)).ok_or_else(|| {
        let count = if rank == 1 { "1 number".to_owned() } else { format!("1 or {rank} numbers") };
        cx.error_at(name, format_args!("`{name}` must be {count} greater than 0, not {given:?}"))
    })
}

fn full_steps(given: &[i64], rank: usize) -> Option<Vec<i64>> {
    match given {
        [one] => Some(vec![*one; rank]),
        all if all.len() == rank => Some(all.to_vec()),
        _ => None,
    }
}

fn full_padding(given: &[i64], rank: usize) -> Option<Vec<i64>> {
    match given {
        [one] => Some(vec![*one; 2 * rank]),
        all if all.len() == 2 * rank => Some(all.to_vec()),
        sides if sides.len() == rank => Some([sides, sides].concat()),
        _ => None,
    }
}

/// Expands the window's attributes to their full form. Invalid ones are unchanged; the type rule rejects them.
pub fn complete(attrs: &mut Attrs, rank: usize) {
    for name in ["pool_size", "strides", "dilation", "output_padding"] {
        rewrite(attrs, name, |given| full_steps(given, rank));
    }
    rewrite(attrs, "padding", |given| full_padding(given, rank));
}

/// Replaces a list of integers by its full form.
pub fn rewrite(attrs: &mut Attrs, name: &str, full: impl FnOnce(&[i64]) -> Option<Vec<i64>>) {
    let Some(value) = attrs.get(name) else { return };
    let given: Option<Vec<i64>> = match (value.as_list(), value.as_int()) {
        (Some(list), _) => list.iter().map(|v| v.as_int()).collect(),
        (None, Some(one)) => Some(vec![one]),
        _ => None,
    };
    if let Some(full) = given.as_deref().and_then(full) {
        attrs.set(name, full);
    }
}

/// Sets an attribute that is `None` to the value of another.
pub fn default_to(attrs: &mut Attrs, name: &str, source: &str) {
    let missing = attrs.get(name).is_some_and(|v| v.is_none() || v.as_str() == Some(""));
    if let Some(value) = attrs.get(source).filter(|_| missing).cloned() {
        attrs.set(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_ir::prim::Var;

    fn window(stride: i64, pad: i64, dilation: i64) -> Window {
        Window { strides: vec![stride], dilation: vec![dilation], before: vec![pad], after: vec![pad] }
    }

    #[test]
    fn positions_of_known_sizes() {
        let count =
            |w: Window, size: i64, kernel: i64, ceil| w.positions(0, &size.into(), &kernel.into(), ceil).as_int();
        assert_eq!(count(window(1, 1, 1), 28, 3, false), Some(28));
        assert_eq!(count(window(2, 1, 1), 28, 3, false), Some(14));
        assert_eq!(count(window(2, 1, 1), 32, 3, true), Some(17));
        assert_eq!(count(window(2, 1, 1), 9, 2, true), Some(5));
        assert_eq!(count(window(1, 0, 2), 8, 3, false), Some(4));
    }

    #[test]
    fn positions_of_symbolic_sizes_fold_their_constants() {
        let m = Var::int64("m").expr();
        assert!(window(1, 1, 1).positions(0, &m, &3.into(), false).same_node(&m));
    }

    #[test]
    fn short_forms_are_written_out() {
        let mut attrs = Attrs::new().with("strides", 2i64).with("padding", vec![1i64, 2]).with("out_layout", "");
        attrs.set("data_layout", "NCHW");
        complete(&mut attrs, 2);
        default_to(&mut attrs, "out_layout", "data_layout");
        assert_eq!(format!("{:?}", attrs.get("strides")), "Some(List([Int(2), Int(2)]))");
        assert_eq!(format!("{:?}", attrs.get("padding")), "Some(List([Int(1), Int(2), Int(1), Int(2)]))");
        assert_eq!(attrs.get("out_layout").and_then(|v| v.as_str()), Some("NCHW"));
    }
}
