//! Derived sizes: sizes of arguments that are given as expressions become variables of the kernel.
//!
//! A scalar parameter `p` may have any value, so nothing is known about `p + s` either. But if a tensor has `p + s`
//! rows, its actual size `t` is a valid size, and the kernel begins by comparing `t` with `p + s` in 64-bit arithmetic.
//! After that check, `p + s` is replaced by `t` and `p` by `t - s`. This holds modulo 2^64 even if the sum wraps.

use crate::signature::Interface;
use hammock_ir::{
    DType, PrimExpr,
    bounds::size_in_multiple,
    prim::{BinaryOp, PrimKind, Substitution, Var},
    tir::{PrimFunc, fresh},
};
use hammock_loopnest::index::{Poly, Simplifier, same_expr};
use rustc_hash::FxHashSet;
use std::borrow::Cow;

/// Replaces sizes that are expressions over scalar parameters by variables.
pub fn name_derived_sizes<'f>(func: &'f PrimFunc, interface: &Interface) -> Cow<'f, PrimFunc> {
    let is_size = |e| PrimExpr::as_var(e).or_else(|| size_in_multiple(e));
    let sizes: FxHashSet<&Var> = func.buffers().flat_map(|b| &b.shape).filter_map(is_size).collect();
    let scalars = func.params.iter().filter(|p| p.buffer.is_none() && !sizes.contains(&p.var)).map(|p| &p.var);
    let mut names = Names { scalars: scalars.collect(), renamed: Vec::new(), values: Substitution::default() };
    let open = |names: &Names, size: &PrimExpr| size.dtype() == DType::INT64 && !names.scalars_of(size).is_empty();
    let derived: Vec<_> = interface.derived_sizes().filter(|(size, _)| open(&names, size)).collect();
    let rest: Vec<_> = derived.into_iter().filter(|(size, var)| !names.solve(size, var)).collect();
    rest.into_iter().for_each(|(size, var)| names.name(size, var));
    if names.renamed.is_empty() {
        return Cow::Borrowed(func);
    }
    Cow::Owned(fresh::replace_in(func, names.values, names.renamed))
}

struct Names<'f> {
    /// Scalar parameters, which may have any value.
    scalars: FxHashSet<&'f Var>,
    /// Size expressions, and the variables that replace them.
    renamed: Vec<(PrimExpr, PrimExpr)>,
    /// Scalars as expressions over sizes.
    values: Substitution,
}

impl Names<'_> {
    /// Returns the scalar parameters in an expression.
    fn scalars_of(&self, e: &PrimExpr) -> Vec<Var> {
        let mut found = Vec::new();
        e.each_var(&mut |v| found.extend(self.scalars.contains(v).then(|| v.clone())));
        found
    }

    /// Solves a size, whose value `total` holds, for its only scalar parameter. Returns true if that is possible.
    fn solve(&mut self, size: &PrimExpr, total: &Var) -> bool {
        let known = size.substitute(&self.values);
        let [var] = &self.scalars_of(&known)[..] else { return false };
        let value = is_sum(&known).then(|| solution(&Simplifier::default().poly(&known), var, total)).flatten();
        let Some(value) = value else { return false };
        self.values.insert(var.clone(), value);
        self.renamed.push((size.clone(), total.expr()));
        true
    }

    /// Replaces a size by the variable that holds it, or that holds an equal size.
    fn name(&mut self, size: &PrimExpr, var: &Var) {
        let known = size.substitute(&self.values);
        if !self.scalars_of(&known).is_empty() {
            self.renamed.push((size.clone(), var.expr()));
        } else if is_sum(&known) {
            let sum = Simplifier::default().index(&known);
            let name = self.renamed.iter().find_map(|(_, name)| same_expr(name, &sum).then(|| name.clone()));
            self.renamed.extend(name.map(|name| (size.clone(), name)));
        }
    }
}

/// Solves `sum = total` for a variable with coefficient 1 or -1.
fn solution(sum: &Poly, var: &Var, total: &Var) -> Option<PrimExpr> {
    let sign = sum.coefficient(var)?.as_constant().filter(|c| c.abs() == 1)?;
    let rest = sum - &Poly::atom(var.expr()).scale(sign);
    Some((&Poly::atom(total.expr()) - &rest).scale(sign).to_expr())
}

/// Returns true if an expression has only 64-bit additions, subtractions and multiplications, which may be reassociated
/// modulo 2^64.
fn is_sum(e: &PrimExpr) -> bool {
    let other = |e: &PrimExpr| match e.kind() {
        PrimKind::Int(_) | PrimKind::Var(_) | PrimKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) => {
            e.dtype() != DType::INT64
        }
        _ => true,
    };
    !e.any(&mut { other })
}
