//! Gradients of poolings, as gathers: each element of the data reads the windows that contain it.
//!
//! An element is tap `k` of the window at `(position + before - k·dilation) / stride`, if that is an integer and a
//! valid window. A maximum's gradient goes to the first tap that attains it, a mean's in equal parts to all counted
//! taps.

use crate::{
    CallContext, dims,
    families::nn::pool::{Pool, attributes, infer, layouts},
    layout::Layout,
    legalize::{Builder, Combine, Input, Legalized, ReduceAxis, accumulator, lowest},
    op::Op,
    rules::Inferred,
    text::shape_text,
};
use hammock_ir::{DType, PrimExpr, relax::InferError, tir::Buffer};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        backward("grad.max_pool2d_backward", "The gradient of `R.nn.max_pool2d` with respect to its data.")
            .legalize(legalize_max),
        backward("grad.avg_pool2d_backward", "The gradient of `R.nn.avg_pool2d` with respect to its data.")
            .legalize(legalize_mean),
    ]
}

const PRIMAL: &str = "NCHW";

fn backward(name: &'static str, doc: &'static str) -> Op {
    let op = Op::new(name).doc(doc);
    let op = op
        .example("g: float32[1, 2, 3, 3]; x: float32[1, 2, 6, 6]", "g, x, pool_size=2, strides=2")
        .tensor("output_grad")
        .tensor("data");
    attributes(op, "HW", vec![0; 4], false).infer(infer_backward)
}

fn infer_backward(cx: &CallContext) -> Inferred {
    let forward = infer(cx, "HW", "data")?;
    let grad = cx.tensor("output_grad")?;
    let differ = match (grad.dims(), forward.dims()) {
        (Some(a), Some(b)) => a.len() != b.len() || a.iter().zip(b).any(|(a, b)| dims::equal(a, b) == Some(false)),
        _ => false,
    };
    if differ {
        let (have, want) = (shape_text(&grad), shape_text(&forward));
        return Err(
            cx.error_at("output_grad", format_args!("`output_grad` must have the pooling's shape {want}, not {have}"))
        );
    }
    Ok(cx.tensor("data")?.into())
}

/// A pooling, the gradient of its result, and the layouts of both sides.
struct Backward {
    pool: Pool,
    grad: Input,
    data: Layout,
    result: Layout,
    /// The result's height and width.
    positions: Vec<PrimExpr>,
}

impl Backward {
    fn of(cx: &CallContext, b: &mut Builder) -> Result<(Self, Input), InferError> {
        let (data, result) = layouts(cx, PRIMAL)?;
        let (grad, x) = (b.input("output_grad")?, b.input("data")?);
        if let Some(forward) = infer(cx, "HW", "data")?.dims() {
            let forward = b.dims(forward);
            b.require_shape("output_grad", &grad, &forward);
        }
        let pool = Pool::of(cx, "HW", &data, x.shape())?;
        let positions = result.to_primal(PRIMAL, grad.shape())[2..].to_vec();
        Ok((Backward { pool, grad, data, result, positions }, x))
    }

    fn taps(&self) -> Vec<ReduceAxis> {
        let axis = |(name, k): (&str, &i64)| (name.to_owned(), (*k).into());
        ["rh", "rw"].into_iter().zip(&self.pool.kernel).map(axis).collect()
    }

    /// The window whose tap `k` is at a primal position of the data, and the condition that it exists.
    fn window(&self, element: &[PrimExpr], k: &[PrimExpr]) -> (Vec<PrimExpr>, PrimExpr) {
        let mut at = element[..2].to_vec();
        let mut exists = PrimExpr::bool(true);
        for (i, k) in k.iter().enumerate() {
            let window = &self.pool.window;
            let (stride, dilation) = (window.strides[i], window.dilation[i]);
            let start = dims::offset(&element[i + 2], window.before[i]) - dims::mul(k, &dilation.into());
            let position = dims::floordiv(&start, &stride.into());
            let inside = position.clone().ge(0i64).and(position.clone().lt(&self.positions[i]));
            let whole = (stride > 1).then(|| dims::floormod(&start, &stride.into()).eq(0i64));
            exists = whole.into_iter().fold(exists.and(inside), PrimExpr::and);
            at.push(position);
        }
        (at, exists)
    }

    /// Sums, for each element of the data, its `share` of the gradient of each window that contains it.
    fn gather(
        &self,
        b: &mut Builder,
        out: &Buffer,
        share: impl FnOnce(&[PrimExpr], &[PrimExpr], PrimExpr) -> PrimExpr,
    ) {
        let wide = accumulator(out.dtype);
        b.reduce(out, &self.taps(), Combine::Sum, |at, k| {
            let (window, exists) = self.window(&self.data.primal_index(PRIMAL, at), k);
            let index = self.result.index(PRIMAL, &window);
            let part = share(&window, k, self.grad.at(&index).cast(wide));
            exists.if_then_else(part, PrimExpr::float(0.0, wide))
        });
    }
}

fn legalize_mean(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "avg_pool2d_backward")?;
    let (backward, _) = Backward::of(cx, &mut b)?;
    let out = b.output("pool_grad")?;
    backward.gather(&mut b, &out, |window, _, grad| {
        let count = backward.pool.count(&window[2..]).cast(grad.dtype());
        grad / count
    });
    Ok(b.finish())
}

fn legalize_max(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "max_pool2d_backward")?;
    let (backward, x) = Backward::of(cx, &mut b)?;
    let first = first_maximum(&mut b, &backward, &x);
    let out = b.output("pool_grad")?;
    let columns = backward.pool.kernel[1];
    backward.gather(&mut b, &out, |window, k, grad| {
        let chosen = PrimExpr::load(&first, backward.result.index(PRIMAL, window));
        let this = chosen.eq(&k[0] * columns + &k[1]);
        this.select(grad.clone(), PrimExpr::float(0.0, grad.dtype()))
    });
    Ok(b.finish())
}

/// Index of the tap with each window's maximum, the first of equal ones; -1 for a window that is all padding.
fn first_maximum(b: &mut Builder, backward: &Backward, x: &Input) -> Buffer {
    let shape = backward.grad.shape().to_vec();
    let chosen = b.temp("chosen", shape.clone(), DType::INT64);
    let best = b.temp("best", shape, x.dtype());
    let columns = backward.pool.kernel[1];
    let init = vec![PrimExpr::int64(-1), lowest(x.dtype())];
    b.fold(&[&chosen, &best], &backward.taps(), init, |so_far, at, k| {
        let element = backward.result.primal_index(PRIMAL, at);
        let (inside, value) = backward.pool.element(x, &backward.data, PRIMAL, &element, k);
        let guarded = |inside: &PrimExpr| inside.clone().if_then_else(value.clone(), lowest(x.dtype()));
        let value = inside.as_ref().map_or(value.clone(), guarded);
        let better = so_far[0].clone().lt(0i64).or(value.clone().gt(so_far[1].clone()));
        let tap = &k[0] * columns + &k[1];
        let takes = inside.map_or(better.clone(), |inside| inside.and(better));
        vec![takes.clone().select(tap, so_far[0].clone()), takes.select(value, so_far[1].clone())]
    });
    chosen
}
