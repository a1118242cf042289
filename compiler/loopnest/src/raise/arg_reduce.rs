//! Arg-reductions: blocks that find the minimum or maximum together with its index.
//!
//! Such a block has two stores, each of a select between the new element and the previous result, on the same
//! condition. The meaning of the condition is found by evaluating it for values and indices in every relative order, so
//! it may be written in any form.

use super::{BlockNest, Indices, reads};
use crate::{
    ArgResult, Axis, Stage,
    index::{is_same_extent, same_expr},
    linear_position,
};
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, PrimCallee, PrimKind, Substitution, binary},
    tir::{Buffer, Stmt, StmtKind},
};

/// Raises plain loops around an arg-reduction block.
pub fn stage(stmt: &Stmt) -> Option<Stage> {
    let BlockNest { block, mut axes, .. } = BlockNest::of(stmt).filter(BlockNest::is_rectangular)?;
    let indices = Indices::new(&mut axes);
    let number = indices.simple(&[linear_position(&axes, &variables(&axes))]).pop()?;
    let [first, second] = updates(&block.body, &indices)?;
    let starts = stores(block.init.as_ref()?, &indices)?;
    let (found, value) = if same_expr(without_casts(&first.new), &number) {
        (first, second)
    } else if same_expr(without_casts(&second.new), &number) {
        (second, first)
    } else {
        return None;
    };
    let start = |update: &Update| {
        let own = starts.iter().find(|start| start.buffer == update.buffer)?;
        let same = own.indices.iter().zip(&update.indices).all(|(a, b)| same_expr(a, b));
        same.then(|| own.value.clone())
    };
    let (init, found_init) = (start(&value)?, start(&found)?);
    let own = [&value.buffer, &found.buffer];
    let is_valid = own.iter().all(|buffer| !reads(&value.new, buffer) && !reads(&init, buffer))
        && value.buffer.data != found.buffer.data
        && same_shape(&value.buffer, &found.buffer)
        && value.indices.iter().zip(&found.indices).all(|(a, b)| same_expr(a, b))
        && same_expr(&value.condition, &found.condition)
        && !axes.iter().any(|axis| axis.reduce && value.indices.iter().any(|index| index.uses(&axis.var)))
        && can_represent_all(&found.buffer, &axes);
    let condition = Condition { value: &value, found: &found };
    let (op, selects_nan) = condition.meaning(&init, found_init.as_int()?).filter(|_| is_valid)?;
    let Update { buffer, indices: at, new, .. } = value;
    let before = PrimExpr::load(&buffer, at.clone());
    let arg_result = ArgResult { buffer: found.buffer, init: found_init, selects_nan, stores_value: true };
    let stage = Stage::new(block.name.to_string(), axes, buffer, at, binary(op, before, new));
    Some(stage.with_init(Some(init)).with_arg_result(arg_result))
}

fn variables(axes: &[Axis]) -> Vec<PrimExpr> {
    axes.iter().map(|axis| axis.var.expr()).collect()
}

fn same_shape(a: &Buffer, b: &Buffer) -> bool {
    let plain = |buffer: &Buffer| buffer.strides.is_empty() && buffer.axis_separators.is_empty();
    plain(a) && plain(b) && a.ndim() == b.ndim() && a.shape.iter().zip(&b.shape).all(|(a, b)| is_same_extent(a, b))
}

/// Returns true if a buffer's dtype can represent every linear position.
fn can_represent_all(buffer: &Buffer, axes: &[Axis]) -> bool {
    let reduced = axes.iter().filter(|axis| axis.reduce);
    let count = reduced.into_iter().try_fold(1i64, |count, axis| count.checked_mul(axis.extent.as_int()?));
    let wide = buffer.dtype.bits == 64 || count.is_some_and(|count| count <= 1 << (buffer.dtype.bits - 1));
    buffer.dtype.is_scalar() && buffer.dtype.is_integer() && wide
}

fn without_casts(e: &PrimExpr) -> &PrimExpr {
    match e.kind() {
        PrimKind::Cast(inner) if inner.dtype().is_integer() => without_casts(inner),
        _ => e,
    }
}

/// A store.
struct Store {
    buffer: Buffer,
    indices: Vec<PrimExpr>,
    value: PrimExpr,
}

/// Returns the two stores of a body that otherwise only binds variables. No store reads what an earlier one has
/// written.
fn stores(stmt: &Stmt, indices: &Indices) -> Option<[Store; 2]> {
    let StmtKind::Seq(stmts) = &stmt.kind else { return None };
    let (mut names, mut stored) = (Substitution::default(), Vec::new());
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Bind(var, value) if stored.is_empty() => {
                names.insert(var.clone(), value.substitute(&names));
            }
            StmtKind::Store { buffer, indices: at, value, predicate: None } => {
                if stored.iter().any(|before: &Store| reads(value, &before.buffer)) {
                    return None;
                }
                let value = simple(&indices.value(&value.substitute(&names)), indices);
                stored.push(Store { buffer: buffer.clone(), indices: indices.simple(at), value });
            }
            _ => return None,
        }
    }
    stored.try_into().ok()
}

/// Simplifies the linear positions in a value.
fn simple(e: &PrimExpr, indices: &Indices) -> PrimExpr {
    let loads = || e.any(&mut |e| matches!(e.kind(), PrimKind::Load(..) | PrimKind::Call(_)));
    if e.dtype() == DType::INT64 && !loads() {
        return indices.simple(std::slice::from_ref(e)).pop().unwrap_or_else(|| e.clone());
    }
    e.map_children(&mut |child| simple(child, indices))
}

/// An update of a result: a select between a new element and the previous result.
struct Update {
    buffer: Buffer,
    indices: Vec<PrimExpr>,
    /// Previous result.
    old: PrimExpr,
    /// New value.
    new: PrimExpr,
    /// Condition that selects the new value.
    condition: PrimExpr,
}

fn updates(body: &Stmt, indices: &Indices) -> Option<[Update; 2]> {
    let update = |Store { buffer, indices, value }: Store| {
        let old = PrimExpr::load(&buffer, indices.clone());
        let (condition, a, b) = match value.kind() {
            PrimKind::Select(condition, a, b) => (condition, a, b),
            _ => match value.as_intrin("if_then_else")?.args.as_slice() {
                [condition, a, b] => (condition, a, b),
                _ => return None,
            },
        };
        let (condition, new) = match (same_expr(a, &old), same_expr(b, &old)) {
            (false, true) => (condition.clone(), a.clone()),
            (true, false) => (condition.clone().not(), b.clone()),
            _ => return None,
        };
        Some(Update { buffer, indices, old, new, condition })
    };
    let [first, second] = stores(body, indices)?;
    Some([update(first)?, update(second)?])
}

/// Condition of an arg-reduction.
struct Condition<'a> {
    value: &'a Update,
    found: &'a Update,
}

/// Value and index of a new element, and of the previous result.
#[derive(Clone, Copy)]
struct Elements {
    new: (f64, i64),
    old: (f64, i64),
}

impl Condition<'_> {
    /// Returns whether the condition selects a maximum or minimum, and true if NaN goes before all other values. `None`
    /// unless it selects the first of such elements. Elements come in the order of their positions, so the previous
    /// index is lower than the new one, or it is the initial index.
    fn meaning(&self, init: &PrimExpr, found_init: i64) -> Option<(BinaryOp, bool)> {
        let floats = self.value.buffer.dtype.is_floating();
        let known = !floats || init.as_float().is_some_and(|value| !value.is_nan());
        if found_init > 0 || !known || !self.value.buffer.dtype.is_scalar() {
            return None;
        }
        // Whether a first element equal to the initial value is selected makes no difference, except for signed zero.
        let has_sign = floats && init.as_float() == Some(0.0);
        let differs = |new: f64, old: f64| found_init == 0 && (has_sign || new != old);
        // Evaluates it for two values, whatever their indices.
        let takes = |new: f64, old: f64| {
            let takes = |(number, found): (i64, i64)| {
                self.holds(&self.value.condition, Elements { new: (new, number), old: (old, found) })
            };
            let later = takes((1, 0))?;
            (!differs(new, old) || takes((0, 0))? == later).then_some(later)
        };
        let op = match (takes(1.0, 0.0)?, takes(0.0, 1.0)?, takes(0.0, 0.0)?) {
            (true, false, false) => BinaryOp::Max,
            (false, true, false) => BinaryOp::Min,
            _ => return None,
        };
        if !floats || !takes(f64::NAN, 0.0)? {
            return Some((op, false));
        }
        let keeps = !takes(0.0, f64::NAN)? && !takes(f64::NAN, f64::NAN)?;
        keeps.then_some((op, true))
    }

    /// Evaluates the condition for a pair; `None` if it depends on anything else.
    fn holds(&self, e: &PrimExpr, pair: Elements) -> Option<bool> {
        use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
        let holds = |e: &PrimExpr| self.holds(e, pair);
        match e.kind() {
            PrimKind::Int(value) => Some(*value != 0),
            PrimKind::Not(a) => Some(!holds(a)?),
            PrimKind::Binary(And, a, b) => Some(holds(a)? & holds(b)?),
            PrimKind::Binary(Or, a, b) => Some(holds(a)? | holds(b)?),
            PrimKind::Binary(op @ (Lt | Le | Gt | Ge | Eq | Ne), a, b) => {
                let (a, b) = self.value(a, pair).zip(self.value(b, pair)).or_else(|| {
                    let (a, b) = self.number(a, pair).zip(self.number(b, pair))?;
                    Some((a as f64, b as f64))
                })?;
                Some(match op {
                    Lt => a < b,
                    Le => a <= b,
                    Gt => a > b,
                    Ge => a >= b,
                    Eq => a == b,
                    _ => a != b,
                })
            }
            PrimKind::Call(call) => match (&call.callee, call.args.as_slice()) {
                (PrimCallee::Intrin(name), [a]) if name.as_str() == "isnan" => Some(self.value(a, pair)?.is_nan()),
                (PrimCallee::Intrin(name), [c, a, b]) if name.as_str() == "if_then_else" => {
                    let (a, b) = (holds(a)?, holds(b)?);
                    Some(if holds(c)? { a } else { b })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Evaluates an expression that is one of the two values.
    fn value(&self, e: &PrimExpr, pair: Elements) -> Option<f64> {
        match e {
            _ if same_expr(e, &self.value.old) => Some(pair.old.0),
            _ if same_expr(e, &self.value.new) => Some(pair.new.0),
            _ => None,
        }
    }

    /// Evaluates an expression that is one of the two indices.
    fn number(&self, e: &PrimExpr, pair: Elements) -> Option<i64> {
        match e {
            _ if same_expr(e, &self.found.old) => Some(pair.old.1),
            _ if same_expr(without_casts(e), without_casts(&self.found.new)) => Some(pair.new.1),
            _ => None,
        }
    }
}
