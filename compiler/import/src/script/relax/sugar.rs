//! Operators, methods and members of tensors and tuples: `x + y`, `x.astype("float16")`, `t[0]`.

use super::RelaxEval;
use crate::script::{
    args::{Arg, Args},
    context::{Read, Reported},
    eval::Operator,
    path::{Path, Space},
    suggest,
    value::{Pending, Value},
};
use hammock_diagnostics::{Diagnostic, Span, codes, count};
use hammock_ir::{
    Type,
    relax::{Operand, Value as IrValue},
};
use hammock_syntax::ast::{self, BinaryOp, CompareOp, UnaryOp};

/// The operator of `R` for an infix or prefix operator.
fn op_name(op: Operator) -> Option<&'static str> {
    Some(match op {
        Operator::Unary(UnaryOp::Neg) => "negative",
        Operator::Unary(UnaryOp::Not) => "logical_not",
        Operator::Unary(UnaryOp::Invert) => "bitwise_not",
        Operator::Binary(BinaryOp::Add) => "add",
        Operator::Binary(BinaryOp::Sub) => "subtract",
        Operator::Binary(BinaryOp::Mul) => "multiply",
        Operator::Binary(BinaryOp::Div) => "divide",
        Operator::Binary(BinaryOp::FloorDiv) => "floor_divide",
        Operator::Binary(BinaryOp::Mod) => "mod",
        Operator::Binary(BinaryOp::MatMul) => "matmul",
        Operator::Binary(BinaryOp::Pow) => "power",
        Operator::Binary(BinaryOp::Shl) => "left_shift",
        Operator::Binary(BinaryOp::Shr) => "right_shift",
        Operator::Binary(BinaryOp::And) => "bitwise_and",
        Operator::Binary(BinaryOp::Or) => "bitwise_or",
        Operator::Binary(BinaryOp::Xor) => "bitwise_xor",
        Operator::Compare(CompareOp::Eq) => "equal",
        Operator::Compare(CompareOp::Ne) => "not_equal",
        Operator::Compare(CompareOp::Lt) => "less",
        Operator::Compare(CompareOp::Le) => "less_equal",
        Operator::Compare(CompareOp::Gt) => "greater",
        Operator::Compare(CompareOp::Ge) => "greater_equal",
        Operator::Unary(UnaryOp::Pos) | Operator::Compare(_) => return None,
    })
}

impl RelaxEval<'_, '_> {
    /// An operator with a tensor operand; `None` if all are scalars.
    pub(super) fn tensor_operator(&mut self, op: Operator, operands: &[Arg], span: Span) -> Read<Option<Value>> {
        let tensor = |arg: &Arg| match &arg.value {
            Value::Unbound(_) => true,
            Value::Operand(operand) => !matches!(self.type_of(operand), Type::Prim(_)),
            _ => false,
        };
        if !operands.iter().any(tensor) {
            return Ok(None);
        }
        let Some(name) = op_name(op) else {
            return Err(self.unsupported(span, "this operator does not apply to tensors"));
        };
        let path = Path::new(Space::Relax, name);
        let mut args = Args::new(path.to_string(), span);
        args.positional.extend(operands.iter().cloned());
        self.relax_call(&path, args).map(Some)
    }

    /// `x.astype("float16")`
    pub(super) fn tensor_method(&mut self, on: Arg, name: &ast::Ident, mut args: Args) -> Read<Value> {
        if name.as_str() != "astype" || !matches!(on.value, Value::Operand(_) | Value::Unbound(_)) {
            return Err(self.no_member(&on, name));
        }
        args.positional.push_front(on);
        self.relax_call(&Path::new(Space::Relax, "astype"), args)
    }

    /// `x.shape`; `.ty` of a type is the type.
    pub(super) fn tensor_attribute(&mut self, on: Arg, name: &ast::Ident) -> Read<Value> {
        match (&on.value, name.as_str()) {
            (Value::Operand(_) | Value::Unbound(_), "shape") => {
                let mut args = Args::new("R.shape_of".into(), on.span);
                args.positional.push_back(on);
                self.relax_call(&Path::new(Space::Relax, "shape_of"), args)
            }
            (Value::PrimType(ty), "ty") => Ok(Value::PrimType(ty.clone())),
            _ => Err(self.no_member(&on, name)),
        }
    }

    fn no_member(&mut self, on: &Arg, name: &ast::Ident) -> Reported {
        let message = format!("{} has no attribute `{}`", self.describe(&on.value), name.name);
        let diagnostic = Diagnostic::error(codes::UNKNOWN_FUNCTION, message).label(name.span, "");
        let ops: Vec<&str> = hammock_ops::ops().map(|op| op.name).collect();
        let op = hammock_ops::lookup(&name.name).map(|op| op.name).or_else(|| suggest::nearest_path(&name.name, &ops));
        let on = self.cx.source.slice(on.span);
        self.cx.report(match op.filter(|_| name.as_str() != "T") {
            None if matches!(name.as_str(), "T" | "mT") => {
                diagnostic.help(format!("operators are called through their namespace: `R.permute_dims({on})`"))
            }
            Some(op) => diagnostic.help(format!("operators are called through their namespace: `R.{op}({on}, …)`")),
            None => diagnostic,
        })
    }

    /// `t[0]`; `R.Tensor[(n,), "float32"]`, as the oldest texts write types.
    pub(super) fn tuple_member(&mut self, on: Arg, indices: &[ast::Index], span: Span) -> Read<Value> {
        if let Value::Path(path) = &on.value
            && path.space == Space::Relax
        {
            let mut args = Args::new(path.to_string(), span);
            for index in indices {
                match index {
                    ast::Index::Expr(e) => args.positional.push_back(self.arg(e)),
                    ast::Index::Slice(slice) => return Err(self.unsupported(slice.span, "a slice is not allowed here")),
                }
            }
            return self.relax_call(path, args);
        }
        let [ast::Index::Expr(index)] = indices else {
            let message = "tensors are not indexed in Relax";
            return Err(self.cx.error(codes::MEANINGLESS_SYNTAX, span, message, "use `R.strided_slice` or `R.take`"));
        };
        let index = self.arg(index);
        if !matches!(on.value, Value::Operand(_) | Value::Unbound(_) | Value::Tuple(_) | Value::List(_)) {
            return Err(self.expected(&on, "a tuple to take a member of"));
        }
        let operand = self.to_operand(&on)?;
        self.member(operand, &index, &on, span)
    }

    /// One member of a tuple.
    pub(super) fn member(&mut self, tuple: Operand, index: &Arg, on: &Arg, span: Span) -> Read<Value> {
        let at = match self.type_of(&tuple) {
            Type::Tuple(members) => {
                let known = self.to_int(index)?;
                if usize::try_from(known).is_ok_and(|at| at >= members.len()) {
                    let message = format!("a tuple of {} has no member {known}", count(members.len(), "member"));
                    return Err(self.cx.error(codes::WRONG_VALUE, index.span, message, "members are counted from 0"));
                }
                self.to_index(index, members.len())?
            }
            Type::Error => return Ok(Value::Broken),
            Type::Any => match usize::try_from(self.to_int(index)?) {
                Ok(at) => at,
                Err(_) => return Err(self.expected(index, "an index from 0 on")),
            },
            Type::Shape(_) => {
                let message = "the sizes in a shape are not taken out of it";
                let label =
                    "name them where they come from: `n = TypeVar(\"n\")` above the module, `R.Tensor((n,), …)`";
                return Err(self.cx.error(codes::WRONG_VALUE, on.span, message, label));
            }
            _ => {
                let message = "only tuples have members";
                return Err(self.cx.error(
                    codes::WRONG_VALUE,
                    on.span,
                    message,
                    "use `R.strided_slice` or `R.take` on tensors",
                ));
            }
        };
        Ok(Value::Unbound(Box::new(Pending {
            value: IrValue::TupleGet(tuple, at),
            args: vec![on.span],
            attrs: Vec::new(),
            span,
        })))
    }
}
