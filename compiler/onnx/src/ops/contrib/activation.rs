//! Activations, with a bias before them.

use super::{
    super::{Op, Result},
    op,
};
use crate::node::{self, Node};
use hammock_ir::relax::Operand;

pub const OPS: &[Op] = &[
    op("BiasGelu", |n| biased(n, "nn.gelu")),
    op("FastGelu", |n| biased(n, "nn.gelu_tanh")),
    op("Gelu", |n| biased(n, "nn.gelu")),
    op("QuickGelu", quick_gelu).attributes("alpha"),
];

/// The second input is added first, if there is one.
fn biased(n: &mut Node, ours: &'static str) -> Result {
    let mut x = n.input(0)?;
    if let Some(bias) = n.optional(1)? {
        x = n.call("add", [x, bias])?;
    }
    Ok(n.call(ours, [x])?.into())
}

/// `x * sigmoid(alpha * x)`
fn quick_gelu(n: &mut Node) -> Result {
    let alpha = n.attrs.float_or("alpha", 1.702)?;
    let x = n.input(0)?;
    let scaled = n.with_scalar("multiply", &x, alpha)?;
    let gate = n.call("sigmoid", [scaled])?;
    Ok(n.call("multiply", [x, gate])?.into())
}

/// Parameters of a fused activation.
pub struct Parameters {
    pub alpha: Option<f64>,
    pub beta: Option<f64>,
}

impl Node<'_, '_> {
    /// Appends the activation of a fused operator, by its ONNX name; parameters have the defaults of the operator.
    pub(super) fn fused_activation(
        &mut self,
        name: &str,
        x: Operand,
        Parameters { alpha, beta }: &Parameters,
    ) -> node::Result<Operand> {
        let (alpha, beta) = (|default: f64| alpha.unwrap_or(default), |default: f64| beta.unwrap_or(default));
        match name {
            "" => Ok(x),
            "Relu" => self.call("nn.relu", [x]),
            "Tanh" => self.call("tanh", [x]),
            "Sigmoid" => self.call("sigmoid", [x]),
            "Softplus" => self.call("nn.softplus", [x]),
            "Softsign" => self.softsign(x),
            "Gelu" => self.call("nn.gelu", [x]),
            "LeakyRelu" => self.call_with("nn.leakyrelu", [x], &[("alpha", alpha(0.01).into())]),
            "Elu" => self.exponential(x, [alpha(1.0), 1.0, 1.0]),
            "ThresholdedRelu" => self.thresholded_relu(x, alpha(1.0)),
            "HardSigmoid" => self.hard_sigmoid(&x, alpha(0.2), beta(0.5)),
            "Clip" => {
                let raised = self.with_scalar("maximum", &x, alpha(f64::NEG_INFINITY))?;
                self.with_scalar("minimum", &raised, beta(f64::INFINITY))
            }
            other => self.error(format!("its activation `{other}` is not supported")),
        }
    }
}
