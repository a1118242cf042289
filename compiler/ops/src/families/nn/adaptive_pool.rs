//! Adaptive average poolings, with windows derived from the output size.
//!
//! Result `i` of `n` along an axis of size `s` is the mean of the elements in `⌊i·s / n⌋ .. ⌈(i + 1)·s / n⌉`. If `n`
//! divides `s`, all windows have size `s / n`; otherwise they differ by one or two, and the loop runs over the longest.

use super::{
    conv::expect_layout,
    pool::{layouts, like, sum_dtype},
    window::example_data,
    window::{default_to, rewrite},
};
use crate::{
    CallContext, dims,
    layout::Layout,
    legalize::{Builder, Combine, Input, Legalized},
    op::{AttrKind, NONE, Op},
    precision::Precision,
    relayout,
    rules::Inferred,
};
use hammock_ir::{PrimExpr, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        adaptive("nn.adaptive_avg_pool1d", "W", "Means of `output_size` windows of a sequence."),
        adaptive("nn.adaptive_avg_pool2d", "HW", "Means of `output_size` windows of an image."),
        adaptive("nn.adaptive_avg_pool3d", "DHW", "Means of `output_size` windows of a volume."),
    ]
}

fn adaptive(name: &'static str, spatial: &'static str, doc: &'static str) -> Op {
    let rank = spatial.len();
    Op::new(name)
        .doc(doc)
        .example(example_data(rank), "x, output_size=2")
        .tensor("data")
        .attr("output_size", AttrKind::OptionalInts, NONE)
        .attr("layout", AttrKind::Str, format!("NC{spatial}").as_str())
        .attr("out_layout", AttrKind::OptionalStr, NONE)
        .complete(move |call| {
            rewrite(&mut call.attrs, "output_size", |given| repeated(given, rank));
            default_to(&mut call.attrs, "out_layout", "layout");
        })
        .layouts(relayout::pooling(spatial))
        .precision(Precision::Follow)
        .infer(move |cx| infer(cx, spatial))
        .legalize(move |cx| legalize(cx, spatial))
}

fn repeated(given: &[i64], rank: usize) -> Option<Vec<i64>> {
    match given {
        [one] => Some(vec![*one; rank]),
        all => (all.len() == rank).then(|| all.to_vec()),
    }
}

/// The result's spatial sizes; `None` for the data's.
fn output_size(cx: &CallContext, rank: usize) -> Result<Option<Vec<i64>>, InferError> {
    let Some(given) = cx.optional_ints("output_size")? else { return Ok(None) };
    repeated(&given, rank).filter(|s| s.iter().all(|n| *n > 0)).map(Some).ok_or_else(|| {
        cx.error_at(
            "output_size",
            format_args!("`output_size` must be 1 or {rank} numbers greater than 0, not {given:?}"),
        )
    })
}

fn infer(cx: &CallContext, spatial: &str) -> Inferred {
    let primal = format!("NC{spatial}");
    let (from, to) = layouts(cx, &primal)?;
    let output = output_size(cx, spatial.len())?;
    let data = cx.tensor("data")?;
    expect_layout(cx, "data", &data, "layout", &from)?;
    let sizes = data.dims().map(|d| {
        let mut sizes = from.to_primal(&primal, d);
        for (i, n) in output.iter().flatten().enumerate() {
            sizes[i + 2] = (*n).into();
        }
        sizes
    });
    Ok(like(data, &to, &primal, sizes).into())
}

/// The windows along one axis.
struct Windows {
    /// Number of data elements.
    size: PrimExpr,
    /// Number of windows.
    count: PrimExpr,
}

impl Windows {
    /// Returns true if all windows have the same length and are adjacent.
    fn even(&self) -> bool {
        let divides = matches!((self.size.as_int(), self.count.as_int()), (Some(s), Some(n)) if s % n == 0);
        divides || dims::equal(&self.size, &self.count) == Some(true) || dims::is(&self.count, 1)
    }

    /// Maximum window length.
    fn longest(&self) -> PrimExpr {
        match (self.size.as_int(), self.count.as_int()) {
            _ if dims::equal(&self.size, &self.count) == Some(true) => 1i64.into(),
            (Some(s), Some(n)) => (0..n).map(|i| ((i + 1) * s + n - 1) / n - i * s / n).max().unwrap_or(1).into(),
            _ if dims::is(&self.count, 1) => self.size.clone(),
            _ => dims::offset(&dims::ceildiv(&self.size, &self.count), 1),
        }
    }

    /// Start of window `i`.
    fn start(&self, i: &PrimExpr) -> PrimExpr {
        if self.even() {
            return dims::mul(i, &self.longest());
        }
        dims::floordiv(&dims::mul(i, &self.size), &self.count)
    }

    /// Length of window `i`.
    fn length(&self, i: &PrimExpr) -> PrimExpr {
        if self.even() {
            return self.longest();
        }
        let end = dims::ceildiv(&dims::mul(&dims::offset(i, 1), &self.size), &self.count);
        end - self.start(i)
    }
}

fn legalize(cx: &CallContext, spatial: &str) -> Result<Legalized, InferError> {
    let primal = format!("NC{spatial}");
    let (from, to) = layouts(cx, &primal)?;
    let mut b = Builder::new(cx, cx.op.name.trim_start_matches("nn."))?;
    let data = b.input("data")?;
    let out = b.output("adaptive_pool")?;
    let sizes = from.to_primal(&primal, data.shape());
    let counts = to.to_primal(&primal, &out.shape);
    let windows = || sizes.iter().zip(&counts).skip(2);
    let windows: Vec<Windows> = windows().map(|(s, n)| Windows { size: s.clone(), count: n.clone() }).collect();
    let axis = |(w, c): (&Windows, char)| (format!("r{}", c.to_ascii_lowercase()), w.longest());
    let axes: Vec<_> = windows.iter().zip(spatial.chars()).map(axis).collect();
    let wide = sum_dtype(out.dtype);
    let sum = b.temp("adaptive_pool_sum", out.shape.clone(), wide);
    b.reduce(&sum, &axes, Combine::Sum, |at, k| {
        read(&data, &from, &primal, &windows, &to.primal_index(&primal, at), k).cast(wide)
    });
    b.compute(&out, |at| {
        let position = to.primal_index(&primal, at);
        let lengths = windows.iter().zip(&position[2..]).map(|(w, i)| w.length(i));
        let count = lengths.reduce(|a, b| dims::mul(&a, &b)).unwrap_or_else(|| 1i64.into());
        (PrimExpr::load(&sum, at.to_vec()) / count.cast(wide)).cast(out.dtype)
    });
    Ok(b.finish())
}

/// The `k`-th element of a window, zero beyond its end.
fn read(
    data: &Input,
    layout: &Layout,
    primal: &str,
    windows: &[Windows],
    position: &[PrimExpr],
    k: &[PrimExpr],
) -> PrimExpr {
    let mut from = position[..2].to_vec();
    let mut conditions = Vec::new();
    for ((window, i), k) in windows.iter().zip(&position[2..]).zip(k) {
        from.push(dims::add(&window.start(i), k));
        conditions.extend((!window.even()).then(|| k.clone().lt(window.length(i))));
    }
    let value = data.at(&layout.index(primal, &from));
    let zero = PrimExpr::constant(0.0, data.dtype());
    let inside = conditions.into_iter().reduce(PrimExpr::and);
    inside.map_or(value.clone(), |inside| inside.if_then_else(value, zero))
}
