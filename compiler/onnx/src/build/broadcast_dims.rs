//! Broadcasting of symbolic dimensions.
//!
//! Whether two differently named dimensions are equal, or one of them is 1 and broadcasts, is only known at run time.
//! The kernel of the call decides it, and the resulting *joint dimension* gets a name that is shared by all calls with
//! the same operand dimensions.
//!
//! Dimensions that depend on the same variable are usually equal: a model adds a tensor with `n` rows to the first
//! `min(n, 512)` rows of a table. If neither can be 1 while the other is not, they must be equal: they are treated as
//! one dimension, with a check at run time.

use super::Builder;
use hammock_ir::{
    PrimExpr, TensorShape, TensorType, prim,
    prim::Substitution,
    relax::{InferError, Operand},
};
use hammock_ops::{Op, dims};

/// Sample values of a variable at which two dimensions that depend on it are compared.
const SAMPLES: [i64; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 64, 100, 513, 5000];

/// Operands with compatible shapes, and the shape of the result if they alone determine it.
pub struct UnifiedOperands {
    /// The operands; a dimension that must equal another operand's is replaced by a checked cast.
    pub args: Vec<Operand>,
    /// Shape that they broadcast to.
    pub result: Option<Vec<PrimExpr>>,
}

/// Joint dimensions, each with the dimensions that it may equal.
#[derive(Default)]
pub struct JointDims(Vec<(prim::Var, Vec<PrimExpr>)>);

impl JointDims {
    /// Returns the number of joint dimensions.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Forgets joint dimensions that a nested body defines.
    pub fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Returns the dimension that two possibly different dimensions broadcast to.
    fn broadcast(&mut self, a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
        for (size, other) in [(a, b), (b, a)] {
            if self.candidates(size).is_some_and(|candidates| contains(candidates, other)) {
                return size.clone();
            }
        }
        let of_operands = [a, b].into_iter().filter_map(|size| self.candidates(size)).flatten();
        let candidates: Vec<PrimExpr> = [a, b].into_iter().chain(of_operands).cloned().collect();
        let is_same = |own: &[PrimExpr]| own.len() == candidates.len() && contains(own, a) && contains(own, b);
        if let Some((joint, _)) = self.0.iter().find(|(_, own)| is_same(own)) {
            return joint.expr();
        }
        let joint = prim::Var::int64("m");
        self.0.push((joint.clone(), candidates));
        joint.expr()
    }

    /// Returns the dimensions that a joint dimension may equal.
    fn candidates(&self, size: &PrimExpr) -> Option<&[PrimExpr]> {
        let var = size.as_var()?;
        self.0.iter().find(|(joint, _)| joint == var).map(|(_, candidates)| candidates.as_slice())
    }
}

fn contains(sizes: &[PrimExpr], size: &PrimExpr) -> bool {
    sizes.iter().any(|own| dims::equal(own, size) == Some(true))
}

/// Unifies the dimensions of a call's operands if its operator broadcasts them.
pub fn unify_dims(build: &mut Builder, op: &Op, args: Vec<Operand>) -> Result<UnifiedOperands, InferError> {
    // The last two axes of a matmul's operands do not broadcast.
    let matmul_axes = match op.name {
        "matmul" => 2,
        _ if ["x1", "x2"].iter().all(|name| op.params.iter().any(|param| param.name == *name)) => 0,
        _ => return Ok(UnifiedOperands { args, result: None }),
    };
    let Ok(shapes) = args.iter().map(|arg| build.dims(arg)).collect::<Result<Vec<_>, _>>() else {
        return Ok(UnifiedOperands { args, result: None });
    };
    let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let (mut unified, mut result) = (shapes.clone(), Vec::new());
    for back in (matmul_axes + 1..=rank).rev() {
        let at = |shape: &[PrimExpr]| shape.len().checked_sub(back);
        let mut sizes: Vec<PrimExpr> = Vec::new();
        for size in shapes.iter().filter_map(|shape| Some(&shape[at(shape)?])) {
            if !dims::is(size, 1) && !contains(&sizes, size) {
                sizes.push(size.clone());
            }
        }
        // Constants first, then variables: the remaining dimensions are checked against them.
        sizes.sort_by_key(|size| (size.as_int().is_none(), size.as_var().is_none()));
        let mut joint = sizes.first().cloned().unwrap_or(PrimExpr::int64(1));
        for size in sizes.iter().skip(1) {
            if joint.as_int().is_some() {
                break;
            }
            if must_be_equal(&joint, size) {
                for shape in &mut unified {
                    if let Some(at) = at(shape).filter(|at| dims::equal(&shape[*at], size) == Some(true)) {
                        shape[at] = joint.clone();
                    }
                }
            } else {
                joint = build.joint_dims.broadcast(&joint, size);
            }
        }
        result.push(joint);
    }
    if let (2, [x, y]) = (matmul_axes, shapes.as_slice()) {
        result.extend(x.len().checked_sub(2).map(|at| x[at].clone()));
        result.extend(y.len().checked_sub(2).map(|at| y[at + 1].clone()));
    }
    let mut operands = Vec::new();
    for (at, arg) in args.into_iter().enumerate() {
        if dims::all_equal(&shapes[at], &unified[at]) {
            operands.push(arg);
            continue;
        }
        let ty = build.tensor(&arg)?;
        let shape = TensorShape::Known(unified[at].clone().into());
        operands.push(build.match_cast(arg, TensorType { shape, ..ty }.into())?);
    }
    Ok(UnifiedOperands { args: operands, result: Some(result) })
}

/// True if two dimensions depend on one variable and neither is 1 while the other is not: they broadcast only if they
/// are equal.
fn must_be_equal(a: &PrimExpr, b: &PrimExpr) -> bool {
    let mut vars: Vec<prim::Var> = Vec::new();
    for size in [a, b] {
        size.each_var(&mut |var| {
            if !vars.contains(var) {
                vars.push(var.clone());
            }
        });
    }
    let ([var], None) = (vars.as_slice(), dims::equal(a, b)) else { return false };
    SAMPLES.iter().all(|sample| {
        let values: Substitution = [(var.clone(), PrimExpr::int64(*sample))].into_iter().collect();
        let [a, b] = [a, b].map(|size| dims::simplify(&size.substitute(&values)).as_int());
        a.is_some() && b.is_some() && (a == b || (a != Some(1) && b != Some(1)))
    })
}
