//! `T.init`: initial values of blocks, and proofs that they are written before the body runs.

use super::{InitializationWalk, is_stable};
use crate::{
    PrimExpr,
    prim::{BinaryOp, IterKind, PrimKind, Substitution, Var},
    tir::{Block, BlockAxis, Stmt},
};

impl<'a> InitializationWalk<'a, '_> {
    /// Walks a block's `init`, which runs in the first iteration of its reduction axes.
    pub(super) fn init(&mut self, block: &'a Block, init: &'a Stmt) {
        let before = self.written.clone();
        let reduced: Option<Vec<Var>> = self.reduction_loops(block);
        self.stmt(init);
        let new = self.new_areas(&before);
        let Some(reduced) = reduced.filter(|loops| self.starts(block, loops)) else { return };
        for (memory, mut area) in new {
            let mut moves = false;
            area.each_bound(&mut |e| moves |= reduced.iter().any(|var| e.uses(var)));
            if !moves {
                area.bypassed.extend(reduced.iter().cloned());
                self.add(memory, area, false);
            }
        }
    }

    /// The loops that the reduction axes of a block iterate over; `None` if unknown.
    fn reduction_loops(&self, block: &Block) -> Option<Vec<Var>> {
        let mut vars = Vec::new();
        for axis in block.axes.iter().filter(|a| a.kind == IterKind::Reduce && a.dom.1.as_int() != Some(1)) {
            self.value(&axis.binding).each_var(&mut |v| vars.push(v.clone()));
        }
        let stable = block.axes.iter().all(|axis| is_stable(&self.value(&axis.binding)));
        vars.retain(|v| !self.is_param(v));
        (stable && vars.iter().all(|v| self.is_loop(v))).then_some(vars)
    }

    fn is_loop(&self, var: &Var) -> bool {
        self.loops.iter().any(|l| l.var == *var)
    }

    /// Returns true if a variable of the scope is a scalar parameter.
    fn is_param(&self, var: &Var) -> bool {
        let mut given = true;
        self.scope.original(&var.expr()).each_var(&mut |v| given &= self.params.contains(v));
        given
    }

    /// Returns true if the first iteration of the reduction axes precedes all others, for all values of the other axes.
    fn starts(&self, block: &Block, reduced: &[Var]) -> bool {
        let Some(first) = self.loops.iter().position(|l| reduced.contains(&l.var)) else { return true };
        let inner = &self.loops[first..];
        let is_reduced = |e: &PrimExpr| reduced.iter().any(|v| e.uses(v));
        if inner.iter().any(|l| l.jumps || is_reduced(&l.min) || is_reduced(&l.extent)) {
            return false;
        }
        let starts = inner.iter().filter(|l| reduced.contains(&l.var)).map(|l| (l.var.clone(), l.min.clone()));
        let starts: Substitution = starts.collect();
        let analyzer = self.scope.analyzer();
        let axis_starts = |axis: &BlockAxis| {
            let binding = self.value(&axis.binding);
            match axis.kind {
                IterKind::Reduce => {
                    axis.dom.1.as_int() == Some(1)
                        || analyzer.prove_eq(&binding.substitute(&starts), &self.value(&axis.dom.0))
                }
                _ => !is_reduced(&binding),
            }
        };
        let condition_starts = |(condition, depth): &(Option<PrimExpr>, usize)| {
            *depth <= first || condition.as_ref().is_some_and(|c| self.holds_first(c, &starts))
        };
        block.axes.iter().all(axis_starts) && self.conditions.iter().all(condition_starts)
    }

    /// Returns true if a condition that holds in an iteration also holds in the first one of the reduction loops.
    fn holds_first(&self, condition: &PrimExpr, starts: &Substitution) -> bool {
        let moves = |e: &PrimExpr| starts.keys().any(|v| e.uses(v));
        let mut is_fixed = self.reads_inputs_only(condition);
        condition.each_var(&mut |v| {
            let value = self.value(&v.expr());
            is_fixed &= !moves(&value);
            value.each_var(&mut |v| is_fixed &= self.is_loop(v) || self.is_param(v));
        });
        if is_fixed {
            return true;
        }
        match condition.kind() {
            PrimKind::Binary(BinaryOp::And, a, b) => self.holds_first(a, starts) && self.holds_first(b, starts),
            PrimKind::Binary(op, a, b) if op.is_comparison() => {
                let (a, b) = (self.value(a), self.value(b));
                let (smaller, larger) = match op {
                    _ if !is_stable(&a) || !is_stable(&b) => return false,
                    BinaryOp::Lt | BinaryOp::Le => (a, b),
                    BinaryOp::Gt | BinaryOp::Ge => (b, a),
                    _ => return false,
                };
                let analyzer = self.scope.analyzer();
                analyzer.prove_le(&smaller.substitute(starts), &smaller)
                    && analyzer.prove_le(&larger, &larger.substitute(starts))
            }
            PrimKind::Call(call) if condition.as_intrin("likely").is_some() => self.holds_first(&call.args[0], starts),
            _ => false,
        }
    }
}
