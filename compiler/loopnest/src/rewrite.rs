//! Rewriting of values.

use crate::{access, index::same_expr};
use hammock_ir::{PrimExpr, prim::PrimKind, tir::Buffer};

/// Replaces every load of a buffer in a value.
pub fn replace_loads(value: &PrimExpr, buffer: &Buffer, by: &PrimExpr) -> PrimExpr {
    match value.kind() {
        PrimKind::Load(b, ..) if b == buffer => by.clone(),
        _ => value.map_children(&mut |c| replace_loads(c, buffer, by)),
    }
}

/// Maps every load of a buffer's memory in a value.
pub fn map_loads(value: &PrimExpr, buffer: &Buffer, by: &impl Fn(&PrimExpr) -> PrimExpr) -> PrimExpr {
    if access::is_load_of(value, buffer) {
        by(value)
    } else {
        value.map_children(&mut |child| map_loads(child, buffer, by))
    }
}

/// Replaces every occurrence of a load, or another expression, in a value.
pub fn replaced(value: &PrimExpr, load: &PrimExpr, by: &PrimExpr) -> PrimExpr {
    if same_expr(value, load) { by.clone() } else { value.map_children(&mut |child| replaced(child, load, by)) }
}
