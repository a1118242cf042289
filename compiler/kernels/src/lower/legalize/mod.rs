//! Legalization: replaces operations that the target lacks.
//!
//! In: flat code with any intrinsic and any float dtype. Out: arithmetic on bools, integers, float32 and float64 with
//! the intrinsics that `math` leaves, and on request loads, stores and conversions of float16. Narrow floats compute in
//! float32 from load to store, and are rounded only when a value is stored or explicitly cast.

mod integer;
mod narrow_floats;
mod power;
mod softplus;

use crate::{
    error::Reason,
    math::{self, Machine},
};
use hammock_ir::{
    DType, PrimExpr,
    prim::{
        BinaryOp, PrimCall, PrimCallee, PrimKind, Var, binary,
        flat::{LOAD_PACKED, PREFETCH},
    },
    tir::{Buffer, Param, Stmt, StmtKind},
};
use hammock_loopnest::{dots, index::Simplifier};
use hammock_target::{Gpu, Target};
use rustc_hash::FxHashMap;
use std::slice;

/// Legalizes a body and its parameters. `sizes` are non-negative variables.
///
/// # Errors
/// When a dtype has no representation.
pub fn legalize(body: Stmt, params: &mut [Param], sizes: &[Var], features: Features) -> Result<Stmt, Reason> {
    let mut simplifier = Simplifier::default();
    sizes.iter().for_each(|v| simplifier.at_least(v, 0));
    let mut legalizer = Legalizer {
        machine: features.machine,
        float16: features.float16,
        simplifier,
        vars: FxHashMap::default(),
        buffers: FxHashMap::default(),
        failed: None,
    };
    for param in params {
        param.var = legalizer.carry(&param.var);
    }
    let body = legalizer.stmt(body);
    legalizer.failed.map_or(Ok(body), Err)
}

/// What a machine computes itself.
#[derive(Clone, Copy)]
pub struct Features {
    machine: Machine,
    /// True if it converts float16 from and to float32.
    float16: bool,
}

impl Features {
    /// Returns the features of a CPU, or of a GPU whose host it is.
    pub fn of(target: &Target, gpu: Option<&Gpu>) -> Features {
        match gpu {
            Some(_) => Features { machine: Machine { fma: true, rounds: true, scales: false }, float16: true },
            None => Features {
                machine: Machine { fma: target.fma, rounds: target.rounds, scales: target.masks },
                float16: target.float16,
            },
        }
    }
}

struct Legalizer {
    machine: Machine,
    float16: bool,
    simplifier: Simplifier,
    /// Variables of narrow floats, and the float32 variables that replace them.
    vars: FxHashMap<Var, Var>,
    /// Buffers of narrow floats, and the buffers of their bits.
    buffers: FxHashMap<Buffer, Buffer>,
    failed: Option<Reason>,
}

impl Legalizer {
    fn stmt(&mut self, stmt: Stmt) -> Stmt {
        let span = stmt.span;
        let kind = match stmt.kind {
            StmtKind::Seq(stmts) => StmtKind::Seq(stmts.into_iter().map(|s| self.stmt(s)).collect()),
            StmtKind::For(mut l) => {
                self.simplifier.learn(&l.var, &l.min, &l.extent);
                l.min = self.expr(&l.min);
                l.extent = self.expr(&l.extent);
                l.step = l.step.map(|s| self.expr(&s));
                l.body = self.stmt(l.body);
                StmtKind::For(l)
            }
            StmtKind::While(e, body) => StmtKind::While(self.expr(&e), Box::new(self.stmt(*body))),
            StmtKind::If(e, then, otherwise) => {
                let otherwise = otherwise.map(|s| Box::new(self.stmt(*s)));
                StmtKind::If(self.expr(&e), Box::new(self.stmt(*then)), otherwise)
            }
            StmtKind::Store { buffer, indices, value, predicate } => StmtKind::Store {
                indices: indices.iter().map(|i| self.expr(i)).collect(),
                value: self.stored(&value, buffer.dtype),
                predicate: predicate.map(|p| self.expr(&p)),
                buffer: self.buffer(&buffer),
            },
            StmtKind::Evaluate(e) => StmtKind::Evaluate(self.expr(&e)),
            StmtKind::Bind(var, value) => StmtKind::Bind(self.carry(&var), self.expr(&value)),
            StmtKind::Alloc(buffer, attrs) => StmtKind::Alloc(self.buffer(&buffer), attrs),
            StmtKind::Decl(buffer) => StmtKind::Decl(self.buffer(&buffer)),
            StmtKind::Assert(e, kind, message) => StmtKind::Assert(self.expr(&e), kind, message),
            StmtKind::Return(e) => StmtKind::Return(self.expr(&e)),
            StmtKind::Attr { node, key, value, body } => {
                StmtKind::Attr { node, key, value: self.expr(&value), body: Box::new(self.stmt(*body)) }
            }
            kind @ (StmtKind::Block(_) | StmtKind::Break | StmtKind::Continue) => kind,
        };
        Stmt { kind, span }
    }

    /// Legalizes an expression, in the dtype it is computed in.
    fn expr(&mut self, e: &PrimExpr) -> PrimExpr {
        let dtype = narrow_floats::carrier(e.dtype());
        match e.kind() {
            PrimKind::Var(v) => self.vars.get(v).map_or_else(|| e.clone(), Var::expr),
            PrimKind::Float(v) => PrimExpr::float(hammock_interp::round_to(*v, e.dtype()), dtype),
            PrimKind::Load(buffer, indices, mask) => {
                let indices = indices.iter().map(|i| self.expr(i)).collect();
                let mask = mask.as_ref().map(|m| self.expr(m));
                let bits = PrimExpr::load_masked(&self.buffer(buffer), indices, mask);
                self.loaded(bits, buffer.dtype)
            }
            PrimKind::Cast(value) => self.cast(value, e.dtype()),
            PrimKind::Let(var, value, body) => {
                let value = self.expr(value);
                PrimExpr::bind(self.carry(var), value, self.expr(body))
            }
            PrimKind::Binary(op, a, b) => self.binary(*op, a, b),
            PrimKind::Call(call) => self.call(call, e, dtype),
            _ if dtype != e.dtype() => {
                let mapped = e.map_children(&mut |c| self.expr(c));
                PrimExpr::new(mapped.kind().clone(), dtype)
            }
            _ => e.map_children(&mut |c| self.expr(c)),
        }
    }

    fn cast(&mut self, value: &PrimExpr, to: DType) -> PrimExpr {
        let carried = self.expr(value);
        if narrow_floats::is_narrow(to) {
            let single = narrow_floats::single(carried, to);
            return self.rounded(single, to);
        }
        if to.is_bool() && !value.dtype().is_bool() {
            let zero = PrimExpr::constant(0.0, carried.dtype().element()).broadcast(to.lanes);
            return carried.ne(zero);
        }
        carried.cast(to)
    }

    fn binary(&mut self, op: BinaryOp, a: &PrimExpr, b: &PrimExpr) -> PrimExpr {
        if let Some(x) = softplus::one_plus_tanh(op, a, b) {
            let x = self.expr(x);
            return self.math(math::ONE_PLUS_TANH, &[x]);
        }
        let (x, y) = (self.expr(a), self.expr(b));
        let floating = x.dtype().is_floating();
        match op {
            BinaryOp::FloorDiv if floating => self.rounding("floor", x / y),
            BinaryOp::FloorMod if floating => {
                let quotient = self.rounding("floor", &x / &y);
                x - quotient * y
            }
            BinaryOp::Mod if floating => self.math("fmod", &[x, y]),
            BinaryOp::Div | BinaryOp::Mod | BinaryOp::FloorDiv | BinaryOp::FloorMod if !floating => {
                let (not_negative, safe) = (self.not_negative(a) && self.not_negative(b), integer::is_safe(b));
                integer::divide(op, x, y, not_negative, safe)
            }
            _ => binary(op, x, y),
        }
    }

    fn not_negative(&self, e: &PrimExpr) -> bool {
        e.dtype().is_uint() || e.dtype().is_scalar() && e.dtype().is_int() && self.simplifier.is_not_negative(e)
    }

    fn call(&mut self, call: &PrimCall, e: &PrimExpr, dtype: DType) -> PrimExpr {
        let PrimCallee::Intrin(name) = &call.callee else { return e.map_children(&mut |c| self.expr(c)) };
        let from = call.args.first().map_or(dtype, PrimExpr::dtype);
        if name == "reinterpret" && (narrow_floats::is_narrow(from) || narrow_floats::is_narrow(e.dtype())) {
            return self.reinterpret(&call.args[0], e.dtype());
        }
        if name == "address_of" {
            return PrimExpr::call(
                call.callee.clone(),
                vec![self.element(&call.args[0])],
                call.attrs.clone(),
                e.ty().clone(),
            );
        }
        if name.starts_with("ptx_") {
            // It names the dtype of what it moves or computes.
            let args = call.args.iter().map(|arg| self.expr(arg)).collect();
            return PrimExpr::call(call.callee.clone(), args, call.attrs.clone(), e.ty().clone());
        }
        if name == PREFETCH
            && let [element, hints @ ..] = &call.args[..]
        {
            let args = [self.element(element)].into_iter().chain(hints.iter().cloned()).collect();
            return PrimExpr::call(call.callee.clone(), args, call.attrs.clone(), e.ty().clone());
        }
        if name == LOAD_PACKED {
            return self.load_packed(&call.args[0]);
        }
        let args: Vec<PrimExpr> = call.args.iter().map(|a| self.expr(a)).collect();
        match (name.as_str(), args.as_slice()) {
            ("likely", [value]) => value.clone(),
            ("assume" | "undef", _) => PrimExpr::int32(0),
            ("pow", [x, y]) => power::pow(x, y).unwrap_or_else(|| self.math("pow", &args)),
            ("fma", [a, b, c]) if !self.machine.fma || !dtype.is_floating() => a * b + c,
            ("q_multiply_shift", [x, y, q, s]) => integer::multiply_shift(x, y, q, s),
            ("log1p", [x]) if softplus::is_fraction(&call.args[0]) => {
                self.math(math::LOG1P_OF_FRACTION, slice::from_ref(x))
            }
            ("tanh", [_]) if let Some(z) = softplus::softplus(&call.args[0]) => {
                let z = self.expr(z);
                self.math(math::TANH_OF_SOFTPLUS, &[z])
            }
            (unary, [x]) if !x.dtype().is_floating() => {
                integer::unary(unary, x).unwrap_or_else(|| self.plain(call, args, dtype))
            }
            ("abs", [x]) => x.clone().unary("fabs"),
            (_, args) if dtype.is_floating() || from.is_floating() => {
                let expanded = math::expand(name, args, self.machine);
                expanded.unwrap_or_else(|| self.plain(call, args.to_vec(), dtype))
            }
            _ => self.plain(call, args, dtype),
        }
    }

    /// Legalizes an element whose address is taken, which is not loaded.
    fn element(&mut self, element: &PrimExpr) -> PrimExpr {
        let PrimKind::Load(buffer, indices, _) = element.kind() else { return self.expr(element) };
        let indices = indices.iter().map(|i| self.expr(i)).collect();
        PrimExpr::load(&self.buffer(buffer), indices)
    }

    /// Legalizes the load of a packed group, whose bits are those in memory.
    fn load_packed(&mut self, element: &PrimExpr) -> PrimExpr {
        let PrimKind::Load(buffer, indices, _) = element.kind() else { return dots::load_packed(&self.expr(element)) };
        let indices = indices.iter().map(|i| self.expr(i)).collect();
        dots::load_packed(&PrimExpr::load(&self.buffer(buffer), indices))
    }

    fn plain(&self, call: &PrimCall, args: Vec<PrimExpr>, dtype: DType) -> PrimExpr {
        PrimExpr::call(call.callee.clone(), args, call.attrs.clone(), dtype)
    }

    fn math(&self, name: &'static str, args: &[PrimExpr]) -> PrimExpr {
        let dtype = args[0].dtype();
        math::expand(name, args, self.machine).unwrap_or_else(|| PrimExpr::intrin(name, args.to_vec(), dtype))
    }

    fn rounding(&self, name: &'static str, x: PrimExpr) -> PrimExpr {
        if self.machine.rounds { x.unary(name) } else { self.math(name, &[x]) }
    }
}
