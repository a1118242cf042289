//! Scores of classifiers and regressors: transformations of the sums that models compute.

use crate::node::{self, Node};
use hammock_ir::{AttrValue, relax::Operand};

/// Transformation of the scores of an example.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PostTransform {
    None,
    Softmax,
    Logistic,
    SoftmaxZero,
    Probit,
}

impl PostTransform {
    /// Reads the attribute `post_transform`.
    pub fn of(n: &Node) -> node::Result<PostTransform> {
        Ok(match n.attrs.str_or("post_transform", "NONE")? {
            "NONE" => PostTransform::None,
            "SOFTMAX" => PostTransform::Softmax,
            "LOGISTIC" => PostTransform::Logistic,
            "SOFTMAX_ZERO" => PostTransform::SoftmaxZero,
            "PROBIT" => PostTransform::Probit,
            other => return n.error(format!("its `post_transform` is `{other}`")),
        })
    }

    /// Appends the transformation of scores, along the last axis.
    pub fn apply(self, n: &mut Node, scores: Operand) -> node::Result<Operand> {
        match self {
            PostTransform::None => Ok(scores),
            PostTransform::Softmax => n.call_with("nn.softmax", [scores], &[("axis", (-1i64).into())]),
            PostTransform::Logistic => n.call("sigmoid", [scores]),
            PostTransform::SoftmaxZero => softmax_zero(n, scores),
            PostTransform::Probit => probit(n, scores),
        }
    }
}

/// Scores that count as zero in [`softmax_zero`].
const ZERO_SCORE: f64 = 1e-7;

/// Attributes of a reduction over the last axis, which remains.
const LAST_AXIS: fn() -> [(&'static str, AttrValue); 2] = || [("axis", vec![-1i64].into()), ("keepdims", true.into())];

/// Softmax that retains zeros, which are left out of the maximum's exponentials.
fn softmax_zero(n: &mut Node, scores: Operand) -> node::Result<Operand> {
    let max = n.call_with("max", [scores.clone()], &LAST_AXIS())?;
    let less = n.call("subtract", [scores.clone(), max.clone()])?;
    let exp = n.call("exp", [less])?;
    let size = n.call("abs", [scores.clone()])?;
    let counts = n.with_scalar("greater", &size, ZERO_SCORE)?;
    let opposite = n.call("negative", [max])?;
    let scale = n.call("exp", [opposite])?;
    let scaled = n.call("multiply", [scores, scale])?;
    let zero = n.scalar_like(0.0, &exp)?;
    let counted = n.call("where", [counts.clone(), exp.clone(), zero])?;
    let sum = n.call_with("sum", [counted], &LAST_AXIS())?;
    let y = n.call("where", [counts, exp, scaled])?;
    n.call("divide", [y, sum])
}

/// Quantile function of the normal distribution, `sqrt(2) * erfinv(2x - 1)`, by Winitzki's approximation.
fn probit(n: &mut Node, scores: Operand) -> node::Result<Operand> {
    const A: f64 = 0.147;
    let doubled = n.with_scalar("multiply", &scores, 2.0)?;
    let x = n.with_scalar("subtract", &doubled, 1.0)?;
    let square = n.call("multiply", [x.clone(), x.clone()])?;
    let one = n.scalar_like(1.0, &x)?;
    let rest = n.call("subtract", [one, square])?;
    let log = n.call("log", [rest])?;
    let half = n.with_scalar("multiply", &log, 0.5)?;
    let v = n.with_scalar("add", &half, 2.0 / (std::f64::consts::PI * A))?;
    let scaled = n.with_scalar("multiply", &log, 1.0 / A)?;
    let square = n.call("multiply", [v.clone(), v.clone()])?;
    let inner = n.call("subtract", [square, scaled])?;
    let root = n.call("sqrt", [inner])?;
    let difference = n.call("subtract", [root, v])?;
    let size = n.call("sqrt", [difference])?;
    let sign = n.call("sign", [x])?;
    let inverse = n.call("multiply", [sign, size])?;
    n.with_scalar("multiply", &inverse, std::f64::consts::SQRT_2)
}
