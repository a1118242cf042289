//! NarrowDataType: narrows index arithmetic where values provably fit.
//!
//! The variable of a loop or axis is narrowed if all integers computed from it fit, in indices and elsewhere;
//! constants and casts in indices, sizes and conditions follow. Sizes passed at run time are unbounded, so
//! expressions of them stay wide.

mod rewrite;

pub(super) use rewrite::{Narrowing, Rewriter};

use super::each_kernel;
use crate::{Context, OptionKind, Pass, PassOption};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    DType, Module, PrimExpr,
    arith::Interval,
    prim::{BinaryOp, PrimCallee, PrimKind, Var, intrinsics},
    tir::{AttrNode, Stmt, StmtKind},
};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "tirx.NarrowDataType",
    doc: "Narrows index arithmetic where values provably fit",
    options: &[PassOption {
        name: "target_bits",
        kind: OptionKind::Integer,
        default: "32",
        doc: "Width of narrow integers: 8, 16, 32 or 64",
    }],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let bits = match context.options.integer("target_bits") {
        bits @ (8 | 16 | 32 | 64) => bits as u8,
        bits => {
            let message = format!("option `target_bits` of pass `{}` cannot be {bits}", PASS.name);
            return Err(Diagnostic::error(codes::BAD_PASS_OPTIONS, message).help("integers have 8, 16, 32 or 64 bits"));
        }
    };
    each_kernel(module, |_, kernel| {
        let mut bounds = Bounds { bits, ..Bounds::default() };
        bounds.stmt(&kernel.body);
        let mut widths: FxHashMap<Var, u8> = FxHashMap::default();
        bounds.uses(&kernel.body, &mut widths);
        let narrow = widths.into_iter().filter(|(var, bits)| *bits < var.dtype().bits);
        let vars = narrow.map(|(var, bits)| (var.clone(), with_type(&var, narrower(var.dtype(), bits)))).collect();
        Rewriter::new(Narrowing::Fitting(&bounds), vars).body(&mut kernel.body);
        Ok(())
    })
}

/// Returns the integer dtype of this width.
pub(super) fn narrower(dtype: DType, bits: u8) -> DType {
    DType { bits, ..dtype }
}

/// Returns a variable of the same name.
pub(super) fn with_type(var: &Var, dtype: DType) -> Var {
    var.with_ty(dtype)
}

/// Bounds of integers.
#[derive(Default)]
pub(super) struct Bounds {
    /// Width of narrow integers.
    pub bits: u8,
    /// Variables of loops and axes, with their ranges and the widths of their extents.
    ranges: FxHashMap<Var, (Interval, u8)>,
}

impl Bounds {
    /// Records the ranges of variables.
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For(l) => self.range(&l.var, &l.min, &l.extent),
            StmtKind::Block(block) => {
                for axis in &block.axes {
                    self.range(&axis.var, &axis.dom.0, &axis.dom.1);
                }
            }
            StmtKind::Attr { node: AttrNode::Thread(axis), value, .. } => {
                self.range(&axis.var, &PrimExpr::int(0, value.dtype()), value);
            }
            _ => {}
        }
        stmt.each_child(&mut |child| self.stmt(child));
    }

    fn range(&mut self, var: &Var, min: &PrimExpr, extent: &PrimExpr) {
        let (first, count) = (self.of(min), self.of(extent));
        let last = first + count - Interval::point(1);
        self.ranges.insert(var.clone(), (Interval::new(first.min, last.max.max(first.min)), extent.dtype().bits));
    }

    /// Returns the range of an integer expression.
    fn of(&self, e: &PrimExpr) -> Interval {
        let of_dtype = Interval::of_dtype(e.dtype().element());
        let found = match e.kind() {
            PrimKind::Int(v) => return Interval::point(*v),
            PrimKind::Var(var) => return self.ranges.get(var).map_or(of_dtype, |(range, _)| *range),
            PrimKind::Binary(op, a, b) if a.dtype().is_int() => {
                let (x, y) = (self.of(a), self.of(b));
                match op {
                    BinaryOp::Add => x + y,
                    BinaryOp::Sub => x - y,
                    BinaryOp::Mul => x * y,
                    BinaryOp::FloorDiv => x.floor_div(y),
                    BinaryOp::FloorMod => x.floor_mod(y),
                    BinaryOp::Div if x.min >= 0 && y.min > 0 => x.floor_div(y),
                    BinaryOp::Mod if x.min >= 0 && y.min > 0 => x.floor_mod(y),
                    BinaryOp::Min => x.min(y),
                    BinaryOp::Max => x.max(y),
                    _ => of_dtype,
                }
            }
            PrimKind::Select(_, a, b) => self.of(a).union(self.of(b)),
            PrimKind::Cast(a) if a.dtype().is_int() => self.of(a),
            PrimKind::Cast(a) => Interval::of_dtype(a.dtype().element()),
            PrimKind::Broadcast(a) => self.of(a),
            PrimKind::Ramp(base, step) => {
                let lanes = i64::from(e.dtype().lanes) - 1;
                let first = self.of(base);
                first.union(first + self.of(step) * Interval::point(lanes))
            }
            PrimKind::Call(_) => match e.as_intrin("if_then_else").map(|call| &call.args[..]) {
                Some([_, a, b]) => self.of(a).union(self.of(b)),
                _ => of_dtype,
            },
            _ => of_dtype,
        };
        // out-of-range values have wrapped
        if found.is_within(of_dtype) { found } else { of_dtype }
    }

    /// Returns the width in which an expression is computed, in an expression of width `under`.
    pub fn width(&self, e: &PrimExpr, under: u8) -> u8 {
        let dtype = e.dtype();
        if !dtype.is_int() {
            return under;
        }
        let narrow = narrower(dtype.element(), self.bits);
        let fits = dtype.bits <= self.bits || self.of(e).is_within(Interval::of_dtype(narrow));
        under.max(if fits { self.bits } else { 64 })
    }

    /// Collects the width that each variable needs.
    fn uses(&self, stmt: &Stmt, widths: &mut FxHashMap<Var, u8>) {
        stmt.each_expr(&mut |e| self.uses_in(e, self.bits, widths));
        stmt.each_child(&mut |child| self.uses(child, widths));
    }

    fn uses_in(&self, e: &PrimExpr, under: u8, widths: &mut FxHashMap<Var, u8>) {
        let mut under = self.width(e, under);
        match e.kind() {
            PrimKind::Var(var) => {
                if let Some((_, bits)) = self.ranges.get(var) {
                    let needed = under.min(*bits);
                    widths.entry(var.clone()).and_modify(|width| *width = needed.max(*width)).or_insert(needed);
                }
            }
            PrimKind::Load(..) => under = self.bits,
            PrimKind::Call(_) if fixes_argument_types(e) => under = 64,
            _ => {}
        }
        e.each_child(&mut |child| self.uses_in(child, under, widths));
    }
}

/// Returns true if a call's callee depends on the types of its arguments.
pub(super) fn fixes_argument_types(e: &PrimExpr) -> bool {
    match e.kind() {
        PrimKind::Call(call) => match &call.callee {
            PrimCallee::Intrin(name) => {
                let forwards_argument = intrinsics::lookup(name).is_some_and(|intrinsic| intrinsic.forwards_argument);
                !forwards_argument && !e.dtype().is_float() || &**name == "reinterpret"
            }
            PrimCallee::Global(_) => true,
        },
        _ => false,
    }
}
