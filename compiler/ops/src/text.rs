//! Types and dimensions in the words of messages.

use hammock_ir::{
    PrimExpr, TensorShape, TensorType, Type,
    prim::{BinaryOp, PrimKind},
    types::ShapeType,
};

/// What kind of thing a type is: `a tensor`, `a tuple`.
pub fn kind_text(ty: &Type) -> &'static str {
    match ty {
        Type::Any => "an object of unknown type",
        Type::Prim(_) => "a scalar",
        Type::String => "a string",
        Type::Shape(_) => "a shape",
        Type::Tensor(_) => "a tensor",
        Type::Tuple(_) => "a tuple",
        Type::Callable(_) => "a function",
        Type::DTensor(_) => "a distributed tensor",
    }
}

/// A type: its kind and what is known of it.
pub fn type_text(ty: &Type) -> String {
    let kind = kind_text(ty);
    match ty {
        Type::Prim(dtype) => format!("{kind} of {dtype}"),
        Type::Shape(ShapeType::Known(dims)) => format!("{kind} {}", dims_text(dims)),
        Type::Tensor(t) => format!("{kind} of shape {}", shape_text(t)),
        Type::Tuple(members) => format!("{kind} of {} members", members.len()),
        _ => kind.to_owned(),
    }
}

/// A tensor's shape: `(n, 4)`, or its number of dimensions.
pub fn shape_text(ty: &TensorType) -> String {
    match (&ty.shape, ty.ndim()) {
        (TensorShape::Known(dims), _) => dims_text(dims),
        (_, Some(n)) => format!("of {n} unknown dimensions"),
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
    match dim.kind() {
        PrimKind::Int(v) => v.to_string(),
        PrimKind::Var(v) => v.name().to_string(),
        PrimKind::Binary(op, a, b) => binary_text(*op, &dim_text(a), &dim_text(b)),
        PrimKind::Cast(e) => dim_text(e),
        _ => "…".to_owned(),
    }
}

fn binary_text(op: BinaryOp, a: &str, b: &str) -> String {
    let infix = match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::FloorDiv => "//",
        BinaryOp::FloorMod => "%",
        BinaryOp::Min => return format!("min({a}, {b})"),
        BinaryOp::Max => return format!("max({a}, {b})"),
        _ => return "…".to_owned(),
    };
    format!("({a} {infix} {b})")
}
