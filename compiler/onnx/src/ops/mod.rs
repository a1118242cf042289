//! ONNX operators: one file per family, each operator declared once with its import function.
//!
//! A family's `OPS` lists its operators. An import function gets a [`Node`] and appends calls of our operators through
//! it. [`Node::opset`] is the version of the operator set; one function handles all versions of its operator.

mod activation;
mod attention;
pub mod attribute_schema;
mod cast;
mod col2im;
mod constant;
mod contrib;
mod control;
mod conv;
mod deform;
mod dynamic_shape;
mod elementwise;
mod features;
mod flex_attention;
mod index;
mod legacy_broadcast;
mod linear;
mod loss;
mod ml;
mod norm;
mod optional;
mod pad;
mod pool;
mod pool_indices;
mod quantize;
mod random;
mod rearrange;
mod recurrent;
mod recurrent_activation;
mod reduce;
mod resample;
mod resize;
mod rotary;
mod scan_loop;
mod select;
mod sequence;
mod shape;
mod signal;
mod stateful;
mod strings;
mod vision;
mod windows;

use crate::{
    dtype,
    node::Node,
    value::{Outputs, Value},
};
use hammock_ir::relax::InferError;
use hammock_tools::ElementType;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Result of an import function.
type Result = std::result::Result<Outputs, InferError>;

/// Import function of an operator.
type Import = fn(&mut Node) -> Result;

/// ONNX operator.
pub struct Op {
    /// Domain; empty for the standard one.
    pub domain: &'static str,
    /// Name.
    pub name: &'static str,
    /// Names of its attributes. `name@13` exists since version 13, `name@-12` up to version 12, `name@9-12` between
    /// them.
    attributes: &'static str,
    sub_byte: SubByte,
    pub(crate) import: Import,
    /// Import function for nodes with string inputs; `None` if they are not supported.
    strings: Option<Import>,
}

/// How an operator treats sub-byte elements, which are stored in a wider dtype.
#[derive(Clone, Copy)]
enum SubByte {
    /// It does not support them.
    Rejected,
    /// Its import function considers them.
    Handled,
    /// It only moves elements: results have the element type of the input.
    Moved,
}

/// Declares an operator of the standard domain, without attributes and sub-byte elements.
const fn op(name: &'static str, import: Import) -> Op {
    Op { domain: "", name, attributes: "", sub_byte: SubByte::Rejected, import, strings: None }
}

impl Op {
    /// Sets the domain.
    const fn in_domain(self, domain: &'static str) -> Op {
        Op { domain, ..self }
    }

    /// Sets the attributes.
    const fn attributes(self, attributes: &'static str) -> Op {
        Op { attributes, ..self }
    }

    /// Sets the import function for nodes with string inputs.
    const fn on_strings(self, import: Import) -> Op {
        Op { strings: Some(import), ..self }
    }

    /// Returns the import function for these inputs.
    pub(crate) fn import_of(&self, inputs: &[Option<Value>]) -> Import {
        let has_strings = inputs.iter().flatten().any(|value| matches!(value, Value::Strings(_)));
        self.strings.filter(|_| has_strings).unwrap_or(self.import)
    }

    /// States that the import function considers sub-byte elements.
    const fn handles_sub_byte(self) -> Op {
        Op { sub_byte: SubByte::Handled, ..self }
    }

    /// States that it only moves elements, so that they may be sub-byte.
    const fn moves_elements(self) -> Op {
        Op { sub_byte: SubByte::Moved, ..self }
    }
}

const FAMILIES: &[&[Op]] = &[
    activation::OPS,
    attention::OPS,
    cast::OPS,
    col2im::OPS,
    constant::OPS,
    control::OPS,
    conv::OPS,
    deform::OPS,
    elementwise::OPS,
    features::OPS,
    flex_attention::OPS,
    index::OPS,
    linear::OPS,
    loss::OPS,
    norm::OPS,
    optional::OPS,
    pad::OPS,
    pool::OPS,
    pool_indices::OPS,
    quantize::OPS,
    random::OPS,
    rearrange::OPS,
    recurrent::OPS,
    reduce::OPS,
    resize::OPS,
    rotary::OPS,
    scan_loop::OPS,
    select::OPS,
    sequence::OPS,
    shape::OPS,
    signal::OPS,
    stateful::OPS,
    strings::OPS,
    vision::OPS,
];

static TABLE: LazyLock<FxHashMap<(&'static str, &'static str), &'static Op>> =
    LazyLock::new(|| all().map(|op| ((op.domain, op.name), op)).collect());

/// Returns the results of an operator that has an input with sub-byte elements.
///
/// # Errors
/// If the operator cannot handle them.
pub fn narrow(op: &Op, values: Vec<Value>, element: ElementType) -> std::result::Result<Vec<Value>, InferError> {
    match op.sub_byte {
        SubByte::Handled => return Ok(values),
        SubByte::Rejected => {
            let name = dtype::name(i64::from(element.number));
            return Err(InferError::new(format!("it does not compute with elements of {name}"))
                .help("they can be converted, quantized and moved"));
        }
        SubByte::Moved => {}
    }
    let with_element = |value| match value {
        Value::Operand(operand) => Value::Narrow(operand, element),
        other => other,
    };
    Ok(values.into_iter().map(with_element).collect())
}

/// Returns the operator with this domain and name.
pub fn find(domain: &str, name: &str) -> Option<&'static Op> {
    TABLE.get(&(domain, name)).copied()
}

/// Returns all supported operators, by family.
pub fn all() -> impl Iterator<Item = &'static Op> {
    FAMILIES.iter().chain(&contrib::FAMILIES).chain(&ml::FAMILIES).copied().flatten()
}
