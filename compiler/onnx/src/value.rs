//! What a name of the graph stands for.

use crate::known::Known;
use hammock_ir::relax::Operand;
use hammock_runtime::tools::ElementType;

/// A value of the graph.
#[derive(Clone, Debug)]
pub enum Value {
    /// A variable, or a constant.
    Operand(Operand),
    /// A variable or constant with elements of 4 bits or the like, which its dtype holds.
    Narrow(Operand, ElementType),
    /// A small tensor with elements that are known.
    Known(Known),
    /// The result of a node with an error that is reported already.
    Broken,
}

impl Value {
    /// A tensor of elements of that type.
    pub fn of(operand: Operand, element: ElementType) -> Value {
        if element.is_narrow() { Value::Narrow(operand, element) } else { Value::Operand(operand) }
    }

    /// The type of its elements, where another holds them.
    pub fn narrow(&self) -> Option<ElementType> {
        match self {
            Value::Narrow(_, element) => Some(*element),
            _ => None,
        }
    }
}

/// The results of a node, in order.
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

impl From<Known> for Outputs {
    fn from(known: Known) -> Self {
        Outputs(vec![Value::Known(known)])
    }
}

impl From<Value> for Outputs {
    fn from(value: Value) -> Self {
        Outputs(vec![value])
    }
}
