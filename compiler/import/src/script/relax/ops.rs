//! Calls of operators, bound by their declarations.

use super::{RelaxEval, literals::default_dtype};
use crate::script::{
    args::{Arg, Args},
    context::{Read, Reported},
    numbers::Number,
    path::Path,
    value::{Pending, Value},
};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{
    AttrValue, DType, PrimExpr, Type,
    relax::{OpTable, Operand, Value as IrValue},
};
use hammock_ops::{AttrKind, Op, OperandKind, Param, ParamKind, Table};
use std::sync::Arc;

/// Operands so far, each with its span.
#[derive(Default)]
struct Operands {
    values: Vec<Operand>,
    spans: Vec<Span>,
    /// Operands that are plain numbers and become constants of another operand's dtype.
    numbers: Vec<(usize, Arg)>,
    /// Operands that select among others, which do not determine their dtype.
    conditions: Vec<usize>,
    /// Absent operands: dropped at the end, otherwise an empty tuple.
    absent: usize,
}

impl Operands {
    fn push(&mut self, operand: Operand, span: Span) {
        for _ in 0..std::mem::take(&mut self.absent) {
            self.values.push(Operand::Tuple(Vec::new()));
            self.spans.push(span);
        }
        self.values.push(operand);
        self.spans.push(span);
    }
}

impl RelaxEval<'_, '_> {
    /// A call of an operator, with its type arguments.
    pub(super) fn op_call(&mut self, op: &'static Op, mut args: Args, ty_args: Vec<Type>) -> Read<Value> {
        let span = args.span;
        let mut operands = Operands::default();
        let mut attrs: Vec<(&'static str, AttrValue)> = Vec::new();
        let mut attr_spans = Vec::new();
        let mut failed = Ok(());
        let variadic = op.params.iter().any(|p| p.kind == ParamKind::Operand(OperandKind::Variadic));
        for (n, param) in op.params.iter().enumerate() {
            // After variadic operands, optional operands and attributes must be named.
            let named = variadic && (param.default.is_some() || matches!(param.kind, ParamKind::Attr(_)));
            if param.kind == ParamKind::Operand(OperandKind::Variadic) {
                self.variadic(param, &mut args, &mut operands)?;
                continue;
            }
            let arg = if named { args.keyword(param.name) } else { args.take(param.name) };
            let arg = match arg {
                None if param.default.is_none() && param.kind != ParamKind::Operand(OperandKind::OptionalTensor) => {
                    Some(args.need(self.cx, param.name)?)
                }
                arg => arg,
            };
            if let Some(arg) = &arg {
                self.reject_separate_members(param, op.params.get(n + 1), arg, &args)?;
            }
            match (param.kind, arg) {
                (ParamKind::Operand(kind), arg) => {
                    let said = self.cx.diagnostics.len();
                    let argument_span = arg.as_ref().map_or(span, |arg| arg.span);
                    let read = self.operand_param(param, kind, arg, span, &mut operands);
                    let read =
                        read.inspect_err(|_| self.cx.name_argument(said, param.name, &args.callee, argument_span));
                    failed = failed.and(read);
                }
                (ParamKind::Attr(kind), Some(arg)) => {
                    let said = self.cx.diagnostics.len();
                    let value = self.attr_of(kind, &arg);
                    match value.inspect_err(|_| self.cx.name_argument(said, param.name, &args.callee, arg.span)) {
                        Ok(value) => {
                            attrs.push((param.name, value));
                            attr_spans.push((param.name, arg.span));
                        }
                        Err(reported) => failed = Err(reported),
                    }
                }
                (ParamKind::Attr(_), None) => {}
            }
        }
        args.finish(self.cx).and(failed)?;
        self.number_constants(&mut operands)?;
        let mut call = op.call(operands.values, attrs);
        call.ty_args = ty_args;
        let pending = Pending { value: IrValue::Call(call), args: operands.spans, attrs: attr_spans, span };
        Ok(Value::Unbound(Box::new(self.resolved(op, pending)?)))
    }

    /// Rejects tuple members passed as separate arguments: `R.concat(x, y)`, `R.reshape(x, 2, 3)`.
    fn reject_separate_members(&mut self, param: &Param, next: Option<&Param>, first: &Arg, args: &Args) -> Read<()> {
        let numbers = |kind| {
            matches!(
                kind,
                ParamKind::Operand(OperandKind::Shape | OperandKind::Prims)
                    | ParamKind::Attr(AttrKind::Ints | AttrKind::OptionalInts)
            )
        };
        let takes_number = |param: &Param| {
            !matches!(
                param.kind,
                ParamKind::Operand(OperandKind::DType | OperandKind::Str | OperandKind::Function)
                    | ParamKind::Attr(AttrKind::DType | AttrKind::Str | AttrKind::OptionalStr | AttrKind::VDevice)
            )
        };
        let is_number = |arg: &Arg| matches!(arg.value, Value::Int(_) | Value::Scalar(_));
        let what = match param.kind {
            ParamKind::Operand(OperandKind::Tensors) if self.is_tensor(&first.value) => "tensors",
            kind if numbers(kind) && is_number(first) && next.is_none_or(|next| !takes_number(next)) => "numbers",
            _ => return Ok(()),
        };
        let same = |arg: &&Arg| if what == "tensors" { self.is_tensor(&arg.value) } else { is_number(arg) };
        let rest: Vec<Span> = args.positional.iter().take_while(same).map(|arg| arg.span).collect();
        if what == "numbers" && rest.is_empty() {
            return Ok(());
        }
        let all: Vec<&str> =
            std::iter::once(&first.span).chain(&rest).map(|span| self.cx.source.slice(*span)).collect();
        let comma = if all.len() == 1 { "," } else { "" };
        let message = format!("`{}` takes `{}` as one tuple", args.callee, param.name);
        let argument_span = rest.iter().fold(first.span, |all, span| all.join(*span));
        let help = format!("put the {what} in a tuple: `({}{comma})`", all.join(", "));
        Err(self.cx.report(Diagnostic::error(codes::WRONG_ARGUMENTS, message).label(argument_span, "").help(help)))
    }

    /// Reports a scalar function applied to a tensor.
    pub(super) fn report_scalar_function(&mut self, path: &Path, args: &Args) -> Reported {
        let message = format!("`{path}` is a function of scalars in kernels, not of tensors");
        let diagnostic = Diagnostic::error(codes::WRONG_VALUE, message).label(args.callee_span, "");
        self.cx.report(match hammock_ops::lookup(&path.name) {
            Some(op) => diagnostic.did_you_mean(args.callee_span, format!("R.{}", op.name)),
            None => diagnostic.help("operators on tensors are those of `R`: `hammock ops` lists them"),
        })
    }

    /// Returns true if a value is certainly a tensor.
    pub(super) fn is_tensor(&self, value: &Value) -> bool {
        match value {
            Value::Operand(operand) => matches!(self.type_of(operand), Type::Tensor(_)),
            Value::Unbound(pending) => match &pending.value {
                IrValue::Call(call) => {
                    let ty = Table.infer(&self.cx.module, &self.dialect.function, call);
                    matches!(ty, Ok(Type::Tensor(_)))
                }
                _ => false,
            },
            _ => false,
        }
    }

    fn operand_param(
        &mut self,
        param: &Param,
        kind: OperandKind,
        arg: Option<Arg>,
        span: Span,
        operands: &mut Operands,
    ) -> Read<()> {
        let optional = matches!(param.default, Some(AttrValue::None)) || kind == OperandKind::OptionalTensor;
        let tensor = matches!(kind, OperandKind::Tensor | OperandKind::OptionalTensor);
        match (arg, &param.default) {
            (Some(arg), _) if optional && is_absent(&arg.value) => operands.absent += 1,
            (Some(arg), _) if tensor && is_number(&arg.value) => {
                operands.push(Operand::Tuple(Vec::new()), arg.span);
                operands.numbers.push((operands.values.len() - 1, arg));
            }
            (Some(arg), _) => {
                let operand = self.operand_of(kind, &arg)?;
                operands.push(operand, arg.span);
                if param.name == "condition" {
                    operands.conditions.push(operands.values.len() - 1);
                }
            }
            (None, Some(default)) if !optional => operands.push(default_operand(kind, default), span),
            (None, _) => operands.absent += 1,
        }
        Ok(())
    }

    /// The remaining operands, separate or as a list.
    fn variadic(&mut self, param: &Param, args: &mut Args, operands: &mut Operands) -> Read<()> {
        let mut rest: Vec<Arg> = args.positional.drain(..).collect();
        rest.extend(args.keyword(param.name));
        if let [Arg { value: Value::List(items), span }] = rest.as_slice() {
            let span = *span;
            rest = items.iter().map(|value| Arg { value: value.clone(), span }).collect();
        }
        for arg in rest {
            let operand = self.to_operand(&arg)?;
            operands.push(operand, arg.span);
        }
        Ok(())
    }

    fn operand_of(&mut self, kind: OperandKind, arg: &Arg) -> Read<Operand> {
        match kind {
            OperandKind::Shape => self.to_shape(arg),
            OperandKind::Prims => self.to_prims(arg),
            OperandKind::DType => self.to_dtype_operand(arg),
            OperandKind::Function => self.to_function(arg),
            _ => self.to_operand(arg),
        }
    }

    /// Plain numbers among tensors become constants of the first tensor's dtype; numbers alone get a common dtype.
    fn number_constants(&mut self, operands: &mut Operands) -> Read<()> {
        let numbers = std::mem::take(&mut operands.numbers);
        let says = |n: &usize| !operands.conditions.contains(n) && numbers.iter().all(|(at, _)| at != n);
        let other = (0..operands.values.len()).filter(says).find_map(|n| match self.type_of(&operands.values[n]) {
            Type::Tensor(t) => Some((n, t.dtype?)),
            Type::Prim(t) => Some((n, t)),
            _ => None,
        });
        let alone = || default_dtype(&Value::List(numbers.iter().map(|(_, arg)| arg.value.clone()).collect()));
        let dtype = other.map_or_else(alone, |(_, dtype)| dtype);
        for (at, arg) in &numbers {
            if let Some((other, _)) = other {
                self.check_integral(arg, dtype, operands.spans[other])?;
            }
            operands.values[*at] = self.literal(arg, Some(dtype))?;
        }
        Ok(())
    }

    /// Rejects a fractional number with a tensor of integers or bools, which would lose the fraction.
    fn check_integral(&mut self, arg: &Arg, dtype: DType, beside: Span) -> Read<()> {
        match arg.value.number() {
            Some(Number::Float(v)) if (dtype.is_integer() || dtype.is_bool()) && v.fract() != 0.0 => {
                let other = self.cx.source.slice(beside);
                let message = format!("{v} is not a value of dtype {dtype}, which `{other}` has");
                let help = format!("convert the tensor, `R.astype({other}, \"float32\")`, or write a whole number");
                let diagnostic = Diagnostic::error(codes::WRONG_VALUE, message).label(arg.span, "");
                Err(self.cx.report(diagnostic.help(help)))
            }
            _ => Ok(()),
        }
    }

    /// An attribute of the declared kind.
    fn attr_of(&mut self, kind: AttrKind, arg: &Arg) -> Read<AttrValue> {
        let none = matches!(arg.value, Value::None);
        match kind {
            AttrKind::OptionalInt | AttrKind::OptionalFloat | AttrKind::OptionalStr | AttrKind::OptionalInts
                if none =>
            {
                Ok(AttrValue::None)
            }
            AttrKind::IndexMap if none => Ok(AttrValue::None),
            AttrKind::Int | AttrKind::OptionalInt => self.integer_attr(arg),
            AttrKind::Float | AttrKind::OptionalFloat => self.to_float(arg).map(AttrValue::Float),
            AttrKind::Bool => self.to_bool(arg).map(AttrValue::Bool),
            AttrKind::Str | AttrKind::OptionalStr => self.to_str(arg).map(AttrValue::Str),
            AttrKind::DType => {
                let dtype = self.to_dtype(arg)?;
                Ok(if dtype.is_void() { AttrValue::None } else { AttrValue::DType(dtype) })
            }
            AttrKind::Ints | AttrKind::OptionalInts => self.list_attr(arg, Self::integer_attr),
            AttrKind::Floats => self.list_attr(arg, |ev, item| ev.to_float(item).map(AttrValue::Float)),
            AttrKind::IndexMap => Ok(AttrValue::IndexMap(Arc::new(self.to_index_map(arg, DType::INT64)?))),
            AttrKind::VDevice => self.to_vdevice(arg).map(AttrValue::VDevice),
            AttrKind::Mesh => self.to_mesh(arg).map(AttrValue::DeviceMesh),
            AttrKind::Any => self.to_attr(arg),
        }
    }

    fn integer_attr(&mut self, arg: &Arg) -> Read<AttrValue> {
        match &arg.value {
            Value::Scalar(e) if e.as_int().is_none() => Ok(AttrValue::Expr(e.clone())),
            _ => self.to_int(arg).map(AttrValue::Int),
        }
    }

    /// A list of attributes; a single one is a list of one.
    fn list_attr(&mut self, arg: &Arg, item: fn(&mut Self, &Arg) -> Read<AttrValue>) -> Read<AttrValue> {
        if arg.value.number().is_some() || matches!(arg.value, Value::Scalar(_)) {
            return Ok(AttrValue::List(vec![item(self, arg)?]));
        }
        let items = self.elements(arg)?;
        let items = items.into_iter().map(|value| item(self, &Arg { value, span: arg.span }));
        Ok(AttrValue::List(items.collect::<Read<_>>()?))
    }
}

/// Returns true if it is a number that may be passed for a tensor: a plain one, or a scalar integer or bool, which
/// graphs print as plain ones.
fn is_number(value: &Value) -> bool {
    let written = matches!(value, Value::Scalar(e) if e.as_int().is_some());
    written || value.number().is_some()
}

/// Returns true if it denotes an absent operand: `None`, or the empty tuple, its printed form.
fn is_absent(value: &Value) -> bool {
    match value {
        Value::None => true,
        Value::Operand(Operand::Tuple(fields)) => fields.is_empty(),
        _ => false,
    }
}

/// The default of an omitted operand.
fn default_operand(kind: OperandKind, default: &AttrValue) -> Operand {
    match (kind, default) {
        (_, AttrValue::DType(t)) => Operand::DType(*t),
        (_, AttrValue::Float(v)) => Operand::Prim(PrimExpr::float(*v, DType::FLOAT32)),
        (_, AttrValue::Bool(v)) => Operand::Prim(PrimExpr::bool(*v)),
        (_, AttrValue::Int(v)) => Operand::int(*v),
        (OperandKind::DType, AttrValue::Str(text)) => text.parse().map_or(Operand::Str(text.clone()), Operand::DType),
        (_, AttrValue::Str(text)) => Operand::Str(text.clone()),
        (_, AttrValue::Expr(e)) => Operand::Prim(e.clone()),
        (_, other) => Operand::Opaque(Box::new(other.clone())),
    }
}
