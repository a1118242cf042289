//! Verifies scalar expressions of kernels.

use super::kernel::Kernel;
use crate::{
    DType, PrimExpr,
    prim::{BinaryOp, PrimCallee, PrimKind},
};
use hammock_diagnostics::codes;

impl Kernel<'_> {
    /// Checks an expression.
    pub fn expr(&mut self, e: &PrimExpr) {
        match e.kind() {
            PrimKind::Var(v) if !self.vars.sees(v) => {
                let message = format!("nothing defines `{}` here", v.name());
                self.error(codes::OUT_OF_SCOPE, message);
                self.vars.ensure(v);
            }
            PrimKind::Binary(op, a, b) => self.binary(*op, a, b),
            PrimKind::Not(a) => self.condition(a),
            PrimKind::Select(c, a, b) => self.choice(c, a, b),
            PrimKind::Load(buffer, indices, mask) => {
                self.indices(buffer, indices);
                self.declared_read(buffer);
                mask.iter().for_each(|m| self.condition(m));
            }
            PrimKind::Let(var, value, body) => {
                self.expr(value);
                self.same_dtype(var.dtype(), value.dtype(), || format!("the value of `{}`", var.name()));
                self.vars.enter();
                // A text may rebind a variable that already exists.
                self.vars.ensure(var);
                self.expr(body);
                self.vars.leave();
            }
            PrimKind::Call(call) => {
                match &call.callee {
                    PrimCallee::Global(name) => self.kernel_call(name, call),
                    PrimCallee::Intrin(name) if matches!(&**name, "call_extern" | "call_pure_extern") => {
                        self.extern_call(e, call);
                    }
                    PrimCallee::Intrin(name) if name == "reinterpret" => {
                        call.args.iter().for_each(|value| self.no_address(e, value));
                    }
                    PrimCallee::Intrin(_) => self.intrinsic(call),
                }
                match &call.args[..] {
                    [c, a, b] if e.as_intrin("if_then_else").is_some() => self.choice(c, a, b),
                    args => args.iter().for_each(|a| self.expr(a)),
                }
            }
            PrimKind::Cast(value) => {
                self.no_address(e, value);
                self.expr(value);
            }
            PrimKind::Reduce(reduce) => {
                self.vars.enter();
                reduce.axes.iter().for_each(|axis| self.vars.ensure(&axis.var));
                reduce.source.iter().chain(&reduce.init).for_each(|s| self.expr(s));
                self.condition(&reduce.condition);
                self.vars.leave();
            }
            _ => e.each_child(&mut |c| self.expr(c)),
        }
    }

    /// Checks that no number is converted to an address.
    fn no_address(&mut self, e: &PrimExpr, value: &PrimExpr) {
        if e.dtype().is_handle() && !value.dtype().is_handle() {
            let message =
                format!("an address cannot be made of {}: nothing is known of the memory there", value.dtype());
            self.error(codes::KERNEL_TYPES, message)
                .help("addresses come from buffers: `A.data`, `T.address_of(A[i])`");
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &PrimExpr, b: &PrimExpr) {
        self.expr(a);
        self.expr(b);
        // Pointers may be compared with any kind of address.
        let pointers = a.dtype().is_handle() || b.dtype().is_handle();
        if a.dtype() != b.dtype() && !pointers {
            let message = format!("`{a}` is {}, but `{b}` is {}, in one operation", a.dtype(), b.dtype());
            self.error(codes::KERNEL_TYPES, message).help("convert one of them: `T.Cast(\"…\", …)`");
        } else if matches!(op, BinaryOp::And | BinaryOp::Or) && a.dtype().element() != DType::BOOL {
            let message = format!("`{a}` is {}, which is not a bool", a.dtype());
            self.error(codes::KERNEL_TYPES, message).help("compare it with something");
        }
    }

    fn choice(&mut self, condition: &PrimExpr, a: &PrimExpr, b: &PrimExpr) {
        self.condition(condition);
        self.expr(a);
        self.expr(b);
        if a.dtype() != b.dtype() {
            let message = format!("a choice is between {} and {}", a.dtype(), b.dtype());
            self.error(codes::KERNEL_TYPES, message).help("convert one of them: `T.Cast(\"…\", …)`");
        }
    }
}
