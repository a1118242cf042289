//! Softmax and its logarithm. The maximum is subtracted first to avoid overflow.

use super::{activation::float_tensor, rows::Rows};
use crate::{
    CallContext,
    legalize::{Builder, Combine, Input, Legalized, accumulator},
    op::{AttrKind, Op},
    relayout,
    rules::Inferred,
};
use hammock_ir::{PrimExpr, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        along_axis("nn.softmax", "`exp(x) / sum(exp(x))` along an axis.").legalize(softmax),
        along_axis("nn.log_softmax", "The logarithm of `nn.softmax`.").legalize(log_softmax),
    ]
}

fn along_axis(name: &'static str, doc: &'static str) -> Op {
    Op::new(name)
        .doc(doc)
        .example("x: float32[2, 3]", "x, axis=-1")
        .tensor("data")
        .attr("axis", AttrKind::Int, -1i64)
        .layouts(relayout::along)
        .infer(infer)
}

fn infer(cx: &CallContext) -> Inferred {
    let data = float_tensor(cx, "data")?;
    if let Some(ndim) = data.ndim() {
        cx.axis("axis", ndim)?;
    }
    Ok(data.into())
}

/// Exponentials of a tensor's elements, scaled so that the largest of each row is 1, and their sums by row.
pub struct Exponentials {
    /// `exp(x - max)`.
    pub exp: Input,
    /// Their sums.
    pub sum: Input,
}

impl Exponentials {
    /// Adds the stages that compute them for rows of `x`, in float32 for shorter floats.
    pub fn of(b: &mut Builder, x: &Input, rows: &Rows) -> Self {
        Exponentials::stages(b, x, rows, |max| max)
    }

    /// The same for rows that may be entirely minus infinity: their exponentials and sum are then zero.
    pub fn of_masked(b: &mut Builder, x: &Input, rows: &Rows) -> Self {
        Exponentials::stages(b, x, rows, |max| {
            let minimum = PrimExpr::float(f32::MIN.into(), max.dtype());
            max.max(minimum)
        })
    }

    fn stages(b: &mut Builder, x: &Input, rows: &Rows, above: fn(PrimExpr) -> PrimExpr) -> Self {
        let wide = accumulator(x.dtype());
        let shape = x.shape().to_vec();
        let max = rows.fold(b, "softmax_max", &shape, wide, Combine::Max, |i| x.at(i).cast(wide));
        let exp = |i: &[PrimExpr]| (x.at(i).cast(wide) - above(max.at(&rows.retained(i)))).unary("exp");
        let exp = b.stage("softmax_exp", shape.clone(), wide, exp);
        let sum = rows.fold(b, "softmax_sum", &shape, wide, Combine::Sum, |i| exp.at(i));
        Exponentials { exp, sum }
    }
}

fn softmax(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "softmax")?;
    let x = b.input("data")?;
    let rows = Rows::new(x.ndim(), vec![cx.axis("axis", x.ndim())?]);
    let out = b.output("softmax")?;
    let parts = Exponentials::of(&mut b, &x, &rows);
    b.compute(&out, |i| (parts.exp.at(i) / parts.sum.at(&rows.retained(i))).cast(out.dtype));
    Ok(b.finish())
}

fn log_softmax(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "log_softmax")?;
    let x = b.input("data")?;
    let rows = Rows::new(x.ndim(), vec![cx.axis("axis", x.ndim())?]);
    let out = b.output("log_softmax")?;
    let wide = accumulator(x.dtype());
    let shape = x.shape().to_vec();
    let max = rows.fold(&mut b, "softmax_max", &shape, wide, Combine::Max, |i| x.at(i).cast(wide));
    let below = |i: &[PrimExpr]| x.at(i).cast(wide) - max.at(&rows.retained(i));
    let sum = rows.fold(&mut b, "softmax_sum", &shape, wide, Combine::Sum, |i| below(i).unary("exp"));
    b.compute(&out, |i| (below(i) - sum.at(&rows.retained(i)).unary("log")).cast(out.dtype));
    Ok(b.finish())
}
