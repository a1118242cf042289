//! Device regions: statements that run on the device.

use hammock_ir::{
    PrimExpr,
    tir::{AttrNode, Stmt, StmtKind},
};

/// Attribute around the statements of a region.
const DEVICE_SCOPE: &str = "device_scope";

/// Returns a device region of a body.
pub fn device_region(body: Stmt) -> Stmt {
    let (key, value, span) = (DEVICE_SCOPE.into(), PrimExpr::int32(1), body.span);
    Stmt::new(StmtKind::Attr { node: AttrNode::None, key, value, body: Box::new(body) }).at(span)
}

/// Returns the body of a device region.
pub fn region_body(stmt: &Stmt) -> Option<&Stmt> {
    match &stmt.kind {
        StmtKind::Attr { key, body, .. } if *key == *DEVICE_SCOPE => Some(body),
        _ => None,
    }
}
