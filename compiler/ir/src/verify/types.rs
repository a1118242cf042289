//! Do two types contradict each other?

use crate::{PrimExpr, Type, types::ShapeType};

/// Why a value of type `found` cannot be of type `declared`; `None` when it may be. What is not known contradicts
/// nothing, and symbolic dimensions contradict only when both are numbers.
pub fn contradiction(declared: &Type, found: &Type) -> Option<String> {
    match (declared, found) {
        (Type::Any, _) | (_, Type::Any) => None,
        (Type::Tensor(a), Type::Tensor(b)) => {
            if let (Some(a), Some(b)) = (a.dtype, b.dtype)
                && a != b
            {
                return Some(format!("its dtype is {b}, not {a}"));
            }
            if let (Some(a), Some(b)) = (a.ndim(), b.ndim())
                && a != b
            {
                return Some(format!("it has {b} dimensions, not {a}"));
            }
            a.dims().zip(b.dims()).and_then(|(a, b)| differing(a, b))
        }
        (Type::Shape(ShapeType::Known(a)), Type::Shape(ShapeType::Known(b))) if a.len() == b.len() => differing(a, b),
        (Type::Shape(a), Type::Shape(b)) => match (a.ndim(), b.ndim()) {
            (Some(a), Some(b)) if a != b => Some(format!("it has {b} dimensions, not {a}")),
            _ => None,
        },
        (Type::Tuple(a), Type::Tuple(b)) if a.len() != b.len() => {
            Some(format!("it has {} members, not {}", b.len(), a.len()))
        }
        (Type::Tuple(a), Type::Tuple(b)) => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(i, (a, b))| contradiction(a, b).map(|why| format!("in member {i}, {why}"))),
        (Type::Prim(a), Type::Prim(b)) if a != b => Some(format!("it is a {b} scalar, not {a}")),
        (Type::DTensor(_), Type::Tensor(_)) | (Type::Tensor(_), Type::DTensor(_)) => None,
        _ if std::mem::discriminant(declared) == std::mem::discriminant(found) => None,
        _ => Some(format!("it is {}, not {}", kind(found), kind(declared))),
    }
}

fn differing(a: &[PrimExpr], b: &[PrimExpr]) -> Option<String> {
    let pairs = a.iter().zip(b).enumerate();
    let mut known = pairs.filter_map(|(i, (a, b))| Some((i, a.as_int()?, b.as_int()?)));
    known.find(|(_, a, b)| a != b).map(|(i, a, b)| format!("dimension {i} is {b}, not {a}"))
}

fn kind(ty: &Type) -> &'static str {
    match ty {
        Type::Any => "anything",
        Type::Prim(_) => "a scalar",
        Type::String => "a string",
        Type::Shape(_) => "a shape",
        Type::Tensor(_) => "a tensor",
        Type::Tuple(_) => "a tuple",
        Type::Callable(_) => "a function",
        Type::DTensor(_) => "a distributed tensor",
    }
}
