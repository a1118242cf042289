//! Plain values in patterns: numbers, strings, lists, and attributes of operators.

use super::error::{Read, wrong};
use crate::script::nearest_dtype;
use hammock_ir::{AttrValue, DType};
use hammock_ops::AttrKind;
use hammock_syntax::ast::{Expr, ExprKind, UnaryOp};

/// A number, negative ones included.
pub fn number(e: &Expr) -> Option<f64> {
    match &e.kind {
        ExprKind::Int(value) => Some(*value as f64),
        ExprKind::Float(value) => Some(*value),
        ExprKind::Unary(UnaryOp::Neg, inner) => number(inner).map(|value| -value),
        _ => None,
    }
}

/// An integer.
pub fn integer(e: &Expr) -> Option<i64> {
    match &e.kind {
        ExprKind::Int(value) => i64::try_from(*value).ok(),
        ExprKind::Unary(UnaryOp::Neg, inner) => integer(inner).map(|value| -value),
        _ => None,
    }
}

/// The index of a member.
pub fn index(e: &Expr) -> Read<usize> {
    let index = integer(e).and_then(|index| usize::try_from(index).ok());
    index.ok_or_else(|| wrong(e.span, "the number of a member is an integer from 0"))
}

/// A string.
pub fn text(e: &Expr) -> Read<&str> {
    match &e.kind {
        ExprKind::Str(text) => Ok(text),
        _ => Err(wrong(e.span, "expected a string")),
    }
}

/// A dtype.
pub fn dtype(e: &Expr) -> Read<DType> {
    let name = text(e)?;
    name.parse().ok().filter(|dtype| crate::script::is_valid_dtype(*dtype)).ok_or_else(|| {
        let error = wrong(e.span, format!("`{name}` is not a dtype"));
        match nearest_dtype(name) {
            Some(near) => error.did_you_mean(e.span, format!("\"{near}\"")),
            None => error,
        }
    })
}

/// Sizes of a shape, `_` for any.
pub fn sizes(e: &Expr) -> Read<Vec<Option<i64>>> {
    let (ExprKind::List(sizes) | ExprKind::Tuple(sizes)) = &e.kind else {
        return Err(wrong(e.span, "expected a list of sizes, such as `[1, _, 4]`"));
    };
    let size = |e: &Expr| match &e.kind {
        ExprKind::Name(name) if &**name == "_" => Ok(None),
        _ => match integer(e) {
            Some(size) => Ok(Some(size)),
            None => Err(wrong(e.span, "a size is an integer, or `_` for any")),
        },
    };
    sizes.iter().map(size).collect()
}

/// The elements of a list.
pub fn elements(e: &Expr) -> Option<&[Expr]> {
    match &e.kind {
        ExprKind::List(elements) | ExprKind::Tuple(elements) => Some(elements),
        _ => None,
    }
}

/// An attribute of an operator.
pub fn attribute(kind: AttrKind, name: &str, e: &Expr) -> Read<AttrValue> {
    let value = match kind {
        AttrKind::DType => return dtype(e).map(AttrValue::DType).or_else(|error| none(e).ok_or(error)),
        AttrKind::Int => plain(e).filter(|v| matches!(v, AttrValue::Int(_))),
        AttrKind::OptionalInt => plain(e).filter(|v| matches!(v, AttrValue::Int(_) | AttrValue::None)),
        AttrKind::Float => plain(e).filter(|v| v.as_float().is_some()),
        AttrKind::OptionalFloat => plain(e).filter(|v| v.is_none() || v.as_float().is_some()),
        AttrKind::Bool => plain(e).filter(|v| matches!(v, AttrValue::Bool(_))),
        AttrKind::Str => plain(e).filter(|v| v.as_str().is_some()),
        AttrKind::OptionalStr => plain(e).filter(|v| v.is_none() || v.as_str().is_some()),
        AttrKind::Ints | AttrKind::OptionalInts | AttrKind::Floats => list(e).filter(|v| {
            let numbers = |list: &[AttrValue]| list.iter().all(|v| v.as_float().is_some());
            v.as_list().is_some_and(numbers) || v.is_none() && kind == AttrKind::OptionalInts
        }),
        _ => plain(e),
    };
    value.ok_or_else(|| wrong(e.span, format!("attribute `{name}` cannot be this")).help(wanted(kind)))
}

/// A list; one number is a list of one.
fn list(e: &Expr) -> Option<AttrValue> {
    let value = plain(e)?;
    Some(if value.as_float().is_some() { AttrValue::List(vec![value]) } else { value })
}

fn none(e: &Expr) -> Option<AttrValue> {
    matches!(&e.kind, ExprKind::None).then_some(AttrValue::None)
}

fn plain(e: &Expr) -> Option<AttrValue> {
    Some(match &e.kind {
        ExprKind::None => AttrValue::None,
        ExprKind::Bool(value) => AttrValue::Bool(*value),
        ExprKind::Str(text) => AttrValue::Str(text.clone().into()),
        ExprKind::List(elements) | ExprKind::Tuple(elements) => {
            AttrValue::List(elements.iter().map(plain).collect::<Option<_>>()?)
        }
        _ => match integer(e) {
            Some(value) => AttrValue::Int(value),
            None => AttrValue::Float(number(e)?),
        },
    })
}

fn wanted(kind: AttrKind) -> &'static str {
    match kind {
        AttrKind::Int | AttrKind::OptionalInt => "it is an integer",
        AttrKind::Float | AttrKind::OptionalFloat => "it is a number",
        AttrKind::Bool => "it is `True` or `False`",
        AttrKind::Str | AttrKind::OptionalStr => "it is a string",
        AttrKind::Ints | AttrKind::OptionalInts => "it is a list of integers, such as `[1, 1]`",
        AttrKind::Floats => "it is a list of numbers",
        _ => "patterns ask for numbers, strings, `True`, `False`, `None` and lists of them",
    }
}
