//! Constants written in the text: `R.const(1.5, "float32")`, `R.const([[1, 2], [3, 4]])`.

use super::RelaxEval;
use crate::script::{
    args::{Arg, Args},
    context::Read,
    expect::special_float,
    metadata,
    numbers::Number,
    operators,
    value::Value,
};
use hammock_diagnostics::{codes, count};
use hammock_ir::{
    DType, Tensor, Type,
    relax::{Constant, Operand},
};

impl RelaxEval<'_, '_> {
    /// `R.const(value, dtype)`; the dtype may be a type.
    pub(super) fn const_call(&mut self, mut args: Args) -> Read<Value> {
        let value = args.need(self.cx, "value")?;
        let dtype = args.take("dtype").filter(|arg| !matches!(arg.value, Value::None));
        args.finish(self.cx)?;
        let (mut distributed, mut vdevice) = (None, None);
        let dtype = match dtype {
            None => None,
            Some(Arg { value: Value::Type(Type::Tensor(t)), .. }) => {
                vdevice = t.vdevice.clone();
                t.dtype
            }
            Some(Arg { value: Value::Type(Type::DTensor(t)), .. }) => {
                distributed = Some(t.clone());
                t.tensor.dtype
            }
            Some(arg) => Some(self.to_dtype(&arg)?),
        };
        let operand = match value.value {
            Value::Operand(constant @ Operand::Const(_)) => constant,
            _ => self.literal(&value, dtype)?,
        };
        Ok(Value::Operand(match operand {
            Operand::Const(constant) => Operand::Const(Constant {
                distributed: distributed.or(constant.distributed),
                vdevice: vdevice.or(constant.vdevice),
                ..constant
            }),
            operand => operand,
        }))
    }

    /// A number, or nested lists of numbers, as a constant tensor.
    pub(super) fn literal(&mut self, arg: &Arg, dtype: Option<DType>) -> Read<Operand> {
        let (mut shape, mut numbers) = (Vec::new(), Vec::new());
        if let Err(odd) = flatten(&arg.value, 0, &mut shape, &mut numbers) {
            return Err(match odd {
                LiteralError::Value(value) => {
                    let odd = Arg { value: value.clone(), span: arg.span };
                    self.expected(&odd, "a number, or lists of numbers")
                }
                LiteralError::Length { is, expected } => {
                    let message = format!(
                        "these lists are no tensor: one has {}, another {expected}",
                        count(is as usize, "member")
                    );
                    self.cx.error(codes::WRONG_VALUE, arg.span, message, "lists of equal lengths make a tensor")
                }
                LiteralError::Depth => {
                    let message = "these lists are no tensor: numbers and lists are mixed";
                    self.cx.error(codes::WRONG_VALUE, arg.span, message, "lists of equal lengths make a tensor")
                }
            });
        }
        let dtype = dtype.unwrap_or_else(|| default_dtype(&arg.value));
        let mut bytes = Vec::new();
        for number in &numbers {
            if !encode(*number, dtype, &mut bytes) {
                let shown = match number {
                    Number::Int(v) => v.to_string(),
                    Number::Float(v) => v.to_string(),
                };
                let message = format!("{shown} cannot be written as a constant of dtype {dtype}");
                return Err(self.cx.error(codes::WRONG_VALUE, arg.span, message, ""));
            }
        }
        match Tensor::from_bytes(dtype, &shape, &bytes) {
            Ok(tensor) => Ok(metadata::constant_operand(tensor)),
            Err(error) => Err(self.cx.error(codes::WRONG_VALUE, arg.span, error.to_string(), "")),
        }
    }
}

/// The reason why nested lists are no tensor.
enum LiteralError<'v> {
    /// Something in them is not a number.
    Value(&'v Value),
    /// A list's length differs from that of its siblings.
    Length { is: i64, expected: i64 },
    /// Numbers and lists are mixed.
    Depth,
}

/// Collects the numbers of nested lists.
fn flatten<'v>(
    value: &'v Value,
    depth: usize,
    shape: &mut Vec<i64>,
    numbers: &mut Vec<Number>,
) -> Result<(), LiteralError<'v>> {
    let Some(items) = value.elements() else {
        let number = match value {
            Value::Str(text) => special_float(text).map(Number::Float),
            Value::Scalar(e) => e.as_int().map(|v| Number::Int(v.into())).or(e.as_float().map(Number::Float)),
            value => value.number(),
        };
        numbers.push(number.ok_or(LiteralError::Value(value))?);
        return if shape.len() == depth { Ok(()) } else { Err(LiteralError::Depth) };
    };
    let len = items.len() as i64;
    match shape.get(depth) {
        Some(known) if *known != len => return Err(LiteralError::Length { is: len, expected: *known }),
        Some(_) => {}
        // A list may add a dimension only before the first number.
        None if numbers.is_empty() => shape.push(len),
        None => return Err(LiteralError::Depth),
    }
    items.iter().try_for_each(|item| flatten(item, depth + 1, shape, numbers))
}

/// The default dtype of numbers: that of the widest kind among them.
pub(super) fn default_dtype(value: &Value) -> DType {
    let rank = |t: DType| [DType::BOOL, DType::INT32, DType::FLOAT32].iter().position(|k| *k == t);
    match value {
        Value::Bool(_) => DType::BOOL,
        Value::Int(_) => DType::INT32,
        Value::Scalar(e) => e.dtype(),
        _ => match value.elements() {
            Some(items) => items.iter().map(default_dtype).max_by_key(|t| rank(*t)).unwrap_or(DType::FLOAT32),
            None => DType::FLOAT32,
        },
    }
}

/// Appends a number's bytes; false if the dtype cannot represent it, or has no literals.
fn encode(number: Number, dtype: DType, bytes: &mut Vec<u8>) -> bool {
    match (dtype, number) {
        (DType::FLOAT64, n) => bytes.extend(n.as_f64().to_le_bytes()),
        (DType::FLOAT32, n) => bytes.extend((n.as_f64() as f32).to_le_bytes()),
        (DType::FLOAT16, n) => bytes.extend(hammock_runtime::value::small_float::to_float16(n.as_f64()).to_le_bytes()),
        (DType::BFLOAT16, n) => {
            bytes.extend(hammock_runtime::value::small_float::to_bfloat16(n.as_f64()).to_le_bytes())
        }
        (DType::BOOL, n) => bytes.push(u8::from(n.as_f64() != 0.0)),
        (t, n) if t.is_integer() && t.is_scalar() && t.bits % 8 == 0 => {
            let value = match n {
                Number::Int(v) => v,
                Number::Float(v) if v.is_finite() => v.trunc() as i128,
                Number::Float(_) => return false,
            };
            bytes.extend(&value.to_le_bytes()[..t.bytes()]);
            return operators::fits(value, t);
        }
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(items: &[&[i128]]) -> Value {
        Value::List(items.iter().map(|row| Value::List(row.iter().map(|v| Value::Int(*v)).collect())).collect())
    }

    #[test]
    fn lists_have_equal_lengths() {
        let read = |value: &Value| {
            let (mut shape, mut numbers) = (Vec::new(), Vec::new());
            flatten(value, 0, &mut shape, &mut numbers).is_ok().then_some((shape, numbers.len()))
        };
        assert_eq!(read(&lists(&[&[1, 2, 3], &[4, 5, 6]])), Some((vec![2, 3], 6)));
        assert_eq!(read(&lists(&[&[1, 2], &[3]])), None);
        assert_eq!(read(&Value::List(vec![Value::Int(1), Value::List(vec![Value::Int(2)])])), None);
        assert_eq!(read(&Value::str("-inf")), Some((vec![], 1)));
    }

    #[test]
    fn integers_must_fit() {
        let mut bytes = Vec::new();
        assert!(encode(Number::Int(-1), DType::INT8, &mut bytes));
        assert!(!encode(Number::Int(-1), DType::UINT8, &mut bytes));
        assert!(!encode(Number::Float(f64::NAN), DType::INT32, &mut bytes));
    }
}
