//! Bounds analysis of kernels: facts that hold at a statement, and proofs that indices are within their buffers.
//!
//! Code that walks a kernel carries a [`Scope`] along. It treats index arithmetic as native code computes it: in 64
//! bits, regardless of the width in the text. Intermediate sums, differences and products may wrap, because a result
//! that is within a buffer and correct modulo 2^64 is correct. Operands of comparisons, divisions and selects must be
//! proven not to wrap ([`Scope::exact`]); otherwise nothing follows from them.

mod arithmetic;

use crate::{
    DType, PrimExpr,
    arith::{Analyzer, Interval},
    prim::{BinaryOp, PrimKind, Substitution, Var},
    tir::{BlockAxis, Buffer, Loop, PrimFunc},
};
use arithmetic::{fold_exact, is_index, reads};
use rustc_hash::FxHashSet;
use std::{cell::Cell, rc::Rc};

/// Maximum extent of a dimension of a nonempty tensor, which proofs assume for intermediate results.
pub const LARGEST_SIZE: i64 = 1 << 40;

/// Values in this range are far from the limits of 64 bits.
const WIDE: Interval = Interval { min: -(1 << 62), max: 1 << 62 };

/// The variable in a size of the form `variable * constant`. Kernels first check that it is between zero and
/// [`LARGEST_SIZE`], so that it is a size too: the multiple may wrap.
pub fn size_in_multiple(size: &PrimExpr) -> Option<&Var> {
    let PrimKind::Binary(BinaryOp::Mul, a, b) = size.kind() else { return None };
    let (var, factor) = a.as_var().zip(b.as_int()).or_else(|| b.as_var().zip(a.as_int()))?;
    (2..=1 << 20).contains(&factor).then_some(var)
}

/// Facts that hold at a point in a kernel.
#[derive(Clone, Debug)]
pub struct Scope {
    analyzer: Analyzer,
    /// The 64-bit variables that replace the kernel's variables.
    values: Substitution,
    /// The variables that replace block axes, with the axes' bindings.
    axes: Substitution,
    /// The kernel's own variables by those that replace them.
    originals: Substitution,
    /// Element counts of existing buffers.
    elements: Vec<PrimExpr>,
    sizes: FxHashSet<Var>,
    relies: Rc<Cell<bool>>,
    loops: Vec<Range>,
}

/// The range of a loop variable; `None` if it is not known when the loop begins.
#[derive(Clone, Debug)]
struct Range {
    var: Var,
    bounds: Option<(PrimExpr, PrimExpr)>,
}

impl Scope {
    /// The facts of a kernel's signature: sizes of arguments are nonnegative, and the arguments exist.
    pub fn of(func: &PrimFunc) -> Self {
        let mut scope = Scope {
            analyzer: Analyzer::new(),
            values: Substitution::default(),
            axes: Substitution::default(),
            originals: Substitution::default(),
            elements: Vec::new(),
            sizes: FxHashSet::default(),
            relies: Rc::default(),
            loops: Vec::new(),
        };
        let is_size = |e| PrimExpr::as_var(e).or_else(|| size_in_multiple(e));
        for var in func.buffers().flat_map(|b| &b.shape).filter_map(is_size) {
            if !scope.values.contains_key(var) {
                let size = scope.define(var);
                scope.analyzer.bound(&size, Interval::new(0, LARGEST_SIZE));
                scope.sizes.insert(size);
            }
        }
        for buffer in func.buffers() {
            for size in buffer.shape.iter().filter(|e| e.as_var().is_none() && e.as_int().is_none()) {
                let size = scope.wide(size);
                scope.analyzer.assume(&size.ge(PrimExpr::int64(0)));
            }
            scope.add_memory(buffer);
        }
        scope
    }

    /// Adds an existing buffer, whose element count is bounded by the address space.
    pub fn add_memory(&mut self, buffer: &Buffer) {
        if buffer.shape.iter().any(|e| e.as_int().is_none()) {
            let product = |n: PrimExpr, e: &PrimExpr| fold_exact(BinaryOp::Mul, n, self.wide(e));
            let count = buffer.shape.iter().fold(PrimExpr::int64(1), product);
            self.elements.push(count);
        }
    }

    /// Size variables of the kernel that some proof assumed to be at most [`LARGEST_SIZE`].
    pub fn relied_on(&self) -> Vec<PrimExpr> {
        let sizes = self.sizes.iter().filter(|_| self.relies.get());
        let mut sizes: Vec<PrimExpr> = sizes.map(|v| self.original(&v.expr())).collect();
        sizes.sort_by_key(|e| format!("{e}"));
        sizes
    }

    /// Enters a loop, in whose body the scope is used from here on.
    pub fn enter_loop(&mut self, l: &Loop) {
        let (min, extent) = (self.wide(&l.min), self.wide(&l.extent));
        let var = self.define(&l.var);
        let end = fold_exact(BinaryOp::Add, min.clone(), extent.clone());
        let forward = l.step.as_ref().is_none_or(|s| s.as_int().is_some_and(|s| s > 0));
        let exact = |e: &PrimExpr, wide: &PrimExpr| self.exact_within(wide, limit(e));
        let known = forward && exact(&l.min, &min) && exact(&l.extent, &extent) && self.exact(&end);
        if known {
            self.enter_range(&var, &min, &extent);
        } else if forward && exact(&l.min, &min) {
            self.analyzer.bound(&var, Interval::new(self.analyzer.interval(&min).min, i64::MAX));
        }
        let plain = known && l.step.is_none() && !reads(&min) && !reads(&extent);
        self.loops.push(Range { var, bounds: plain.then_some((min, extent)) });
    }

    /// Adds a variable that counts from `min` and has at least one value.
    fn enter_range(&mut self, var: &Var, min: &PrimExpr, extent: &PrimExpr) {
        if reads(min) || reads(extent) {
            // Memory may change: only facts that hold for every value are used.
            let (min, extent) = (self.analyzer.interval(min), self.analyzer.interval(extent));
            let last = min + extent + Interval::point(-1);
            self.analyzer.bound(var, Interval::new(min.min, last.max.max(min.min)));
        } else {
            self.assume_positive(extent);
            self.analyzer.bind(var, min, extent);
        }
    }

    /// Assumes that the number is at least 1, and so are the sizes that it is a product or minimum of.
    fn assume_positive(&mut self, number: &PrimExpr) {
        self.analyzer.assume(&number.clone().ge(PrimExpr::int64(1)));
        let PrimKind::Binary(op, a, b) = number.kind() else { return };
        let natural = |e: &PrimExpr| self.analyzer.interval(e).min >= 0;
        if *op == BinaryOp::Min || *op == BinaryOp::Mul && natural(a) && natural(b) {
            self.assume_positive(a);
            self.assume_positive(b);
        }
    }

    /// Enters a block axis, whose value is in its domain from here on. Returns true if that follows from its binding.
    pub fn enter_axis(&mut self, axis: &BlockAxis) -> bool {
        let inside = self.axis_is_inside(axis);
        let binding = self.wide(&axis.binding);
        let (min, extent) = (self.wide(&axis.dom.0), self.wide(&axis.dom.1));
        let var = self.define(&axis.var);
        if !reads(&binding) {
            let binding = self.resolve(&binding);
            self.axes.insert(var.clone(), binding);
        }
        if self.exact_within(&min, limit(&axis.dom.0)) && self.exact_within(&extent, limit(&axis.dom.1)) {
            self.enter_range(&var, &min, &extent);
        }
        inside
    }

    /// Returns true if an axis is bound to a value of its domain.
    fn axis_is_inside(&self, axis: &BlockAxis) -> bool {
        let offset = axis.binding.clone() - &axis.dom.0;
        if axis.binding.is_data() && !self.fits_dtype(&self.wide(&axis.binding), axis.binding.dtype()) {
            return false;
        }
        match axis.dom.0.as_int() {
            Some(0) => self.is_inside(&axis.binding, &axis.dom.1),
            _ => self.is_inside(&offset, &axis.dom.1),
        }
    }

    /// Binds a variable to a value.
    pub fn bind(&mut self, var: &Var, value: &PrimExpr) {
        if !is_index(var.dtype()) || !is_index(value.dtype()) {
            return;
        }
        let of_dtype = Interval::of_dtype(var.dtype()).intersect(WIDE);
        let wide = self.wide(value);
        let range = self.analyzer.interval(&wide);
        let known = self.exact_within(&wide, of_dtype);
        if known && !reads(&wide) {
            self.values.insert(var.clone(), wide);
            return;
        }
        let named = self.define(var);
        let range = if known { range } else { Interval::of_dtype(var.dtype()) };
        self.analyzer.bound(&named, range);
    }

    /// Assumes a condition from here on; the memory it reads must not have changed.
    pub fn assume(&mut self, condition: &PrimExpr) {
        match condition.kind() {
            PrimKind::Binary(BinaryOp::And, a, b) => {
                self.assume(a);
                self.assume(b);
            }
            PrimKind::Not(a) => self.assume_not(a),
            PrimKind::Binary(op, a, b) if op.is_comparison() && is_index(a.dtype()) => self.compare(*op, a, b),
            PrimKind::Call(call) if condition.as_intrin("likely").is_some() => {
                call.args.iter().for_each(|a| self.assume(a))
            }
            _ => {}
        }
    }

    /// Assumes that a condition does not hold.
    pub fn assume_not(&mut self, condition: &PrimExpr) {
        match condition.kind() {
            PrimKind::Binary(BinaryOp::Or, a, b) => {
                self.assume_not(a);
                self.assume_not(b);
            }
            PrimKind::Not(a) => self.assume(a),
            PrimKind::Binary(op, a, b) if op.is_comparison() && is_index(a.dtype()) => {
                self.compare(opposite(*op), a, b);
            }
            PrimKind::Call(call) if condition.as_intrin("likely").is_some() => {
                call.args.iter().for_each(|a| self.assume_not(a));
            }
            _ => {}
        }
    }

    fn compare(&mut self, op: BinaryOp, a: &PrimExpr, b: &PrimExpr) {
        let limit = if a.is_data() { limit(a) } else { limit(b) };
        let (a, b) = (self.wide(a), self.wide(b));
        if self.exact_within(&a, limit) && self.exact_within(&b, limit) {
            self.analyzer.assume(&crate::prim::compare(op, a.clone(), b.clone()));
            self.analyzer.assume(&crate::prim::compare(op, self.resolve(&a), self.resolve(&b)));
        }
    }

    /// Returns true if `0 <= index < extent` always, as native code computes them.
    pub fn is_inside(&self, index: &PrimExpr, extent: &PrimExpr) -> bool {
        if !index.dtype().is_scalar() || !extent.dtype().is_scalar() {
            return false;
        }
        let (index, extent) = (self.wide(index), self.wide(extent));
        if extent.as_int().is_none() && !self.exact(&extent) {
            return false;
        }
        let inside = |index: &PrimExpr| {
            let below = || self.analyzer.prove_lt(index, &extent);
            self.is_congruent(index, WIDE) && self.analyzer.prove_le(&PrimExpr::int64(0), index) && below()
        };
        inside(&index) || {
            let resolved = self.resolve(&index);
            !resolved.same_node(&index) && inside(&resolved)
        }
    }

    /// Returns true if `a <= b` always, as native code computes them.
    pub fn proves_le(&self, a: &PrimExpr, b: &PrimExpr) -> bool {
        let (a, b) = (self.wide(a), self.wide(b));
        self.exact(&a) && self.exact(&b) && self.analyzer.prove_le(&a, &b)
    }

    /// Returns an extreme value of the index that is certainly out of bounds, if there is one. The index is computed in
    /// every iteration of the enclosing loops, which have iterations.
    pub fn out_of_bounds_value(&self, index: &PrimExpr, extent: &PrimExpr) -> Option<PrimExpr> {
        self.runs(0)?;
        let (minimum, maximum) = self.extremes(index, 0)?;
        let extent = self.wide(extent);
        if !self.exact(&minimum) || !self.exact(&maximum) || !self.exact(&extent) {
            return None;
        }
        let zero = PrimExpr::int64(0);
        if self.analyzer.prove_lt(&minimum, &zero) {
            return Some(self.original(&self.analyzer.simplify(&minimum)));
        }
        let beyond = self.analyzer.prove_le(&extent, &maximum);
        beyond.then(|| self.original(&self.analyzer.simplify(&maximum)))
    }

    /// The minimum and maximum of an index over the loops from number `from` on, in terms of the outer variables;
    /// `None` if no short expression is known. Both occur if all these loops run.
    pub fn extremes(&self, index: &PrimExpr, from: usize) -> Option<(PrimExpr, PrimExpr)> {
        let index = self.resolve(&self.wide(index));
        if reads(&index) || !self.is_congruent(&index, WIDE) {
            return None;
        }
        let inner = self.loops.get(from..)?;
        let (mut minimum, mut maximum) = (index.clone(), index.clone());
        for range in inner.iter().rev().filter(|r| index.uses(&r.var)) {
            let (min, extent) = range.bounds.as_ref()?;
            let slope = self.slope(&index, &range.var)?;
            if inner.iter().any(|r| [min, extent, &slope].into_iter().any(|e| e.uses(&r.var))) {
                return None;
            }
            let last = fold_exact(BinaryOp::Add, min.clone(), extent.clone());
            let last = fold_exact(BinaryOp::Sub, last, PrimExpr::int64(1));
            let steps = self.analyzer.interval(&slope);
            let (low, high) = match () {
                _ if steps.min >= 0 => (min.clone(), last),
                _ if steps.max <= 0 => (last, min.clone()),
                _ => return None,
            };
            minimum = minimum.substitute(&[(range.var.clone(), low)].into_iter().collect());
            maximum = maximum.substitute(&[(range.var.clone(), high)].into_iter().collect());
        }
        Some((self.analyzer.simplify(&minimum), self.analyzer.simplify(&maximum)))
    }

    /// Conditions under which all loops from number `from` on have iterations; `None` if that depends on these loops.
    pub fn runs(&self, from: usize) -> Option<Vec<PrimExpr>> {
        let inner = self.loops.get(from..)?;
        let mut conditions = Vec::new();
        for range in inner {
            let (_, extent) = range.bounds.as_ref()?;
            if inner.iter().any(|r| extent.uses(&r.var)) {
                return None;
            }
            if extent.as_int().is_none_or(|n| n < 1) {
                conditions.push(self.original(&extent.clone().gt(PrimExpr::int64(0))));
            }
        }
        Some(conditions)
    }

    /// Coefficient of the variable if the expression is affine in it.
    fn slope(&self, e: &PrimExpr, var: &Var) -> Option<PrimExpr> {
        let next = e.substitute(&[(var.clone(), var.expr() + PrimExpr::int64(1))].into_iter().collect());
        let slope = self.analyzer.simplify(&fold_exact(BinaryOp::Sub, next, e.clone()));
        (!slope.uses(var)).then_some(slope)
    }

    /// Returns true if computing an expression from [`Scope::extremes`] certainly gives its exact value.
    pub fn is_exact(&self, e: &PrimExpr) -> bool {
        self.exact(e)
    }

    /// Replaces the scope's variables by the kernel's own, cast to 64 bits.
    pub fn original(&self, e: &PrimExpr) -> PrimExpr {
        e.substitute(&self.originals)
    }

    /// Returns true if a loop of this extent never runs.
    pub fn is_empty_loop(&self, extent: &PrimExpr) -> bool {
        self.constant(extent).is_some_and(|n| n < 1)
    }

    /// Returns true if the variable is known to the scope.
    pub fn knows(&self, var: &Var) -> bool {
        self.values.contains_key(var)
    }

    /// Returns the value of a constant expression.
    pub fn constant(&self, e: &PrimExpr) -> Option<i64> {
        let e = self.wide(e);
        let value = self.analyzer.as_constant(&e)?;
        self.exact(&e).then_some(value)
    }

    /// The analyzer, with the bounds of the variables that [`Scope::wide`] returns.
    pub(crate) fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }

    /// Returns true if a variable replaces one of the kernel's that is in scope.
    pub(crate) fn defines(&self, var: &Var) -> bool {
        self.originals.contains_key(var)
    }

    /// Replaces block axes by their bindings.
    pub(crate) fn resolve(&self, e: &PrimExpr) -> PrimExpr {
        e.substitute(&self.axes)
    }

    /// Creates a 64-bit variable that replaces one of the kernel's.
    fn define(&mut self, var: &Var) -> Var {
        let wide = var.with_ty(DType::INT64);
        self.values.insert(var.clone(), wide.expr());
        let original = if var.dtype() == DType::INT64 { var.expr() } else { var.expr().cast(DType::INT64) };
        self.originals.insert(wide.clone(), original);
        wide
    }
}

/// The range in which a kernel computes a value: data is computed in its own width.
fn limit(e: &PrimExpr) -> Interval {
    if e.is_data() { Interval::of_dtype(e.dtype()).intersect(WIDE) } else { WIDE }
}

fn opposite(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Ge,
        BinaryOp::Le => BinaryOp::Gt,
        BinaryOp::Gt => BinaryOp::Le,
        BinaryOp::Ge => BinaryOp::Lt,
        BinaryOp::Eq => BinaryOp::Ne,
        other => {
            if other == BinaryOp::Ne {
                BinaryOp::Eq
            } else {
                other
            }
        }
    }
}

#[cfg(test)]
mod tests;
