//! Values of expressions.

use crate::{Fault, Pointer};
use hammock_ir::Name;
use std::fmt;

/// The value of an expression, interpreted by the expression's dtype.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer or bool within the range of its dtype; unsigned 64-bit values by their bits.
    Int(i64),
    /// A float that its dtype can hold.
    Float(f64),
    /// A vector's lanes.
    Vector(Vec<Value>),
    /// An address.
    Pointer(Pointer),
    /// A string.
    Str(Name),
    /// Result of a call without a result.
    Void,
}

impl Value {
    /// Returns the integer.
    pub(crate) fn int(&self) -> Result<i64, Fault> {
        match self {
            Value::Int(v) => Ok(*v),
            other => Err(Fault::Mismatch { expected: "an integer", found: other.to_string() }),
        }
    }

    /// Returns the float.
    pub(crate) fn float(&self) -> Result<f64, Fault> {
        match self {
            Value::Float(v) => Ok(*v),
            other => Err(Fault::Mismatch { expected: "a float", found: other.to_string() }),
        }
    }

    /// Returns the boolean.
    pub(crate) fn truth(&self) -> Result<bool, Fault> {
        Ok(self.int()? != 0)
    }

    /// Returns the pointer.
    pub(crate) fn pointer(&self) -> Result<Pointer, Fault> {
        match self {
            Value::Pointer(p) => Ok(*p),
            other => Err(Fault::Mismatch { expected: "a pointer", found: other.to_string() }),
        }
    }

    /// Returns the number of lanes; 1 for all but vectors.
    pub(crate) fn lanes(&self) -> usize {
        match self {
            Value::Vector(lanes) => lanes.len(),
            _ => 1,
        }
    }

    /// One lane; a scalar has the same value in each.
    pub(crate) fn lane(&self, i: usize) -> &Value {
        match self {
            Value::Vector(lanes) => &lanes[i],
            scalar => scalar,
        }
    }

    /// Applies `f` to each lane of several values together.
    pub(crate) fn lanewise<const N: usize>(
        values: [&Value; N],
        mut f: impl FnMut([&Value; N]) -> Result<Value, Fault>,
    ) -> Result<Value, Fault> {
        let lanes = values.iter().map(|v| v.lanes()).max().unwrap_or(1);
        if lanes == 1 && !values.iter().any(|v| matches!(v, Value::Vector(_))) {
            return f(values);
        }
        if values.iter().any(|v| matches!(v, Value::Vector(l) if l.len() != lanes)) {
            return Err(Fault::Mismatch { expected: "vectors of equal length", found: format!("{values:?}") });
        }
        let lanes: Result<Vec<_>, _> = (0..lanes).map(|i| f(values.map(|v| v.lane(i)))).collect();
        Ok(Value::Vector(lanes?))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Int(i64::from(value))
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(v) => write!(f, "{v}"),
            Value::Float(v) => write!(f, "{v:?}"),
            Value::Vector(lanes) => write!(f, "a vector of {}", lanes.len()),
            Value::Pointer(_) => f.write_str("a pointer"),
            Value::Str(s) => write!(f, "{:?}", s.as_str()),
            Value::Void => f.write_str("nothing"),
        }
    }
}
