//! Values as text, and the tensors in them.
//!
//! The size of the text is bounded by the size of the value in memory, however often its parts are shared. Nothing here
//! recurses over values.
mod elements;

use crate::ffi::Error;
use crate::reflect;
use crate::value::{Any, MAX_PARTS, Shape, Tensor, Tuple};
use elements::elements;
use std::collections::HashMap;
use std::fmt::Write;

/// Maximum nesting depth of tuples; deeper ones are shown as `…`.
const MAX_DEPTH: usize = 64;
/// Maximum nesting depth of tuples whose fields are named.
const MAX_NAMED_DEPTH: usize = 1000;

/// A part of a value, with its path.
struct Part {
    value: Any,
    /// Tuple indices separated by dots; empty for the value itself.
    path: String,
    depth: usize,
}

impl Part {
    fn root(value: &Any) -> Part {
        Part { value: value.clone(), path: String::new(), depth: 0 }
    }

    /// The fields of a tuple, last first.
    fn fields(&self, tuple: &Tuple) -> impl Iterator<Item = Part> {
        let path = |i: usize| if self.path.is_empty() { i.to_string() } else { format!("{}.{i}", self.path) };
        let field =
            move |(i, field): (usize, &Any)| Part { value: field.clone(), path: path(i), depth: self.depth + 1 };
        tuple.iter().enumerate().rev().map(field)
    }
}

/// The numeric values in a value with their paths: `0` for a single one; `0`, `1`, `1.0` for tuple fields. A shape
/// becomes an int64 vector, a number a tensor of rank 0; strings, functions and null are skipped.
///
/// # Errors
/// If the value has too many parts or nests too deeply, or a tensor cannot be read.
pub fn leaves(value: &Any) -> Result<Vec<(String, Tensor)>, Error> {
    let (mut found, mut count) = (Vec::new(), 0);
    let mut rest = vec![Part::root(value)];
    while let Some(part) = rest.pop() {
        count += 1;
        let Some(tuple) = part.value.get::<&Tuple>() else {
            let path = if part.path.is_empty() { "0".to_owned() } else { part.path };
            found.push((path, part.value));
            continue;
        };
        if part.depth == MAX_NAMED_DEPTH {
            return Err(Error::value(format!("values nested more than {MAX_NAMED_DEPTH} deep have no names")));
        }
        if count + rest.len() + tuple.len() > MAX_PARTS {
            return Err(Error::value(format!("the value has more than {MAX_PARTS} parts")));
        }
        rest.extend(part.fields(tuple));
    }
    // Only now, so that nothing is allocated for a value that has too many parts.
    let tensor = |(path, value): (String, Any)| Ok(as_tensor(&value)?.map(|tensor| (path, tensor)));
    found.into_iter().filter_map(|part| tensor(part).transpose()).collect()
}

fn as_tensor(value: &Any) -> Result<Option<Tensor>, Error> {
    if let Some(tensor) = value.get::<&Tensor>() {
        let dense = tensor.on_host()?.to_contiguous()?;
        // A view may begin at any address, but the elements must be aligned.
        let is_aligned = dense.data_ptr().addr().is_multiple_of(dense.dtype().bytes().next_power_of_two());
        return Ok(Some(if is_aligned {
            dense
        } else {
            Tensor::from_bytes(dense.dtype(), dense.shape(), dense.as_bytes()?)?
        }));
    }
    if let Some(shape) = value.get::<&Shape>() {
        return Ok(Some(Tensor::from_slice(&[shape.len() as i64], shape.as_slice())?));
    }
    Ok(match value.type_name() {
        "bool" => Some(Tensor::scalar(value.get::<bool>().unwrap_or_default())?),
        "int" => Some(Tensor::scalar(value.get::<i64>().unwrap_or_default())?),
        "float" => Some(Tensor::scalar(value.get::<f64>().unwrap_or_default())?),
        _ => None,
    })
}

/// Formats a value for people: a number as such; tensors with dtype and shape, long ones abbreviated; tuples that occur
/// repeatedly as the path of their first occurrence.
pub fn show(value: &Any) -> String {
    let (mut out, mut seen) = (String::new(), HashMap::new());
    let mut rest = vec![Part::root(value)];
    while let Some(part) = rest.pop() {
        let label = if part.path.is_empty() { String::new() } else { format!("{}: ", part.path) };
        let Some(tuple) = part.value.get::<&Tuple>() else {
            let _ = writeln!(out, "{label}{}", show_leaf(&part.value));
            continue;
        };
        let first = part.value.address().and_then(|address| seen.get(&address));
        if tuple.is_empty() {
            let _ = writeln!(out, "{label}()");
        } else if let Some(first) = first {
            let _ = writeln!(out, "{label}as {first}");
        } else if part.depth == MAX_DEPTH {
            let _ = writeln!(out, "{label}…");
        } else {
            rest.extend(part.fields(tuple));
            part.value.address().map(|address| seen.insert(address, part.path));
        }
    }
    out
}

fn show_leaf(value: &Any) -> String {
    if let Some(tensor) = value.get::<&Tensor>() {
        return match tensor.shape() {
            [] => format!("{} ({})", elements(tensor), tensor.dtype()),
            shape => format!("{}{shape:?}\n{}", tensor.dtype(), elements(tensor)),
        };
    }
    if let Some(text) = value.as_str() {
        return format!("{text:?}");
    }
    if let Some(shape) = value.get::<&Shape>() {
        return format!("shape{:?}", shape.as_slice());
    }
    match value.type_name() {
        "None" => "null".to_owned(),
        "bool" | "int" | "float" => as_tensor(value).ok().flatten().map_or_else(String::new, |t| elements(&t)),
        name => reflect::described(value).unwrap_or_else(|| format!("<{name}>")),
    }
}

/// Formats a value within a line of text: like [`show`], without dtypes, tuples in parentheses.
pub fn plain(value: &Any) -> String {
    match (value.get::<&Tensor>(), value.as_str()) {
        _ if value.get::<&Tuple>().is_some() => reflect::text_of(value, plain),
        (Some(tensor), _) => elements(tensor),
        (_, Some(text)) => text.to_owned(),
        _ => value.to_string(),
    }
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
    fn shared_parts_are_shown_once() {
        let leaf = Any::from(Tuple::from_iter([1i64.into()]));
        let value = (0..40).fold(leaf, |value, _| Tuple::from_iter([value.clone(), value]).into());
        let text = show(&value);
        assert!(text.lines().count() == 41 && text.ends_with("\n0.1: as 0.0\n1: as 0\n"), "{text}");
        assert!(plain(&value).len() < 1_000_000);
        assert!(leaves(&value).unwrap_err().message().contains("parts"));
        let nothing = (0..40).fold(Any::from(Tuple::from_iter([])), |v, _| Tuple::from_iter([v.clone(), v]).into());
        assert!(leaves(&nothing).is_err() && show(&nothing).lines().count() < 100);
    }

    #[test]
    fn deep_values_are_shown_as_far_as_is_useful() {
        let deep = (0..if cfg!(miri) { 2000 } else { 1_000_000i64 })
            .fold(Any::NONE, |rest, i| Tuple::from_iter([i.into(), rest]).into());
        let text = show(&deep);
        assert!(text.lines().count() == MAX_DEPTH + 1 && text.ends_with("1.1.1: …\n"), "{text}");
        assert!(plain(&deep).contains('…'));
        assert!(leaves(&deep).unwrap_err().message().contains("nested more than 1000 deep"));
    }

    #[test]
    fn leaves_have_paths() {
        let inner = Tuple::new([1.5f64.into(), true.into()].into_iter());
        let value: Any = Tuple::new([Shape::new(&[2, 3]).into(), inner.into(), Any::default()].into_iter()).into();
        let names: Vec<String> = leaves(&value).unwrap().into_iter().map(|(n, _)| n).collect();
        assert_eq!(names, ["0", "1.0", "1.1"]);
    }
}
