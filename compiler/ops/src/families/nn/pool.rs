//! Poolings: the maximum or mean of sliding windows.
//!
//! A window may extend into padding. The maximum ignores padding; the mean counts it as zeros (`count_include_pad`) or
//! ignores it. With `ceil_mode` the last window may also extend beyond the padding; such positions never count.

use super::{
    conv::{expect_layout, layout},
    large_window,
    window::{Window, complete, default_to, example_data, steps},
};
use crate::{
    CallContext, dims,
    layout::Layout,
    legalize::{Builder, Combine, Input, Legalized, accumulator},
    op::{AttrKind, NONE, Op},
    precision::Precision,
    relayout,
};
use hammock_ir::{DType, PrimExpr, TensorShape, TensorType, relax::InferError, tir::Buffer};

/// Reduction of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Its largest element.
    Max,
    /// The mean of its elements.
    Mean,
}

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        pool("nn.max_pool1d", "W", Pooling::Max, false, "The largest element of each window of a sequence."),
        pool("nn.max_pool2d", "HW", Pooling::Max, false, "The largest element of each window of an image."),
        pool("nn.max_pool3d", "DHW", Pooling::Max, false, "The largest element of each window of a volume."),
        pool("nn.avg_pool1d", "W", Pooling::Mean, true, "The mean of each window of a sequence."),
        pool("nn.avg_pool2d", "HW", Pooling::Mean, false, "The mean of each window of an image."),
        pool("nn.avg_pool3d", "DHW", Pooling::Mean, true, "The mean of each window of a volume."),
    ]
}

fn pool(name: &'static str, spatial: &'static str, pooling: Pooling, count_pad: bool, doc: &'static str) -> Op {
    let sides = if spatial.len() == 1 { 2 } else { spatial.len() };
    let op = Op::new(name).doc(doc).example(example_data(spatial.len()), "x, pool_size=2, strides=2");
    attributes(op.tensor("data"), spatial, vec![0; sides], count_pad)
        .layouts(relayout::pooling(spatial))
        .precision(Precision::Follow)
        .infer(move |cx| Ok(infer(cx, spatial, "data")?.into()))
        .legalize(move |cx| legalize(cx, spatial, pooling))
}

/// Adds the attributes of a pooling.
pub fn attributes(op: Op, spatial: &'static str, padding: Vec<i64>, count_pad: bool) -> Op {
    let rank = spatial.len();
    op.attr("pool_size", AttrKind::Ints, vec![1i64; rank])
        .attr("strides", AttrKind::Ints, vec![1i64; rank])
        .attr("padding", AttrKind::Ints, padding)
        .attr("dilation", AttrKind::Ints, vec![1i64; rank])
        .attr("ceil_mode", AttrKind::Bool, false)
        .attr("count_include_pad", AttrKind::Bool, count_pad)
        .attr("layout", AttrKind::Str, format!("NC{spatial}").as_str())
        .attr("out_layout", AttrKind::OptionalStr, NONE)
        .attr_order(&[
            "pool_size",
            "strides",
            "dilation",
            "padding",
            "ceil_mode",
            "count_include_pad",
            "layout",
            "out_layout",
        ])
        .complete(move |call| {
            complete(&mut call.attrs, rank);
            default_to(&mut call.attrs, "out_layout", "layout");
        })
}

/// The layouts of a pooling's operand and result.
///
/// # Errors
/// When one is malformed or has other axes.
pub fn layouts(cx: &CallContext, primal: &str) -> Result<(Layout, Layout), InferError> {
    let data = layout(cx, "layout", primal)?;
    let out = if cx.optional_str("out_layout")?.is_some() { layout(cx, "out_layout", primal)? } else { data.clone() };
    Ok((data, out))
}

/// A tensor like the operand, with these sizes over the primal axes.
pub fn like(data: TensorType, out: &Layout, primal: &str, sizes: Option<Vec<PrimExpr>>) -> TensorType {
    let shape = match sizes {
        Some(sizes) => TensorShape::Known(out.from_primal(primal, &sizes).into()),
        None => TensorShape::Rank(out.ndim()),
    };
    TensorType { shape, ..data }
}

/// The type of the windows' results, for the operand named `param`.
///
/// # Errors
/// When operand or attributes violate a rule.
pub fn infer(cx: &CallContext, spatial: &str, param: &str) -> Result<TensorType, InferError> {
    let primal = format!("NC{spatial}");
    let (from, to) = layouts(cx, &primal)?;
    let window = Window::of(cx, spatial.len())?;
    let kernel = steps(cx, "pool_size", spatial.len())?;
    let ceil = cx.bool("ceil_mode")?;
    let data = cx.tensor(param)?;
    expect_layout(cx, param, &data, "layout", &from)?;
    let sizes = data.dims().map(|d| {
        let mut sizes = from.to_primal(&primal, d);
        for (i, size) in sizes.iter_mut().skip(2).enumerate() {
            *size = window.positions(i, size, &kernel[i].into(), ceil);
        }
        sizes
    });
    Ok(like(data, &to, &primal, sizes))
}

fn legalize(cx: &CallContext, spatial: &str, pooling: Pooling) -> Result<Legalized, InferError> {
    let primal = format!("NC{spatial}");
    let (from, to) = layouts(cx, &primal)?;
    let mut b = Builder::new(cx, cx.op.name.trim_start_matches("nn."))?;
    let data = b.input(cx.op.params[0].name)?;
    let out = b.output("pool")?;
    let pool = Pool::of(cx, spatial, &from, data.shape())?;
    let axes: Vec<_> = pool.kernel.iter().zip(spatial.chars()).map(|(k, c)| axis(c, *k)).collect();
    let large = large_window::pays_off(&pool.kernel, &pool.window, &to, &pool.sizes).then(|| pool.of_elements());
    let read = |pool: &Pool, at: &[PrimExpr], k: &[PrimExpr], outside: PrimExpr| {
        let position = to.primal_index(&primal, at);
        let (inside, value) = pool.element(&data, &from, &primal, &position, k);
        inside.map_or(value.clone(), |inside| inside.if_then_else(value, outside))
    };
    let fold = |b: &mut Builder, how: Combine, to_buffer: &Buffer, outside: PrimExpr| match &large {
        Some(elements) => {
            let first = vec![0i64.into(); spatial.len()];
            let element = |at: &[PrimExpr]| read(elements, at, &first, outside.clone()).cast(to_buffer.dtype);
            let axes: Vec<usize> = spatial.chars().filter_map(|letter| to.position(letter)).collect();
            large_window::fold(b, &pool.kernel, &pool.window, &axes, how, to_buffer, element);
        }
        None => b.reduce(to_buffer, &axes, how, |at, k| read(&pool, at, k, outside).cast(to_buffer.dtype)),
    };
    match pooling {
        Pooling::Max => {
            let lowest = Combine::Max.identity(data.dtype());
            fold(&mut b, Combine::Max, &out, lowest);
        }
        Pooling::Mean => {
            let wide = sum_dtype(out.dtype);
            let zero = PrimExpr::constant(0.0, data.dtype());
            let sum = b.temp("pool_sum", out.shape.clone(), wide);
            fold(&mut b, Combine::Sum, &sum, zero);
            mean(&mut b, &sum, &out, |at| pool.count(&to.primal_index(&primal, at)[2..]));
        }
    }
    Ok(b.finish())
}

fn axis(letter: char, extent: i64) -> (String, PrimExpr) {
    (format!("r{}", letter.to_ascii_lowercase()), extent.into())
}

/// Divides sums by counts; the result is zero if the count is zero.
fn mean(b: &mut Builder, sum: &Buffer, out: &Buffer, count: impl FnOnce(&[PrimExpr]) -> PrimExpr) {
    b.compute(out, |at| {
        let total = PrimExpr::load(sum, at.to_vec());
        let count = count(at).cast(sum.dtype);
        (total / count).cast(out.dtype)
    });
}

/// The dtype to sum windows in: at least 32 bits.
pub fn sum_dtype(dtype: DType) -> DType {
    if dtype.is_integer() && dtype.bits < 32 { DType::INT32 } else { accumulator(dtype) }
}

/// A pooling of data of known sizes.
pub struct Pool {
    /// The window's extent on each spatial axis.
    pub kernel: Vec<i64>,
    /// Strides, padding and dilation.
    pub window: Window,
    /// The data's spatial sizes.
    pub sizes: Vec<PrimExpr>,
    /// True if the mean counts padding.
    pub count_padding: bool,
    /// True if the last window may reach beyond the padding.
    pub ceil: bool,
}

impl Pool {
    /// The pooling that a call describes.
    ///
    /// # Errors
    /// When an attribute violates a rule.
    pub fn of(cx: &CallContext, spatial: &str, layout: &Layout, shape: &[PrimExpr]) -> Result<Pool, InferError> {
        Ok(Pool {
            kernel: steps(cx, "pool_size", spatial.len())?,
            window: Window::of(cx, spatial.len())?,
            sizes: layout.to_primal(&format!("NC{spatial}"), shape)[2..].to_vec(),
            count_padding: cx.bool("count_include_pad")?,
            ceil: cx.bool("ceil_mode")?,
        })
    }

    /// The pooling whose windows are the single elements of the padded data.
    fn of_elements(&self) -> Pool {
        let ones = vec![1; self.kernel.len()];
        let window = Window { strides: ones.clone(), dilation: ones.clone(), ..self.window.clone() };
        Pool { kernel: ones, window, sizes: self.sizes.clone(), ..*self }
    }

    /// The element at tap `k` of a window, and the condition that it is in the data; `None` for always.
    pub fn element(
        &self,
        data: &Input,
        layout: &Layout,
        primal: &str,
        position: &[PrimExpr],
        k: &[PrimExpr],
    ) -> (Option<PrimExpr>, PrimExpr) {
        let mut from = position[..2].to_vec();
        let mut conditions = Vec::new();
        for (i, k) in k.iter().enumerate() {
            let at = dims::offset(&self.window.source(i, &position[i + 2], k), -self.window.before[i]);
            conditions.extend((self.window.before[i] > 0).then(|| at.clone().ge(0i64)));
            let ends = self.window.after[i] > 0 || self.ceil;
            conditions.extend(ends.then(|| at.clone().lt(&self.sizes[i])));
            from.push(at);
        }
        (conditions.into_iter().reduce(PrimExpr::and), data.at(&layout.index(primal, &from)))
    }

    /// Divisor of the mean of a window (spatial axes only); at least 1.
    pub fn count(&self, position: &[PrimExpr]) -> PrimExpr {
        let taps = |i: usize| self.taps(i, &position[i]);
        (0..self.kernel.len()).map(taps).reduce(|a, b| dims::mul(&a, &b)).unwrap_or_else(|| 1i64.into())
    }

    /// Number of counted taps on one axis: those `k` with `low <= start + k·d < high`.
    fn taps(&self, axis: usize, position: &PrimExpr) -> PrimExpr {
        let (before, after, kernel) = (self.window.before[axis], self.window.after[axis], self.kernel[axis]);
        let size = &self.sizes[axis];
        let whole = !self.ceil && (self.count_padding || (before == 0 && after == 0));
        if whole {
            return kernel.into();
        }
        let start = dims::offset(&dims::mul(position, &self.window.strides[axis].into()), -before);
        let high = if self.count_padding { dims::offset(size, after) } else { size.clone() };
        let dilation: PrimExpr = self.window.dilation[axis].into();
        let until = dims::min(&dims::ceildiv(&dims::sub(&high, &start), &dilation), &kernel.into());
        if self.count_padding || before == 0 {
            return dims::max(&until, &1i64.into());
        }
        let from = dims::max(&dims::ceildiv(&dims::sub(&0i64.into(), &start), &dilation), &0i64.into());
        dims::max(&dims::sub(&until, &from), &1i64.into())
    }
}
