//! Values as text, and their tensors.

use crate::{Any, DType, Shape, Tensor, Tuple, reflect};
use std::fmt::Write;

/// The numbers in a value with their paths: `0` for a lone one; `0`, `1`, `1.0` for members of tuples. A shape is an
/// int64 vector, a number a tensor of rank 0; strings, functions and null have none.
pub fn leaves(value: &Any) -> Vec<(String, Tensor)> {
    let mut found = Vec::new();
    collect(value, "", &mut found);
    found
}

fn collect(value: &Any, path: &str, found: &mut Vec<(String, Tensor)>) {
    if let Some(tuple) = value.get::<Tuple>() {
        for (i, field) in tuple.as_slice().iter().enumerate() {
            let path = if path.is_empty() { i.to_string() } else { format!("{path}.{i}") };
            collect(field, &path, found);
        }
        return;
    }
    let path = if path.is_empty() { "0" } else { path };
    found.extend(as_tensor(value).map(|t| (path.to_owned(), t)));
}

fn as_tensor(value: &Any) -> Option<Tensor> {
    if let Some(tensor) = value.get::<Tensor>() {
        return tensor.to_contiguous().ok();
    }
    if let Some(shape) = value.get::<Shape>() {
        return Tensor::from_slice(&[shape.as_slice().len() as i64], shape.as_slice()).ok();
    }
    match value.type_name() {
        "bool" => Tensor::scalar(value.get::<bool>()?).ok(),
        "int" => Tensor::scalar(value.get::<i64>()?).ok(),
        "float" => Tensor::scalar(value.get::<f64>()?).ok(),
        _ => None,
    }
}

/// A value for people: a number alone; tensors with dtype and shape, long ones shortened.
pub fn show(value: &Any) -> String {
    let mut out = String::new();
    write_value(&mut out, value, "");
    out
}

/// A value within a line of text: as [`show`], without dtypes, tuples in parentheses.
pub fn plain(value: &Any) -> String {
    if let Some(tuple) = value.get::<Tuple>() {
        let fields: Vec<_> = tuple.as_slice().iter().map(plain).collect();
        return format!("({})", fields.join(", "));
    }
    match (value.get::<Tensor>(), value.as_str()) {
        (Some(tensor), _) => show_elements(&tensor),
        (_, Some(text)) => text.to_owned(),
        _ => value.to_string(),
    }
}

fn write_value(out: &mut String, value: &Any, path: &str) {
    let label = if path.is_empty() { String::new() } else { format!("{path}: ") };
    if let Some(tuple) = value.get::<Tuple>() {
        if tuple.as_slice().is_empty() {
            let _ = writeln!(out, "{label}()");
        }
        for (i, field) in tuple.as_slice().iter().enumerate() {
            let path = if path.is_empty() { i.to_string() } else { format!("{path}.{i}") };
            write_value(out, field, &path);
        }
    } else if let Some(tensor) = value.get::<Tensor>() {
        let _ = writeln!(out, "{label}{}", show_tensor(&tensor));
    } else if let Some(text) = value.as_str() {
        let _ = writeln!(out, "{label}{text:?}");
    } else if let Some(shape) = value.get::<Shape>() {
        let _ = writeln!(out, "{label}shape{:?}", shape.as_slice());
    } else if value.is_none() {
        let _ = writeln!(out, "{label}null");
    } else {
        let number = as_tensor(value).map(|t| elements(&t).concat());
        let object = || reflect::described(value).unwrap_or_else(|| format!("<{}>", value.type_name()));
        let _ = writeln!(out, "{label}{}", number.unwrap_or_else(object));
    }
}

/// How many elements are printed at most at each end of a dimension.
const EDGE: usize = 3;
/// Tensors of up to this many elements are printed whole.
const WHOLE: usize = 200;

fn show_tensor(tensor: &Tensor) -> String {
    match tensor.shape() {
        [] => format!("{} ({})", show_elements(tensor), tensor.dtype()),
        shape => format!("{}{shape:?}\n{}", tensor.dtype(), show_elements(tensor)),
    }
}

/// The elements in brackets, one pair for each dimension.
fn show_elements(tensor: &Tensor) -> String {
    let Ok(tensor) = tensor.to_contiguous() else { return format!("<{} tensor>", tensor.dtype()) };
    let texts = elements(&tensor);
    if tensor.shape().is_empty() {
        return texts.concat();
    }
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    let mut out = String::new();
    write_rows(&mut out, tensor.shape(), &texts, width, texts.len() <= WHOLE, 0);
    out
}

fn write_rows(out: &mut String, shape: &[i64], texts: &[String], width: usize, whole: bool, depth: usize) {
    let Some((&n, inner)) = shape.split_first() else { return };
    let n = n as usize;
    let step = texts.len().checked_div(n).unwrap_or(0);
    let shown = |i: usize| whole || n <= 2 * EDGE || i < EDGE || i >= n - EDGE;
    out.push('[');
    for i in (0..n).filter(|i| shown(*i) || *i == EDGE) {
        if i > 0 {
            out.push_str(if inner.is_empty() { " " } else { "\n" });
            out.push_str(&" ".repeat(if inner.is_empty() { 0 } else { depth + 1 }));
        }
        if !shown(i) {
            out.push('…');
        } else if inner.is_empty() {
            let _ = write!(out, "{:>width$}", texts[i]);
        } else {
            write_rows(out, inner, &texts[i * step..(i + 1) * step], width, whole, depth + 1);
        }
    }
    out.push(']');
}

/// The elements of a contiguous tensor as text.
fn elements(tensor: &Tensor) -> Vec<String> {
    macro_rules! of {
        ($t:ty, $f:expr) => {
            tensor.as_slice::<$t>().map(|s| s.iter().map($f).collect()).unwrap_or_default()
        };
    }
    match tensor.dtype() {
        DType::FLOAT32 => of!(f32, |v| float(f64::from(*v), format!("{v:?}"))),
        DType::FLOAT64 => of!(f64, |v| float(*v, format!("{v:?}"))),
        DType::FLOAT16 => of!(half::f16, |v| float(v.to_f64(), format!("{:?}", v.to_f32()))),
        DType::BFLOAT16 => of!(half::bf16, |v| float(v.to_f64(), format!("{:?}", v.to_f32()))),
        DType::INT8 => of!(i8, i8::to_string),
        DType::INT16 => of!(i16, i16::to_string),
        DType::INT32 => of!(i32, i32::to_string),
        DType::INT64 => of!(i64, i64::to_string),
        DType::UINT8 => of!(u8, u8::to_string),
        DType::UINT16 => of!(u16, u16::to_string),
        DType::UINT32 => of!(u32, u32::to_string),
        DType::UINT64 => of!(u64, u64::to_string),
        DType::BOOL => of!(bool, bool::to_string),
        _ => vec!["?".to_owned(); tensor.element_count()],
    }
}

/// A float's shortest text, lower-case for what is no number.
fn float(value: f64, text: String) -> String {
    if value.is_finite() { text } else { text.to_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_well() {
        let tensor = Tensor::from_slice(&[2, 3], &[1f32, -2.5, 3.0, 4.0, f32::NAN, 6.0]).unwrap();
        assert_eq!(show(&tensor.into()), "float32[2, 3]\n[[ 1.0 -2.5  3.0]\n [ 4.0  nan  6.0]]\n");
        assert_eq!(show(&Tensor::scalar(0.975f32).unwrap().into()), "0.975 (float32)\n");
        let pair = Tuple::new([7i64.into(), Any::str("hi")].into_iter());
        assert_eq!(show(&pair.into()), "0: 7\n1: \"hi\"\n");
        assert_eq!(show(&Any::default()), "null\n");
    }

    #[test]
    fn long_tensors_are_shortened() {
        let values: Vec<i32> = (0..1000).collect();
        let text = show(&Tensor::from_slice(&[1000], &values).unwrap().into());
        assert_eq!(text, "int32[1000]\n[  0   1   2 … 997 998 999]\n");
    }

    #[test]
    fn leaves_have_paths() {
        let inner = Tuple::new([1.5f64.into(), true.into()].into_iter());
        let value: Any = Tuple::new([Shape::new(&[2, 3]).into(), inner.into(), Any::default()].into_iter()).into();
        let names: Vec<String> = leaves(&value).into_iter().map(|(n, _)| n).collect();
        assert_eq!(names, ["0", "1.0", "1.1"]);
    }
}
