//! ONNX's operators: one file a family, each operator declared once with the function that imports it.
//!
//! A family's `OPS` lists its operators. The function gets a [`Node`] and calls operators of ours through it; the
//! version of the operator set is in [`Node::opset`], so that one function knows all versions of its operator. To add an
//! operator, write its function and list it.

mod activation;
mod attention;
mod constant;
mod control;
mod conv;
mod elementwise;
mod index;
mod linear;
mod loss;
mod norm;
mod pad;
mod pool;
mod quantize;
mod rearrange;
mod recurrent;
mod reduce;
mod resize;
mod run_time;
mod select;
mod shape;
mod signal;
mod vision;

use crate::{node::Node, value::Outputs};
use hammock_ir::relax::InferError;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// What an operator's import gives.
type Result = std::result::Result<Outputs, InferError>;

/// What imports an operator's nodes.
type Import = fn(&mut Node) -> Result;

/// An operator of ONNX.
pub struct Op {
    /// Its domain; empty for ONNX's own.
    pub domain: &'static str,
    /// Its name.
    pub name: &'static str,
    pub(crate) import: Import,
}

/// An operator of the standard domain.
const fn op(name: &'static str, import: Import) -> Op {
    Op { domain: "", name, import }
}

const FAMILIES: &[&[Op]] = &[
    activation::OPS,
    attention::OPS,
    constant::OPS,
    control::OPS,
    conv::OPS,
    elementwise::OPS,
    index::OPS,
    linear::OPS,
    loss::OPS,
    norm::OPS,
    pad::OPS,
    pool::OPS,
    quantize::OPS,
    rearrange::OPS,
    recurrent::OPS,
    reduce::OPS,
    resize::OPS,
    select::OPS,
    shape::OPS,
    signal::OPS,
    vision::OPS,
];

static TABLE: LazyLock<FxHashMap<(&'static str, &'static str), &'static Op>> =
    LazyLock::new(|| FAMILIES.iter().copied().flatten().map(|op| ((op.domain, op.name), op)).collect());

/// The operator of that domain and name.
pub fn find(domain: &str, name: &str) -> Option<&'static Op> {
    TABLE.get(&(domain, name)).copied()
}

/// Every operator that can be imported, by family.
pub fn all() -> impl Iterator<Item = &'static Op> {
    FAMILIES.iter().copied().flatten()
}
