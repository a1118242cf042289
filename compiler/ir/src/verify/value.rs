//! Verifies values of graphs: type rules and effects.

use super::graph::Graph;
use crate::{
    DType, Type,
    module::Function,
    print::type_text,
    relax::{Call, Callee, Operand, Value},
};
use hammock_diagnostics::{Span, codes};

impl Graph<'_> {
    /// The inferred type of a value; `None` if a rule is violated.
    pub fn value_type(&mut self, value: &Value, span: Span) -> Option<Type> {
        match value {
            Value::Operand(operand) => Some(self.f.operand_ty(self.module, operand)),
            Value::TupleGet(tuple, index) => self.member_type(tuple, *index, span),
            Value::Call(call) => self.call_type(call, span),
            Value::If { .. } | Value::Function(_) | Value::MatchCast(..) => None,
        }
    }

    /// Checks that an operand can decide a branch.
    pub fn condition(&mut self, cond: &Operand, span: Span) {
        let ty = self.f.operand_ty(self.module, cond);
        let fits = match &ty {
            Type::Any | Type::Error => true,
            Type::Prim(dtype) => dtype.is_bool(),
            Type::Tensor(t) => t.dtype.is_none_or(|d| d == DType::BOOL) && t.ndim().is_none_or(|n| n == 0),
            _ => false,
        };
        if !fits {
            let message = format!("a condition is a bool, not {}", type_text(&ty));
            self.error(codes::TYPE_RULE, message, span, "decided here")
                .help("compare, or reduce with `R.all` or `R.any`, to a tensor of no dimensions");
        }
    }

    fn member_type(&mut self, tuple: &Operand, index: usize, span: Span) -> Option<Type> {
        match self.f.operand_ty(self.module, tuple) {
            ty @ (Type::Any | Type::Error) => Some(ty),
            Type::Tuple(mut members) if index < members.len() => Some(members.swap_remove(index)),
            Type::Tuple(members) => {
                let message = format!("member {index} is taken of a tuple of {}", members.len());
                self.error(codes::TYPE_RULE, message, span, "taken here");
                None
            }
            other => {
                let message = format!("member {index} is taken of {}, which is not a tuple", other.kind());
                self.error(codes::TYPE_RULE, message, span, "taken here");
                None
            }
        }
    }

    fn call_type(&mut self, call: &Call, span: Span) -> Option<Type> {
        if let Callee::Global(name) = &call.callee
            && !self.function_exists(name, span)
        {
            return None;
        }
        // A kernel called like a function: its arguments would differ in a proper `R.call_tir`.
        let of_kernel = matches!(&call.callee, Callee::Global(name) if self.module.tir(name).is_some());
        let allowed = self.effects(call, span);
        if of_kernel && !allowed || !self.arguments(call, span) {
            return None;
        }
        match self.ops.infer(self.module, self.f, call) {
            Ok(ty) => Some(ty),
            Err(why) => {
                let report = self.error(codes::TYPE_RULE, why.message, span, "this call");
                if let Some(help) = why.help {
                    report.help(help);
                }
                None
            }
        }
    }

    /// Returns true if the call's effects are allowed in this position.
    fn effects(&mut self, call: &Call, span: Span) -> bool {
        if !(self.pure || self.in_dataflow) || self.is_pure(call) {
            return true;
        }
        let callee = self.callee_text(call);
        let (scope, help) = if self.in_dataflow {
            ("a dataflow block", "end the block before the call")
        } else {
            ("a pure function", "mark the function `@R.function(pure=False)`")
        };
        let instead = self.without_effects(call);
        let message = format!("{scope} calls {callee}, which has effects");
        let report = self.error(codes::IMPURE, message, span, "called here").help(help);
        if let Some(instead) = instead {
            report.help(instead);
        }
        false
    }

    /// Advice on calling the same function without effects.
    fn without_effects(&self, call: &Call) -> Option<String> {
        match &call.callee {
            Callee::Extern(symbol) => Some(format!(
                "if it has none, call it by `R.call_pure_packed(\"{symbol}\", …)` or `R.call_dps_packed(\"{symbol}\", …)`"
            )),
            Callee::Global(name) if self.module.tir(name).is_some() => Some(format!(
                "to get a new tensor from the kernel, call it by `R.call_tir(cls.{name}, (…,), out_ty=…)`"
            )),
            _ => None,
        }
    }

    fn is_pure(&self, call: &Call) -> bool {
        let of_type = |ty: &Type| matches!(ty, Type::Callable(c) if c.pure) || matches!(ty, Type::Error);
        match &call.callee {
            // An unknown operator is already reported by its type rule.
            Callee::Op(op) => self.ops.is_pure(op).unwrap_or(true),
            Callee::Extern(_) => false,
            Callee::Var(var) => of_type(self.ty(*var)),
            Callee::Global(name) => match self.module.functions.get(name) {
                Some(Function::Relax(f)) => f.lambda.pure,
                Some(Function::Extern(f)) => f.ty.as_ref().is_some_and(of_type),
                Some(Function::Tir(_)) | None => false,
            },
        }
    }

    /// Description of a callee, for messages.
    pub fn callee_text(&self, call: &Call) -> String {
        match &call.callee {
            Callee::Op(op) => format!("`R.{op}`"),
            Callee::Global(name) => format!("`{name}`"),
            Callee::Extern(symbol) => format!("`{symbol}`"),
            Callee::Var(var) => format!("`{}`", self.text(*var)),
        }
    }
}
