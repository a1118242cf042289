//! What a name of the graph stands for.

use crate::known::Known;
use hammock_ir::relax::Operand;

/// A value of the graph.
#[derive(Clone, Debug)]
pub enum Value {
    /// A variable, or a constant.
    Operand(Operand),
    /// A small tensor with elements that are known.
    Known(Known),
    /// The result of a node with an error that is reported already.
    Broken,
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
