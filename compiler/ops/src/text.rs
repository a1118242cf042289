//! Text of types and dimensions in messages.

use hammock_ir::{PrimExpr, TensorShape, TensorType, Type, count, print};

/// The kind of a type: `a tensor`, `a tuple`.
pub fn kind_text(ty: &Type) -> &'static str {
    match ty {
        Type::Any | Type::Error => "an object of unknown type",
        Type::Prim(_) => "a scalar",
        Type::String => "a string",
        Type::Shape(_) => "a shape",
        Type::Tensor(_) => "a tensor",
        Type::Tuple(_) => "a tuple",
        Type::Callable(_) => "a function",
        Type::DTensor(_) => "a distributed tensor",
    }
}

/// A type: its kind and notation.
pub fn type_text(ty: &Type) -> String {
    match ty {
        Type::Any | Type::String | Type::Callable(_) => kind_text(ty).to_owned(),
        _ => format!("{} ({})", kind_text(ty), print::type_text(ty)),
    }
}

/// A tensor's shape: `(n, 4)`, or its number of dimensions.
pub fn shape_text(ty: &TensorType) -> String {
    match (&ty.shape, ty.ndim()) {
        (TensorShape::Known(dims), _) => dims_text(dims),
        (_, Some(n)) => format!("of {} of unknown size", count(n, "dimension")),
        _ => "unknown".to_owned(),
    }
}

/// Dimensions: `(n, 4)`, `(8,)`.
pub fn dims_text(dims: &[PrimExpr]) -> String {
    let list: Vec<String> = dims.iter().map(dim_text).collect();
    let comma = if dims.len() == 1 { "," } else { "" };
    format!("({}{comma})", list.join(", "))
}

/// One dimension: `n * 2`.
pub fn dim_text(dim: &PrimExpr) -> String {
    print::dim_text(dim)
}
