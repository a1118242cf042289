//! Values as plain JSON, for programs that read numbers: `jq '.data[0]'`.
//!
//! Numbers, strings and booleans become JSON values, shapes and tuples lists, tensors objects `{"dtype", "shape",
//! "data"}` with nested lists of their elements, other objects `{"type"}` and their fields. Values that JSON lacks
//! (`nan`, `inf`, `-inf`) are strings. Shared parts are repeated wherever they occur; [`save`] writes them once.
//!
//! [`save`]: super::save
use super::graph::{Node, nodes};
use crate::base64;
use crate::ffi::Error;
use crate::json::Json;
use crate::value::{Any, Device, Number, Shape, Tensor};
use std::fmt::Write;

/// Maximum size of repeated shared parts, in bytes.
const MAX_REPEATED: usize = 256 << 20;

/// Serializes a value as plain JSON.
///
/// # Errors
/// If the value is or contains a function, or an object without declared fields; if it contains itself; if repeated
/// shared parts make the text too long.
pub fn plain(value: &Any) -> Result<String, Error> {
    let parts: Vec<Part> = nodes(value)?.into_iter().map(part).collect::<Result<_, _>>()?;
    let mut lengths: Vec<usize> = Vec::with_capacity(parts.len());
    for part in &parts {
        let nested =
            part.iter().filter_map(|piece| if let Piece::Node(node) = piece { Some(lengths[*node]) } else { None });
        let length = nested.fold(part.text(), usize::saturating_add);
        lengths.push(length);
    }
    let once: usize = parts.iter().map(Part::text).sum();
    let length = lengths.last().copied().unwrap_or_default();
    if length > once.max(MAX_REPEATED) {
        return Err(Error::value("the value repeats its parts too often to write it in full: write it as a graph"));
    }
    let mut out = String::with_capacity(length);
    // A stack of the nodes being written, each with its remaining pieces.
    let mut open: Vec<std::slice::Iter<'_, Piece>> = parts.last().map(|root| root.iter()).into_iter().collect();
    while let Some(pieces) = open.last_mut() {
        match pieces.next() {
            Some(Piece::Text(text)) => out.push_str(text),
            Some(Piece::Node(node)) => open.push(parts[*node].iter()),
            None => drop(open.pop()),
        }
    }
    Ok(out)
}

/// The pieces of a node: text and references to other nodes.
struct Part(Vec<Piece>);

enum Piece {
    Text(String),
    Node(usize),
}

impl Part {
    fn iter(&self) -> std::slice::Iter<'_, Piece> {
        self.0.iter()
    }

    /// Length of its own text.
    fn text(&self) -> usize {
        self.iter().map(|piece| if let Piece::Text(text) = piece { text.len() } else { 0 }).sum()
    }
}

fn part(node: Node) -> Result<Part, Error> {
    let mut pieces = Vec::new();
    let text = |pieces: &mut Vec<Piece>, text: &str| pieces.push(Piece::Text(text.to_owned()));
    match node {
        Node::Leaf(value) => pieces.push(Piece::Text(leaf(&value)?)),
        Node::Tuple(fields) => {
            text(&mut pieces, "[");
            for (i, field) in fields.into_iter().enumerate() {
                text(&mut pieces, if i > 0 { "," } else { "" });
                pieces.push(Piece::Node(field));
            }
            text(&mut pieces, "]");
        }
        Node::Object(ty, _) if ty.make.is_none() => return Err(super::json::unsaved(ty.key)),
        Node::Object(ty, fields) => {
            text(&mut pieces, &format!("{{\"type\":{}", Json::from(ty.key)));
            for (name, field) in fields {
                text(&mut pieces, &format!(",{}:", Json::from(name)));
                pieces.push(Piece::Node(field));
            }
            text(&mut pieces, "}");
        }
    }
    Ok(Part(pieces))
}

fn leaf(value: &Any) -> Result<String, Error> {
    if let Some(tensor) = value.get::<&Tensor>() {
        return tensor_text(tensor);
    }
    if let Some(text) = value.as_str() {
        return Ok(Json::from(text).to_string());
    }
    if let Some(bytes) = value.as_bytes() {
        return Ok(Json::Str(base64::encode(bytes)).to_string());
    }
    if let Some(shape) = value.get::<&Shape>() {
        return Ok(shape.iter().map(|size| Json::Int(*size)).collect::<Json>().to_string());
    }
    Ok(match value.type_name() {
        "None" => "null".to_owned(),
        "bool" => (value.get() == Some(true)).to_string(),
        "int" => value.get::<i64>().unwrap_or_default().to_string(),
        "float" => float(value.get().unwrap_or_default()),
        "dtype" | "Device" => Json::Str(value.to_string()).to_string(),
        other => return Err(super::json::unsaved(other)),
    })
}

/// A number, or the name of infinity and NaN.
fn float(value: f64) -> String {
    if value.is_finite() { format!("{value:?}") } else { format!("\"{}\"", value.to_string().to_ascii_lowercase()) }
}

/// Like `float`, with the fewest digits that identify a float32.
fn short(value: f32) -> String {
    if value.is_finite() { format!("{value:?}") } else { float(value.into()) }
}

fn tensor_text(tensor: &Tensor) -> Result<String, Error> {
    let tensor = tensor.to_device(Device::CPU)?.to_contiguous()?;
    let (dtype, width) = (tensor.dtype(), tensor.dtype().bytes().max(1));
    if Number::read(dtype, &[0; 8][..width.min(8)]).is_none() {
        return Err(Error::type_error(format!("JSON has no numbers for elements of dtype {dtype}")));
    }
    let text = |bytes: &[u8]| match Number::read(dtype, bytes) {
        Some(Number::Bool(value)) => value.to_string(),
        Some(Number::Signed(value)) => value.to_string(),
        Some(Number::Unsigned(value)) => value.to_string(),
        Some(Number::Single(value)) => short(value),
        Some(Number::Double(value)) => float(value),
        None => String::new(),
    };
    let data = nested(tensor.shape(), tensor.as_bytes()?.chunks_exact(width).map(text));
    let shape: Json = tensor.shape().iter().map(|size| Json::Int(*size)).collect();
    Ok(format!("{{\"dtype\":\"{}\",\"shape\":{shape},\"data\":{data}}}", tensor.dtype()))
}

/// Elements in nested brackets, one pair per dimension.
fn nested(shape: &[i64], elements: impl ExactSizeIterator<Item = String>) -> String {
    if elements.len() == 0 {
        return "[]".to_owned();
    }
    // Number of elements of a list at each dimension, from the outside in.
    let mut sizes: Vec<usize> = shape.iter().map(|size| *size as usize).collect();
    for at in (1..sizes.len()).rev() {
        sizes[at - 1] *= sizes[at];
    }
    let mut out = String::new();
    for (i, element) in elements.enumerate() {
        let begins = sizes.iter().filter(|size| i % **size == 0).count();
        let ends = sizes.iter().filter(|size| (i + 1) % **size == 0).count();
        out.push_str(if i > 0 { "," } else { "" });
        let _ = write!(out, "{:[<begins$}{}{:]<ends$}", "", element, "");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tuple;

    fn pair(a: impl Into<Any>, b: impl Into<Any>) -> Any {
        Tuple::new([a.into(), b.into()].into_iter()).into()
    }

    #[test]
    fn numbers_are_numbers() {
        let matrix = Tensor::from_slice(&[2, 2], &[0.1f32, -2.0, f32::NAN, 1e-7]).unwrap();
        let value = pair(pair(matrix, Tensor::scalar(7i64).unwrap()), pair(Shape::new(&[2, 3]), Any::str("\x1b\"")));
        let expected = r#"[[{"dtype":"float32","shape":[2,2],"data":[[0.1,-2.0],["nan",1e-7]]},"#.to_owned()
            + r#"{"dtype":"int64","shape":[],"data":7}],[[2,3],"\u001b\""]]"#;
        assert_eq!(plain(&value).unwrap(), expected);
        assert_eq!(plain(&pair(f64::NEG_INFINITY, true)).unwrap(), r#"["-inf",true]"#);
        assert_eq!(plain(&Any::NONE).unwrap(), "null");
        let none = Tensor::from_slice(&[3, 0], &[] as &[f32]).unwrap();
        assert_eq!(plain(&none.into()).unwrap(), r#"{"dtype":"float32","shape":[3,0],"data":[]}"#);
    }

    #[test]
    fn depth_and_sharing_are_handled_in_linear_time() {
        let mut deep: Any = 1i64.into();
        for _ in 0..100_000 {
            deep = Tuple::new([deep].into_iter()).into();
        }
        assert_eq!(plain(&deep).unwrap().len(), 200_001);
        let mut wide: Any = 1i64.into();
        for _ in 0..60 {
            wide = pair(wide.clone(), wide);
        }
        assert!(plain(&wide).unwrap_err().message().contains("as a graph"));
    }
}
