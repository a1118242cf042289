//! Values of the graph's names.

pub mod sequence;
pub mod strings;

use crate::known_tensor::KnownTensor;
use hammock_ir::relax::Operand;
use hammock_tools::ElementType;
use sequence::{OptionalValue, Sequence};
use strings::Strings;

/// Value of a name in the graph.
#[derive(Clone, Debug)]
pub enum Value {
    /// Variable or constant.
    Operand(Operand),
    /// Variable or constant with sub-byte elements, each stored in a wider dtype.
    Narrow(Operand, ElementType),
    /// Small tensor with known elements.
    Known(KnownTensor),
    /// Tensor of strings.
    Strings(Strings),
    /// Sequence of values.
    Sequence(Sequence),
    /// Optional value that is absent, or only known at run time.
    Optional(OptionalValue),
    /// Sequence of maps with the same keys: a pair of the keys and a matrix of values, with a row for each map.
    Maps(Operand),
    /// Result of a node with an error that was reported already.
    Broken,
}

impl Value {
    /// Creates the value of a tensor with these elements.
    pub fn of(operand: Operand, element: ElementType) -> Value {
        if element.is_narrow() { Value::Narrow(operand, element) } else { Value::Operand(operand) }
    }

    /// Returns the element type if the elements are stored in a wider dtype.
    pub fn narrow(&self) -> Option<ElementType> {
        match self {
            Value::Narrow(_, element) => Some(*element),
            _ => None,
        }
    }

    /// Returns what the value is, for messages, unless it is a tensor of numbers.
    pub fn other_kind(&self) -> Option<&'static str> {
        match self {
            Value::Strings(_) => Some("a tensor of strings"),
            Value::Sequence(_) => Some("a sequence"),
            Value::Optional(_) => Some("optional"),
            Value::Maps(_) => Some("a sequence of maps"),
            Value::Operand(_) | Value::Narrow(..) | Value::Known(_) | Value::Broken => None,
        }
    }
}

/// Results of a node, in order.
pub struct Outputs(pub Vec<Value>);

impl From<Operand> for Outputs {
    fn from(operand: Operand) -> Self {
        Outputs(vec![Value::Operand(operand)])
    }
}

impl From<Vec<Operand>> for Outputs {
    fn from(operands: Vec<Operand>) -> Self {
        Outputs(operands.into_iter().map(Value::Operand).collect())
    }
}

impl From<KnownTensor> for Outputs {
    fn from(known: KnownTensor) -> Self {
        Outputs(vec![Value::Known(known)])
    }
}

impl From<Value> for Outputs {
    fn from(value: Value) -> Self {
        Outputs(vec![value])
    }
}
