//! Constants as text.

use super::quote::quoted;
use hammock_runtime::{DType, Element, Tensor, executable::Constant};
use std::{fmt::Write, str::FromStr};

/// Maximum number of elements of a tensor that is written as numbers.
const FEW: usize = 8;
/// Bytes per line of a tensor's data.
const LINE: usize = 32;

/// Formats a constant; a tensor with a `name` is stored in another file under that name.
pub(super) fn write(constant: &Constant, name: Option<&str>) -> String {
    match constant {
        Constant::Tensor(tensor) => match name {
            Some(name) => format!("tensor {} from {}", head(tensor), quoted(name)),
            None => format!("tensor {} {}", head(tensor), contents(tensor)),
        },
        Constant::Shape(shape) => format!("shape ({})", joined(shape)),
        Constant::Str(text) => format!("str {}", quoted(text.as_str())),
        Constant::Int(value) => format!("int {value}"),
        Constant::Float(value) if value.is_finite() => format!("float {value:?}"),
        Constant::Float(value) => format!("float x\"{}\"", hex(&value.to_bits().to_le_bytes())),
        Constant::DType(dtype) => format!("dtype {}", dtype_text(*dtype)),
    }
}

fn head(tensor: &Tensor) -> String {
    format!("{}({})", dtype_text(tensor.dtype()), joined(tensor.shape()))
}

fn joined(sizes: &[i64]) -> String {
    sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

/// A dtype's name or, if that is ambiguous, its numbers.
fn dtype_text(dtype: DType) -> String {
    let text = dtype.to_string();
    match text.is_empty() || DType::from_str(&text) != Ok(dtype) {
        true => format!("dtype({}, {}, {})", dtype.code, dtype.bits, dtype.lanes),
        false => text,
    }
}

fn contents(tensor: &Tensor) -> String {
    let are_finite = |floats: &Vec<String>| floats.iter().all(|float| float.contains(['.', 'e']));
    let numbers = match tensor.dtype() {
        _ if tensor.element_count() > FEW => None,
        DType::INT8 => texts::<i8>(tensor),
        DType::INT16 => texts::<i16>(tensor),
        DType::INT32 => texts::<i32>(tensor),
        DType::INT64 => texts::<i64>(tensor),
        DType::UINT8 => texts::<u8>(tensor),
        DType::UINT16 => texts::<u16>(tensor),
        DType::UINT32 => texts::<u32>(tensor),
        DType::UINT64 => texts::<u64>(tensor),
        DType::FLOAT32 => texts::<f32>(tensor).filter(are_finite),
        DType::FLOAT64 => texts::<f64>(tensor).filter(are_finite),
        _ => None,
    };
    match numbers {
        Some(numbers) => format!("[{}]", numbers.join(", ")),
        None => format!("{{{}}}", data(tensor)),
    }
}

fn texts<T: Element + std::fmt::Debug>(tensor: &Tensor) -> Option<Vec<String>> {
    Some(tensor.as_slice::<T>().ok()?.iter().map(|v| format!("{v:?}")).collect())
}

fn data(tensor: &Tensor) -> String {
    let dense = tensor.to_contiguous();
    let bytes = dense.as_ref().ok().and_then(|t| t.as_bytes().ok()).unwrap_or_default();
    match bytes.len() <= LINE {
        true if bytes.is_empty() => String::new(),
        true => format!("x\"{}\"", hex(bytes)),
        false => bytes.chunks(LINE).map(|line| format!("\n  x\"{}\"", hex(line))).collect::<String>() + "\n",
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2 + bytes.len() / 4);
    for (i, byte) in bytes.iter().enumerate() {
        let space = if i > 0 && i.is_multiple_of(4) { " " } else { "" };
        let _ = write!(out, "{space}{byte:02x}");
    }
    out
}
