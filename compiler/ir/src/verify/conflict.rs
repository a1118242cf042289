//! Finds contradictions between types.

use crate::{PrimExpr, TensorType, Type, arith::Analyzer, types::ShapeType};
use hammock_diagnostics::count;

/// Relation between the symbolic variables of two types.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbols {
    /// The same variables: both types belong to one function.
    Shared,
    /// Different variables: one type belongs to a callee. Only constants are compared.
    Separate,
}

/// The reason why no value can have both types, worded to follow "but"; `None` if some value may. Unknown parts
/// contradict nothing.
pub(super) fn conflict(found: &Type, expected: &Type, symbols: Symbols) -> Option<String> {
    match (found, expected) {
        (Type::Any | Type::DTensor(_) | Type::Error, _) | (_, Type::Any | Type::DTensor(_) | Type::Error) => None,
        (Type::Prim(a), Type::Prim(b)) => (a != b).then(|| format!("{a} is not {b}")),
        (Type::String, Type::String) | (Type::Callable(_), Type::Callable(_)) => None,
        (Type::Shape(a), Type::Shape(b)) => shapes(a, b, symbols),
        (Type::Tensor(a), Type::Tensor(b)) => tensors(a, b, symbols),
        (Type::Tuple(a), Type::Tuple(b)) if a.len() != b.len() => {
            Some(format!("a tuple of {} is not a tuple of {}", a.len(), b.len()))
        }
        (Type::Tuple(a), Type::Tuple(b)) => a.iter().zip(b).enumerate().find_map(|(i, (a, b))| {
            let why = conflict(a, b, symbols)?;
            Some(format!("in member {i}, {why}"))
        }),
        _ => Some(format!("{} is not {}", found.kind(), expected.kind())),
    }
}

fn tensors(a: &TensorType, b: &TensorType, symbols: Symbols) -> Option<String> {
    if let (Some(x), Some(y)) = (a.dtype, b.dtype)
        && x != y
    {
        return Some(format!("{x} is not {y}"));
    }
    ranks(a.ndim(), b.ndim()).or_else(|| dims(a.dims()?, b.dims()?, symbols))
}

fn shapes(a: &ShapeType, b: &ShapeType, symbols: Symbols) -> Option<String> {
    ranks(a.ndim(), b.ndim()).or_else(|| dims(a.dims()?, b.dims()?, symbols))
}

pub(super) fn ranks(a: Option<usize>, b: Option<usize>) -> Option<String> {
    let (a, b) = (a?, b?);
    (a != b).then(|| format!("{} {} not {b}", count(a, "dimension"), if a == 1 { "is" } else { "are" }))
}

/// The first dimension in which two shapes of the same rank certainly differ.
pub(super) fn dims(a: &[PrimExpr], b: &[PrimExpr], symbols: Symbols) -> Option<String> {
    let analyzer = Analyzer::for_shapes();
    a.iter().zip(b).enumerate().find_map(|(i, (a, b))| {
        let differ = match (a.as_int(), b.as_int()) {
            (Some(a), Some(b)) => a != b,
            _ if symbols == Symbols::Separate => false,
            _ => a.dtype() == b.dtype() && analyzer.prove_ne(a, b),
        };
        let text = crate::print::dim_text;
        differ.then(|| format!("in dimension {i}, {} is not {}", text(a), text(b)))
    })
}
