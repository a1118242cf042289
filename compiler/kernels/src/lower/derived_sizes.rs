//! Sizes of arguments that the text gives by expressions become variables of the kernel.
//!
//! Of a number `p` that is a parameter nothing is known, because callers choose it, and so nothing is known of `p + s`
//! either. But if a tensor has `p + s` rows, its size `t` is a size like others, and the kernel begins by comparing `t`
//! with what `p + s` comes to in 64 bits. From there on, `p + s` is `t` wherever it stands, and `p` is `t - s`, whether or
//! not that sum wraps: what follows reads no more of `p` than that.

use crate::{
    index::{Poly, Simplifier, same_expr},
    signature::Interface,
};
use hammock_ir::{
    DType, PrimExpr,
    bounds::size_in_multiple,
    prim::{BinaryOp, PrimKind, Substitution, Var},
    tir::{PrimFunc, fresh},
};
use rustc_hash::FxHashSet;
use std::borrow::Cow;

/// The function with variables in place of sizes that are expressions over numbers that are no sizes themselves.
pub fn named<'f>(func: &'f PrimFunc, interface: &Interface) -> Cow<'f, PrimFunc> {
    let is_size = |e| PrimExpr::as_var(e).or_else(|| size_in_multiple(e));
    let sizes: FxHashSet<&Var> = func.buffers().flat_map(|b| &b.shape).filter_map(is_size).collect();
    let scalars = func.params.iter().filter(|p| p.buffer.is_none() && !sizes.contains(&p.var)).map(|p| &p.var);
    let mut names = Names { scalars: scalars.collect(), wholes: Vec::new(), values: Substitution::default() };
    let open = |names: &Names, size: &PrimExpr| size.dtype() == DType::INT64 && !names.scalars_of(size).is_empty();
    let derived: Vec<_> = interface.derived_sizes().filter(|(size, _)| open(&names, size)).collect();
    let rest: Vec<_> = derived.into_iter().filter(|(size, var)| !names.solve(size, var)).collect();
    rest.into_iter().for_each(|(size, var)| names.name(size, var));
    if names.wholes.is_empty() {
        return Cow::Borrowed(func);
    }
    Cow::Owned(fresh::replace_in(func, names.values, names.wholes))
}

struct Names<'f> {
    /// Numbers of which nothing is known.
    scalars: FxHashSet<&'f Var>,
    /// Sizes as they are written, and the variables for them.
    wholes: Vec<(PrimExpr, PrimExpr)>,
    /// What numbers are in terms of sizes.
    values: Substitution,
}

impl Names<'_> {
    /// The numbers in an expression of which nothing is known.
    fn scalars_of(&self, e: &PrimExpr) -> Vec<Var> {
        let mut found = Vec::new();
        e.each_var(&mut |v| found.extend(self.scalars.contains(v).then(|| v.clone())));
        found
    }

    /// Returns true if a size that a variable holds says what the only such number in it is.
    fn solve(&mut self, size: &PrimExpr, total: &Var) -> bool {
        let known = size.substitute(&self.values);
        let [var] = &self.scalars_of(&known)[..] else { return false };
        let value = is_sum(&known).then(|| solution(&Simplifier::default().poly(&known), var, total)).flatten();
        let Some(value) = value else { return false };
        self.values.insert(var.clone(), value);
        self.wholes.push((size.clone(), total.expr()));
        true
    }

    /// Names a size by the variable that holds it, or by the one that holds the same in another spelling.
    fn name(&mut self, size: &PrimExpr, var: &Var) {
        let known = size.substitute(&self.values);
        if !self.scalars_of(&known).is_empty() {
            self.wholes.push((size.clone(), var.expr()));
        } else if is_sum(&known) {
            let sum = Simplifier::default().index(&known);
            let name = self.wholes.iter().find_map(|(_, name)| same_expr(name, &sum).then(|| name.clone()));
            self.wholes.extend(name.map(|name| (size.clone(), name)));
        }
    }
}

/// The value of a variable for which a sum, in which it stands once and alone, has the value of another.
fn solution(sum: &Poly, var: &Var, total: &Var) -> Option<PrimExpr> {
    let sign = sum.coefficient(var)?.as_constant().filter(|c| c.abs() == 1)?;
    let rest = sum - &Poly::atom(var.expr()).scale(sign);
    Some((&Poly::atom(total.expr()) - &rest).scale(sign).to_expr())
}

/// Returns true if it is made of sums and products of 64 bits, which stay what they are, modulo 2^64, in any form.
fn is_sum(e: &PrimExpr) -> bool {
    let other = |e: &PrimExpr| match e.kind() {
        PrimKind::Int(_) | PrimKind::Var(_) | PrimKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) => {
            e.dtype() != DType::INT64
        }
        _ => true,
    };
    !e.any(&mut { other })
}
