//! Operators between expressions: arithmetic, comparisons, `and` and `or`, `a if c else b`.

use super::{
    args::Arg,
    context::{Read, Reported},
    eval::{Dialect, Eval, Operator},
    numbers, operators,
    value::Value,
};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{PrimExpr, prim};
use hammock_syntax::ast::{self, BinaryOp, BoolOp, CompareOp, Expr, UnaryOp};

impl<D: Dialect> Eval<'_, '_, D> {
    pub fn unary(&mut self, op: UnaryOp, operand: &Expr, span: Span) -> Read<Value> {
        let operand = self.arg(operand);
        if matches!(operand.value, Value::Broken) {
            return Ok(Value::Broken);
        }
        if let Some(n) = operand.value.number() {
            return Ok(match (op, n) {
                (UnaryOp::Not, n) => Value::Bool(n.as_f64() == 0.0),
                (UnaryOp::Pos, n) => n.into(),
                (UnaryOp::Neg, numbers::Number::Int(v)) => Value::Int(-v),
                (UnaryOp::Neg, numbers::Number::Float(v)) => Value::Float(-v),
                (UnaryOp::Invert, numbers::Number::Int(v)) => Value::Int(!v),
                (UnaryOp::Invert, _) => return Err(self.bad_operand(span, "`~` applies to integers")),
            });
        }
        if let Some(value) = D::operator(self, Operator::Unary(op), std::slice::from_ref(&operand), span)? {
            return Ok(value);
        }
        let e = self.to_scalar(&operand)?;
        let numeric = !e.dtype().is_handle();
        Ok(Value::Scalar(match op {
            UnaryOp::Pos => e,
            UnaryOp::Neg if numeric => operators::negative(e),
            UnaryOp::Not if e.dtype().is_bool() => e.not(),
            UnaryOp::Invert if numeric && !e.dtype().is_floating() => e.unary("bitwise_not"),
            _ => {
                let message = format!("`{}` does not apply to a value of type {}", op.symbol(), e.dtype());
                return Err(self.bad_operand(span, message));
            }
        }))
    }

    fn bad_operand(&mut self, span: Span, message: impl Into<String>) -> Reported {
        self.cx.error(codes::SCALAR_MISMATCH, span, message, "")
    }

    pub fn binary(&mut self, chain: &ast::Binary, span: Span) -> Read<Value> {
        let mut left = self.arg(&chain.first);
        for (op, operand) in &chain.rest {
            let right = self.arg(operand);
            let span = left.span.join(right.span);
            left = Arg { value: self.binary_values(*op, left, right, span).unwrap_or(Value::Broken), span };
        }
        debug_assert!(span.is_none() || !chain.rest.is_empty());
        Ok(left.value)
    }

    /// `a op b`
    pub fn binary_values(&mut self, op: BinaryOp, a: Arg, b: Arg, span: Span) -> Read<Value> {
        if is_broken(&a, &b) {
            return Ok(Value::Broken);
        }
        if let (Some(x), Some(y)) = (a.value.number(), b.value.number()) {
            return numbers::arithmetic(op, x, y).map(Value::from).map_err(|why| self.bad_operand(span, why));
        }
        let operands = [a, b];
        if let Some(value) = D::operator(self, Operator::Binary(op), &operands, span)? {
            return Ok(value);
        }
        let [a, b] = &operands;
        let (x, y) = self.scalar_pair(a, b)?;
        let result = match op {
            BinaryOp::Add => operators::binary(prim::BinaryOp::Add, x, y),
            BinaryOp::Sub => operators::binary(prim::BinaryOp::Sub, x, y),
            BinaryOp::Mul => operators::binary(prim::BinaryOp::Mul, x, y),
            BinaryOp::Div => operators::binary(prim::BinaryOp::Div, x, y),
            BinaryOp::FloorDiv => operators::binary(prim::BinaryOp::FloorDiv, x, y),
            BinaryOp::Mod => operators::binary(prim::BinaryOp::FloorMod, x, y),
            BinaryOp::Shl => operators::bitwise("shift_left", x, y),
            BinaryOp::Shr => operators::bitwise("shift_right", x, y),
            BinaryOp::And => operators::bitwise("bitwise_and", x, y),
            BinaryOp::Or => operators::bitwise("bitwise_or", x, y),
            BinaryOp::Xor => operators::bitwise("bitwise_xor", x, y),
            BinaryOp::Pow => operators::power(x, y),
            BinaryOp::MatMul => Err("`@` does not apply to scalars".into()),
        };
        result.map(Value::Scalar).map_err(|why| {
            let diagnostic = Diagnostic::error(codes::SCALAR_MISMATCH, why).label(span, "");
            self.cx.report(match op {
                BinaryOp::Div => diagnostic.help("write `//` to round down, or `T.Div(a, b)` to round towards zero"),
                _ => diagnostic,
            })
        })
    }

    /// Two scalars; a plain number takes the dtype of the other operand.
    pub fn scalar_pair(&mut self, a: &Arg, b: &Arg) -> Read<(PrimExpr, PrimExpr)> {
        if a.value.number().is_some() {
            let y = self.to_scalar(b)?;
            return Ok((self.to_scalar_like(a, y.dtype())?, y));
        }
        let x = self.to_scalar(a)?;
        let y = if b.value.number().is_some() { self.to_scalar_like(b, x.dtype())? } else { self.to_scalar(b)? };
        Ok((x, y))
    }

    pub fn compare(&mut self, chain: &ast::Compare, span: Span) -> Read<Value> {
        let mut left = self.arg(&chain.first);
        let mut result: Option<Value> = None;
        for (op, operand) in &chain.rest {
            let right = self.arg(operand);
            let one = self.compare_values(*op, left, right.clone(), span)?;
            result = Some(match result {
                Some(so_far) => self.join(BoolOp::And, Arg { value: so_far, span }, Arg { value: one, span })?,
                None => one,
            });
            left = right;
        }
        result.ok_or_else(|| self.cx.reported_before())
    }

    fn compare_values(&mut self, op: CompareOp, a: Arg, b: Arg, span: Span) -> Read<Value> {
        if is_broken(&a, &b) {
            return Ok(Value::Broken);
        }
        if let (Some(x), Some(y)) = (a.value.number(), b.value.number())
            && let Some(holds) = numbers::comparison(op, x, y)
        {
            return Ok(Value::Bool(holds));
        }
        let operands = [a, b];
        if let Some(value) = D::operator(self, Operator::Compare(op), &operands, span)? {
            return Ok(value);
        }
        let op = match op {
            CompareOp::Eq => prim::BinaryOp::Eq,
            CompareOp::Ne => prim::BinaryOp::Ne,
            CompareOp::Lt => prim::BinaryOp::Lt,
            CompareOp::Le => prim::BinaryOp::Le,
            CompareOp::Gt => prim::BinaryOp::Gt,
            CompareOp::Ge => prim::BinaryOp::Ge,
            _ => return Err(self.unsupported(span, format!("`{}` has no meaning here", op.symbol()))),
        };
        let (x, y) = self.scalar_pair(&operands[0], &operands[1])?;
        operators::binary(op, x, y).map(Value::Scalar).map_err(|why| self.bad_operand(span, why))
    }

    pub fn logic(&mut self, op: BoolOp, operands: &[Expr]) -> Read<Value> {
        let mut result: Option<Arg> = None;
        for operand in operands {
            let right = self.arg(operand);
            result = Some(match result {
                None => right,
                Some(left) => {
                    let span = left.span.join(right.span);
                    Arg { value: self.join(op, left, right)?, span }
                }
            });
        }
        result.map(|arg| arg.value).ok_or_else(|| self.cx.reported_before())
    }

    /// `a and b`, `a or b`
    fn join(&mut self, op: BoolOp, a: Arg, b: Arg) -> Read<Value> {
        if is_broken(&a, &b) {
            return Ok(Value::Broken);
        }
        if let Value::Bool(left) = a.value {
            return Ok(if left == (op == BoolOp::And) { b.value } else { a.value });
        }
        let (x, y) = (self.to_condition(&a)?, self.to_condition(&b)?);
        let op = if op == BoolOp::And { prim::BinaryOp::And } else { prim::BinaryOp::Or };
        operators::binary(op, x, y).map(Value::Scalar).map_err(|why| self.bad_operand(a.span.join(b.span), why))
    }

    pub fn choice(&mut self, choice: &ast::IfExpr, span: Span) -> Read<Value> {
        let cond = self.arg(&choice.cond);
        if let Value::Bool(holds) = cond.value {
            return self.eval(if holds { &choice.then } else { &choice.orelse });
        }
        let (then, orelse) = (self.arg(&choice.then), self.arg(&choice.orelse));
        let cond = self.to_condition(&cond)?;
        if is_broken(&then, &orelse) {
            return Ok(Value::Broken);
        }
        let (x, y) = self.scalar_pair(&then, &orelse)?;
        let (x, y) = operators::same_type(x, y).map_err(|why| self.bad_operand(span, why))?;
        Ok(Value::Scalar(cond.if_then_else(x, y)))
    }
}

/// Returns true if one of two operands is erroneous, and therefore the result is, too.
fn is_broken(a: &Arg, b: &Arg) -> bool {
    matches!(a.value, Value::Broken) || matches!(b.value, Value::Broken)
}
