//! Upper bounds of symbolic sizes, from attributes of the function.

use super::Scope;
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{
    AttrValue, PrimExpr,
    arith::{self, Analyzer, Interval},
    prim::{BinaryOp, PrimKind, Var},
    relax::Function,
};
use rustc_hash::FxHashMap;

const UPPER: &str = "tir_var_upper_bound";
const LOWER: &str = "tir_var_lower_bound";
const NATURAL: &str = "tir_non_negative_var";
const DYNAMIC_RESULTS: &str = "relax.memory_plan_dynamic_func_output";

/// Bounds of a function's sizes.
pub(super) struct Bounds {
    pub(super) analyzer: Analyzer,
    /// Variables with an upper bound.
    ranges: FxHashMap<Var, Interval>,
    /// True if tensors of symbolic size that share no memory, such as results, also get storages of the maximum size.
    pub(super) dynamic_results: bool,
    /// Scope of sharing.
    pub(super) scope: Scope,
}

impl Bounds {
    pub(super) fn of(function: &mut Function, scope: Scope) -> Result<Bounds, Diagnostic> {
        let dynamic_results = function.lambda.attrs.is_true(DYNAMIC_RESULTS);
        if dynamic_results {
            function.lambda.attrs.remove(DYNAMIC_RESULTS);
        }
        let (attrs, span) = (&function.lambda.attrs, function.lambda.span);
        let (upper, lower) = (integers(attrs.get(UPPER), UPPER, span)?, integers(attrs.get(LOWER), LOWER, span)?);
        let natural = names(attrs.get(NATURAL), span)?;
        let analyzer = if scope == Scope::Block { Analyzer::new() } else { Analyzer::for_shapes() };
        let mut bounds = Bounds { analyzer, ranges: FxHashMap::default(), dynamic_results, scope };
        for var in signature(function) {
            let name = var.name();
            match (upper.get(&**name), lower.get(&**name)) {
                (Some(upper), lower) => {
                    let range = Interval::new(lower.copied().unwrap_or(0), *upper);
                    bounds.analyzer.bound(&var, range);
                    bounds.ranges.insert(var, range);
                }
                (None, Some(lower)) if *lower >= 0 => bounds.analyzer.bound(&var, Interval::new(*lower, i64::MAX)),
                _ if natural.contains(&&**name) => bounds.analyzer.bound(&var, Interval::new(0, i64::MAX)),
                _ => {}
            }
        }
        Ok(bounds)
    }

    /// Returns the dimension, or an upper bound if its variables have bounds. Bounds of the expression alone are
    /// ignored: `min(n, 2147483647)` is as good as `n`.
    pub(super) fn upper(&self, dim: &PrimExpr) -> PrimExpr {
        if !self.has_bounded(dim) {
            return dim.clone();
        }
        match self.analyzer.interval(dim).max {
            i64::MAX => self.range(dim).max.unwrap_or_else(|| dim.clone()),
            max => PrimExpr::int64(max),
        }
    }

    /// Returns the value closest to `value` that a variable may have.
    pub(super) fn nearest(&self, var: &Var, value: i64) -> i64 {
        self.ranges.get(var).map_or(value, |range| value.clamp(range.min, range.max.max(range.min)))
    }

    /// Returns true if an expression has a variable with an upper bound.
    fn has_bounded(&self, e: &PrimExpr) -> bool {
        e.any(&mut |e| matches!(e.kind(), PrimKind::Var(var) if self.ranges.contains_key(var)))
    }

    /// Returns bounds of an expression without bounded variables.
    fn range(&self, e: &PrimExpr) -> Range {
        match e.kind() {
            PrimKind::Var(var) => match self.ranges.get(var) {
                Some(range) => Range::new(PrimExpr::int64(range.min), PrimExpr::int64(range.max)),
                None => Range::point(e),
            },
            PrimKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), a, b) => {
                self.combine(*op, self.range(a), self.range(b))
            }
            _ if self.has_bounded(e) => Range { min: None, max: None, is_point: false },
            _ => Range::point(e),
        }
    }

    fn combine(&self, op: BinaryOp, a: Range, b: Range) -> Range {
        let of = |a: Option<PrimExpr>, b: Option<PrimExpr>| Some(arith::binary(op, a?, b?));
        match op {
            _ if a.is_point && b.is_point => Range { is_point: true, ..Range::both(of(a.min, b.min)) },
            BinaryOp::Add => Range { min: of(a.min, b.min), max: of(a.max, b.max), is_point: false },
            BinaryOp::Sub => Range { min: of(a.min, b.max), max: of(a.max, b.min), is_point: false },
            _ => {
                let (range, factor) = if a.is_point { (b, a) } else { (a, b) };
                let factor = factor.min.filter(|f| factor.is_point && self.analyzer.prove_ge(f, &PrimExpr::int64(0)));
                Range { min: of(range.min, factor.clone()), max: of(range.max, factor), is_point: false }
            }
        }
    }
}

struct Range {
    min: Option<PrimExpr>,
    max: Option<PrimExpr>,
    /// True if both bounds are the expression itself.
    is_point: bool,
}

impl Range {
    fn new(min: PrimExpr, max: PrimExpr) -> Range {
        Range { min: Some(min), max: Some(max), is_point: false }
    }

    fn both(e: Option<PrimExpr>) -> Range {
        Range { min: e.clone(), max: e, is_point: false }
    }

    fn point(e: &PrimExpr) -> Range {
        Range { is_point: true, ..Range::both(Some(e.clone())) }
    }
}

/// Returns the bytes of a contiguous tensor, with the constant factor first.
pub(super) fn bytes(dims: &[PrimExpr], element: usize) -> Option<PrimExpr> {
    let mut known = i64::try_from(element).ok()?;
    let mut symbolic: Option<PrimExpr> = None;
    for dim in dims {
        match dim.as_int() {
            Some(n) => known = known.checked_mul(n).filter(|n| *n >= 0)?,
            None => symbolic = Some(symbolic.map_or_else(|| dim.clone(), |s| s * dim)),
        }
    }
    Some(match symbolic {
        Some(symbolic) => arith::binary(BinaryOp::Mul, PrimExpr::int64(known), symbolic),
        None => PrimExpr::int64(known),
    })
}

/// Returns the symbolic variables in the types of parameters and result.
fn signature(function: &Function) -> Vec<Var> {
    let mut vars = Vec::new();
    let types = function.lambda.params.iter().map(|p| function.ty(*p)).chain([&function.lambda.ret_ty]);
    types.for_each(|ty| ty.each_expr(&mut |e| e.each_var(&mut |var| vars.push(var.clone()))));
    vars
}

fn integers<'a>(attr: Option<&'a AttrValue>, name: &str, span: Span) -> Result<FxHashMap<&'a str, i64>, Diagnostic> {
    let wrong = || wrong_attribute(name, "maps names of symbolic variables to integers, `{\"n\": 1024}`", span);
    let entries = match attr {
        None => return Ok(FxHashMap::default()),
        Some(AttrValue::Dict(entries)) => entries,
        Some(_) => return Err(wrong()),
    };
    entries.iter().map(|(key, value)| key.as_str().zip(value.as_int()).ok_or_else(wrong)).collect()
}

fn names(attr: Option<&AttrValue>, span: Span) -> Result<Vec<&str>, Diagnostic> {
    let wrong = || wrong_attribute(NATURAL, "lists names of symbolic variables, `[\"n\"]`", span);
    match attr {
        None => Ok(Vec::new()),
        Some(attr) => attr.as_list().ok_or_else(wrong)?.iter().map(|v| v.as_str().ok_or_else(wrong)).collect(),
    }
}

fn wrong_attribute(name: &str, takes: &str, span: Span) -> Diagnostic {
    let message = format!("memory cannot be planned: the function's attribute `{name}` is something else");
    Diagnostic::error(codes::NOT_LOWERABLE, message).label(span, "").help(format!("it {takes}"))
}

pub(super) fn wrong_options() -> Diagnostic {
    let message = "pass `StaticPlanBlockMemory` makes an arena for a function, not for each block";
    Diagnostic::error(codes::BAD_PASS_OPTIONS, message)
        .help("write `StaticPlanBlockMemory{scope=\"function\",arena=true}`")
}
