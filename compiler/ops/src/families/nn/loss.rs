//! Losses.

use super::rows::{Rows, number};
use crate::{
    CallContext, dims,
    legalize::{Builder, Combine, Input, Legalized, accumulator},
    op::{AttrKind, NONE, Op, OperandKind},
    rules::{Inferred, common_dtype, common_vdevice},
    text::{dim_text, shape_text},
};
use hammock_ir::{DType, PrimExpr, TensorShape, TensorType, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![cross_entropy_with_logits(), nll_loss()]
}

fn cross_entropy_with_logits() -> Op {
    Op::new("nn.cross_entropy_with_logits")
        .doc("`-sum(predictions * labels)`, divided by the number of rows for tensors of two or more dimensions.")
        .example("x: float32[2, 3]; y: float32[2, 3]", "x, y")
        .tensor("predictions")
        .tensor("labels")
        .infer(infer_cross_entropy)
        .legalize(legalize_cross_entropy)
}

fn infer_cross_entropy(cx: &CallContext) -> Inferred {
    let (x, y) = (cx.tensor("predictions")?, cx.tensor("labels")?);
    let dtype = common_dtype(cx, ("predictions", &x), ("labels", &y))?;
    let vdevice = common_vdevice(cx, [&x, &y])?;
    let differ = match (x.dims(), y.dims()) {
        (Some(a), Some(b)) => a.len() != b.len() || a.iter().zip(b).any(|(a, b)| dims::equal(a, b) == Some(false)),
        _ => x.ndim().is_some() && y.ndim().is_some() && x.ndim() != y.ndim(),
    };
    if differ {
        let (x, y) = (shape_text(&x), shape_text(&y));
        return Err(
            cx.error_at("labels", format_args!("`predictions` and `labels` must have one shape, not {x} and {y}"))
        );
    }
    Ok(TensorType { shape: TensorShape::Known([].into()), dtype, vdevice }.into())
}

fn legalize_cross_entropy(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "cross_entropy_with_logits")?;
    let (x, y) = (b.input("predictions")?, b.input("labels")?);
    b.require_shape("labels", &y, x.shape());
    let out = b.output("loss")?;
    let wide = accumulator(out.dtype);
    let all = Rows::new(x.ndim(), (0..x.ndim()).collect());
    let sum =
        all.fold(&mut b, "product_sum", x.shape(), wide, Combine::Sum, |i| x.at(i).cast(wide) * y.at(i).cast(wide));
    b.compute(&out, |i| {
        let loss = PrimExpr::constant(0.0, wide) - sum.at(i);
        let loss = if x.ndim() > 1 { loss / number(&x.shape()[0], wide) } else { loss };
        loss.cast(out.dtype)
    });
    Ok(b.finish())
}

fn nll_loss() -> Op {
    negative_log_likelihood(
        Op::new("nn.nll_loss")
            .doc("The negative log-likelihood of the target classes, weighted and reduced.")
            .example("x: float32[2, 3]; t: int64[2]", "x, t"),
    )
    .infer(infer_nll_loss)
    .legalize(legalize_nll_loss)
}

/// Adds the operands and attributes of the loss.
pub fn negative_log_likelihood(op: Op) -> Op {
    op.tensor("predictions")
        .tensor("targets")
        .operand_or("weights", OperandKind::OptionalTensor, NONE)
        .attr("reduction", AttrKind::Str, "mean")
        .attr("ignore_index", AttrKind::Int, -100i64)
}

/// Reduction of the losses of single targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// No reduction.
    None,
    /// Sum.
    Sum,
    /// Weighted mean: the sum divided by the sum of the weights.
    Mean,
}

impl Reduction {
    /// The attribute of a call.
    ///
    /// # Errors
    /// When it is something else.
    pub fn of(cx: &CallContext) -> Result<Self, InferError> {
        Ok(match cx.one_of("reduction", &["none", "sum", "mean"])? {
            "none" => Reduction::None,
            "sum" => Reduction::Sum,
            _ => Reduction::Mean,
        })
    }
}

/// Checks predictions, targets and weights against each other and returns the shape of targets.
///
/// # Errors
/// When they do not fit.
pub fn target_shape(cx: &CallContext) -> Result<TensorShape, InferError> {
    let (x, y) = (cx.tensor("predictions")?, cx.tensor("targets")?);
    if let Some(t) = y.dtype.filter(|t| !t.is_integer()) {
        return Err(cx.error_at("targets", format_args!("`targets` must hold integers, not {t}")));
    }
    if x.ndim() == Some(0) {
        return Err(cx.error_at("predictions", "`predictions` must have at least one dimension, that of classes"));
    }
    if let (Some(n), Some(k)) = (x.ndim(), y.ndim())
        && n != k + 1
    {
        return Err(cx.error_at(
            "targets",
            format_args!("`targets` must have one dimension less than `predictions`, which has {n}, not {k}"),
        ));
    }
    let Some(sizes) = x.dims() else {
        let rank = x.ndim().map(|n| n - 1).or(y.ndim());
        return Ok(if y.dims().is_some() { y.shape } else { rank.map_or(TensorShape::Unknown, TensorShape::Rank) });
    };
    let class_axis = usize::from(sizes.len() > 1);
    let mut targets = sizes.to_vec();
    let classes = targets.remove(class_axis);
    if let Some(given) = y.dims()
        && given.iter().zip(&targets).any(|(a, b)| dims::equal(a, b) == Some(false))
    {
        let (x, y) = (shape_text(&x), shape_text(&y));
        return Err(
            cx.error_at("targets", format_args!("`targets` of shape {y} do not fit `predictions` of shape {x}"))
        );
    }
    if let Some(w) = cx.optional_tensor("weights")? {
        let one = w.ndim().is_none_or(|n| n == 1);
        if !one || w.dims().is_some_and(|d| dims::at_least(&d[0], &classes) == Some(false)) {
            let (w, classes) = (shape_text(&w), dim_text(&classes));
            return Err(cx.error_at(
                "weights",
                format_args!("`weights` must have one element for each of {classes} classes, but its shape is {w}"),
            ));
        }
    }
    Ok(TensorShape::Known(targets.into()))
}

fn infer_nll_loss(cx: &CallContext) -> Inferred {
    let x = cx.tensor("predictions")?;
    let reduction = Reduction::of(cx)?;
    let dtype = match cx.optional_tensor("weights")? {
        Some(w) => common_dtype(cx, ("predictions", &x), ("weights", &w))?,
        None => x.dtype,
    };
    let targets = target_shape(cx)?;
    let shape = if reduction == Reduction::None { targets } else { TensorShape::Known([].into()) };
    Ok(TensorType { shape, dtype, vdevice: x.vdevice }.into())
}

/// Predictions, targets and weights of the loss.
pub struct Likelihood {
    /// `(N, C, …)`, or `(C,)`.
    pub predictions: Input,
    /// `(N, …)`, or one.
    pub targets: Input,
    weights: Option<Input>,
    ignore: i64,
    wide: DType,
}

impl Likelihood {
    /// The operands of a call.
    ///
    /// # Errors
    /// When one is missing or of unknown shape.
    pub fn of(cx: &CallContext, b: &mut Builder) -> Result<Self, InferError> {
        let predictions = b.input("predictions")?;
        let wide = accumulator(predictions.dtype());
        let (targets, weights) = (b.input("targets")?, b.optional_input("weights")?);
        let mut sizes = predictions.shape().to_vec();
        let classes = sizes.remove(usize::from(sizes.len() > 1));
        b.require_shape("targets", &targets, &sizes);
        if let Some(weights) = &weights {
            b.require(weights.shape()[0].clone().ge(&classes), "`weights` must have one element for each class");
        }
        Ok(Likelihood { predictions, targets, weights, ignore: cx.any_int("ignore_index")?, wide })
    }

    /// The axis of classes among those of predictions.
    pub fn class_axis(&self) -> usize {
        usize::from(self.predictions.ndim() > 1)
    }

    /// The class at an index of the targets; the first one if the target is ignored. Out-of-range classes are an error
    /// when the kernel runs.
    fn class(&self, i: &[PrimExpr]) -> PrimExpr {
        let target = self.targets.index_at(i);
        target.clone().eq(self.ignore).select(PrimExpr::int(0, target.dtype()), target)
    }

    /// The weight of the target at an index.
    pub fn weight(&self, i: &[PrimExpr]) -> PrimExpr {
        let one = || PrimExpr::float(1.0, self.wide);
        let weight = self.weights.as_ref().map_or_else(one, |w| w.at(&[self.class(i)]).cast(self.wide));
        let ignored = self.targets.index_at(i).eq(self.ignore);
        ignored.select(PrimExpr::float(0.0, self.wide), weight)
    }

    /// The loss of the target at an index.
    fn loss(&self, i: &[PrimExpr]) -> PrimExpr {
        let mut at = i.to_vec();
        at.insert(self.class_axis(), self.class(i));
        (PrimExpr::float(0.0, self.wide) - self.predictions.at(&at).cast(self.wide)) * self.weight(i)
    }

    /// The sum over all targets.
    pub fn sum(&self, b: &mut Builder, name: &str, f: impl FnOnce(&[PrimExpr]) -> PrimExpr) -> Input {
        let all = Rows::new(self.targets.ndim(), (0..self.targets.ndim()).collect());
        all.fold(b, name, self.targets.shape(), self.wide, Combine::Sum, f)
    }
}

fn legalize_nll_loss(cx: &CallContext) -> Result<Legalized, InferError> {
    let reduction = Reduction::of(cx)?;
    let mut b = Builder::new(cx, "nll_loss")?;
    let likelihood = Likelihood::of(cx, &mut b)?;
    let out = b.output("loss")?;
    if reduction == Reduction::None {
        b.compute(&out, |i| likelihood.loss(i).cast(out.dtype));
        return Ok(b.finish());
    }
    let sum = likelihood.sum(&mut b, "loss_sum", |i| likelihood.loss(i));
    let weights =
        (reduction == Reduction::Mean).then(|| likelihood.sum(&mut b, "weight_sum", |i| likelihood.weight(i)));
    b.compute(&out, |i| {
        let sum = sum.at(i);
        weights.as_ref().map_or(sum.clone(), |w| sum / w.at(i)).cast(out.dtype)
    });
    Ok(b.finish())
}

/// The type of a tensor shaped like the predictions.
///
/// # Errors
/// When operands do not fit.
pub fn like_predictions(cx: &CallContext) -> Result<TensorType, InferError> {
    Reduction::of(cx)?;
    target_shape(cx)?;
    cx.tensor("predictions")
}
