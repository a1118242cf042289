//! Tensor literals: `[[1, 2], [3, 4]]:float32`, `2.5:float32`, `[true, false]:bool`.

use super::split::split_list;
use crate::error::{InputError, brief};
use hammock_runtime::{DType, Device, Shape, Tensor, suggest::nearest_dtype, value::small_float};

/// Maximum nesting depth of lists, and so maximum rank, as in numpy.
const MAX_DIMS: usize = 64;

/// Parses a tensor; `None` if the text has another form.
pub(super) fn parse(text: &str) -> Option<Result<Tensor, InputError>> {
    let (values, dtype) = text.rsplit_once(':')?;
    let dtype = match parse_dtype(dtype.trim()) {
        Ok(dtype) => dtype,
        // Text with a colon need not be a tensor.
        Err(error) => return looks_like_tensor(values).then_some(Err(error)),
    };
    let (mut dims, mut numbers) = (Vec::new(), Vec::new());
    Some(match flatten(values.trim(), 0, &mut dims, &mut numbers) {
        Ok(()) => numbers.iter().try_for_each(|v| check(*v, dtype)).and_then(|()| fill(dtype, &dims, |i| numbers[i])),
        Err(why) => Err(InputError::new(format!("`{}` is not a tensor: {why}", brief(text)))
            .help("write lists of equal lengths and the dtype of the numbers: [[1, 2], [3, 4]]:float32")),
    })
}

/// Parses a dtype.
pub(super) fn parse_dtype(name: &str) -> Result<DType, InputError> {
    name.parse().map_err(|_| {
        let error = InputError::new(format!("there is no dtype `{name}`"));
        match nearest_dtype(name) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("such as float32, float16, bfloat16, int64, int8, uint8, bool"),
        }
    })
}

fn looks_like_tensor(values: &str) -> bool {
    values.trim_start().starts_with('[') || number(values.trim()).is_some()
}

/// Collects the numbers of nested lists, and the length of the lists at each depth.
fn flatten(text: &str, depth: usize, dims: &mut Vec<i64>, numbers: &mut Vec<Number>) -> Result<(), String> {
    let Some(inner) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) else {
        if depth != dims.len() {
            return Err(format!("expected a list, not `{}`", brief(text)));
        }
        numbers.push(number(text).ok_or_else(|| format!("`{}` is not a number", brief(text)))?);
        return Ok(());
    };
    if depth == MAX_DIMS {
        return Err(format!("it has more than {MAX_DIMS} dimensions"));
    }
    let items = split_list(inner);
    match dims.get(depth) {
        None if numbers.is_empty() => dims.push(items.len() as i64),
        Some(len) if *len == items.len() as i64 => {}
        _ => return Err("its lists differ in length or depth".to_owned()),
    }
    items.into_iter().try_for_each(|item| flatten(item.trim(), depth + 1, dims, numbers))
}

/// A number in its source type: float64 does not represent all integers of int64 and uint64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Integer(i128),
    Float(f64),
}

impl Number {
    fn float(self) -> f64 {
        match self {
            Number::Integer(v) => v as f64,
            Number::Float(v) => v,
        }
    }

    fn integer(self) -> i128 {
        match self {
            Number::Integer(v) => v,
            Number::Float(v) => v as i128,
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Number::Integer(v) => v.fmt(f),
            Number::Float(v) => v.fmt(f),
        }
    }
}

fn number(text: &str) -> Option<Number> {
    match text {
        "true" | "True" => Some(Number::Integer(1)),
        "false" | "False" => Some(Number::Integer(0)),
        // `-0` is a float's zero; `0` is an integer.
        _ => match text.parse::<i128>() {
            Ok(v) if v != 0 => Some(Number::Integer(v)),
            _ => text.parse().ok().map(Number::Float),
        },
    }
}

/// Checks that a dtype can represent a number: integers have no fractions.
fn check(value: Number, dtype: DType) -> Result<(), InputError> {
    let is_known = dtype.is_bool() || dtype.is_integer() && (1..=64).contains(&dtype.bits);
    if !is_known {
        return Ok(());
    }
    let (min, max) = match dtype.bits {
        _ if dtype.is_bool() => (0, 1),
        bits if dtype.is_int() => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        bits => (0, (1i128 << bits) - 1),
    };
    let range = min..=max;
    let whole = matches!(value, Number::Integer(_)) || value.float().fract() == 0.0;
    if whole && range.contains(&value.integer()) {
        return Ok(());
    }
    let why = if whole { format!(": its values are {} to {}", range.start(), range.end()) } else { String::new() };
    Err(InputError::new(format!("{value} is not a value of dtype {dtype}{why}")))
}

/// A tensor of zeros, whose memory is not touched; an error if it exceeds the machine's memory.
pub(super) fn zeros(dtype: DType, dims: &[i64]) -> Result<Tensor, InputError> {
    let fail = |e: hammock_runtime::TensorError| {
        InputError::new(format!("cannot make a tensor of shape {}: {e}", Shape::new(dims)))
    };
    let bytes = hammock_runtime::value::byte_size(dtype, dims).map_err(fail)?;
    if bytes > hammock_runtime::memory::default_limit() {
        return Err(fail(hammock_runtime::TensorError::OutOfMemory { bytes, device: Device::CPU }));
    }
    Tensor::empty(dtype, dims, Device::CPU).map_err(fail)
}

/// A tensor of the given values, converted to its dtype.
pub(super) fn fill(dtype: DType, dims: &[i64], mut value: impl FnMut(usize) -> Number) -> Result<Tensor, InputError> {
    let mut tensor = zeros(dtype, dims)?;
    macro_rules! of {
        ($t:ty, $convert:expr) => {{
            let elements = tensor.as_mut_slice::<$t>().map_err(|e| InputError::new(e.to_string()))?;
            elements.iter_mut().enumerate().for_each(|(i, element)| *element = $convert(value(i)));
        }};
    }
    match dtype {
        DType::FLOAT32 => of!(f32, |v| match v {
            Number::Integer(v) => v as f32,
            Number::Float(v) => v as f32,
        }),
        DType::FLOAT64 => of!(f64, Number::float),
        DType::FLOAT16 => of!(half::f16, |v: Number| small_float::to_float16(v.float())),
        DType::BFLOAT16 => of!(half::bf16, |v: Number| small_float::to_bfloat16(v.float())),
        DType::INT8 => of!(i8, |v: Number| v.integer() as i8),
        DType::INT16 => of!(i16, |v: Number| v.integer() as i16),
        DType::INT32 => of!(i32, |v: Number| v.integer() as i32),
        DType::INT64 => of!(i64, |v: Number| v.integer() as i64),
        DType::UINT8 => of!(u8, |v: Number| v.integer() as u8),
        DType::UINT16 => of!(u16, |v: Number| v.integer() as u16),
        DType::UINT32 => of!(u32, |v: Number| v.integer() as u32),
        DType::UINT64 => of!(u64, |v: Number| v.integer() as u64),
        DType::BOOL => of!(bool, |v: Number| v.integer() % 2 == 1),
        _ => return Err(InputError::new(format!("tensors of {dtype} cannot be made this way"))),
    }
    Ok(tensor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_numbers() {
        let tensor = |text| parse(text).unwrap().unwrap();
        let x = tensor("[[1, 2, 3], [4, 5, 6.5]]:float32");
        assert_eq!(
            (x.shape(), x.as_slice::<f32>().unwrap()),
            ([2, 3].as_slice(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.5].as_slice())
        );
        assert_eq!(tensor("-3:int64").as_slice::<i64>().unwrap(), &[-3]);
        assert_eq!(tensor("[true, false]:bool").as_slice::<bool>().unwrap(), &[true, false]);
        assert_eq!(tensor("[]:int8").shape(), &[0]);
        assert!(tensor("[inf, nan]:float16").as_slice::<half::f16>().unwrap()[1].is_nan());
        let wide = tensor("[[9007199254740993, -9223372036854775808], [9223372036854775807, 0]]:int64");
        assert_eq!(wide.as_slice::<i64>().unwrap(), &[9_007_199_254_740_993, i64::MIN, i64::MAX, 0]);
        assert_eq!(tensor("[18446744073709551615, 1]:uint64").as_slice::<u64>().unwrap(), &[u64::MAX, 1]);
        assert_eq!(tensor("1e3:int32").as_slice::<i32>().unwrap(), &[1000]);
        assert!(tensor("-0:float32").as_slice::<f32>().unwrap()[0].is_sign_negative());
        assert!(parse("7").is_none() && parse("a:b").is_none());
    }

    #[test]
    fn what_is_no_tensor() {
        let bad = [
            "[1, 2:int8",
            "[[1], [2, 3]]:int8",
            "[[1], 2]:int8",
            "[1, [2]]:int8",
            "300:int8",
            "1.5:int32",
            "-1:uint8",
            "2:bool",
            "[x]:float32",
            "9223372036854775808:int64",
            "-9223372036854775809:int64",
            "18446744073709551616:uint64",
            "nan:int32",
            "1e30:int64",
            "[[], [1]]:int8",
        ];
        for text in bad {
            assert!(parse(text).unwrap().is_err(), "{text}");
        }
    }
}
