//! Activation functions. 16-bit floats are computed in float32.

use crate::{
    CallContext, dims,
    legalize::{Builder, Legalized, accumulator},
    op::{AttrKind, Op},
    precision::Precision,
    relayout,
    rules::Inferred,
};
use hammock_ir::{PrimExpr, TensorType, relax::InferError};
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![
        float_unary("nn.gelu", "`x` times the standard normal CDF of `x`.", |_| Ok(Box::new(gelu))),
        float_unary("nn.gelu_tanh", "`nn.gelu`, approximated through `tanh`.", |_| Ok(Box::new(gelu_tanh))),
        float_unary("nn.selu", "The self-normalizing exponential unit.", |_| Ok(Box::new(selu))),
        float_unary("nn.silu", "`x * sigmoid(x)`.", |_| Ok(Box::new(|x| &x * x.clone().unary("sigmoid")))).in_place(),
        elementwise("nn.leakyrelu", "`x` for `x >= 0`, otherwise `alpha * x`.", |cx| {
            let alpha = cx.float("alpha")?;
            Ok(Box::new(move |x| leaky(x.clone(), constant(&x, alpha))))
        })
        .attr("alpha", AttrKind::Float, 0.01),
        elementwise(
            "nn.softplus",
            "`log(1 + exp(beta * x)) / beta`, or `x` where `beta * x` is above `threshold`.",
            |cx| {
                let (beta, threshold) = (cx.float("beta")?, cx.float("threshold")?);
                Ok(Box::new(move |x| softplus(x, beta, threshold)))
            },
        )
        .attr("beta", AttrKind::Float, 1.0)
        .attr("threshold", AttrKind::Float, 20.0),
        prelu(),
        dropout(),
    ]
}

/// Reads a call's attributes and returns the scalar function.
type Function = fn(&CallContext) -> Result<Box<dyn FnOnce(PrimExpr) -> PrimExpr>, InferError>;

/// A function that is safe to compute in 16 bits.
fn float_unary(name: &'static str, doc: &'static str, function: Function) -> Op {
    elementwise(name, doc, function).precision(Precision::Follow)
}

fn elementwise(name: &'static str, doc: &'static str, function: Function) -> Op {
    Op::new(name)
        .doc(doc)
        .example("x: float32[2, 3]", "x")
        .tensor("data")
        .layouts(relayout::elementwise)
        .infer(|cx| Ok(float_tensor(cx, "data")?.into()))
        .legalize(move |cx| {
            let f = function(cx)?;
            let mut b = Builder::new(cx, cx.op.name.trim_start_matches("nn."))?;
            let x = b.input("data")?;
            let out = b.output("compute")?;
            b.compute(&out, |i| f(x.at(i).cast(accumulator(x.dtype()))).cast(out.dtype));
            Ok(b.finish())
        })
}

/// The type of an operand that must hold floats.
///
/// # Errors
/// When it is not a tensor, or one of something else.
pub fn float_tensor(cx: &CallContext, param: &str) -> Result<TensorType, InferError> {
    let ty = cx.tensor(param)?;
    match ty.dtype {
        Some(t) if !t.is_floating() => Err(cx
            .error_at(param, format_args!("`{param}` must hold floats, not {t}"))
            .help("convert it with R.astype(…, \"float32\")")),
        _ => Ok(ty),
    }
}

fn constant(x: &PrimExpr, value: f64) -> PrimExpr {
    PrimExpr::float(value, x.dtype())
}

fn gelu(x: PrimExpr) -> PrimExpr {
    let (half, root) = (constant(&x, 0.5), constant(&x, FRAC_1_SQRT_2));
    let erf = (&x * root).unary("erf");
    x * (half.clone() + erf * half)
}

fn gelu_tanh(x: PrimExpr) -> PrimExpr {
    let (half, one) = (constant(&x, 0.5), constant(&x, 1.0));
    let inner = constant(&x, (2.0 / PI).sqrt()) * &x * (one.clone() + constant(&x, 0.044715) * &x * &x);
    half * x * (one + inner.unary("tanh"))
}

/// The constants are those of Klambauer et al., 2017, equation 2.
fn selu(x: PrimExpr) -> PrimExpr {
    let (alpha, scale) = (constant(&x, 1.673_263_242_354_377_2), constant(&x, 1.050_700_987_355_480_5));
    let (zero, one) = (constant(&x, 0.0), constant(&x, 1.0));
    let negative = (alpha * (x.clone().unary("exp") - one)).min(zero.clone());
    scale * (x.max(zero) + negative)
}

/// `(max(z, 0) + log1p(exp(-|z|))) / beta` for `z = beta * x`: exact for large and small `z` alike.
fn softplus(x: PrimExpr, beta: f64, threshold: f64) -> PrimExpr {
    let z = if beta == 1.0 { x.clone() } else { constant(&x, beta) * &x };
    let zero = constant(&x, 0.0);
    let tail = (zero.clone() - z.clone().unary("fabs")).unary("exp").unary("log1p");
    let soft = z.clone().max(zero) + tail;
    let soft = if beta == 1.0 { soft } else { soft / constant(&x, beta) };
    z.gt(constant(&x, threshold)).select(x, soft)
}

fn leaky(x: PrimExpr, slope: PrimExpr) -> PrimExpr {
    let zero = constant(&x, 0.0);
    x.clone().ge(zero).select(x.clone(), slope * x)
}

fn prelu() -> Op {
    Op::new("nn.prelu")
        .doc("`x` for `x >= 0`, otherwise `alpha * x`, with one `alpha` per index along `axis` or one for all.")
        .example("x: float32[2, 3]; a: float32[3]", "x, a, axis=1")
        .tensor("data")
        .tensor("alpha")
        .attr("axis", AttrKind::Int, 1i64)
        .layouts(relayout::prelu)
        .infer(infer_prelu)
        .legalize(legalize_prelu)
}

fn infer_prelu(cx: &CallContext) -> Inferred {
    let (data, alpha) = (float_tensor(cx, "data")?, float_tensor(cx, "alpha")?);
    if let Some(ndim) = data.ndim() {
        let axis = prelu_axis(cx, ndim)?;
        if let (Some(d), Some([a])) = (data.dims(), alpha.dims())
            && !dims::is(a, 1)
            && dims::equal(&d[axis], a) == Some(false)
        {
            return Err(cx.error_at(
                "alpha",
                format_args!("`alpha` must have 1 element or one for each place along axis {axis}"),
            ));
        }
    }
    if alpha.ndim().is_some_and(|n| n != 1) {
        return Err(cx.error_at("alpha", "`alpha` must have one dimension"));
    }
    Ok(data.into())
}

/// The channel axis; a vector has only one, regardless of `axis`.
fn prelu_axis(cx: &CallContext, ndim: usize) -> Result<usize, InferError> {
    if ndim == 1 { Ok(0) } else { cx.axis("axis", ndim) }
}

fn legalize_prelu(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "prelu")?;
    let (x, alpha) = (b.input("data")?, b.input("alpha")?);
    let axis = prelu_axis(cx, x.ndim())?;
    let out = b.output("compute")?;
    let wide = accumulator(x.dtype());
    b.require_broadcast(alpha.shape(), &out.shape[axis..=axis], "`alpha` does not fit `data`");
    b.compute(&out, |at| {
        let slope = alpha.broadcast_to(&at[axis..=axis], &out.shape[axis..=axis]).cast(wide);
        leaky(x.at(at).cast(wide), slope).cast(out.dtype)
    });
    Ok(b.finish())
}

fn dropout() -> Op {
    Op::new("nn.dropout")
        .doc("Returns the tensor and a mask of ones: models are compiled for inference, where nothing is dropped.")
        .example("x: float32[2, 3]", "x, rate=0.5")
        .tensor("data")
        .attr("rate", AttrKind::Float, 0.5)
        .layouts(relayout::in_parts)
        .precision(Precision::Follow)
        .infer(|cx| {
            let data = cx.tensor("data")?;
            Ok(hammock_ir::Type::Tuple(vec![data.clone().into(), data.into()]))
        })
        .legalize(|cx| {
            let mut b = Builder::new(cx, "dropout")?;
            let x = b.input("data")?;
            let (out, mask) = (b.output("T_identity")?, b.output("T_full_like")?);
            b.compute(&out, |at| x.at(at));
            b.compute(&mask, |_| PrimExpr::constant(1.0, mask.dtype));
            Ok(b.finish())
        })
}
