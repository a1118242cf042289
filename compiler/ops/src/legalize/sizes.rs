//! Constraints on symbolic sizes.
//!
//! Constraints that are not proven at compile time are checked at run time, before the kernel reads anything.

use super::{builder::Builder, input::Input};
use crate::dims;
use hammock_ir::{
    PrimExpr, TensorShape, TensorType, Type,
    equal::exprs,
    prim::{BinaryOp, PrimKind},
    relax::InferError,
    tir::{Buffer, Stmt, StmtKind},
};

/// The size to which two sizes broadcast: the first that is not 1. If one operand already is a joint size that includes
/// the other, it is the result, so that repeated broadcasts with the same operands keep one expression.
fn joint_size(x: PrimExpr, y: PrimExpr) -> PrimExpr {
    let (of_x, of_y) = (joined_sizes(&x), joined_sizes(&y));
    let missing = |from: &[PrimExpr], sizes: &[PrimExpr]| -> Vec<PrimExpr> {
        sizes.iter().filter(|size| !from.iter().any(|known| exprs(known, size))).cloned().collect()
    };
    let only_y = missing(&of_x, &of_y);
    if only_y.is_empty() {
        return x;
    }
    if missing(&of_y, &of_x).is_empty() {
        return y;
    }
    let first = |rest: PrimExpr, size: PrimExpr| size.clone().eq(1i64).select(rest, size);
    of_x.into_iter().chain(only_y).rev().reduce(first).unwrap_or(x)
}

/// The distinct sizes that a [`joint_size`] combines; the size itself if it is none.
fn joined_sizes(size: &PrimExpr) -> Vec<PrimExpr> {
    let mut sizes = Vec::new();
    let mut rest = size;
    while let PrimKind::Select(is_one, others, first) = rest.kind()
        && let PrimKind::Binary(BinaryOp::Eq, compared, one) = is_one.kind()
        && dims::is(one, 1)
        && exprs(compared, first)
    {
        sizes.push(first.clone());
        rest = others;
    }
    sizes.push(rest.clone());
    sizes
}

impl Builder<'_> {
    /// The buffer of the call's result if it has the operands' broadcast shape. If symbolic sizes leave the shape open,
    /// the kernel decides at run time, and stops with an error on a mismatch.
    ///
    /// # Errors
    /// When the shape or dtype of an operand is not known.
    pub fn broadcast_output(&mut self, name: &str, params: &[&str]) -> Result<Buffer, InferError> {
        self.output_or(name, |b| b.checked_broadcast(params))
    }

    /// The buffer of a matmul of matrices or vectors, whose leading axes broadcast, as in
    /// [`Builder::broadcast_output`].
    ///
    /// # Errors
    /// When the shape or dtype of an operand is not known.
    pub fn matmul_output(&mut self, name: &str, params: [&str; 2]) -> Result<Buffer, InferError> {
        self.output_or(name, |b| {
            let [x, y] = params.map(|param| b.cx.tensor(param));
            let (x, y) = (x?, y?);
            let (x, y) = (x.dims().ok_or_else(|| b.unknown(params[0]))?, y.dims().ok_or_else(|| b.unknown(params[1]))?);
            let (outer_x, own_x) = x.split_at(x.len().saturating_sub(2));
            let (outer_y, own_y) = y.split_at(y.len().saturating_sub(2));
            let outer = b.checked_pair(outer_x, outer_y, params[1]);
            Ok([&outer, &own_x[..own_x.len() - 1], &own_y[1..]].concat())
        })
    }

    /// The buffer of the call's result; if the type does not determine its shape, `force` does.
    fn output_or(
        &mut self,
        name: &str,
        force: impl FnOnce(&mut Self) -> Result<Vec<PrimExpr>, InferError>,
    ) -> Result<Buffer, InferError> {
        if let Type::Tensor(ty) = &self.out_ty
            && ty.dims().is_none()
        {
            let ty = ty.clone();
            let shape = force(self)?;
            self.out_ty = TensorType { shape: TensorShape::Known(shape.into()), ..ty }.into();
        }
        self.output(name)
    }

    /// The operands' broadcast shape, with a run-time check that they broadcast.
    fn checked_broadcast(&mut self, params: &[&str]) -> Result<Vec<PrimExpr>, InferError> {
        let mut result: Vec<PrimExpr> = Vec::new();
        for param in params {
            let ty = self.cx.tensor_or_scalar(param)?;
            let dims = ty.dims().ok_or_else(|| self.unknown(param))?;
            result = self.checked_pair(&result, dims, param);
        }
        Ok(result)
    }

    fn checked_pair(&mut self, a: &[PrimExpr], b: &[PrimExpr], param: &str) -> Vec<PrimExpr> {
        let rank = a.len().max(b.len());
        let side = |s: &[PrimExpr], i: usize| (i + s.len()).checked_sub(rank).map(|i| s[i].clone());
        let pair = |i| match (side(a, i), side(b, i)) {
            (Some(x), Some(y)) => self.checked_size(x, y, param),
            (x, y) => x.or(y).unwrap_or(1i64.into()),
        };
        (0..rank).map(pair).collect()
    }

    /// The broadcast size of two sizes.
    fn checked_size(&mut self, x: PrimExpr, y: PrimExpr, param: &str) -> PrimExpr {
        match (dims::equal(&x, &y), x.as_int(), y.as_int()) {
            (Some(true), ..) | (_, _, Some(1)) => return x,
            (_, Some(1), _) => return y,
            _ => {}
        }
        let (a, b) = (self.dim(&x), self.dim(&y));
        let fits = a.clone().eq(b.clone()).or(a.eq(1i64)).or(b.eq(1i64));
        self.require(fits, &format!("`{param}` does not broadcast with the other operands"));
        match (x.as_int(), y.as_int()) {
            (Some(_), _) => x,
            (_, Some(_)) => y,
            _ => joint_size(x, y),
        }
    }

    /// Adds a run-time check of a condition, unless it is proven.
    pub fn require(&mut self, condition: PrimExpr, message: &str) {
        if dims::holds(&condition) {
            return;
        }
        let message = format!("R.{}: {message}", self.cx.op.name);
        let check = StmtKind::Assert(condition, "ValueError".into(), vec![message.into()]);
        self.push(Stmt::new(check));
    }

    /// Adds a run-time check that two sizes are equal, unless that is proven.
    pub fn require_equal(&mut self, a: &PrimExpr, b: &PrimExpr, message: &str) {
        if dims::equal(a, b) != Some(true) {
            self.require(a.clone().eq(b.clone()), message);
        }
    }

    /// Adds a run-time check that an operand, unless it is a scalar, has these sizes.
    pub fn require_shape(&mut self, param: &str, input: &Input, sizes: &[PrimExpr]) {
        for (axis, (own, size)) in input.shape().iter().zip(sizes).enumerate() {
            self.require_equal(own, size, &format!("axis {axis} of `{param}` does not fit the other operands"));
        }
    }

    /// Adds a run-time check that an operand's sizes are these, or 1, aligned at the last axis.
    pub fn require_broadcast(&mut self, own: &[PrimExpr], to: &[PrimExpr], message: &str) {
        let skip = to.len().saturating_sub(own.len());
        for (own, to) in own.iter().zip(&to[skip..]) {
            if !dims::is(own, 1) && dims::equal(own, to) != Some(true) {
                self.require(own.clone().eq(1i64).or(own.clone().eq(to.clone())), message);
            }
        }
    }
}
