//! Simplification and proofs, by example and against evaluation.

use super::*;
use crate::{
    DType, PrimExpr,
    prim::{BinaryOp, PrimKind, Substitution, Var},
    print::dim_text,
};
use proptest::prelude::*;

fn int(v: i64) -> PrimExpr {
    PrimExpr::int64(v)
}

#[test]
fn sums_are_collected() {
    let [n, m] = ["n", "m"].map(|name| Var::int64(name).expr());
    let simplify = |e: PrimExpr| dim_text(&Analyzer::new().simplify(&e));
    assert_eq!(simplify(&n + &m - &n), "m");
    assert_eq!(simplify(&n * 2i64 + &n * 3i64), "n * 5");
    assert_eq!(simplify((&n + 1i64) - 1i64), "n");
    assert_eq!(simplify(int(4) - &n - 1i64), "3 - n");
    assert_eq!(simplify((&n * 8i64).floordiv(8i64)), "n");
    assert_eq!(simplify((&n * &m).floordiv(&m)), "n");
    assert_eq!(simplify((&n * 8i64 + 3i64).floordiv(8i64)), "n");
    assert_eq!(simplify((&n * 8i64 + 3i64).floormod(8i64)), "3");
    assert_eq!(simplify(n.clone().floordiv(4i64).floordiv(2i64)), "n // 8");
    assert_eq!(simplify(n.clone().floordiv(4i64) * 4i64 + n.clone().floormod(4i64)), "n");
    assert_eq!(simplify((&n + 1i64).min(&n + 2i64)), "n + 1");
    assert_eq!(simplify((&n + 3i64).max(&m + 3i64)), "T.max(n, m) + 3");
    assert_eq!(simplify(n.clone().lt(&n + 1i64).select(int(1), int(2))), "1");
    assert_eq!(simplify((&n + 1i64) * (&m + 1i64)), "(n + 1) * (m + 1)", "what is longer in normal form stays");
}

#[test]
fn the_minimum_is_divided_without_overflow() {
    let [n, m] = ["n", "m"].map(|name| Var::int64(name).expr());
    let zero = int(0);
    for divisor in [&zero - &n, &zero - &n - &m, &m - &n, n.clone()] {
        for dividend in [&n * i64::MIN, &n * i64::MIN + &m, &n * i64::MIN + &m * i64::MIN] {
            let (quotient, rest) = (dividend.clone().floordiv(&divisor), dividend.floormod(&divisor));
            let point = |v| [(n.as_var().unwrap().clone(), int(v)), (m.as_var().unwrap().clone(), int(0))];
            for e in [quotient, rest] {
                let simple = Analyzer::new().simplify(&e).substitute(&point(1).into_iter().collect());
                let exact = e.substitute(&point(1).into_iter().collect());
                let value = |e: &PrimExpr| Analyzer::new().as_constant(e);
                assert!(value(&exact).is_none() || value(&simple) == value(&exact), "{e} becomes {simple}");
            }
        }
    }
}

#[test]
fn zeros_absorb_integers_that_cannot_fail() {
    let (n, x) = (Var::int64("n").expr(), Var::new("x", DType::FLOAT32).expr());
    let zero = || PrimExpr::float(0.0, DType::FLOAT32);
    let folded = |op, a: &PrimExpr, b: &PrimExpr| fold::fold(op, a, b).map(|e| dim_text(&e));
    assert_eq!(folded(BinaryOp::Mul, &n, &int(0)).as_deref(), Some("0"));
    assert_eq!(folded(BinaryOp::FloorMod, &n, &int(1)).as_deref(), Some("0"));
    assert_eq!(folded(BinaryOp::FloorDiv, &int(0), &int(4)).as_deref(), Some("0"));
    assert_eq!(folded(BinaryOp::FloorDiv, &int(0), &n), None, "it may be zero");
    assert_eq!(folded(BinaryOp::Mul, &int(0), &int(4).floordiv(&n)), None);
    assert_eq!(folded(BinaryOp::Mul, &zero(), &x), None, "it may be no number");
    assert_eq!(folded(BinaryOp::Div, &zero(), &x), None);
}

/// Deeply shared sizes: few nodes in memory, too many to visit as a tree.
#[test]
fn expressions_that_grow_without_bound_are_not_analyzed() {
    let n = Var::int64("n").expr();
    let double = |e: PrimExpr, _| ((&e + 1i64).floordiv(2i64)).min(&e * 2i64);
    let (huge, other) = ((0..80).fold(n.clone(), double), (0..80).fold(n.clone(), double));
    assert_eq!((huge.size(), other.size()), (u32::MAX, u32::MAX));
    let mut a = Analyzer::for_shapes();
    assert!(a.simplify(&huge).same_node(&huge));
    assert!(a.prove_eq(&huge, &huge) && a.prove_le(&huge, &huge));
    assert!(!a.prove_eq(&huge, &other) && !a.prove_le(&huge, &other));
    assert!(!a.interval(&huge).is_within(Interval::new(0, i64::MAX)));
    a.assume(&huge.clone().lt(other.clone()));
    a.bind(&Var::int64("i"), &n, &huge);
    assert!(!a.prove_lt(&other, &n));
}

/// Every minimum could be either of its operands: the cases of thirty are too many to try.
#[test]
fn proofs_are_given_up_in_time() {
    let vars: Vec<PrimExpr> = (0..8).map(|_| Var::int64("n").expr()).collect();
    let var = |i: usize| &vars[i % vars.len()];
    let sum = |op: fn(PrimExpr, PrimExpr) -> PrimExpr, k: i64| {
        let term = |i: usize| op(var(i) * (i as i64 + k), var(i + 1) * (i as i64 + 3 - k));
        (0..30).map(term).reduce(|a, b| a + b).unwrap()
    };
    let (min, max) = (sum(PrimExpr::min, 1), sum(PrimExpr::max, 2));
    let a = Analyzer::for_shapes();
    assert!(!a.prove_le(&max, &min));
    let _ = a.simplify(&max.clone().max(min.clone()));
    let _ = a.prove(&min.lt(max));
}

#[test]
fn shapes_are_proven_equal() {
    let [n, m, k] = ["n", "m", "k"].map(|name| Var::int64(name).expr());
    let a = Analyzer::for_shapes();
    assert!(a.prove_eq(&(&n * &m * &k), &(&k * (&m * &n))));
    assert!(a.prove_eq(&((&n + 1i64) * &m), &(&n * &m + &m)));
    assert!(a.prove_eq(&(&n + &m).floordiv(2i64), &(&m + &n).floordiv(2i64)));
    assert!(!a.prove_eq(&n, &m));
    assert!(a.prove_ne(&n, &(&n + 1i64)));
    assert!(a.prove_le(&int(0), &(&n * &m)));
    assert!(a.prove_le(&n, &(&n * 2i64)));
    assert!(!a.prove_lt(&n, &(&n * 2i64)), "n may be zero");
    assert!(a.prove_lt(&n.clone().floormod(8i64), &int(8)));
    assert!(a.prove_le(&(n.clone().floordiv(4i64) * 4i64), &n));
    assert!(Analyzer::with_default_min(1).prove_le(&(&n + 1i64).floordiv(2i64), &n));
    assert!(a.prove_le(&n.clone().min(m.clone()), &n));
    assert!(a.prove_le(&n, &n.clone().max(m.clone())));
    assert!(a.prove_multiple(&(&n * 16i64 + 32i64), 16));
    assert!(!a.prove_multiple(&(&n * 16i64 + 8i64), 16));
}

#[test]
fn indices_are_in_bounds() {
    let [n, m] = ["n", "m"].map(|name| Var::int64(name).expr());
    let (i, j) = (Var::int64("i"), Var::int64("j"));
    let mut a = Analyzer::with_default_min(1);
    a.bind(&i, &int(0), &n);
    a.bind(&j, &int(0), &m);
    let flat = i.expr() * &m + j.expr();
    assert!(a.prove_lt(&flat, &(&n * &m)));
    assert!(a.prove_ge(&flat, &int(0)));
    assert_eq!(dim_text(&a.simplify(&flat.clone().floordiv(&m))), "i");
    assert_eq!(dim_text(&a.simplify(&flat.clone().floormod(&m))), "j");
    assert!(!a.prove_lt(&(&flat + 1i64), &(&n * &m)));
}

/// Indices of reshapes from (b, s, 384) to (b, s, 12, 32), (b * s, 384) and back.
#[test]
fn indices_of_reshapes_are_simple() {
    let [b, s, i, j, k, row] = ["b", "s", "i", "j", "k", "row"].map(Var::int64);
    let mut known = Analyzer::with_default_min(1);
    known.bind(&i, &int(0), &b.expr());
    known.bind(&j, &int(0), &s.expr());
    known.bind(&k, &int(0), &int(384));
    known.bind(&row, &int(0), &(b.expr() * s.expr()));
    let simplify = |e: PrimExpr| dim_text(&known.simplify(&e));
    let flat = (i.expr() * s.expr() + j.expr()) * 384i64 + k.expr();
    assert_eq!(simplify(flat.clone().floordiv(s.expr() * 384i64).floormod(b.expr())), "i");
    assert_eq!(simplify(flat.clone().floordiv(384i64).floormod(s.expr())), "j");
    assert_eq!(simplify(flat.floormod(s.expr() * 384i64)), "j * 384 + k");
    let flat = row.expr() * 384i64 + k.expr();
    assert_eq!(simplify(flat.clone().floordiv(s.expr() * 384i64).floormod(b.expr())), "row // s");
    assert_eq!(simplify(flat.clone().floormod(s.expr() * 384i64)), "k + row % s * 384");
    // A rest that may reach one unit remains, and so does one that a negative divisor may change.
    let (more, n) = (row.expr() * 384i64 + k.expr() * 2i64, Var::int64("n").expr());
    assert_eq!(simplify(more.floordiv(s.expr() * 384i64)), "(row * 384 + k * 2) // (s * 384)");
    let unknown = flat.floordiv(n * 384i64);
    assert_eq!(dim_text(&Analyzer::new().simplify(&unknown)), dim_text(&unknown));
    known.bind(&row, &int(0), &(b.expr() * 197i64));
    let outer = (row.expr() * 384i64 + k.expr()).floordiv(b.expr() * 384i64);
    assert_eq!(dim_text(&known.simplify(&outer.clone().floormod(197i64))), "row // b");
    assert_eq!(dim_text(&known.simplify(&outer.floormod(196i64))), "row // b % 196");
}

#[test]
fn assumptions_are_used() {
    let (i, n) = (Var::int64("i"), Var::int64("n"));
    let mut a = Analyzer::new();
    a.assume(&i.expr().lt(10i64).and(i.expr().ge(2i64)));
    assert_eq!(a.interval(&i.expr()), Interval::new(2, 9));
    a.assume(&(i.expr() * 4i64 + 3i64).lt(n.expr()));
    assert!(a.prove_lt(&(i.expr() * 4i64), &n.expr()));
    assert!(a.prove(&(i.expr() * 4i64 + 2i64).lt(n.expr())));
    assert!(!a.prove(&(i.expr() * 4i64 + 4i64).lt(n.expr())));
    let mut b = Analyzer::new();
    b.assume(&(i.expr() * 3i64).ge(7i64));
    assert_eq!(b.interval(&i.expr()).min, 3);
}

/// Range of the variables of random expressions.
const RANGE: i64 = 5;

/// A random integer expression over two variables.
fn expression(x: PrimExpr, y: PrimExpr) -> impl Strategy<Value = PrimExpr> {
    let leaf = prop_oneof![Just(x), Just(y), (-6i64..=6).prop_map(PrimExpr::int64)];
    leaf.prop_recursive(4, 24, 2, |inner| {
        (0usize..8, inner.clone(), inner, 1i64..=7).prop_map(|(op, a, b, c)| match op {
            0 | 1 => a + b,
            2 => a - b,
            3 => a * b,
            4 => a.floordiv(c),
            5 => a.floormod(c),
            6 => a.min(b),
            _ => a.max(b),
        })
    })
}

/// Evaluates an expression.
fn evaluate(e: &PrimExpr) -> i64 {
    match e.kind() {
        PrimKind::Int(v) => *v,
        PrimKind::Binary(op, a, b) => {
            let (a, b) = (PrimExpr::int64(evaluate(a)), PrimExpr::int64(evaluate(b)));
            let value = fold(*op, &a, &b).unwrap_or_else(|| panic!("{a} {op:?} {b}"));
            value.as_int().expect("an integer")
        }
        _ => panic!("{e} is not a number"),
    }
}

fn values(x: &Var, y: &Var) -> impl Iterator<Item = Substitution> {
    let (x, y) = (x.clone(), y.clone());
    (0..=RANGE).flat_map(move |a| {
        let (x, y) = (x.clone(), y.clone());
        (0..=RANGE).map(move |b| [(x.clone(), int(a)), (y.clone(), int(b))].into_iter().collect())
    })
}

thread_local! {
    static XY: (Var, Var) = (Var::int64("x"), Var::int64("y"));
}

fn xy() -> (Var, Var) {
    XY.with(Clone::clone)
}

fn random() -> impl Strategy<Value = PrimExpr> {
    let (x, y) = xy();
    expression(x.expr(), y.expr())
}

fn bounded() -> Analyzer {
    let (x, y) = xy();
    let mut a = Analyzer::new();
    a.bound(&x, Interval::new(0, RANGE));
    a.bound(&y, Interval::new(0, RANGE));
    a
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn simplified_expressions_are_equal(e in random()) {
        let (x, y) = xy();
        let simple = bounded().simplify(&e);
        for values in values(&x, &y) {
            let (before, after) = (evaluate(&e.substitute(&values)), evaluate(&simple.substitute(&values)));
            prop_assert_eq!(before, after, "{} became {}", dim_text(&e), dim_text(&simple));
        }
    }

    #[test]
    fn intervals_hold_all_values(e in random()) {
        let (x, y) = xy();
        let interval = bounded().interval(&e);
        for values in values(&x, &y) {
            let value = evaluate(&e.substitute(&values));
            prop_assert!(interval.contains(value), "{} is {value}, not in {interval:?}", dim_text(&e));
        }
    }

    #[test]
    fn what_is_proven_is_true(a in random(), b in random()) {
        let (x, y) = xy();
        let analyzer = bounded();
        let (le, eq) = (analyzer.prove_le(&a, &b), analyzer.prove_eq(&a, &b));
        for values in values(&x, &y) {
            let (u, v) = (evaluate(&a.substitute(&values)), evaluate(&b.substitute(&values)));
            prop_assert!(!le || u <= v, "{} <= {}", dim_text(&a), dim_text(&b));
            prop_assert!(!eq || u == v, "{} == {}", dim_text(&a), dim_text(&b));
        }
    }

    #[test]
    fn conditions_keep_their_truth(a in random(), b in random(), op in 0usize..6) {
        let ops = [BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge, BinaryOp::Eq, BinaryOp::Ne];
        let (x, y) = xy();
        let condition = crate::prim::binary(ops[op], a, b);
        let simple = bounded().simplify(&condition);
        prop_assert_eq!(simple.dtype(), DType::BOOL);
        for values in values(&x, &y) {
            let (before, after) = (evaluate(&condition.substitute(&values)), evaluate(&simple.substitute(&values)));
            prop_assert_eq!(before, after, "{} became {}", condition, simple);
        }
    }
}

#[test]
fn differences_that_no_variable_changes() {
    let (i, n) = (Var::int64("i").expr(), Var::int64("n").expr());
    let difference = |a: &PrimExpr, b: &PrimExpr| Analyzer::new().difference(a, b);
    let base = i.clone() * 4i64 + n.clone() * i.clone();
    assert_eq!(difference(&(base.clone() + 4i64), &base), Some(4));
    assert_eq!(difference(&((i.clone() + 1i64) * 4i64), &(i.clone() * 4i64)), Some(4));
    assert_eq!(difference(&n, &i), None);
    assert_eq!(difference(&PrimExpr::int64(i64::MAX), &PrimExpr::int64(-1)), None, "what wraps is no difference");
}

#[test]
fn sums_of_data_are_not_compared_as_if_they_could_not_overflow() {
    let data = |name: &str, dtype| Var::data(name, dtype).expr();
    let (x, y, b) = (data("x", DType::INT32), data("y", DType::INT64), data("b", DType::INT8).cast(DType::INT32));
    let truth = |e: PrimExpr| Analyzer::new().simplify(&e).as_int();
    let one = PrimExpr::int32(1);
    assert_eq!(truth((&x + &one).gt(&x)), None);
    assert_eq!(truth((&x - &one).lt(&x)), None);
    assert_eq!(truth((&x * 2i32).floordiv(2i32).eq(&x)), None);
    assert_eq!(truth((&y + 1i64).ge(&y)), None);
    assert_eq!(truth((PrimExpr::int32(i32::MAX) + &one).gt(PrimExpr::int32(0))), None, "a constant that wraps");
    assert_eq!(truth((&b + &one).gt(&b)), Some(1), "int32 holds all sums of int8");
    assert_eq!(truth((&b * 2i32).floordiv(2i32).eq(&b)), Some(1));
    assert_eq!(truth(x.clone().floormod(8i32).lt(8i32)), Some(1));
    let i = Var::new("i", DType::INT32).expr();
    assert_eq!(truth((&i + &one).gt(&i)), Some(1), "loop variables do not wrap");
    let unsigned = data("u", DType::UINT64).cast(DType::INT64);
    assert_eq!(truth(unsigned.ge(0i64)), None, "the upper half becomes negative");
}

#[test]
fn sums_of_data_that_cancel_are_simplified() {
    let (x, y) = (Var::data("x", DType::INT32).expr(), Var::data("y", DType::INT32).expr());
    let one = || PrimExpr::int32(1);
    let simple = |e: PrimExpr| Analyzer::new().simplify(&e).to_string();
    assert_eq!(simple((x.clone() + one()) - x.clone()), simple(one()));
    assert_eq!(simple((x.clone() + y.clone()) - y.clone()), "x");
    assert_eq!(simple((x.clone() * 3i32 + 5i32) - x.clone() * 3i32), simple(PrimExpr::int32(5)));
    let analyzer = Analyzer::new();
    assert!(!analyzer.prove(&(x.clone() + one()).gt(x.clone())), "x + 1 may wrap");
    assert!(analyzer.prove(&((x.clone() + one()) - x).gt(PrimExpr::int32(0))));
}

#[test]
fn facts_about_data_are_used() {
    let (x, n) = (Var::data("x", DType::INT64), Var::int64("n"));
    let mut analyzer = Analyzer::for_shapes();
    assert!(!analyzer.prove(&x.expr().ge(0i64)), "data are no sizes");
    analyzer.assume(&x.expr().ge(0i64).and(x.expr().lt(n.expr())));
    assert!(analyzer.prove(&x.expr().le(n.expr())));
    let i = Var::int64("i");
    analyzer.bind(&i, &int(0), &x.expr());
    assert!(analyzer.prove(&i.expr().lt(x.expr())));
    assert!(analyzer.prove(&i.expr().lt(n.expr())));
}

/// Slices of a concatenation of many: prefixes of one long sum.
#[test]
fn prefixes_of_long_sums_are_inside() {
    let sizes: Vec<PrimExpr> = (0..240).map(|i| Var::int64(format!("n{i}")).expr()).collect();
    let prefix = |count: usize| sizes[..count].iter().cloned().reduce(|sum, size| sum + size).unwrap();
    let (begin, total) = (prefix(120), prefix(240));
    let i = Var::int64("i");
    let mut analyzer = Analyzer::for_shapes();
    analyzer.bind(&i, &int(0), &sizes[120]);
    assert!(analyzer.prove_lt(&(&begin + i.expr()), &total));
    assert!(!analyzer.prove_lt(&(&begin + i.expr()), &begin));
    // Most candidates are no bounds; the full sum is not the last one tried.
    let bounds: Vec<PrimExpr> = sizes.iter().map(|size| size * 4i64).chain([&total * 4i64]).collect();
    assert!(analyzer.prove_le_any(&begin, &bounds));
    assert!(!analyzer.prove_le_any(&(&total * 5i64), &bounds));
}

/// The condition of a fact is not decided by the fact itself, which would recurse.
#[test]
fn facts_about_choices_are_used() {
    let [n, p, i] = ["n", "p", "i"].map(Var::int64);
    let joint = n.expr().eq(1i64).select(p.expr(), n.expr());
    let mut analyzer = Analyzer::for_shapes();
    analyzer.assume(&joint.clone().ge(int(1)));
    analyzer.assume(&i.expr().lt(joint.clone()));
    assert!(analyzer.prove_lt(&i.expr(), &joint));
    assert!(analyzer.prove_le(&(i.expr() + 1i64), &joint));
    assert!(!analyzer.prove_lt(&joint, &i.expr()));
}
