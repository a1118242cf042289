//! Prints the values of bindings.

use super::printer::Printer;
use crate::{
    AttrValue, Name, Type,
    relax::{Call, CallTir, Callee, Operand, Value},
};

impl Printer<'_> {
    /// Appends the right side of a binding; those with bodies are printed by their binding.
    pub fn value(&mut self, value: &Value) {
        match value {
            // Tuples of two and more are printed without parentheses after `=`.
            Value::Operand(Operand::Tuple(members)) if members.len() > 1 => self.list(members, |p, m| p.operand(m)),
            Value::Operand(operand) => self.operand(operand),
            Value::TupleGet(tuple, index) => {
                self.operand(tuple);
                self.show(format_args!("[{index}]"));
            }
            Value::MatchCast(operand, ty) => {
                self.relax("match_cast(");
                self.operand(operand);
                self.push(", ");
                self.ty(ty);
                self.push(")");
            }
            Value::Call(call) => self.relax_call(call),
            Value::If { .. } | Value::Function(_) => {}
        }
    }

    /// Appends a call.
    pub fn relax_call(&mut self, call: &Call) {
        match &call.callee {
            Callee::Op(op) => {
                let distributed = *op == "call_tir" && call.ty_args.iter().any(is_distributed);
                self.relax(if distributed { "dist.call_tir" } else { op });
                self.push("(");
                self.op_arguments(op, call);
            }
            Callee::Extern(symbol) => {
                self.relax("call_packed(");
                self.quote(symbol);
                self.arguments(&call.args);
                self.attr_keywords(call.attrs.iter());
                self.ty_args(call);
            }
            Callee::Global(name) => {
                self.global(name);
                self.push("(");
                self.arguments(&call.args);
                self.ty_args(call);
            }
            Callee::Var(var) => {
                self.relax_var(*var);
                self.push("(");
                self.arguments(&call.args);
                self.ty_args(call);
            }
        }
        self.push(")");
    }

    /// Appends the arguments of an operator, in TVM's order.
    fn op_arguments(&mut self, op: &str, call: &Call) {
        match op {
            _ if CallTir::OPS.contains(&op) => {
                self.arguments(&call.args);
                self.out_ty(call.ty_args.first());
                self.attr_keywords(call.attrs.iter().filter(|(_, v)| !is_empty_dict(v)));
            }
            "print" => self.formatted(&call.args, 0),
            "assert_op" => self.formatted(&call.args, 1),
            "hint_on_device" => self.hint_on_device(call),
            "to_vdevice" => {
                self.arguments(&call.args);
                for (name, value) in call.attrs.iter() {
                    self.comma();
                    self.push(name);
                    self.push("=");
                    match value {
                        AttrValue::VDevice(device) => self.vdevice_name(device),
                        other => self.attr(other),
                    }
                }
            }
            _ => {
                self.arguments(&call.args);
                self.attr_keywords(call.attrs.iter());
                self.ty_args(call);
            }
        }
    }

    fn arguments(&mut self, args: &[Operand]) {
        for (i, arg) in args.iter().enumerate() {
            self.comma();
            if i == 0 { self.callee_operand(arg) } else { self.operand(arg) }
        }
    }

    /// Appends the arguments of an operator whose format string is passed by keyword, last.
    fn formatted(&mut self, args: &[Operand], format: usize) {
        for (_, arg) in args.iter().enumerate().filter(|(i, _)| *i != format) {
            self.comma();
            self.operand(arg);
        }
        if let Some(text) = args.get(format) {
            self.comma();
            self.push("format=");
            self.operand(text);
        }
    }

    /// Appends `x, R.device(device_type=…, index=…), "global"`.
    fn hint_on_device(&mut self, call: &Call) {
        self.arguments(&call.args);
        let mut attrs: Vec<(&Name, &AttrValue)> = call.attrs.iter().collect();
        let scope = attrs.pop();
        self.push(", ");
        self.relax("device(");
        self.attr_keywords(attrs);
        self.push(")");
        if let Some((_, scope)) = scope {
            self.push(", ");
            self.attr(scope);
        }
    }

    fn out_ty(&mut self, ty: Option<&Type>) {
        self.push(", out_ty=");
        match ty {
            Some(Type::Tuple(members)) => {
                self.push("[");
                self.list(members, |p, t| p.ty(t));
                self.push("]");
            }
            Some(ty) => self.ty(ty),
            None => self.push("[]"),
        }
    }

    fn ty_args(&mut self, call: &Call) {
        if !call.ty_args.is_empty() {
            self.comma();
            self.push("ty_args=");
            self.tuple(&call.ty_args, |p, t| p.ty(t));
        }
    }
}

fn is_empty_dict(value: &AttrValue) -> bool {
    matches!(value, AttrValue::Dict(entries) if entries.is_empty())
}

fn is_distributed(ty: &Type) -> bool {
    match ty {
        Type::DTensor(_) => true,
        Type::Tuple(members) => members.iter().any(is_distributed),
        _ => false,
    }
}
