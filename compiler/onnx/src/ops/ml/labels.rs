//! Labels of classes.

use crate::{
    node::{self, Node},
    value::Value,
};
use hammock_ir::relax::Operand;

/// Labels of a classifier's classes.
pub enum Labels {
    Integers(Vec<i64>),
    Strings(Vec<String>),
}

impl Labels {
    /// Reads the labels from one of two attributes.
    pub fn of(n: &Node, integers: &str, strings: &str) -> node::Result<Labels> {
        match (n.attrs.ints(integers)?, n.attrs.strings(strings)?) {
            (Some(labels), None) if !labels.is_empty() => Ok(Labels::Integers(labels)),
            (None, Some(labels)) if !labels.is_empty() => Ok(Labels::Strings(labels)),
            (Some(labels), Some(empty)) if empty.is_empty() => Ok(Labels::Integers(labels)),
            (Some(empty), Some(labels)) if empty.is_empty() => Ok(Labels::Strings(labels)),
            (Some(_), Some(_)) => n.error(format!("it has both `{integers}` and `{strings}`")),
            _ => n.error(format!("it has neither `{integers}` nor `{strings}`")),
        }
    }

    /// Returns the number of classes.
    pub fn len(&self) -> usize {
        match self {
            Labels::Integers(labels) => labels.len(),
            Labels::Strings(labels) => labels.len(),
        }
    }

    /// Returns the labels of classes, given by their indices.
    pub fn select(&self, n: &mut Node, classes: Operand) -> node::Result<Value> {
        match self {
            Labels::Integers(labels) => {
                if labels.iter().enumerate().all(|(class, label)| class as i64 == *label) {
                    return Ok(Value::Operand(classes));
                }
                let table = n.int64_vector(labels.iter().copied())?;
                Ok(Value::Operand(n.call_with("take", [table, classes], &[("axis", 0i64.into())])?))
            }
            Labels::Strings(labels) => {
                let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                n.strings_at(&labels, classes)
            }
        }
    }
    /// Returns all labels: a vector of integers, or a tuple of strings.
    pub fn keys(&self, n: &mut Node) -> node::Result<Operand> {
        match self {
            Labels::Integers(labels) => n.int64_vector(labels.iter().copied()),
            Labels::Strings(labels) => {
                Ok(Operand::Tuple(labels.iter().map(|label| Operand::Str(label.as_str().into())).collect()))
            }
        }
    }
}
