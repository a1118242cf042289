//! Searches: blocks that keep the greatest or least value with the number of the term that it was found at.
//!
//! Such a block has two stores, each of a choice between what a term has and what was found before, on the same condition.
//! What the condition means is found by evaluating it for values and numbers in every order that two of them can have, so it
//! may be written in any way.

use super::{
    Axis, Kernel, Part, Place, Stage,
    effects::Used,
    fuse::is_as_many,
    raise::{Indices, axes, reads},
};
use crate::index::{Simplifier, same_expr};
use hammock_ir::{
    DType, PrimExpr,
    prim::{BinaryOp, PrimCallee, PrimKind, Substitution, binary},
    tir::{Buffer, Stmt, StmtKind, stage::Nest},
};

/// Plain loops around a block that searches.
pub fn stage(stmt: &Stmt) -> Option<Stage> {
    let nest = Nest::of(stmt, |e| Simplifier::default().index(e))?;
    let mut axes = axes(&nest.axes);
    let indices = Indices::new(&mut axes);
    let number = indices.simple(&[number(&axes, &variables(&axes))]).pop()?;
    let [first, second] = choices(&nest.block.body, &indices)?;
    let starts = stores(nest.block.init.as_ref()?, &indices)?;
    let (found, value) = if same_expr(without_casts(&first.new), &number) {
        (first, second)
    } else if same_expr(without_casts(&second.new), &number) {
        (second, first)
    } else {
        return None;
    };
    let start = |choice: &Choice| {
        let own = starts.iter().find(|start| start.buffer == choice.buffer)?;
        let same = own.indices.iter().zip(&choice.indices).all(|(a, b)| same_expr(a, b));
        same.then(|| own.value.clone())
    };
    let (init, found_init) = (start(&value)?, start(&found)?);
    let own = [&value.buffer, &found.buffer];
    let apart = own.iter().all(|buffer| !reads(&value.new, buffer) && !reads(&init, buffer))
        && value.buffer.data != found.buffer.data
        && same_shape(&value.buffer, &found.buffer)
        && value.indices.iter().zip(&found.indices).all(|(a, b)| same_expr(a, b))
        && same_expr(&value.condition, &found.condition)
        && !axes.iter().any(|axis| axis.reduce && value.indices.iter().any(|index| index.uses(&axis.var)))
        && holds_all(&found.buffer, &axes);
    let condition = Condition { value: &value, found: &found };
    let (op, finds_nan) = condition.meaning(&init, found_init.as_int()?).filter(|_| apart)?;
    let Choice { buffer, indices: at, new, .. } = value;
    let before = PrimExpr::load(&buffer, at.clone());
    Some(Stage {
        name: nest.block.name.to_string(),
        axes,
        value: binary(op, before, new),
        buffer,
        indices: at,
        init: Some(init),
        epilogue: None,
        place: Some(Place { buffer: found.buffer, init: found_init, finds_nan, keeps_value: true }),
        part: None,
        regions: false,
    })
}

/// The number of a term, of all along the reduce axes, in order. The axes have these values.
pub fn number(axes: &[Axis], at: &[PrimExpr]) -> PrimExpr {
    let mut reduced = axes.iter().zip(at).filter(|(axis, _)| axis.reduce);
    let first = reduced.next().map_or_else(|| PrimExpr::int64(0), |(_, at)| at.clone());
    reduced.fold(first, |number, (axis, at)| number * axis.extent.clone() + at)
}

/// Searches whose value nothing reads need not store it.
pub fn keep_what_is_read(kernel: &mut Kernel, own: &[Buffer]) {
    for at in 0..kernel.parts.len() {
        let Part::Stage(Stage { buffer, place: Some(_), .. }) = &kernel.parts[at] else { continue };
        let others = kernel.parts.iter().enumerate().filter(|(other, _)| *other != at);
        let is_read = !own.contains(buffer) || others.into_iter().any(|(_, part)| Used::by(part).has(buffer));
        if let Part::Stage(Stage { place: Some(place), .. }) = &mut kernel.parts[at] {
            place.keeps_value = is_read;
        }
    }
}

fn variables(axes: &[Axis]) -> Vec<PrimExpr> {
    axes.iter().map(|axis| axis.var.expr()).collect()
}

fn same_shape(a: &Buffer, b: &Buffer) -> bool {
    let plain = |buffer: &Buffer| buffer.strides.is_empty() && buffer.axis_separators.is_empty();
    plain(a) && plain(b) && a.ndim() == b.ndim() && a.shape.iter().zip(&b.shape).all(|(a, b)| is_as_many(a, b))
}

/// Returns true if the number of every term is one of a buffer's elements.
fn holds_all(buffer: &Buffer, axes: &[Axis]) -> bool {
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
struct Stored {
    buffer: Buffer,
    indices: Vec<PrimExpr>,
    value: PrimExpr,
}

/// Two stores, and nothing but names for values before them. No store reads what the one before it has written.
fn stores(stmt: &Stmt, indices: &Indices) -> Option<[Stored; 2]> {
    let StmtKind::Seq(stmts) = &stmt.kind else { return None };
    let (mut names, mut stored) = (Substitution::default(), Vec::new());
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Bind(var, value) if stored.is_empty() => {
                names.insert(var.clone(), value.substitute(&names));
            }
            StmtKind::Store { buffer, indices: at, value, predicate: None } => {
                if stored.iter().any(|before: &Stored| reads(value, &before.buffer)) {
                    return None;
                }
                let value = simple(&indices.value(&value.substitute(&names)), indices);
                stored.push(Stored { buffer: buffer.clone(), indices: indices.simple(at), value });
            }
            _ => return None,
        }
    }
    stored.try_into().ok()
}

/// A value in which the numbers of terms are simplified.
fn simple(e: &PrimExpr, indices: &Indices) -> PrimExpr {
    let loads = || e.any(&mut |e| matches!(e.kind(), PrimKind::Load(..) | PrimKind::Call(_)));
    if e.dtype() == DType::INT64 && !loads() {
        return indices.simple(std::slice::from_ref(e)).pop().unwrap_or_else(|| e.clone());
    }
    e.map_children(&mut |child| simple(child, indices))
}

/// A choice between what a term has and what was found before, which is stored in its place.
struct Choice {
    buffer: Buffer,
    indices: Vec<PrimExpr>,
    /// What was found before.
    old: PrimExpr,
    /// What the term has.
    new: PrimExpr,
    /// When the term is taken.
    condition: PrimExpr,
}

fn choices(body: &Stmt, indices: &Indices) -> Option<[Choice; 2]> {
    let choice = |Stored { buffer, indices, value }: Stored| {
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
        Some(Choice { buffer, indices, old, new, condition })
    };
    let [first, second] = stores(body, indices)?;
    Some([choice(first)?, choice(second)?])
}

/// When a search takes a term.
struct Condition<'a> {
    value: &'a Choice,
    found: &'a Choice,
}

/// A term and what was found before.
#[derive(Clone, Copy)]
struct Pair {
    new: (f64, i64),
    old: (f64, i64),
}

impl Condition<'_> {
    /// Returns true if it is for the greatest or the least, and whether NaN goes before all. `None` if it is anything
    /// else than the first of these values. Terms come in the order of their numbers, so the number of what was found
    /// is less than the term's, or that from which the search starts.
    fn meaning(&self, init: &PrimExpr, found_init: i64) -> Option<(BinaryOp, bool)> {
        let floats = self.value.buffer.dtype.is_floating();
        let known = !floats || init.as_float().is_some_and(|value| !value.is_nan());
        if found_init > 0 || !known || !self.value.buffer.dtype.is_scalar() {
            return None;
        }
        // A first term that is equal to what the search starts from makes no difference, but for the sign of zero.
        let has_sign = floats && init.as_float() == Some(0.0);
        let differs = |new: f64, old: f64| found_init == 0 && (has_sign || new != old);
        // What it says for two values, whatever their numbers.
        let takes = |new: f64, old: f64| {
            let takes = |(number, found): (i64, i64)| {
                self.holds(&self.value.condition, Pair { new: (new, number), old: (old, found) })
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

    /// Returns true if the condition holds for a pair; `None` if it depends on more.
    fn holds(&self, e: &PrimExpr, pair: Pair) -> Option<bool> {
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

    /// Which of the two values an expression is.
    fn value(&self, e: &PrimExpr, pair: Pair) -> Option<f64> {
        match e {
            _ if same_expr(e, &self.value.old) => Some(pair.old.0),
            _ if same_expr(e, &self.value.new) => Some(pair.new.0),
            _ => None,
        }
    }

    /// Which of the two numbers.
    fn number(&self, e: &PrimExpr, pair: Pair) -> Option<i64> {
        match e {
            _ if same_expr(e, &self.found.old) => Some(pair.old.1),
            _ if same_expr(without_casts(e), without_casts(&self.found.new)) => Some(pair.new.1),
            _ => None,
        }
    }
}
