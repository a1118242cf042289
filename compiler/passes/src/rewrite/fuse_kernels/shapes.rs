//! Values of a kernel's symbolic sizes, from the buffers that it is passed.

use hammock_ir::{
    PrimExpr,
    arith::{self, Analyzer},
    prim::{PrimKind, Substitution},
};

/// Finds values of the variables in `declared` for which it equals `actual`. Returns false if it cannot prove that
/// there are any.
pub fn match_sizes(declared: &[PrimExpr], actual: &[PrimExpr], values: &mut Substitution) -> bool {
    declared.len() == actual.len() && declared.iter().zip(actual).all(|(d, a)| match_size(d, a, values))
}

/// Like [`match_sizes`], for one size.
pub fn match_size(declared: &PrimExpr, actual: &PrimExpr, values: &mut Substitution) -> bool {
    match (declared.kind(), actual.kind()) {
        (PrimKind::Var(var), _) if !values.contains_key(var) => {
            values.insert(var.clone(), arith::cast(actual.clone(), var.dtype()));
            true
        }
        (PrimKind::Binary(p, a, b), PrimKind::Binary(q, c, d)) if p == q => {
            let before = values.clone();
            let alike = match_size(a, c, values) && match_size(b, d, values);
            alike || {
                *values = before;
                are_equal(declared, actual, values)
            }
        }
        (PrimKind::Int(a), PrimKind::Int(b)) => a == b,
        _ => are_equal(declared, actual, values),
    }
}

fn are_equal(declared: &PrimExpr, actual: &PrimExpr, values: &Substitution) -> bool {
    let unknown = declared.any(&mut |e| e.as_var().is_some_and(|var| !values.contains_key(var)));
    !unknown && Analyzer::for_shapes().prove_eq(&declared.substitute(values), actual)
}
