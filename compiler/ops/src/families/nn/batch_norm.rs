//! Batch normalization: normalizes each channel by the batch's statistics in training, otherwise by the running ones.

use super::{activation::float_tensor, norm::expect_param, rows::Rows};
use crate::{
    CallContext,
    legalize::{Builder, Combine, Input, Legalized, accumulator},
    op::{AttrKind, Op},
    relayout,
    rules::Inferred,
};
use hammock_ir::{PrimExpr, Type, relax::InferError};

/// The operators of this family.
pub fn ops() -> Vec<Op> {
    vec![batch_norm()]
}

fn batch_norm() -> Op {
    Op::new("nn.batch_norm")
        .doc(
            "Batch normalization along `axis`; returns the result and the running mean and variance, updated in \
             training.",
        )
        .example("x: float32[2, 3, 4, 4]; p: float32[3]", "x, p, p, p, p, axis=1, training=False")
        .tensor("data")
        .tensor("gamma")
        .tensor("beta")
        .tensor("moving_mean")
        .tensor("moving_var")
        .required("axis", AttrKind::Int)
        .attr("epsilon", AttrKind::Float, 1e-5)
        .attr("center", AttrKind::Bool, true)
        .attr("scale", AttrKind::Bool, true)
        .attr("momentum", AttrKind::Float, 0.1)
        .attr("training", AttrKind::Bool, true)
        .layouts(relayout::batch_norm)
        .infer(infer)
        .legalize(legalize)
}

fn infer(cx: &CallContext) -> Inferred {
    let data = float_tensor(cx, "data")?;
    let axis = data.ndim().map(|ndim| cx.axis("axis", ndim)).transpose()?;
    let size = data.dims().zip(axis).map(|(d, a)| vec![d[a].clone()]);
    for param in ["gamma", "beta", "moving_mean", "moving_var"] {
        expect_param(cx, param, &data, Some(1), size.as_deref())?;
    }
    let (mean, var) = (cx.tensor("moving_mean")?, cx.tensor("moving_var")?);
    Ok(Type::Tuple(vec![data.into(), mean.into(), var.into()]))
}

fn legalize(cx: &CallContext) -> Result<Legalized, InferError> {
    let (training, momentum) = (cx.bool("training")?, cx.float("momentum")?);
    let mut b = Builder::new(cx, "batch_norm")?;
    let x = b.input("data")?;
    let gamma = if cx.bool("scale")? { Some(b.input("gamma")?) } else { None };
    let beta = if cx.bool("center")? { Some(b.input("beta")?) } else { None };
    let moving = [b.input("moving_mean")?, b.input("moving_var")?];
    let axis = cx.axis("axis", x.ndim())?;
    let given = [("gamma", gamma.as_ref()), ("beta", beta.as_ref())];
    let running = [("moving_mean", Some(&moving[0])), ("moving_var", Some(&moving[1]))];
    for (name, param) in given.into_iter().chain(running) {
        param.into_iter().for_each(|param| b.require_shape(name, param, &x.shape()[axis..=axis]));
    }
    let epsilon = cx.float("epsilon")?;
    let out = b.output("normalized")?;
    let wide = accumulator(x.dtype());
    let [mean, var] = if training { statistics(&mut b, &x, axis) } else { moving.clone() };
    b.compute(&out, |i| {
        let channel = [i[axis].clone()];
        let of = |t: &Input| t.at(&channel).cast(wide);
        let deviation = (of(&var) + PrimExpr::float(epsilon, wide)).unary("sqrt");
        let mut value = (x.at(i).cast(wide) - of(&mean)) / deviation;
        value = gamma.iter().fold(value, |v, g| v * of(g));
        value = beta.iter().fold(value, |v, b| v + of(b));
        value.cast(out.dtype)
    });
    for (name, old, new) in [("new_mean", &moving[0], &mean), ("new_var", &moving[1], &var)] {
        let to = b.output(name)?;
        b.compute(&to, |i| {
            let part = |t: &Input, weight| PrimExpr::float(weight, wide) * t.at(i).cast(wide);
            let value = if training { part(old, 1.0 - momentum) + part(new, momentum) } else { old.at(i) };
            value.cast(to.dtype)
        });
    }
    Ok(b.finish())
}

/// Mean and variance of each channel of the data.
fn statistics(b: &mut Builder, x: &Input, axis: usize) -> [Input; 2] {
    let wide = accumulator(x.dtype());
    let rows = Rows::new(x.ndim(), (0..x.ndim()).filter(|a| *a != axis).collect());
    let count = rows.count(x.shape(), wide);
    let channels = rows.retained(x.shape());
    let sum = rows.fold(b, "sum", x.shape(), wide, Combine::Sum, |i| x.at(i).cast(wide));
    let mean = b.stage("mean", channels.clone(), wide, |i| sum.at(i) / count.clone());
    let square = rows.fold(b, "square_sum", x.shape(), wide, Combine::Sum, |i| {
        let rest = x.at(i).cast(wide) - mean.at(&rows.retained(i));
        &rest * &rest
    });
    let var = b.stage("variance", channels, wide, |i| square.at(i) / count);
    [mean, var]
}
