//! Optional values.

use super::{Op, Result, op};
use crate::{
    known_tensor::KnownTensor,
    node::Node,
    value::{
        Outputs, Value,
        sequence::{OptionalType, OptionalValue, Sequence},
    },
};
use hammock_ir::{DType, PrimExpr};

pub const OPS: &[Op] = &[
    op("Optional", optional).handles_sub_byte().attributes("type"),
    op("OptionalGetElement", optional_get_element).handles_sub_byte(),
    op("OptionalHasElement", optional_has_element).handles_sub_byte(),
];

/// A value that is known to be present is not wrapped.
fn optional(n: &mut Node) -> Result {
    Ok(n.given(0).cloned().unwrap_or(Value::Optional(OptionalValue::Absent)).into())
}

fn optional_has_element(n: &mut Node) -> Result {
    let has_element = match n.given(0) {
        None | Some(Value::Optional(OptionalValue::Absent)) => 0,
        Some(Value::Optional(OptionalValue::Dynamic(operand, _))) => {
            let operand = operand.clone();
            return Ok(n.call("has_value", [operand])?.into());
        }
        Some(_) => 1,
    };
    let known = KnownTensor::new(&[], DType::BOOL, [PrimExpr::int64(has_element)]);
    known.map_or_else(|| n.error("its result has no type"), |known| Ok(known.into()))
}

/// A value that is absent at run time fails the check of the element's type.
fn optional_get_element(n: &mut Node) -> Result {
    Ok(match n.value(0)? {
        Value::Optional(OptionalValue::Absent) => return n.error("its input has no element"),
        Value::Optional(OptionalValue::Dynamic(operand, OptionalType::Tensor(element))) => {
            n.importer.build.tensor_of_element(operand, &element)?.into()
        }
        Value::Optional(OptionalValue::Dynamic(operand, OptionalType::Sequence(element))) => {
            Outputs(vec![Value::Sequence(Sequence::Dynamic(operand, element))])
        }
        present => present.into(),
    })
}
