//! Losses.

use super::{Op, Result, op};
use crate::node::{self, Node, product};
use hammock_ir::{PrimExpr, relax::Operand};
use hammock_ops::legalize::accumulator;

pub const OPS: &[Op] = &[
    op("NegativeLogLikelihoodLoss", negative_log_likelihood).attributes("ignore_index reduction"),
    op("SoftmaxCrossEntropyLoss", cross_entropy).attributes("ignore_index reduction"),
];

fn negative_log_likelihood(n: &mut Node) -> Result {
    let x = n.input(0)?;
    Ok(n.in_accumulator_dtype(x, loss)?.into())
}

fn cross_entropy(n: &mut Node) -> Result {
    let x = n.input(0)?;
    let dtype = n.dtype(&x)?;
    let x = n.cast(x, accumulator(dtype))?;
    let log = n.call_with("nn.log_softmax", [x], &[("axis", 1i64.into())])?;
    let loss = loss(n, log.clone())?;
    let (loss, log) = (n.cast(loss, dtype)?, n.cast(log, dtype)?);
    Ok(if n.outputs > 1 { vec![loss, log] } else { vec![loss] }.into())
}

/// Negative log-likelihood of the target classes, weighted by class; ignored targets have weight zero.
fn loss(n: &mut Node, x: Operand) -> node::Result<Operand> {
    let target = n.input_as_int64(1)?;
    let (dims, shape) = (n.dims(&x)?, n.dims(&target)?);
    if dims.len() < 2 {
        return n.error("its input has no classes");
    }
    let zero = n.scalar_like(0.0, &x)?;
    let ignored = match n.attrs.int("ignore_index")? {
        Some(index) => Some(n.with_scalar("equal", &target, index as f64)?),
        None => None,
    };
    let class = match &ignored {
        Some(ignored) => {
            let first = n.scalar_like(0.0, &target)?;
            n.call("where", [ignored.clone(), first, target])?
        }
        None => target,
    };
    // `take` wraps negative indices, but a negative target is an error.
    let classes = n.dims_vector(&dims[1..2])?;
    let shifted = n.call("subtract", [class.clone(), classes])?;
    let class = n.replace_if(class, "less", 0.0, shifted)?;
    let (batch, positions) = (dims[0].clone(), product(&dims[2..]));
    let rows = n.reshape(x.clone(), vec![batch.clone(), dims[1].clone(), positions.clone()])?;
    let at = n.reshape(class.clone(), vec![batch, PrimExpr::int64(1), positions])?;
    let picked = n.call_with("gather_elements", [rows, at], &[("axis", 1i64.into())])?;
    let picked = n.reshape(picked, shape.clone())?;
    let mut loss = n.call("negative", [picked])?;
    let mut weight = match n.optional(2)? {
        Some(weight) => {
            let weight = n.cast(weight, n.dtype(&x)?)?;
            Some(n.call_with("take", [weight, class], &[("axis", 0i64.into())])?)
        }
        None => None,
    };
    if let Some(ignored) = ignored {
        let of_class = match weight {
            Some(weight) => weight,
            None => {
                let one = n.scalar_like(1.0, &x)?;
                n.call("broadcast_to", [one, Operand::Shape(shape)])?
            }
        };
        weight = Some(n.call("where", [ignored, zero, of_class])?);
    }
    if let Some(weight) = &weight {
        loss = n.call("multiply", [loss, weight.clone()])?;
    }
    match (n.attrs.str_or("reduction", "mean")?, weight) {
        ("none", _) => Ok(loss),
        ("sum", _) => n.call("sum", [loss]),
        (_, None) => n.call("mean", [loss]),
        (_, Some(weight)) => {
            let (sum, by) = (n.call("sum", [loss])?, n.call("sum", [weight])?);
            n.call("divide", [sum, by])
        }
    }
}
