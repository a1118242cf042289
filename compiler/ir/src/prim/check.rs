//! Runtime checks in expressions: intrinsics that return their first operand or end the kernel with an error.
//!
//! A check runs whenever its expression is evaluated, even if the value is a known constant: `0 * check_index(i, n)`
//! does not simplify to zero. Code that simplifies expressions asks [`simplify_with_checks`].

use crate::{
    PrimExpr, Span,
    prim::{BinaryOp, PrimCall, PrimCallee, PrimKind, Var},
};

/// `check_index(index, extent, before, between, after)`: an index in `0..extent`. The error message consists of the
/// three texts around the index and the extent. A mask of lanes to check may follow.
pub const INDEX: &str = "check_index";
/// `checked_divisor(d, location)`: `d`, which is not zero. The location is appended to the error message.
pub const DIVISOR: &str = "checked_divisor";
/// `checked_count(c, width, location)`: the count of a shift, in `0..width`.
pub const COUNT: &str = "checked_count";
/// `exact(value, text, variables…)`: a value that is computed without wrapping.
pub const EXACT: &str = "exact";

/// Returns the suffix of a failed check's message: the location of a span, if it has one.
pub fn suffix(locate: &dyn Fn(Span) -> Option<String>, span: Span) -> String {
    locate(span).map_or_else(String::new, |location| format!(" ({location})"))
}

/// Returns the two integers that an assertion compares, and the words between them in its message; `None` for other
/// conditions. Of alternatives, a comparison without constants says most.
pub fn compared(condition: &PrimExpr) -> Option<(&PrimExpr, &'static str, &PrimExpr)> {
    let PrimKind::Binary(op, a, b) = condition.kind() else { return None };
    let words = match op {
        BinaryOp::Or => {
            let (left, right) = (compared(a), compared(b));
            let open = |c: &(&PrimExpr, &str, &PrimExpr)| c.0.as_int().is_none() && c.2.as_int().is_none();
            return left.filter(open).or(right.filter(open)).or(left).or(right);
        }
        BinaryOp::Eq => " is not ",
        BinaryOp::Le => " is more than ",
        BinaryOp::Lt => " is not less than ",
        BinaryOp::Ge => " is less than ",
        BinaryOp::Gt => " is not more than ",
        _ => return None,
    };
    let reads = |e: &PrimExpr| e.any(&mut |x| matches!(x.kind(), PrimKind::Load(..)));
    let shown = |e: &PrimExpr| e.dtype().is_scalar() && e.dtype().is_integer() && e.dtype().bits <= 64 && !reads(e);
    (shown(a) && shown(b)).then_some((a, words, b))
}

/// Returns true if the expression's node is a check.
pub fn is_check(e: &PrimExpr) -> bool {
    matches!(e.kind(), PrimKind::Call(PrimCall { callee: PrimCallee::Intrin(name), .. })
        if [INDEX, DIVISOR, COUNT, EXACT].contains(&name.as_str()))
}

/// Returns the number of checks in an expression.
pub fn count(e: &PrimExpr) -> usize {
    let mut count = 0;
    e.walk(&mut |x| count += usize::from(is_check(x)));
    count
}

/// Returns true if an operation fails on a divisor of zero.
pub fn divides(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Div | BinaryOp::Mod | BinaryOp::FloorDiv | BinaryOp::FloorMod)
}

/// Returns true if an expression must not be evaluated speculatively: it loads, divides or checks.
pub fn may_fail(e: &PrimExpr) -> bool {
    e.any(&mut |x| match x.kind() {
        PrimKind::Load(..) | PrimKind::Call(PrimCall { callee: PrimCallee::Global(_), .. }) => true,
        PrimKind::Call(_) => is_check(x),
        PrimKind::Binary(op, _, d) => divides(*op) && !x.dtype().is_floating() && d.as_int().is_none_or(|d| d == 0),
        _ => false,
    })
}

/// Simplifies an expression, unless that removes checks.
pub fn simplify_with_checks(e: PrimExpr, simplify: impl FnOnce(&PrimExpr) -> PrimExpr) -> PrimExpr {
    let simple = simplify(&e);
    if count(&simple) < count(&e) { e } else { simple }
}

/// Returns the integer variables of an expression, each once.
pub fn variables(value: &PrimExpr) -> Vec<Var> {
    let mut found = Vec::new();
    value.each_var(&mut |v| {
        if v.dtype().is_integer() && !found.contains(v) {
            found.push(v.clone());
        }
    });
    found
}
