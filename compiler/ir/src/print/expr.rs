//! Prints scalar expressions, with minimal parentheses.

use super::{
    attr::end,
    literal,
    names::Entity,
    printer::{Dialect, Printer},
};
use crate::{
    PrimExpr, arith,
    prim::{
        BinaryOp, PrimCall, PrimCallee, PrimKind, PrimType, Reduce,
        intrinsics::{DTypePosition, dtype_position, infix},
    },
    tir::Buffer,
};

/// Precedence of Python's operators; operands of lower precedence are parenthesized.
mod precedence {
    pub const OR: u8 = 3;
    pub const AND: u8 = 4;
    pub const NOT: u8 = 5;
    pub const COMPARE: u8 = 6;
    pub const BIT_OR: u8 = 7;
    pub const BIT_XOR: u8 = 8;
    pub const BIT_AND: u8 = 9;
    pub const SHIFT: u8 = 10;
    pub const ADD: u8 = 11;
    pub const MULTIPLY: u8 = 12;
    pub const UNARY: u8 = 13;
    pub const ATOM: u8 = 15;
}

/// Notation of an expression.
enum Form<'e> {
    /// Two operands around an operator.
    Infix(&'static str, u8, &'e PrimExpr, &'e PrimExpr),
    /// An operator before its operand.
    Prefix(&'static str, u8, &'e PrimExpr),
    /// A call of `T.`: a name and operands.
    Named(&'static str, Vec<&'e PrimExpr>),
    /// Anything else, in itself unambiguous.
    Atom,
}

impl Form<'_> {
    fn precedence(&self) -> u8 {
        match self {
            Form::Infix(_, p, ..) | Form::Prefix(_, p, _) => *p,
            Form::Named(..) | Form::Atom => precedence::ATOM,
        }
    }
}

impl Printer<'_> {
    /// Appends a scalar expression.
    pub fn expr(&mut self, e: &PrimExpr) {
        let form = self.form(e);
        self.write_form(e, &form);
    }

    /// Returns true if a statement of this expression alone is a call that needs no `T.evaluate`.
    pub fn is_bare_call(&self, e: &PrimExpr) -> bool {
        matches!(e.kind(), PrimKind::Call(_)) && matches!(self.form(e), Form::Atom)
    }

    /// Appends a scalar expression; in parentheses if its precedence is below `at_least`, or equal to it and `strictly`
    /// is set.
    fn term(&mut self, e: &PrimExpr, at_least: u8, strictly: bool) {
        let form = self.form(e);
        let p = form.precedence();
        if p < at_least || strictly && p == at_least {
            self.push("(");
            self.write_form(e, &form);
            self.push(")");
        } else {
            self.write_form(e, &form);
        }
    }

    fn write_form(&mut self, e: &PrimExpr, form: &Form) {
        match form {
            Form::Infix(op, p, a, b) => {
                // A comparison as left operand of another would read as a chain.
                self.term(a, *p, *p == precedence::COMPARE);
                self.push(" ");
                self.push(op);
                self.push(" ");
                self.term(b, *p, true);
            }
            Form::Prefix(op, p, a) => {
                self.push(op);
                self.term(a, *p, false);
            }
            Form::Named(name, operands) => self.tir_call(name, operands.iter().copied()),
            Form::Atom => self.atom(e),
        }
    }

    /// An operator is printed as such if it reads back as the same node; if it would fold, the node is named.
    fn form<'e>(&self, e: &'e PrimExpr) -> Form<'e> {
        match e.kind() {
            PrimKind::Binary(op, a, b) => {
                let (symbol, p, name) = notation(*op, a);
                let folds = a.dtype() != b.dtype() || are_integers(a, b) || arith::fold(*op, a, b).is_some();
                match (op, symbol) {
                    // For operations without a symbol, TVM prints function names, which fold as well.
                    (BinaryOp::Mod, _) if folds => Form::Named("Mod", vec![a, b]),
                    (BinaryOp::Min, _) if folds => Form::Named("Min", vec![a, b]),
                    (BinaryOp::Max, _) if folds => Form::Named("Max", vec![a, b]),
                    (_, "") => Form::Named(name, vec![a, b]),
                    _ if folds => Form::Named(name, vec![a, b]),
                    _ => Form::Infix(symbol, p, a, b),
                }
            }
            PrimKind::Not(a) if self.dialect == Dialect::Relax && a.as_int().is_some() => Form::Named("Not", vec![a]),
            PrimKind::Not(a) => Form::Prefix("not ", precedence::NOT, a),
            PrimKind::Call(c) => bit_form(c),
            _ => Form::Atom,
        }
    }

    fn atom(&mut self, e: &PrimExpr) {
        match e.kind() {
            PrimKind::Var(v) => self.scalar(v),
            PrimKind::Int(v) => self.integer(*v, e),
            PrimKind::Float(v) => {
                self.tir(&e.dtype().to_string());
                self.push("(");
                literal::float(&mut self.line, *v);
                self.push(")");
            }
            PrimKind::Str(text) => self.scalar_string(text),
            PrimKind::Select(c, a, b) => self.tir_call("Select", [c, a, b]),
            PrimKind::Cast(a) => {
                self.tir("Cast(");
                self.quote(&e.dtype().to_string());
                self.push(", ");
                self.expr(a);
                self.push(")");
            }
            PrimKind::Load(buffer, indices, mask) => self.load(buffer, indices, mask.as_ref()),
            PrimKind::Ramp(base, stride) => {
                self.tir("Ramp(");
                self.list([base, stride], |p, e| p.expr(e));
                self.show(format_args!(", {})", e.dtype().lanes));
            }
            PrimKind::Broadcast(a) => {
                self.tir("Broadcast(");
                self.expr(a);
                self.show(format_args!(", {})", e.dtype().lanes / a.dtype().lanes.max(1)));
            }
            PrimKind::Shuffle(vectors, indices) => {
                self.tir("Shuffle(");
                self.list([vectors, indices], |p, list| p.expr_list(list));
                self.push(")");
            }
            PrimKind::Let(var, value, body) => {
                if self.names.get(&Entity::Scalar(var.clone())).is_none() {
                    self.declare_scalar(var);
                }
                self.tir("Let(");
                self.expr(body);
                self.push(", where={");
                self.scalar(var);
                self.push(": ");
                self.expr(value);
                self.push("})");
            }
            PrimKind::Call(call) => self.call_expr(call, e.ty()),
            PrimKind::Reduce(reduce) => self.reduce(reduce),
            PrimKind::Binary(..) | PrimKind::Not(_) => {}
        }
    }

    /// Appends `[a, b]`.
    fn expr_list(&mut self, list: &[PrimExpr]) {
        self.push("[");
        self.list(list, |p, e| p.expr(e));
        self.push("]");
    }

    fn tir_call<'e>(&mut self, name: &str, operands: impl IntoIterator<Item = &'e PrimExpr>) {
        self.tir(name);
        self.push("(");
        self.list(operands, |p, e| p.expr(e));
        self.push(")");
    }

    fn integer(&mut self, value: i64, e: &PrimExpr) {
        let dtype = e.dtype();
        let truth = if value != 0 { "True" } else { "False" };
        match self.dialect {
            Dialect::Relax if dtype.is_bool() => self.push(truth),
            // Unsigned values beyond int64 would read back as negative.
            Dialect::Relax if !(dtype.is_uint() && value < 0) => self.show(value),
            _ if dtype == crate::DType::INT32 => self.show(value),
            _ => {
                self.tir(&dtype.to_string());
                self.push("(");
                match dtype {
                    t if t.is_bool() => self.push(truth),
                    t if t.is_uint() => self.show(value as u64),
                    _ => self.show(value),
                }
                self.push(")");
            }
        }
    }

    fn load(&mut self, buffer: &Buffer, indices: &[PrimExpr], mask: Option<&PrimExpr>) {
        let name = self.buffer_name(buffer);
        self.push(&name);
        match mask {
            Some(mask) => {
                self.push(".vload(");
                self.expr_list(indices);
                self.push(", predicate=");
                self.expr(mask);
                self.push(")");
            }
            None if self.is_scalar_variable(buffer, indices) => {}
            None => self.indices(indices, |p, e| p.expr(e)),
        }
    }

    /// Appends `[i, j]`; `[()]` for no indices.
    pub fn indices<T>(&mut self, indices: impl IntoIterator<Item = T>, print: impl FnMut(&mut Self, T)) {
        self.push("[");
        self.list(indices, print);
        self.push(if self.line.ends_with('[') { "()]" } else { "]" });
    }

    /// Appends an index of a store: a vector of evenly spaced ones as a slice.
    pub fn store_index(&mut self, index: &PrimExpr) {
        match index.kind() {
            PrimKind::Ramp(base, stride) if stride.as_int().is_some() => {
                let lanes = PrimExpr::int32(i32::from(index.dtype().lanes));
                let length = arith::binary(BinaryOp::Mul, lanes, stride.clone());
                self.slice(base, &end(base, &length));
                if stride.as_int() != Some(1) {
                    self.push(":");
                    self.expr(stride);
                }
            }
            _ => self.expr(index),
        }
    }

    /// Appends a range of indices: `0:4`, or the one index.
    pub fn range(&mut self, (min, extent): &(PrimExpr, PrimExpr)) {
        if extent.as_int() == Some(1) {
            self.expr(min);
        } else {
            self.slice(min, &end(min, extent));
        }
    }

    fn slice(&mut self, start: &PrimExpr, stop: &PrimExpr) {
        self.expr(start);
        self.push(":");
        self.expr(stop);
    }

    fn call_expr(&mut self, call: &PrimCall, ty: &PrimType) {
        let name = match &call.callee {
            PrimCallee::Global(name) => {
                self.global(name);
                self.push("(");
                self.list(&call.args, |p, e| p.expr(e));
                return self.push(")");
            }
            PrimCallee::Intrin(name) => name,
        };
        if !call.attrs.is_empty() {
            return self.generic_call(name, call, ty);
        }
        let position = dtype_position(name);
        self.tir(name);
        self.push("(");
        if position == Some(DTypePosition::First) {
            self.call_type(ty);
        }
        for arg in &call.args {
            self.comma();
            self.expr(arg);
        }
        if position == Some(DTypePosition::Last) {
            self.comma();
            self.call_type(ty);
        }
        self.push(")");
    }

    /// Appends a call with attributes: `T.Call("tirx.op", [x], attrs={…}, ret_ty="int32")`.
    fn generic_call(&mut self, name: &str, call: &PrimCall, ty: &PrimType) {
        self.tir("Call(");
        self.quote(&format!("tirx.{name}"));
        self.push(", ");
        self.expr_list(&call.args);
        self.push(", attrs=");
        self.attr_dict(&call.attrs, |_, _| false);
        self.push(", ret_ty=");
        self.call_type(ty);
        self.push(")");
    }

    /// Appends the type of a call's result where the text names it: `"int32"`, `T.handle("float32", "global").ty`.
    fn call_type(&mut self, ty: &PrimType) {
        match ty {
            PrimType::Scalar(dtype) if !dtype.is_handle() || dtype.is_void() => self.quote(&dtype.to_string()),
            _ => {
                let text = self.capture(|p| p.prim_type(ty));
                self.push(&text);
                self.push(if text.ends_with(')') { ".ty" } else { "().ty" });
            }
        }
    }

    fn reduce(&mut self, reduce: &Reduce) {
        self.tir("reduce(");
        self.reducer(&reduce.combiner);
        self.push(", source=");
        self.expr_list(&reduce.source);
        self.push(", init=");
        self.expr_list(&reduce.init);
        self.push(", axis=[");
        self.list(&reduce.axes, |p, axis| p.iter_var(axis));
        self.push("], condition=");
        self.expr(&reduce.condition);
        self.show(format_args!(", value_index={})", reduce.index));
    }
}

/// Operator symbol, precedence and node name of an operation; the symbol is empty if Python has none.
fn notation(op: BinaryOp, operand: &PrimExpr) -> (&'static str, u8, &'static str) {
    use precedence::*;
    match op {
        BinaryOp::Add => ("+", ADD, "Add"),
        BinaryOp::Sub => ("-", ADD, "Sub"),
        BinaryOp::Mul => ("*", MULTIPLY, "Mul"),
        BinaryOp::Div if operand.dtype().is_integer() => ("", ATOM, "Div"),
        BinaryOp::Div => ("/", MULTIPLY, "Div"),
        BinaryOp::Mod => ("", ATOM, "truncmod"),
        BinaryOp::FloorDiv => ("//", MULTIPLY, "FloorDiv"),
        BinaryOp::FloorMod => ("%", MULTIPLY, "FloorMod"),
        BinaryOp::Min => ("", ATOM, "min"),
        BinaryOp::Max => ("", ATOM, "max"),
        BinaryOp::Eq => ("==", COMPARE, "EQ"),
        BinaryOp::Ne => ("!=", COMPARE, "NE"),
        BinaryOp::Lt => ("<", COMPARE, "LT"),
        BinaryOp::Le => ("<=", COMPARE, "LE"),
        BinaryOp::Gt => (">", COMPARE, "GT"),
        BinaryOp::Ge => (">=", COMPARE, "GE"),
        BinaryOp::And => ("and", AND, "And"),
        BinaryOp::Or => ("or", OR, "Or"),
    }
}

/// Returns true if both are printed as plain Python integers, on which arithmetic is unbounded.
fn are_integers(a: &PrimExpr, b: &PrimExpr) -> bool {
    a.as_int().is_some() && b.as_int().is_some()
}

/// Notation of a call of a shift or bitwise operation; other calls are atoms.
fn bit_form(call: &PrimCall) -> Form<'_> {
    use precedence::*;
    let PrimCallee::Intrin(name) = &call.callee else { return Form::Atom };
    match &call.args[..] {
        [a] if name == "bitwise_not" => match a.as_int() {
            Some(_) => Form::Named("BitwiseNot", vec![a]),
            None => Form::Prefix("~", UNARY, a),
        },
        [a, b] => {
            let Some(symbol) = infix(name) else { return Form::Atom };
            let (p, node) = match symbol {
                "<<" => (SHIFT, "LShift"),
                ">>" => (SHIFT, "RShift"),
                "&" => (BIT_AND, "BitwiseAnd"),
                "|" => (BIT_OR, "BitwiseOr"),
                _ => (BIT_XOR, "BitwiseXor"),
            };
            if are_integers(a, b) || arith::fold_bits(name, a, b).is_some() {
                Form::Named(node, vec![a, b])
            } else {
                Form::Infix(symbol, p, a, b)
            }
        }
        _ => Form::Atom,
    }
}
