//! Operators that the standard domain has as well.

use super::{
    super::{Op, Result, find},
    STANDARD_OPSET, op,
};
use crate::node::Node;

pub const OPS: &[Op] = &[
    op("ExpandDims", |n| n.import_as("Unsqueeze", STANDARD_OPSET)).moves_elements(),
    op("GatherND", |n| n.import_as("GatherND", STANDARD_OPSET)).moves_elements(),
    op("GridSample", |n| n.import_as("GridSample", 16)).attributes("align_corners mode padding_mode"),
    op("Pad", |n| n.import_as("Pad", STANDARD_OPSET)).attributes("mode"),
    op("Range", |n| n.import_as("Range", STANDARD_OPSET)),
    op("TorchEmbedding", torch_embedding),
    op("Trilu", |n| n.import_as("Trilu", STANDARD_OPSET)).attributes("upper"),
];

/// The other inputs matter for training.
fn torch_embedding(n: &mut Node) -> Result {
    n.inputs.truncate(2);
    n.import_as("Gather", STANDARD_OPSET)
}

impl Node<'_, '_> {
    /// Imports the node as an operator of the standard domain, in a version of it.
    pub(super) fn import_as(&mut self, name: &str, opset: i64) -> Result {
        self.opset = opset;
        match find("", name) {
            Some(standard) => (standard.import)(self),
            None => self.error(format!("`{name}` cannot be imported")),
        }
    }
}
