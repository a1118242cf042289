//! Equality of expressions, types and values over the same variables.

use super::difference::{same_attrs, same_values};
use crate::{
    AttrValue, Attrs, PrimExpr, Tensor, TensorShape, TensorType, Type,
    prim::{IterVar, PrimCall, PrimKind, Reduce, Reducer},
    relax::{Call, Callee, Operand, Value},
    types::ShapeType,
};
use std::sync::Arc;

/// Returns true if two expressions are the same operations on the same variables. ([`arith`](crate::arith) decides
/// whether `a + b` equals `b + a`.)
pub fn exprs(a: &PrimExpr, b: &PrimExpr) -> bool {
    use PrimKind::*;
    if a.same_node(b) {
        return true;
    }
    if a.size() != b.size() || a.ty() != b.ty() {
        return false;
    }
    match (a.kind(), b.kind()) {
        (Var(x), Var(y)) => x == y,
        (Int(x), Int(y)) => x == y,
        (Float(x), Float(y)) => x.to_bits() == y.to_bits(),
        (Str(x), Str(y)) => x == y,
        (Binary(f, a, b), Binary(g, c, d)) => f == g && exprs(a, c) && exprs(b, d),
        (Not(x), Not(y)) | (Cast(x), Cast(y)) | (Broadcast(x), Broadcast(y)) => exprs(x, y),
        (Select(a, b, c), Select(d, e, f)) => exprs(a, d) && exprs(b, e) && exprs(c, f),
        (Load(x, i, m), Load(y, j, n)) => x == y && dims(i, j) && option(m, n),
        (Ramp(a, b), Ramp(c, d)) => exprs(a, c) && exprs(b, d),
        (Shuffle(a, b), Shuffle(c, d)) => dims(a, c) && dims(b, d),
        (Let(x, a, b), Let(y, c, d)) => x == y && exprs(a, c) && exprs(b, d),
        (Call(x), Call(y)) => calls(x, y),
        (Reduce(x), Reduce(y)) => reductions(x, y),
        _ => false,
    }
}

/// Returns true if two lists of expressions are the same.
pub fn dims(a: &[PrimExpr], b: &[PrimExpr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| exprs(a, b))
}

/// Returns true if two types of one function are the same.
pub fn types(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Any, Type::Any) | (Type::String, Type::String) => true,
        (Type::Prim(a), Type::Prim(b)) => a == b,
        (Type::Shape(a), Type::Shape(b)) => match (a, b) {
            (ShapeType::Known(a), ShapeType::Known(b)) => dims(a, b),
            (ShapeType::Rank(a), ShapeType::Rank(b)) => a == b,
            (ShapeType::Unknown, ShapeType::Unknown) => true,
            _ => false,
        },
        (Type::Tensor(a), Type::Tensor(b)) => tensors(a, b),
        (Type::Tuple(a), Type::Tuple(b)) => all_types(a, b),
        (Type::Callable(a), Type::Callable(b)) => {
            let params = match (&a.params, &b.params) {
                (Some(a), Some(b)) => all_types(a, b),
                (None, None) => true,
                _ => false,
            };
            params && types(&a.ret, &b.ret) && a.pure == b.pure && a.derive == b.derive
        }
        (Type::DTensor(a), Type::DTensor(b)) => {
            tensors(&a.tensor, &b.tensor) && a.mesh == b.mesh && a.placement == b.placement
        }
        _ => false,
    }
}

/// Returns true if two values of one function are the same operation on the same operands. Values with bodies inside
/// are the same only if they are one.
pub fn values(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Operand(a), Value::Operand(b)) => operands(a, b),
        (Value::Call(a), Value::Call(b)) => relax_calls(a, b),
        (Value::TupleGet(a, i), Value::TupleGet(b, j)) => i == j && operands(a, b),
        (Value::MatchCast(a, t), Value::MatchCast(b, u)) => operands(a, b) && types(t, u),
        _ => std::ptr::eq(a, b),
    }
}

fn relax_calls(a: &Call, b: &Call) -> bool {
    let callees = match (&a.callee, &b.callee) {
        (Callee::Op(a), Callee::Op(b)) => a == b,
        (Callee::Global(a), Callee::Global(b)) | (Callee::Extern(a), Callee::Extern(b)) => a == b,
        (Callee::Var(a), Callee::Var(b)) => a == b,
        _ => false,
    };
    callees && all_operands(&a.args, &b.args) && attrs(&a.attrs, &b.attrs) && all_types(&a.ty_args, &b.ty_args)
}

fn all_operands(a: &[Operand], b: &[Operand]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| operands(a, b))
}

fn operands(a: &Operand, b: &Operand) -> bool {
    match (a, b) {
        (Operand::Var(a), Operand::Var(b)) => a == b,
        (Operand::Const(a), Operand::Const(b)) => {
            a.distributed.is_none() && b.distributed.is_none() && same_tensors(&a.tensor, &b.tensor)
        }
        (Operand::Prim(a), Operand::Prim(b)) => exprs(a, b),
        (Operand::Shape(a), Operand::Shape(b)) => dims(a, b),
        (Operand::DType(a), Operand::DType(b)) => a == b,
        (Operand::Str(a), Operand::Str(b))
        | (Operand::Global(a), Operand::Global(b))
        | (Operand::Extern(a), Operand::Extern(b)) => a == b,
        (Operand::Tuple(a), Operand::Tuple(b)) => all_operands(a, b),
        (Operand::Opaque(a), Operand::Opaque(b)) => attr(a, b),
        _ => false,
    }
}

/// Maximum size of constants that are compared by content; larger ones are compared by address.
pub(crate) const MAX_COMPARED_BYTES: usize = 64;

/// Returns true if two constants share their bytes, or are small and have equal bytes.
fn same_tensors(a: &Tensor, b: &Tensor) -> bool {
    a.shape() == b.shape()
        && a.dtype() == b.dtype()
        && (a.data_ptr() == b.data_ptr()
            || a.nbytes() <= MAX_COMPARED_BYTES && a.as_bytes().is_ok_and(|a| b.as_bytes().is_ok_and(|b| a == b)))
}

fn attrs(a: &Attrs, b: &Attrs) -> bool {
    a.iter().len() == b.iter().len() && a.iter().zip(b.iter()).all(|((k, a), (l, b))| k == l && attr(a, b))
}

fn attr(a: &AttrValue, b: &AttrValue) -> bool {
    use AttrValue::*;
    let all = |a: &[AttrValue], b: &[AttrValue]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| attr(a, b));
    match (a, b) {
        (Expr(a), Expr(b)) => exprs(a, b),
        (Type(a), Type(b)) => types(a, b),
        (List(a), List(b)) | (Tuple(a), Tuple(b)) => all(a, b),
        _ => same_values(a, b),
    }
}

fn all_types(a: &[Type], b: &[Type]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| types(a, b))
}

fn tensors(a: &TensorType, b: &TensorType) -> bool {
    let devices = match (&a.vdevice, &b.vdevice) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b) || (a.kind(), a.index, &a.scope) == (b.kind(), b.index, &b.scope),
        (None, None) => true,
        _ => false,
    };
    let shapes = match (&a.shape, &b.shape) {
        (TensorShape::Known(a), TensorShape::Known(b)) => dims(a, b),
        (TensorShape::Rank(a), TensorShape::Rank(b)) => a == b,
        (TensorShape::Var(a, _), TensorShape::Var(b, _)) => a == b,
        (TensorShape::Unknown, TensorShape::Unknown) => true,
        _ => false,
    };
    devices && shapes && a.dtype == b.dtype
}

fn option(a: &Option<PrimExpr>, b: &Option<PrimExpr>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => exprs(a, b),
        (None, None) => true,
        _ => false,
    }
}

fn calls(a: &PrimCall, b: &PrimCall) -> bool {
    a.callee == b.callee && dims(&a.args, &b.args) && same_attrs(&a.attrs, &b.attrs)
}

fn reductions(a: &Reduce, b: &Reduce) -> bool {
    let axis = |a: &IterVar, b: &IterVar| a.var == b.var;
    a.index == b.index
        && reducers(&a.combiner, &b.combiner)
        && dims(&a.source, &b.source)
        && dims(&a.init, &b.init)
        && a.axes.len() == b.axes.len()
        && a.axes.iter().zip(&b.axes).all(|(a, b)| axis(a, b))
        && exprs(&a.condition, &b.condition)
}

fn reducers(a: &Arc<Reducer>, b: &Arc<Reducer>) -> bool {
    Arc::ptr_eq(a, b)
        || a.lhs == b.lhs && a.rhs == b.rhs && dims(&a.result, &b.result) && dims(&a.identity, &b.identity)
}
