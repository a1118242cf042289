//! AdjustMatmulOrder: chooses the cheaper association order of three multiplied matrices.
//!
//! `matmul(matmul(a, b), c)` is `matmul(a, matmul(b, c))`: the order with provably fewer multiplications at run time is
//! chosen. A matmul of two operands that are known at compile time costs nothing at run time, unless it takes too long to
//! be evaluated at compile time; it comes first if neither order is provably better.
//! Symbolic sizes are positive, and within the bounds of the attributes `tir_var_lower_bound` and
//! `tir_var_upper_bound`. A matmul that is transposed before it is multiplied again, like the weights of linear
//! layers, is the matmul of its transposed operands in reverse. A matmul with other users is computed in any case,
//! and stays as it is. Results are rounded differently.

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::{compile_time::CompileTime, permutation::permutation},
    rewrite::editor::{self, Editor},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Module, PrimExpr,
    arith::{Analyzer, Interval},
    prim::Var,
    relax::{Call, Definitions, Function, Operand, Value},
};
use hammock_ops::{
    dims,
    rules::{Broadcast, broadcast_dims},
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "AdjustMatmulOrder",
    doc: "Chooses the cheaper association order of three multiplied matrices",
    options: &[KNOWN_WEIGHTS],
    run,
};

pub const KNOWN_WEIGHTS: PassOption = PassOption {
    name: "known_weights",
    kind: OptionKind::Bool,
    default: "true",
    doc: "Treat parameters after `num_input` as known at compile time, for LiftTransformParams; otherwise only \
          constants",
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let with_weights = context.options.is_on(KNOWN_WEIGHTS.name);
    editor::apply(module, |_, function| {
        let (mut known, sizes) = (CompileTime::of(function, with_weights), sizes(function));
        Some(move |e: &mut Editor, value: &Value| adjust(e, context, &mut known, &sizes, value))
    })
}

/// Pair of operands that is multiplied first.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

/// A matrix operand, possibly transposed.
#[derive(Clone)]
struct Matrix {
    operand: Operand,
    transposed: bool,
}

fn adjust(
    e: &mut Editor,
    context: &Context,
    known: &mut CompileTime,
    sizes: &Analyzer,
    value: &Value,
) -> Option<Value> {
    let outer = value.as_op("matmul")?;
    [Side::Left, Side::Right].into_iter().find_map(|first| {
        let operands = chain(e, outer, first)?;
        let better = better_side(e, context, known, sizes, &operands)?;
        if better == first { None } else { multiply(e, known, &operands, better) }
    })
}

/// Returns the three operands if the inner matmul is the outer's operand on that side.
fn chain(e: &Editor, outer: &Call, first: Side) -> Option<[Matrix; 3]> {
    let [left, right] = outer.operands()?;
    let (inner, other) = if first == Side::Left { (left, right) } else { (right, left) };
    let permute = e.op(inner, "permute_dims");
    let inner_matmul = permute.map_or(Some(inner), |permute| permute.args.first())?;
    if e.is_shared(inner) || e.is_shared(inner_matmul) {
        return None;
    }
    let [a, b] = e.op(inner_matmul, "matmul")?.operands()?;
    let dtype = e.value_ty(&Value::Call(outer.clone()))?.as_tensor()?.dtype;
    for factor in [a, b, other, inner_matmul] {
        if e.tensor(factor)?.dtype != dtype {
            return None;
        }
    }
    let ndim = e.tensor(inner_matmul)?.ndim()?;
    if let Some(permute) = permute
        && permutation(permute, ndim)? != swap_of_last_two(ndim)
    {
        return None;
    }
    let transposed = permute.is_some();
    let [a, b] = [a, b].map(|x| Matrix { operand: x.clone(), transposed });
    let other = Matrix { operand: other.clone(), transposed: false };
    Some(match (first, transposed) {
        (Side::Left, false) => [a, b, other],
        (Side::Left, true) => [b, a, other],
        (Side::Right, false) => [other, a, b],
        (Side::Right, true) => [other, b, a],
    })
}

fn swap_of_last_two(ndim: usize) -> Vec<i64> {
    let mut axes: Vec<i64> = (0..ndim as i64).collect();
    if let Some(last) = ndim.checked_sub(2) {
        axes.swap(last, last + 1);
    }
    axes
}

impl Matrix {
    /// Returns its shape; `None` for a vector that would be transposed.
    fn dims(&self, e: &Editor) -> Option<Vec<PrimExpr>> {
        let mut dims = e.tensor(&self.operand)?.dims()?.to_vec();
        if self.transposed {
            let last = dims.len().checked_sub(2)?;
            dims.swap(last, last + 1);
        }
        Some(dims)
    }

    fn emit(&self, e: &mut Editor) -> Option<Operand> {
        if !self.transposed {
            return Some(self.operand.clone());
        }
        let swapped = swap_of_last_two(e.tensor(&self.operand)?.ndim()?);
        // A transpose of a matrix is written as usual, without axes.
        let axes = if swapped.len() == 2 { AttrValue::None } else { swapped.into() };
        e.emit("permute_dims", [self.operand.clone()], [("axes", axes)])
    }
}

/// Numbers of multiplications of one order of association.
struct Cost {
    /// Those of the pair that is multiplied first.
    inner: PrimExpr,
    /// Those of its matmul with the third operand.
    outer: PrimExpr,
}

impl Cost {
    fn is_at_most(&self, count: u64) -> bool {
        self.inner.as_int().is_none_or(|inner| inner as u64 <= count)
    }

    /// Returns those at run time.
    fn at_run_time(&self, is_folded: bool) -> PrimExpr {
        if is_folded { self.outer.clone() } else { dims::add(&self.inner, &self.outer) }
    }
}

/// Maximum number of steps of a kernel for one multiplication.
const STEPS: u64 = 4;

/// Returns the pair to multiply first; `None` if it makes no provable difference.
fn better_side(
    e: &Editor,
    context: &Context,
    known: &CompileTime,
    sizes: &Analyzer,
    operands: &[Matrix; 3],
) -> Option<Side> {
    let [a, b, c] = operands.each_ref().map(|factor| factor.dims(e));
    let (left, right) = costs(&a?, &b?, &c?)?;
    let [a, b, c] = operands.each_ref().map(|factor| known.knows(&factor.operand));
    if a && b && c {
        return None;
    }
    let folded = context.environment.evaluator.max_steps() / STEPS;
    let (left_folds, right_folds) = (a && b && left.is_at_most(folded), b && c && right.is_at_most(folded));
    let (left, right) = (left.at_run_time(left_folds), right.at_run_time(right_folds));
    match (sizes.prove_lt(&left, &right), sizes.prove_lt(&right, &left)) {
        (true, _) => Some(Side::Left),
        (_, true) => Some(Side::Right),
        _ if left_folds => Some(Side::Left),
        _ if right_folds => Some(Side::Right),
        _ => None,
    }
}

/// Returns the costs of `(a b) c` and `a (b c)`; `None` if the two differ, because vectors meet batches of matrices, or
/// shapes may not broadcast.
fn costs(a: &[PrimExpr], b: &[PrimExpr], c: &[PrimExpr]) -> Option<(Cost, Cost)> {
    let vectors = a.len() == 1 || c.len() == 1;
    if b.len() < 2 || vectors && (a.len() > 2 || b.len() > 2 || c.len() > 2) {
        return None;
    }
    let batch = |x: &[PrimExpr]| x[..x.len().saturating_sub(2)].to_vec();
    let both = |x: &[PrimExpr], y: &[PrimExpr]| match broadcast_dims(x, y) {
        Broadcast::To(dims) => Some(dims),
        _ => None,
    };
    let (ab, bc) = (both(&batch(a), &batch(b))?, both(&batch(b), &batch(c))?);
    let all = dims::product(&both(&ab, &batch(c))?);
    let (ab, bc) = (dims::product(&ab), dims::product(&bc));
    let one = PrimExpr::int64(1);
    let n = if a.len() == 1 { &one } else { &a[a.len() - 2] };
    let [r, m] = &b[b.len() - 2..] else { return None };
    let k = if c.len() == 1 { &one } else { &c[c.len() - 1] };
    let left = Cost { inner: times(&[&ab, n, r, m]), outer: times(&[&all, n, m, k]) };
    let right = Cost { inner: times(&[&bc, r, m, k]), outer: times(&[&all, n, r, k]) };
    Some((left, right))
}

fn times(operands: &[&PrimExpr]) -> PrimExpr {
    dims::product(operands.iter().copied())
}

fn multiply(e: &mut Editor, known: &mut CompileTime, [a, b, c]: &[Matrix; 3], first: Side) -> Option<Value> {
    let pair = if first == Side::Left { [a, b] } else { [b, c] };
    let both_known = pair.iter().all(|factor| known.knows(&factor.operand));
    let mut inner_matmul = |e: &mut Editor| {
        let pair = [pair[0].emit(e)?, pair[1].emit(e)?];
        let inner_matmul = e.emit("matmul", pair, [])?;
        known.note(&inner_matmul, both_known);
        Some(inner_matmul)
    };
    let operands = match first {
        Side::Left => [inner_matmul(e)?, c.emit(e)?],
        Side::Right => [a.emit(e)?, inner_matmul(e)?],
    };
    e.make("matmul", operands, [])
}

/// Returns the bounds of the sizes in a function's signature.
fn sizes(function: &Function) -> Analyzer {
    let mut analyzer = Analyzer::with_default_min(1);
    let mut vars: Vec<Var> = Vec::new();
    for param in &function.lambda.params {
        function.ty(*param).each_expr(&mut |e| vars.extend(e.as_var().cloned()));
    }
    let bounds = |name: &str| match function.lambda.attrs.get(name) {
        Some(AttrValue::Dict(entries)) => entries.clone(),
        _ => Vec::new(),
    };
    for (name, interval) in [
        ("tir_var_lower_bound", (|n| Interval::new(n, i64::MAX)) as fn(i64) -> Interval),
        ("tir_var_upper_bound", |n| Interval::new(1, n)),
    ] {
        for (key, value) in bounds(name) {
            let (Some(key), Some(value)) = (key.as_str(), value.as_int()) else { continue };
            vars.iter().filter(|var| **var.name() == *key).for_each(|var| analyzer.bound(var, interval(value)));
        }
    }
    analyzer
}
