//! Differences of integer expressions that are sums of multiples of the same things.

use hammock_ir::{
    PrimExpr,
    prim::{BinaryOp, PrimKind},
};

/// A sum of multiples of expressions, and a constant.
#[derive(Clone, Debug, Default)]
struct Sum {
    terms: Vec<(PrimExpr, i64)>,
    constant: i64,
}

/// `a - b` when it is a constant whatever their variables are worth; integers are taken not to overflow.
pub(crate) fn constant_difference(a: &PrimExpr, b: &PrimExpr) -> Option<i64> {
    let mut sum = Sum::default();
    sum.add(a, 1)?;
    sum.add(b, -1)?;
    sum.terms.iter().all(|(_, times)| *times == 0).then_some(sum.constant)
}

impl Sum {
    fn add(&mut self, e: &PrimExpr, times: i64) -> Option<()> {
        match e.kind() {
            PrimKind::Int(v) => self.constant = self.constant.checked_add(v.checked_mul(times)?)?,
            PrimKind::Binary(BinaryOp::Add, a, b) => {
                self.add(a, times)?;
                self.add(b, times)?;
            }
            PrimKind::Binary(BinaryOp::Sub, a, b) => {
                self.add(a, times)?;
                self.add(b, times.checked_neg()?)?;
            }
            PrimKind::Binary(BinaryOp::Mul, a, b) => match (a.as_int(), b.as_int()) {
                (Some(v), _) => self.add(b, times.checked_mul(v)?)?,
                (_, Some(v)) => self.add(a, times.checked_mul(v)?)?,
                _ => self.add_term(e, times)?,
            },
            PrimKind::Cast(inner)
                if e.dtype().is_int() && inner.dtype().is_int() && e.dtype().bits >= inner.dtype().bits =>
            {
                self.add(inner, times)?;
            }
            _ => self.add_term(e, times)?,
        }
        Some(())
    }

    fn add_term(&mut self, e: &PrimExpr, times: i64) -> Option<()> {
        match self.terms.iter_mut().find(|(term, _)| same(term, e)) {
            Some((_, so_far)) => *so_far = so_far.checked_add(times)?,
            None => self.terms.push((e.clone(), times)),
        }
        Some(())
    }
}

/// Whether two expressions are written alike.
pub(crate) fn same(a: &PrimExpr, b: &PrimExpr) -> bool {
    if a.same_node(b) {
        return true;
    }
    if a.ty() != b.ty() {
        return false;
    }
    let all = |a: &[PrimExpr], b: &[PrimExpr]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b));
    match (a.kind(), b.kind()) {
        (PrimKind::Var(a), PrimKind::Var(b)) => a == b,
        (PrimKind::Int(a), PrimKind::Int(b)) => a == b,
        (PrimKind::Float(a), PrimKind::Float(b)) => a.to_bits() == b.to_bits(),
        (PrimKind::Str(a), PrimKind::Str(b)) => a == b,
        (PrimKind::Binary(op, a, b), PrimKind::Binary(other, c, d)) => op == other && same(a, c) && same(b, d),
        (PrimKind::Not(a), PrimKind::Not(b))
        | (PrimKind::Cast(a), PrimKind::Cast(b))
        | (PrimKind::Broadcast(a), PrimKind::Broadcast(b)) => same(a, b),
        (PrimKind::Ramp(a, b), PrimKind::Ramp(c, d)) => same(a, c) && same(b, d),
        (PrimKind::Select(a, b, c), PrimKind::Select(d, e, f)) => same(a, d) && same(b, e) && same(c, f),
        (PrimKind::Load(a, i, None), PrimKind::Load(b, j, None)) => a == b && all(i, j),
        (PrimKind::Call(a), PrimKind::Call(b)) => {
            a.callee == b.callee && a.attrs.is_empty() && b.attrs.is_empty() && all(&a.args, &b.args)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_ir::prim::Var;

    #[test]
    fn like_terms_cancel() {
        let (i, n) = (Var::int64("i").expr(), Var::int64("n").expr());
        let base = i.clone() * 4i64 + n.clone() * i.clone();
        assert_eq!(constant_difference(&(base.clone() + 4i64), &base), Some(4));
        assert_eq!(constant_difference(&((i.clone() + 1i64) * 4i64), &(i.clone() * 4i64)), Some(4));
        assert_eq!(constant_difference(&n, &i), None);
    }
}
