//! FoldBatchnormToConv2D: folds batch normalization into the constant weights of the convolution before it.
//!
//! With constant weights and statistics, `batch_norm(conv2d(x, w))[0]` is `conv2d(x, w * scale) + shift`, where
//! `scale` and `shift` are computed from constants (FoldConstant then computes them at compile time). This is batch
//! normalization for inference, with the running statistics: `training` is assumed to be off, unless an option says
//! otherwise.

use super::KEEP_TRAINING;
use crate::{
    Context, Pass,
    rewrite::editor::{self, Editor},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Module, PrimExpr,
    relax::{Call, Definitions, Operand, Value},
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "FoldBatchnormToConv2D",
    doc: "Folds batch normalization into the constant weights of convolutions",
    options: &[KEEP_TRAINING],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let keep_training = context.options.is_on(KEEP_TRAINING.name);
    let rule = |e: &mut Editor, value: &Value| fold(e, value, keep_training);
    editor::apply(module, |_, function| (!editor::is_primitive(function)).then_some(rule))
}

fn fold(e: &mut Editor, value: &Value, keep_training: bool) -> Option<Value> {
    let Value::TupleGet(normalized, 0) = value else { return None };
    let batch_norm = e.op(normalized, "nn.batch_norm")?.clone();
    let [conv_result, gamma, beta, mean, variance] = batch_norm.operands()?;
    let conv = e.op(conv_result, "nn.conv2d")?.clone();
    let [x, weight] = conv.operands()?;
    let constants = [weight, gamma, beta, mean, variance].iter().all(|operand| e.constant(operand).is_some());
    if !constants || !fits(&conv, &batch_norm, keep_training) || e.is_shared(normalized) || e.is_shared(conv_result) {
        return None;
    }
    let gamma_ty = e.tensor(gamma)?;
    let channels = gamma_ty.dims()?.first()?.clone();
    let epsilon = PrimExpr::float(batch_norm.attrs.get("epsilon")?.as_float()?, gamma_ty.dtype?);
    let one = || PrimExpr::int64(1);
    let along = match conv.attrs.get("kernel_layout")?.as_str()? {
        "OIHW" => [channels.clone(), one(), one(), one()],
        "IOHW" => [one(), channels.clone(), one(), one()],
        _ => return None,
    };
    let variance = e.emit("add", [variance.clone(), Operand::Prim(epsilon)], [])?;
    let deviation = e.emit("sqrt", [variance], [])?;
    let scale = e.emit("divide", [gamma.clone(), deviation], [])?;
    let scales = e.emit("reshape", [scale.clone(), Operand::Shape(along.into())], [])?;
    let weight = e.emit("multiply", [weight.clone(), scales], [])?;
    let conv_result = e.bind(Value::Call(Call { args: vec![x.clone(), weight], ..conv }))?;
    let shift = e.emit("multiply", [mean.clone(), scale], [])?;
    let shift = e.emit("subtract", [beta.clone(), shift], [])?;
    let shift = e.emit("reshape", [shift, Operand::Shape(vec![one(), channels, one(), one()])], [])?;
    e.make("add", [conv_result, shift], [])
}

/// Returns true if the normalization is along the convolution's channels, with both parameters.
fn fits(conv: &Call, batch_norm: &Call, keep_training: bool) -> bool {
    let layout = |name| conv.attrs.get(name).and_then(AttrValue::as_str) == Some("NCHW");
    let is_on = |name| batch_norm.attrs.get(name).and_then(AttrValue::as_bool) == Some(true);
    let axis = batch_norm.attrs.get("axis").and_then(AttrValue::as_int);
    let channels = matches!(axis, Some(1 | -3)) && layout("data_layout") && layout("out_layout");
    channels && is_on("scale") && is_on("center") && !(keep_training && is_on("training"))
}
