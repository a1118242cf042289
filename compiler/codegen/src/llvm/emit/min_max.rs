//! Minimum and maximum of floats, which propagate NaN.
//!
//! The processor's instructions (`a > b ? a : b`) return `b` if an operand is NaN, so a NaN in `a` is lost. Setting all
//! bits of the result, which is a NaN too, restores it. This is unnecessary for an operand that is never NaN.
//!
//! In a long reduction this would take twice the time. But the instructions also set a sticky flag of the processor,
//! the invalid-operation flag, whenever an operand is NaN. So long kernels and bodies of parallel loops that
//! can be repeated are compiled twice: without and with NaN propagation. The caller clears the flag, calls the first,
//! and calls the second if the flag is set then. Other invalid operations also set it, which only costs time.

use super::{Builder, Emitter, Function, Kernel, Result, Ty, Unsupported, Value};
use hammock_ir::{
    DType, PrimExpr,
    prim::{
        BinaryOp, PrimCallee, PrimKind, Var,
        intrinsics::{self, Effect},
    },
    tir::{ForKind, Stmt, StmtKind},
};
use rustc_hash::FxHashSet;

/// Number of stores above which checking the flag costs less than 1 %.
const MIN_LONG_STORES: i64 = 4096;

/// Version of a function that may be compiled twice.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Version {
    Only,
    /// Does not propagate NaN in minima and maxima.
    Fast,
    /// Propagates NaN; runs after the fast version if there was one.
    Careful,
}

impl Emitter<'_, '_> {
    /// `min(a, b)` or `max(a, b)` of floats: NaN if an operand is, otherwise `a < b ? a : b` or `a > b ? a : b`.
    pub(super) fn float_extremum(&mut self, op: BinaryOp, a: &PrimExpr, b: &PrimExpr) -> Result<Value> {
        let dtype = a.dtype();
        let (x, y) = (self.eval(a)?, self.eval(b)?);
        if x.ty != y.ty {
            return Err(Unsupported::Form("operands of one operation have different types"));
        }
        let (x, y) = (self.widen(&x, dtype), self.widen(&y, dtype));
        let result = match (is_never_nan(a), is_never_nan(b)) {
            (true, _) => self.choose_extreme(op, &x, &y, dtype),
            // Only zeros can be equal with different bits.
            (_, true) if y.as_float().is_some_and(|v| v != 0.0) => self.choose_extreme(op, &y, &x, dtype),
            (_, true) => {
                let first = self.f.compare(if op == BinaryOp::Min { "fcmp ult" } else { "fcmp ugt" }, &x, &y);
                self.f.select(&first, &x, &y)
            }
            _ if self.may_lose_nan => self.choose_extreme(op, &x, &y, dtype),
            _ => {
                let number = self.choose_extreme(op, &x, &y, dtype);
                self.nan_if_nan(&number, &x)
            }
        };
        Ok(self.narrow(&result, dtype))
    }

    /// `number`, or NaN where `x` is NaN.
    fn nan_if_nan(&mut self, number: &Value, x: &Value) -> Value {
        let is_nan = self.f.compare("fcmp uno", x, x);
        if x.ty.lanes == 1 {
            return self.f.select(&is_nan, x, number);
        }
        let int = Ty::int(x.ty.bits()).with_lanes(x.ty.lanes);
        let mask = self.f.convert("sext", &is_nan, int);
        let bits = self.f.convert("bitcast", number, int);
        let bits = self.f.binary("or", &bits, &mask);
        self.f.convert("bitcast", &bits, x.ty)
    }
}

/// Returns true if a float is certainly not NaN: a constant, a converted integer, or a difference of these.
fn is_never_nan(e: &PrimExpr) -> bool {
    match e.kind() {
        PrimKind::Broadcast(a) => is_never_nan(a),
        PrimKind::Binary(BinaryOp::Min | BinaryOp::Max, a, b) => is_never_nan(a) && is_never_nan(b),
        PrimKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => is_finite(a) && is_finite(b),
        PrimKind::Float(v) => !v.is_nan(),
        _ => is_finite(e),
    }
}

fn is_finite(e: &PrimExpr) -> bool {
    match e.kind() {
        PrimKind::Broadcast(a) => is_finite(a),
        PrimKind::Float(v) => v.is_finite(),
        PrimKind::Cast(a) => matches!(e.dtype().element(), DType::FLOAT32 | DType::FLOAT64) && !a.dtype().is_floating(),
        _ => false,
    }
}

/// Returns true if a statement can be run by [`call_watching`]: it has minima or maxima that would lose NaN, and can be
/// run again.
pub(super) fn is_watched(body: &Stmt, is_distinct: impl Fn(&Var) -> bool) -> bool {
    loses_nan(body) && may_repeat(body, is_distinct)
}

/// Returns true if a statement runs long enough that watching the flag is negligible.
pub(super) fn is_long(body: &Stmt) -> bool {
    stores(body) >= MIN_LONG_STORES
}

/// Number of stores in a statement, of any number of lanes; loops of dynamic extent count as long.
fn stores(stmt: &Stmt) -> i64 {
    let mut inside = 0i64;
    stmt.each_child(&mut |s| inside = inside.saturating_add(stores(s)));
    match &stmt.kind {
        StmtKind::For(l) => inside.saturating_mul(l.extent.as_int().unwrap_or(MIN_LONG_STORES)),
        StmtKind::Store { .. } => 1,
        _ => inside,
    }
}

fn loses_nan(body: &Stmt) -> bool {
    let loses = |e: &PrimExpr| match e.kind() {
        PrimKind::Binary(BinaryOp::Min | BinaryOp::Max, a, b) => {
            a.dtype().is_floating() && !is_never_nan(a) && !is_never_nan(b)
        }
        _ => false,
    };
    let mut found = false;
    body.walk(&mut |s| s.each_expr(&mut |e| found |= e.any(&mut |e| loses(e))));
    found
}

/// Returns true if a statement can be run again: it does not write external memory that it reads, and calls nothing.
/// `is_distinct` returns true for an external pointer that no other aliases.
fn may_repeat(body: &Stmt, is_distinct: impl Fn(&Var) -> bool) -> bool {
    let (mut own, mut written, mut read) = (FxHashSet::default(), FxHashSet::default(), FxHashSet::default());
    let mut calls = false;
    body.walk(&mut |s| {
        match &s.kind {
            StmtKind::Alloc(buffer, _) => {
                own.insert(buffer.data.clone());
            }
            StmtKind::Store { buffer, .. } => {
                written.insert(buffer.data.clone());
            }
            StmtKind::For(inner) => calls |= inner.kind == ForKind::Parallel,
            _ => {}
        }
        s.each_expr(&mut |e| {
            e.walk(&mut |e| match e.kind() {
                PrimKind::Load(buffer, ..) => {
                    read.insert(buffer.data.clone());
                }
                PrimKind::Call(call) => calls |= !is_pure(&call.callee),
                _ => {}
            });
        });
    });
    let from_outside = |data: &&Var| !own.contains(*data);
    let known = written.iter().chain(&read).filter(from_outside).all(is_distinct);
    !calls && known && !written.iter().filter(from_outside).any(|data| read.contains(data))
}

/// Returns true if a call is pure.
fn is_pure(callee: &PrimCallee) -> bool {
    matches!(callee, PrimCallee::Intrin(name) if intrinsics::effect(name) == Effect::Pure)
}

/// Ends a function with a call that watches the invalid-operation flag, and a second call if it was set.
pub(super) fn call_watching(
    kernel: &mut Kernel<'_>,
    f: &mut Function,
    [fast, careful]: [&str; 2],
    args: &[&Value],
) -> Result<()> {
    let call = |f: &mut Function, callee| f.call(&Value::global(callee), Ty::I32, args);
    let (arch, target) = kernel.arch()?;
    let mut builder = Builder { target, module: kernel.module, f };
    let [status, is_set] = arch.watch_invalid(&mut builder, &mut |b| call(b.f, fast));
    let succeeds = f.compare("icmp eq", &status, &Value::int(0, Ty::I32));
    let repeats = f.binary("and", &is_set, &succeeds);
    let (again, done) = (f.label(), f.label());
    f.branch(&repeats, again, done);
    f.start(again);
    let status_again = call(f, careful);
    f.ret(&status_again);
    f.start(done);
    f.ret(&status);
    Ok(())
}
