//! Operators on data whose channels are the last axis: those of the standard domain, between two transposes.

use super::{
    super::{Op, Result},
    STANDARD_OPSET, op,
};
use crate::{
    node::{self, Node},
    value::{Outputs, Value},
};
use hammock_ir::relax::Operand;

pub const OPS: &[Op] = &[
    op("NhwcConv", |n| channels_last(n, "Conv")).attributes(WINDOWS),
    op("NhwcFusedConv", fused_conv)
        .attributes("activation activation_params auto_pad dilations group kernel_shape pads strides"),
    op("NhwcMaxPool", |n| channels_last(n, "MaxPool"))
        .attributes("auto_pad ceil_mode dilations kernel_shape pads strides"),
    nhwc("AveragePool", |n| n.with_channels_last("AveragePool"))
        .attributes("auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"),
    nhwc("BatchNormalization", |n| n.with_channels_last("BatchNormalization"))
        .attributes("epsilon momentum training_mode"),
    nhwc("Conv", |n| n.with_channels_last("Conv")).attributes(WINDOWS),
    nhwc("ConvTranspose", |n| n.with_channels_last("ConvTranspose"))
        .attributes("auto_pad dilations group kernel_shape output_padding output_shape pads strides"),
    nhwc("DepthToSpace", |n| n.with_channels_last("DepthToSpace")).attributes("blocksize mode"),
    nhwc("GlobalAveragePool", |n| n.with_channels_last("GlobalAveragePool")),
    nhwc("GlobalMaxPool", |n| n.with_channels_last("GlobalMaxPool")),
    nhwc("InstanceNormalization", |n| n.with_channels_last("InstanceNormalization")).attributes("epsilon"),
    nhwc("LRN", |n| n.with_channels_last("LRN")).attributes("alpha beta bias size"),
    nhwc("MaxPool", |n| n.with_channels_last("MaxPool"))
        .attributes("auto_pad ceil_mode dilations kernel_shape pads storage_order strides"),
    nhwc("QLinearConv", |n| n.with_channels_last("QLinearConv")).attributes(WINDOWS),
    nhwc("SpaceToDepth", |n| n.with_channels_last("SpaceToDepth")).attributes("blocksize"),
];

const WINDOWS: &str = "auto_pad dilations group kernel_shape pads strides";

/// Declares an operator of ONNX Runtime's domain for execution providers that prefer channels last; its versions are
/// those of the standard domain.
const fn nhwc(name: &'static str, import: super::Import) -> Op {
    super::super::op(name, import).in_domain("com.ms.internal.nhwc")
}

fn channels_last(n: &mut Node, standard: &'static str) -> Result {
    n.opset = STANDARD_OPSET;
    n.with_channels_last(standard)
}

/// The residual has its channels last, too.
fn fused_conv(n: &mut Node) -> Result {
    if let Some(residual) = n.optional(3)? {
        n.inputs[3] = Some(Value::Operand(channels_second(n, residual)?));
    }
    n.between_transposes(super::fused::conv)
}

/// Moves the last axis to the second place.
pub(super) fn channels_second(n: &mut Node, x: Operand) -> node::Result<Operand> {
    let rank = n.rank(&x)?;
    if rank < 3 {
        return n.error("data with channels last have to have at least 3 dimensions");
    }
    let mut axes: Vec<i64> = (0..rank as i64).collect();
    axes[1..].rotate_right(1);
    n.call_with("permute_dims", [x], &[("axes", axes.into())])
}

impl Node<'_, '_> {
    /// Imports the node as an operator of the standard domain, in the version of its own.
    fn with_channels_last(&mut self, standard: &'static str) -> Result {
        let opset = self.opset;
        if self.outputs > 1 {
            return self.error("only its first result is supported where channels are last");
        }
        self.between_transposes(|n| n.import_as(standard, opset))
    }

    /// Imports a node whose first input and whose result have their channels last.
    pub(super) fn between_transposes(&mut self, import: impl FnOnce(&mut Self) -> Result) -> Result {
        let x = self.input(0)?;
        self.inputs[0] = Some(Value::Operand(channels_second(self, x)?));
        let Outputs(results) = import(self)?;
        let Some(y) = results.into_iter().next() else { return self.error("it has no result") };
        let y = self.importer.build.operand(&y)?;
        let mut axes: Vec<i64> = (0..self.rank(&y)? as i64).collect();
        axes[1..].rotate_left(1);
        Ok(self.call_with("permute_dims", [y], &[("axes", axes.into())])?.into())
    }
}
