//! Conversions of values to the kind expected at their use.

use super::{
    args::Arg,
    context::{Read, Reported},
    dtypes,
    eval::{Dialect, Eval},
    numbers::Number,
    operators,
    path::Space,
    value::Value,
};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{AttrValue, DType, Name, PrimExpr, prim::PrimType, relax::Operand, tir::Buffer};
use hammock_syntax::parse_expression;

impl<D: Dialect> Eval<'_, '_, D> {
    /// Records that a value is not of the kind that is wanted, as in `a string`.
    pub fn expected(&mut self, arg: &Arg, wanted: &str) -> Reported {
        if matches!(arg.value, Value::Broken) {
            return self.cx.reported_before();
        }
        let message = format!("expected {wanted}, found {}", self.describe(&arg.value));
        let diagnostic = Diagnostic::error(codes::WRONG_VALUE, message).label(arg.span, "");
        self.cx.report(match &arg.value {
            Value::Path(path) if wanted == "a value" && matches!(path.space, Space::Relax | Space::Tir) => {
                diagnostic.help(format!("call it: `{path}(…)`"))
            }
            _ => diagnostic,
        })
    }

    /// Description of a value, for messages: `a tensor`.
    pub fn describe(&self, value: &Value) -> String {
        D::describe(self, value).unwrap_or_else(|| value.describe())
    }

    /// A scalar expression; plain numbers get the dialect's dtypes.
    pub fn to_scalar(&mut self, arg: &Arg) -> Read<PrimExpr> {
        match &arg.value {
            Value::Scalar(e) => Ok(e.clone()),
            Value::Bool(v) => Ok(PrimExpr::bool(*v)),
            Value::Int(v) => self.integer(*v, D::INT, arg),
            Value::Float(v) => Ok(PrimExpr::float(*v, DType::FLOAT32)),
            Value::IterVar(axis) => Ok(axis.var.expr()),
            other => match D::scalar(self, other) {
                Some(e) => Ok(e),
                None => Err(self.no_scalar(arg)),
            },
        }
    }

    fn no_scalar(&mut self, arg: &Arg) -> Reported {
        if matches!(arg.value, Value::Broken) {
            return self.cx.reported_before();
        }
        let message = format!("expected a scalar, found {}", self.describe(&arg.value));
        let diagnostic = Diagnostic::error(codes::WRONG_VALUE, message).label(arg.span, "");
        self.cx.report(match &arg.value {
            Value::Buffer(b) => diagnostic.help(format!("an element of it is `{}[…]`", b.name)),
            Value::Tuple(items) => match loop_variables(self.cx.source.slice(arg.span), items) {
                Some(names) => {
                    let count = items.len();
                    let text = format!("it has {count} loop variables; name each of them: `for {names} in …`");
                    diagnostic.help(text)
                }
                None => diagnostic,
            },
            _ => diagnostic,
        })
    }

    /// The same; a plain number gets the given dtype if it is representable.
    pub fn to_scalar_like(&mut self, arg: &Arg, dtype: DType) -> Read<PrimExpr> {
        let dtype = dtype.element();
        match arg.value.number() {
            Some(n) if dtype.is_floating() => Ok(PrimExpr::float(n.as_f64(), dtype)),
            Some(Number::Int(v)) if dtype.is_integer() => self.integer(v, dtype, arg),
            Some(Number::Int(v @ (0 | 1))) if dtype.is_bool() => Ok(PrimExpr::int(v as i64, dtype)),
            _ => self.to_scalar(arg),
        }
    }

    /// An integer constant of a dtype, or of a wider one if its value needs it.
    fn integer(&mut self, v: i128, dtype: DType, arg: &Arg) -> Read<PrimExpr> {
        let fitting = [dtype, DType::INT64, DType::UINT64].into_iter().find(|t| operators::fits(v, *t));
        match fitting {
            Some(t) => Ok(PrimExpr::int(v as i64, t)),
            None => Err(self.cx.error(codes::WRONG_VALUE, arg.span, "integers have at most 64 bits", "")),
        }
    }

    /// A truth value.
    pub fn to_condition(&mut self, arg: &Arg) -> Read<PrimExpr> {
        let e = match &arg.value {
            Value::Int(v @ (0 | 1)) => PrimExpr::bool(*v == 1),
            _ => self.to_scalar(arg)?,
        };
        if e.dtype().is_bool() {
            return Ok(e);
        }
        let message = format!("expected a condition, found a value of type {}", e.dtype());
        Err(self.cx.error(codes::SCALAR_MISMATCH, arg.span, message, "compare it with something"))
    }

    /// The condition of `if` and `while`: a bool, or an integer, which is true unless zero.
    pub fn to_choice(&mut self, arg: &Arg) -> Read<PrimExpr> {
        match &arg.value {
            Value::Scalar(e) if e.dtype().is_integer() && e.dtype().lanes == 1 => Ok(e.clone()),
            _ => self.to_condition(arg),
        }
    }

    /// An index into a Python container of that length; negative ones count from the end.
    pub fn to_index(&mut self, arg: &Arg, len: usize) -> Read<usize> {
        let index = self.to_int(arg)?;
        let at = if index < 0 { index + len as i64 } else { index };
        usize::try_from(at).ok().filter(|at| *at < len).ok_or_else(|| {
            let message = format!("there is no element {index} among {len}");
            self.cx.error(codes::WRONG_VALUE, arg.span, message, "")
        })
    }

    /// A constant integer.
    pub fn to_int(&mut self, arg: &Arg) -> Read<i64> {
        let value = match &arg.value {
            Value::Int(v) => i64::try_from(*v).ok(),
            Value::Bool(v) => Some(i64::from(*v)),
            Value::Scalar(e) => e.as_int(),
            Value::Operand(Operand::Prim(e)) => e.as_int(),
            _ => None,
        };
        value.ok_or_else(|| self.expected(arg, "an integer"))
    }

    /// A constant number.
    pub fn to_float(&mut self, arg: &Arg) -> Read<f64> {
        let value = match &arg.value {
            Value::Scalar(e) | Value::Operand(Operand::Prim(e)) => {
                e.as_float().or_else(|| e.as_int().map(|v| v as f64))
            }
            Value::Str(text) => special_float(text),
            value => value.number().map(Number::as_f64),
        };
        value.ok_or_else(|| self.expected(arg, "a number"))
    }

    /// A constant bool.
    pub fn to_bool(&mut self, arg: &Arg) -> Read<bool> {
        match &arg.value {
            Value::Bool(v) => Ok(*v),
            Value::Int(v @ (0 | 1)) => Ok(*v == 1),
            Value::Scalar(e) if e.dtype().is_bool() && e.as_int().is_some() => Ok(e.as_int() == Some(1)),
            _ => Err(self.expected(arg, "`True` or `False`")),
        }
    }

    /// A string.
    pub fn to_str(&mut self, arg: &Arg) -> Read<Name> {
        match &arg.value {
            Value::Str(text) | Value::Operand(Operand::Str(text)) => Ok(text.clone()),
            Value::Attr(AttrValue::Str(text)) => Ok(text.clone()),
            _ => Err(self.expected(arg, "a string")),
        }
    }

    /// A dtype: its name in quotes, or `T.float32`.
    pub fn to_dtype(&mut self, arg: &Arg) -> Read<DType> {
        match &arg.value {
            Value::Str(text) => match text.parse().ok().filter(|t| dtypes::is_valid(*t)) {
                Some(dtype) => Ok(dtype),
                None => Err(self.no_dtype(text, arg.span)),
            },
            Value::None => Ok(DType::VOID),
            Value::Operand(Operand::DType(t)) => Ok(*t),
            _ => match self.as_prim_type(&arg.value) {
                Some(ty) => Ok(ty.dtype()),
                None => Err(self.expected(arg, "a dtype, such as \"float32\"")),
            },
        }
    }

    fn no_dtype(&mut self, text: &str, span: Span) -> Reported {
        let diagnostic = Diagnostic::error(codes::WRONG_VALUE, format!("`{text}` is not a dtype")).label(span, "");
        self.cx.report(match dtypes::nearest(text) {
            Some(near) => diagnostic.did_you_mean(span, format!("\"{near}\"")),
            None => {
                diagnostic.help("dtypes are \"float32\", \"float16\", \"bfloat16\", \"int64\", \"uint8\", \"bool\", …")
            }
        })
    }

    /// The scalar type that a value names: `T.int32`, `T.handle("float32")`, `"int32"` is none.
    pub fn as_prim_type(&self, value: &Value) -> Option<PrimType> {
        match value {
            Value::PrimType(ty) => Some(ty.clone()),
            Value::Type(hammock_ir::Type::Prim(t)) => Some(PrimType::Scalar(*t)),
            Value::Path(path) if path.is(Space::Tir, "handle") => Some(PrimType::Scalar(DType::HANDLE)),
            Value::Path(path) if path.space == Space::Tir => dtypes::of_name(&path.name).map(PrimType::Scalar),
            Value::Path(path) if path.is(Space::Python, "bool") => Some(PrimType::Scalar(DType::BOOL)),
            _ => None,
        }
    }

    /// A scalar type, also as the name of a dtype in quotes.
    pub fn to_prim_type(&mut self, arg: &Arg) -> Read<PrimType> {
        match self.as_prim_type(&arg.value) {
            Some(ty) => Ok(ty),
            None => self.to_dtype(arg).map(PrimType::Scalar),
        }
    }

    /// The elements of a tuple or list.
    pub fn elements(&mut self, arg: &Arg) -> Read<Vec<Value>> {
        match &arg.value {
            Value::Tuple(items) | Value::List(items) => Ok(items.clone()),
            Value::Operand(Operand::Shape(dims)) => Ok(dims.iter().cloned().map(Value::Scalar).collect()),
            Value::Operand(Operand::Tuple(items)) => Ok(items.iter().cloned().map(Value::Operand).collect()),
            _ => Err(self.expected(arg, "a list")),
        }
    }

    /// Scalars of a list; a lone scalar is a list of one.
    pub fn to_scalars(&mut self, arg: &Arg) -> Read<Vec<PrimExpr>> {
        if arg.value.number().is_some() || matches!(arg.value, Value::Scalar(_)) {
            return Ok(vec![self.to_scalar(arg)?]);
        }
        let items = self.elements(arg)?;
        items.into_iter().map(|value| self.to_scalar(&Arg { value, span: arg.span })).collect()
    }

    /// Integers of a list; a lone integer is a list of one.
    pub fn to_ints(&mut self, arg: &Arg) -> Read<Vec<i64>> {
        if matches!(arg.value, Value::Int(_) | Value::Scalar(_)) {
            return Ok(vec![self.to_int(arg)?]);
        }
        let items = self.elements(arg)?;
        items.into_iter().map(|value| self.to_int(&Arg { value, span: arg.span })).collect()
    }

    /// A dimension, stride or offset that may be quoted: `"n * 2"`. New names in it are variables of that dtype.
    pub fn quoted(&mut self, arg: &Arg, dtype: DType) -> Read<PrimExpr> {
        let Value::Str(text) = &arg.value else { return self.to_scalar(arg) };
        let expr = parse_expression(text, self.cx.source, arg.span).map_err(|errors| self.cx.report_all(errors))?;
        let outer = self.define_missing.replace(dtype);
        let value = self.arg(&expr);
        self.define_missing = outer;
        self.to_scalar(&value)
    }

    /// A buffer.
    pub fn to_buffer(&mut self, arg: &Arg) -> Read<Buffer> {
        match &arg.value {
            Value::Buffer(buffer) => Ok(buffer.clone()),
            _ => Err(self.expected(arg, "a buffer")),
        }
    }
}

/// The names of a tuple of loop variables: `i_0, i_1` for the target `i`.
fn loop_variables(target: &str, items: &[Value]) -> Option<String> {
    let names: Option<Vec<String>> = items
        .iter()
        .enumerate()
        .map(|(n, item)| {
            let name = format!("{target}_{n}");
            matches!(item, Value::Scalar(e) if e.as_var().is_some_and(|var| **var.name() == *name)).then_some(name)
        })
        .collect();
    names.filter(|names| !names.is_empty()).map(|names| names.join(", "))
}

/// `inf`, `-inf`, `nan`, as `float("…")` reads them.
pub(crate) fn special_float(text: &str) -> Option<f64> {
    match text.trim().to_ascii_lowercase().as_str() {
        "inf" | "+inf" | "infinity" => Some(f64::INFINITY),
        "-inf" | "-infinity" => Some(f64::NEG_INFINITY),
        "nan" | "-nan" | "+nan" => Some(f64::NAN),
        _ => None,
    }
}
