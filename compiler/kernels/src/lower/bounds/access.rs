//! Bounds checks of loads and stores, axis by axis.

use super::{Checker, checked, outside_of};
use hammock_ir::{
    DType, PrimExpr,
    prim::{
        BinaryOp, PrimCallee, PrimKind,
        intrinsics::{self, Effect},
    },
    tir::{Block, BlockAxis, Buffer, Stmt},
};
use hammock_loopnest::index::same_expr;

impl Checker<'_> {
    /// Checks the accesses in an expression.
    pub fn expr(&mut self, e: &PrimExpr) -> PrimExpr {
        match e.kind() {
            PrimKind::Load(buffer, indices, mask) => {
                let indices: Vec<PrimExpr> = indices.iter().map(|i| self.expr(i)).collect();
                let mask = mask.as_ref().map(|m| self.expr(m));
                let indices = self.access(buffer, indices, mask.as_ref());
                let load = PrimExpr::load_masked(buffer, indices, mask);
                if same_expr(&load, e) { e.clone() } else { load }
            }
            PrimKind::Select(c, a, b) if c.dtype().is_scalar() && accesses_memory(e) => {
                let c = self.expr(c);
                c.clone().select(self.under(&c, true, a), self.under(&c, false, b))
            }
            PrimKind::Binary(BinaryOp::And, a, b) if a.dtype().is_scalar() && accesses_memory(b) => {
                let a = self.expr(a);
                a.clone().and(self.under(&a, true, b))
            }
            PrimKind::Binary(BinaryOp::Or, a, b) if a.dtype().is_scalar() && accesses_memory(b) => {
                let a = self.expr(a);
                a.clone().or(self.under(&a, false, b))
            }
            PrimKind::Let(var, value, body) if accesses_memory(e) => {
                let value = self.expr(value);
                let outside = self.scope.clone();
                self.depths.insert(var.clone(), self.frames.len());
                self.scope.bind(var, &value);
                let body = self.expr(body);
                self.scope = outside;
                PrimExpr::bind(var.clone(), value, body)
            }
            PrimKind::Call(call) => match (&call.callee, &call.args[..]) {
                (PrimCallee::Intrin(name), [c, a, b]) if name == "if_then_else" && c.dtype().is_scalar() => {
                    let c = self.expr(c);
                    c.clone().if_then_else(self.under(&c, true, a), self.under(&c, false, b))
                }
                (PrimCallee::Intrin(name), [..]) if name == "tvm_access_ptr" => self.access_ptr(e, call),
                (PrimCallee::Intrin(name), [data, bytes]) if name == "handle_add_byte_offset" => {
                    self.byte_offset(e, data, bytes)
                }
                _ if call.runs_function() => {
                    let e = e.map_children(&mut |c| self.expr(c));
                    self.descriptions(call);
                    e
                }
                _ => e.map_children(&mut |c| self.expr(c)),
            },
            _ => e.map_children(&mut |c| self.expr(c)),
        }
    }

    /// Checks an operand that is evaluated only if a condition holds (or does not).
    fn under(&mut self, condition: &PrimExpr, holds: bool, e: &PrimExpr) -> PrimExpr {
        if !accesses_memory(e) {
            return e.clone();
        }
        let (outside, conditional) = (self.scope.clone(), std::mem::replace(&mut self.conditional, true));
        if holds {
            self.scope.assume(condition)
        } else {
            self.scope.assume_not(condition)
        }
        let e = self.expr(e);
        (self.scope, self.conditional) = (outside, conditional);
        e
    }

    /// Returns the indices of an access, with checks where they are not proved to be in bounds.
    pub fn access(&mut self, buffer: &Buffer, indices: Vec<PrimExpr>, mask: Option<&PrimExpr>) -> Vec<PrimExpr> {
        if indices.len() != buffer.ndim() {
            return indices; // flattening reports it
        }
        let mut proved = true;
        let axes = indices.into_iter().enumerate().map(|(axis, index)| {
            let extent = &buffer.shape[axis];
            if self.is_proved(&index, extent) {
                return index;
            }
            proved = false;
            if mask.is_none() && self.hoist_lanes(buffer, axis, &index) {
                return index;
            }
            self.check_in_place(buffer, axis, index, mask)
        });
        let indices = axes.collect();
        let count = if proved { &mut self.accesses.proved } else { &mut self.accesses.checked };
        *count += 1;
        indices
    }

    /// Hoists the checks of vector indices out of loops: a ramp is bounded by its first and last lane.
    fn hoist_lanes(&mut self, buffer: &Buffer, axis: usize, index: &PrimExpr) -> bool {
        match index.kind() {
            _ if index.dtype().is_scalar() => self.hoist(buffer, axis, index),
            PrimKind::Broadcast(one) => self.hoist_lanes(buffer, axis, one),
            PrimKind::Ramp(base, stride) if base.dtype().is_scalar() => {
                let reach = stride * PrimExpr::int(i64::from(index.dtype().lanes) - 1, stride.dtype());
                self.hoist(buffer, axis, base) && self.hoist(buffer, axis, &(base + reach))
            }
            _ => false,
        }
    }

    fn is_proved(&self, index: &PrimExpr, extent: &PrimExpr) -> bool {
        match index.kind() {
            PrimKind::Broadcast(one) => self.is_proved(one, extent),
            PrimKind::Ramp(base, stride) if base.dtype().is_scalar() => {
                let reach = stride * PrimExpr::int(i64::from(index.dtype().lanes) - 1, stride.dtype());
                self.scope.is_inside(base, extent) && self.scope.is_inside(&(base + reach), extent)
            }
            _ => self.scope.is_inside(index, extent),
        }
    }

    fn check_in_place(&self, buffer: &Buffer, axis: usize, index: PrimExpr, mask: Option<&PrimExpr>) -> PrimExpr {
        let extent = buffer.shape[axis].clone();
        let texts = outside_of(buffer, axis, &self.line());
        match (index.kind(), mask) {
            (PrimKind::Broadcast(one), None) if one.dtype().is_scalar() => {
                checked(one.clone(), extent, &texts, None).broadcast(index.dtype().lanes)
            }
            // Check the last lane, then the first, so that the index stays a ramp.
            (PrimKind::Ramp(base, stride), None) if base.dtype().is_scalar() => {
                let lanes = index.dtype().lanes;
                let stride = stride.clone().cast(DType::INT64);
                let reach = &stride * PrimExpr::int64(i64::from(lanes) - 1);
                let base = base.clone().cast(DType::INT64);
                let last = checked(&base + &reach, extent.clone(), &texts, None);
                PrimExpr::ramp(checked(last - reach, extent, &texts, None), stride, lanes)
            }
            _ => checked(index, extent, &texts, mask),
        }
    }

    /// Returns the check of a block axis that may be bound to values outside of its domain.
    pub fn axis_check(&self, block: &Block, axis: &BlockAxis) -> Stmt {
        let first = axis.dom.0.as_int().map_or_else(|| axis.dom.0.to_string(), |v| v.to_string());
        let texts = [
            format!("axis `{}` of block `{}` gets value ", axis.var.name(), block.name),
            format!(" from {first} on, outside of its domain of "),
            format!(" values{}", self.line()),
        ];
        // Data wrap to their own width before they are bound.
        let wide = |e: &PrimExpr| if axis.binding.is_data() { e.clone().cast(DType::INT64) } else { e.clone() };
        super::check_stmt(wide(&axis.binding) - wide(&axis.dom.0), axis.dom.1.clone(), &texts)
    }
}

/// Returns true if an expression accesses memory, or may let other code access it.
fn accesses_memory(e: &PrimExpr) -> bool {
    e.any(&mut |x| match x.kind() {
        PrimKind::Load(..) => true,
        PrimKind::Call(call) => match &call.callee {
            PrimCallee::Intrin(name) => matches!(intrinsics::effect(name), Effect::Address | Effect::Runs),
            PrimCallee::Global(_) => false,
        },
        _ => false,
    })
}
