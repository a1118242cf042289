//! Walking and rewriting the scalar expressions inside types.

use crate::{
    PrimExpr, TensorShape, TensorType, Type,
    prim::{self, Substitution},
    relax::Var,
    types::{CallableType, DTensorType, ShapeType},
};
use rustc_hash::FxHashSet;
use std::sync::Arc;

impl Type {
    /// Calls `f` on each dimension in it, including those of members, parameters and results.
    pub fn each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a PrimExpr)) {
        match self {
            Type::Shape(ShapeType::Known(dims)) => dims.iter().for_each(f),
            Type::Tensor(t) => t.dims().into_iter().flatten().for_each(f),
            Type::DTensor(t) => t.tensor.dims().into_iter().flatten().for_each(f),
            Type::Tuple(members) => members.iter().for_each(|t| t.each_expr(f)),
            Type::Callable(c) => {
                c.params.iter().flatten().for_each(|t| t.each_expr(f));
                c.ret.each_expr(f);
            }
            Type::Any | Type::Error | Type::Prim(_) | Type::String | Type::Shape(_) => {}
        }
    }

    /// Drops dimensions that use unknown variables.
    pub fn closed(&self, known: &FxHashSet<prim::Var>) -> Type {
        let closed = |dims: &[PrimExpr]| {
            let mut all = true;
            dims.iter().for_each(|d| d.each_var(&mut |v| all &= known.contains(v)));
            all
        };
        let tensor = |t: &TensorType| {
            let shape = match &t.shape {
                TensorShape::Known(dims) if !closed(dims) => TensorShape::Rank(dims.len()),
                TensorShape::Var(_, ndim) => ndim.map_or(TensorShape::Unknown, TensorShape::Rank),
                shape => shape.clone(),
            };
            TensorType { shape, ..t.clone() }
        };
        match self {
            Type::Tensor(t) => Type::Tensor(tensor(t)),
            Type::Shape(ShapeType::Known(dims)) if !closed(dims) => Type::Shape(ShapeType::Rank(dims.len())),
            Type::Tuple(members) => Type::Tuple(members.iter().map(|m| m.closed(known)).collect()),
            other => other.clone(),
        }
    }

    /// The type with `f` applied to each dimension in it.
    pub fn map_exprs(&self, f: &mut dyn FnMut(&PrimExpr) -> PrimExpr) -> Type {
        match self {
            Type::Shape(ShapeType::Known(dims)) => Type::Shape(ShapeType::Known(dims.iter().map(f).collect())),
            Type::Tensor(t) => Type::Tensor(t.map_exprs(f)),
            Type::DTensor(t) => Type::DTensor(Arc::new(DTensorType { tensor: t.tensor.map_exprs(f), ..(**t).clone() })),
            Type::Tuple(members) => Type::Tuple(members.iter().map(|t| t.map_exprs(f)).collect()),
            Type::Callable(c) => Type::Callable(Arc::new(CallableType {
                params: c.params.as_ref().map(|p| p.iter().map(|t| t.map_exprs(f)).collect()),
                ret: c.ret.map_exprs(f),
                ..(**c).clone()
            })),
            Type::Any | Type::Error | Type::Prim(_) | Type::String | Type::Shape(_) => self.clone(),
        }
    }

    /// Calls `f` on each variable whose value is a tensor's shape. (A function type has only its own.)
    pub fn each_var(&self, f: &mut dyn FnMut(Var)) {
        match self {
            Type::Tensor(TensorType { shape: TensorShape::Var(var, _), .. }) => f(*var),
            Type::DTensor(t) => {
                if let TensorShape::Var(var, _) = t.tensor.shape {
                    f(var)
                }
            }
            Type::Tuple(members) => members.iter().for_each(|t| t.each_var(f)),
            _ => {}
        }
    }

    /// Calls `f` on the shape of each tensor, to change.
    pub fn each_shape_mut(&mut self, f: &mut dyn FnMut(&mut TensorShape)) {
        self.each_tensor_mut(&mut |t| f(&mut t.shape));
    }

    /// Calls `f` on each tensor, to change.
    pub fn each_tensor_mut(&mut self, f: &mut dyn FnMut(&mut TensorType)) {
        match self {
            Type::Tensor(t) => f(t),
            Type::DTensor(t) => f(&mut Arc::make_mut(t).tensor),
            Type::Tuple(members) => members.iter_mut().for_each(|t| t.each_tensor_mut(f)),
            _ => {}
        }
    }

    /// The type with symbolic variables replaced by values.
    pub fn substitute(&self, values: &Substitution) -> Type {
        if values.is_empty() { self.clone() } else { self.map_exprs(&mut |e| e.substitute(values)) }
    }
}

impl TensorType {
    fn map_exprs(&self, f: &mut dyn FnMut(&PrimExpr) -> PrimExpr) -> TensorType {
        let shape = match &self.shape {
            TensorShape::Known(dims) => TensorShape::Known(dims.iter().map(f).collect()),
            other => other.clone(),
        };
        TensorType { shape, ..self.clone() }
    }
}
