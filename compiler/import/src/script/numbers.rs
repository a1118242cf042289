//! Arithmetic on plain Python numbers, evaluated before dtypes are known.

use super::value::Value;
use hammock_syntax::ast::{BinaryOp, CompareOp};
use std::cmp::Ordering;

/// A plain number; bools are integers, as in Python.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    Int(i128),
    Float(f64),
}

impl Value {
    /// The plain number, if it is one.
    pub fn number(&self) -> Option<Number> {
        match self {
            Value::Bool(v) => Some(Number::Int(i128::from(*v))),
            Value::Int(v) => Some(Number::Int(*v)),
            Value::Float(v) => Some(Number::Float(*v)),
            _ => None,
        }
    }
}

impl From<Number> for Value {
    fn from(n: Number) -> Self {
        match n {
            Number::Int(v) => Value::Int(v),
            Number::Float(v) => Value::Float(v),
        }
    }
}

impl Number {
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Int(v) => v as f64,
            Number::Float(v) => v,
        }
    }
}

/// `a op b`, or the reason why there is no result.
pub(crate) fn arithmetic(op: BinaryOp, a: Number, b: Number) -> Result<Number, String> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) if op != BinaryOp::Div => integers(op, a, b).map(Number::Int),
        _ => floats(op, a.as_f64(), b.as_f64()).map(Number::Float),
    }
}

fn integers(op: BinaryOp, a: i128, b: i128) -> Result<i128, String> {
    let small = u32::try_from(b).ok();
    let result = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::FloorDiv | BinaryOp::Mod if b == 0 => return Err("division by zero".into()),
        BinaryOp::FloorDiv => a.checked_div_euclid(b).map(|q| if b < 0 && a.rem_euclid(b) != 0 { q - 1 } else { q }),
        BinaryOp::Mod => a.checked_rem_euclid(b).map(|r| if b < 0 && r != 0 { r + b } else { r }),
        BinaryOp::Pow => small.and_then(|b| a.checked_pow(b)),
        BinaryOp::Shl => small.filter(|b| *b < 64).and_then(|b| a.checked_mul(1 << b)),
        BinaryOp::Shr => small.map(|b| a >> b.min(127)),
        BinaryOp::And => Some(a & b),
        BinaryOp::Or => Some(a | b),
        BinaryOp::Xor => Some(a ^ b),
        BinaryOp::Div | BinaryOp::MatMul => None,
    };
    result.ok_or_else(|| format!("`{}` has no integer result here", op.symbol()))
}

fn floats(op: BinaryOp, a: f64, b: f64) -> Result<f64, String> {
    match op {
        BinaryOp::Add => Ok(a + b),
        BinaryOp::Sub => Ok(a - b),
        BinaryOp::Mul => Ok(a * b),
        BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod if b == 0.0 => Err("division by zero".into()),
        BinaryOp::Div => Ok(a / b),
        BinaryOp::FloorDiv => Ok((a / b).floor()),
        BinaryOp::Mod => Ok(a - b * (a / b).floor()),
        BinaryOp::Pow => Ok(a.powf(b)),
        _ => Err(format!("`{}` does not apply to floats", op.symbol())),
    }
}

/// `a op b` for the operators that order numbers; `None` for `in` and `is`.
pub(crate) fn comparison(op: CompareOp, a: Number, b: Number) -> Option<bool> {
    let order = match (a, b) {
        (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
        (a, b) => a.as_f64().partial_cmp(&b.as_f64()),
    };
    let holds = |wanted: &[Ordering]| order.is_some_and(|o| wanted.contains(&o));
    match op {
        CompareOp::Eq => Some(holds(&[Ordering::Equal])),
        CompareOp::Ne => Some(!holds(&[Ordering::Equal])),
        CompareOp::Lt => Some(holds(&[Ordering::Less])),
        CompareOp::Le => Some(holds(&[Ordering::Less, Ordering::Equal])),
        CompareOp::Gt => Some(holds(&[Ordering::Greater])),
        CompareOp::Ge => Some(holds(&[Ordering::Greater, Ordering::Equal])),
        CompareOp::In | CompareOp::NotIn | CompareOp::Is | CompareOp::IsNot => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_division_rounds_down() {
        for (a, b, q, r) in [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, -2, -3, 0)] {
            assert_eq!(integers(BinaryOp::FloorDiv, a, b), Ok(q), "{a} // {b}");
            assert_eq!(integers(BinaryOp::Mod, a, b), Ok(r), "{a} % {b}");
        }
        assert!(integers(BinaryOp::FloorDiv, 1, 0).is_err());
        assert!(integers(BinaryOp::Mul, i128::MAX, 2).is_err());
        assert!(integers(BinaryOp::Shl, 1, 1 << 40).is_err());
    }
}
