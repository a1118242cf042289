//! Walking and rewriting scalar expressions.

use super::{PrimExpr, PrimKind, Reduce, Var};
use rustc_hash::FxHashMap;

/// Values for variables.
pub type Substitution = FxHashMap<Var, PrimExpr>;

impl PrimExpr {
    /// Calls `f` on each direct operand, in order.
    pub fn each_child<'a>(&'a self, f: &mut dyn FnMut(&'a PrimExpr)) {
        match self.kind() {
            PrimKind::Var(_) | PrimKind::Int(_) | PrimKind::Float(_) | PrimKind::Str(_) => {}
            PrimKind::Binary(_, a, b) | PrimKind::Ramp(a, b) | PrimKind::Let(_, a, b) => {
                f(a);
                f(b);
            }
            PrimKind::Not(a) | PrimKind::Cast(a) | PrimKind::Broadcast(a) => f(a),
            PrimKind::Select(a, b, c) => {
                f(a);
                f(b);
                f(c);
            }
            PrimKind::Load(_, indices, mask) => indices.iter().chain(mask).for_each(f),
            PrimKind::Shuffle(a, b) => a.iter().chain(b).for_each(f),
            PrimKind::Call(c) => c.args.iter().for_each(f),
            PrimKind::Reduce(r) => {
                r.source.iter().chain(&r.init).for_each(&mut *f);
                f(&r.condition);
            }
        }
    }

    /// Calls `f` on the expression and everything below it, in pre-order.
    pub fn walk<'a>(&'a self, f: &mut dyn FnMut(&'a PrimExpr)) {
        f(self);
        self.each_child(&mut |c| c.walk(f));
    }

    /// Returns true if `f` holds for the expression or anything below it.
    pub fn any(&self, f: &mut dyn FnMut(&PrimExpr) -> bool) -> bool {
        if f(self) {
            return true;
        }
        let mut found = false;
        self.each_child(&mut |c| found = found || c.any(f));
        found
    }

    /// Returns true if the expression loads from memory.
    pub fn has_loads(&self) -> bool {
        self.any(&mut |e| matches!(e.kind(), PrimKind::Load(..)))
    }

    /// Rebuilds the node with `f` applied to each direct operand; the same node when none changed.
    pub fn map_children(&self, f: &mut dyn FnMut(&PrimExpr) -> PrimExpr) -> PrimExpr {
        let mut changed = false;
        let mut go = |e: &PrimExpr| {
            let new = f(e);
            changed |= !new.same_node(e);
            new
        };
        let kind = match self.kind() {
            PrimKind::Var(_) | PrimKind::Int(_) | PrimKind::Float(_) | PrimKind::Str(_) => return self.clone(),
            PrimKind::Binary(op, a, b) => PrimKind::Binary(*op, go(a), go(b)),
            PrimKind::Not(a) => PrimKind::Not(go(a)),
            PrimKind::Select(a, b, c) => PrimKind::Select(go(a), go(b), go(c)),
            PrimKind::Cast(a) => PrimKind::Cast(go(a)),
            PrimKind::Load(buffer, indices, mask) => {
                PrimKind::Load(buffer.clone(), indices.iter().map(&mut go).collect(), mask.as_ref().map(&mut go))
            }
            PrimKind::Ramp(a, b) => PrimKind::Ramp(go(a), go(b)),
            PrimKind::Broadcast(a) => PrimKind::Broadcast(go(a)),
            PrimKind::Shuffle(a, b) => {
                PrimKind::Shuffle(a.iter().map(&mut go).collect(), b.iter().map(&mut go).collect())
            }
            PrimKind::Let(v, a, b) => PrimKind::Let(v.clone(), go(a), go(b)),
            PrimKind::Call(c) => {
                let mut call = c.clone();
                call.args.iter_mut().for_each(|a| *a = go(a));
                PrimKind::Call(call)
            }
            PrimKind::Reduce(r) => PrimKind::Reduce(Box::new(Reduce {
                source: r.source.iter().map(&mut go).collect(),
                init: r.init.iter().map(&mut go).collect(),
                condition: go(&r.condition),
                ..(**r).clone()
            })),
        };
        if changed { PrimExpr::new(kind, self.ty().clone()) } else { self.clone() }
    }

    /// Replaces variables by values. Types of values must equal those of the variables.
    pub fn substitute(&self, values: &Substitution) -> PrimExpr {
        if values.is_empty() {
            return self.clone();
        }
        match self.kind() {
            PrimKind::Var(v) => values.get(v).cloned().unwrap_or_else(|| self.clone()),
            _ => self.map_children(&mut |c| c.substitute(values)),
        }
    }

    /// Calls `f` on each use of a variable, in order of appearance.
    pub fn each_var<'a>(&'a self, f: &mut dyn FnMut(&'a Var)) {
        self.walk(&mut |e| {
            if let PrimKind::Var(v) = e.kind() {
                f(v)
            }
        });
    }

    /// Returns true if the variable is used in it.
    pub fn uses(&self, var: &Var) -> bool {
        self.any(&mut |e| e.as_var() == Some(var))
    }
}
