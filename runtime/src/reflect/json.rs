//! Values as JSON graphs: `{"root_index", "nodes": [{"type", "data"}], "metadata"}`.
//!
//! Type names and data are tvm-ffi's: numbers, strings and shapes as JSON values, bytes as base64, tuples as the node
//! indices of their fields, objects as their fields' indices by name. In addition there are tensors, as base64 of the
//! executable format's encoding. Parts come before the values that contain them.
use super::graph::{Node, nodes};
use super::types::{Fields, find};
use crate::base64;
use crate::executable::{tensor_from_bytes, tensor_to_bytes};
use crate::ffi::Error;
use crate::json::Json;
use crate::value::{Any, Bytes, DType, Device, Shape, Str, Tensor, Tuple};

/// Names of floats that JSON cannot represent.
const NO_NUMBERS: [(&str, f64); 3] = [("nan", f64::NAN), ("inf", f64::INFINITY), ("-inf", f64::NEG_INFINITY)];

/// Serializes a value as a JSON graph. Functions, and objects that are only valid in their process, cannot be saved.
pub fn save(value: &Any) -> Result<String, Error> {
    let nodes = nodes(value)?;
    let root = nodes.len().saturating_sub(1);
    let nodes: Result<Json, Error> = nodes.into_iter().map(save_node).collect();
    let version = Json::object([("hammock_version", env!("CARGO_PKG_VERSION").into())]);
    Ok(Json::object([("root_index", number(root)), ("nodes", nodes?), ("metadata", version)]).to_string())
}

fn number(node: usize) -> Json {
    Json::Int(node as i64)
}

fn node(ty: &str, data: Json) -> Json {
    Json::object([("type", ty.into()), ("data", data)])
}

fn save_node(saved: Node) -> Result<Json, Error> {
    match saved {
        Node::Leaf(value) => save_leaf(&value),
        Node::Tuple(parts) => Ok(node("ffi.Array", parts.into_iter().map(number).collect())),
        Node::Object(ty, _) if ty.make.is_none() => Err(unsaved(ty.key)),
        Node::Object(ty, fields) => {
            let fields = fields.into_iter().map(|(name, part)| (name.to_owned(), number(part))).collect();
            Ok(node(ty.key, Json::Object(fields)))
        }
    }
}

pub(super) fn unsaved(what: &str) -> Error {
    Error::type_error(format!("a {what} has no meaning outside its process and cannot be saved"))
}

fn save_leaf(value: &Any) -> Result<Json, Error> {
    if let Some(text) = value.as_str() {
        return Ok(node("ffi.String", text.into()));
    }
    if let Some(bytes) = value.as_bytes() {
        return Ok(node("ffi.Bytes", Json::Str(base64::encode(bytes))));
    }
    if let Some(shape) = value.get::<&Shape>() {
        return Ok(node("ffi.Shape", shape.iter().map(|size| Json::Int(*size)).collect()));
    }
    if let Some(tensor) = value.get::<&Tensor>() {
        let host = tensor.to_device(Device::CPU)?.to_contiguous()?;
        return Ok(node("ffi.Tensor", Json::Str(base64::encode(&tensor_to_bytes(&host)))));
    }
    Ok(match value.type_name() {
        "None" => Json::object([("type", "None".into())]),
        "bool" => node("bool", Json::Bool(value.get() == Some(true))),
        "int" => node("int", Json::Int(value.get().unwrap_or_default())),
        "float" => node("float", float(value.get().unwrap_or_default())),
        "dtype" => node("DataType", Json::Str(value.to_string())),
        "Device" => {
            let Device { kind, id } = value.get().unwrap_or(Device::CPU);
            node("Device", [kind, id].into_iter().map(|part| Json::Int(part.into())).collect())
        }
        other => return Err(unsaved(other)),
    })
}

fn float(value: f64) -> Json {
    let name = NO_NUMBERS.iter().find(|(_, known)| known.to_bits() == value.to_bits());
    match name {
        Some((name, _)) => (*name).into(),
        None if value.is_nan() => "nan".into(),
        None => Json::float(value),
    }
}

/// Reads the value of a JSON graph.
pub fn load(text: &str) -> Result<Any, Error> {
    let graph = Json::parse(text).map_err(|error| Error::value(error.to_string()))?;
    let nodes = graph.get("nodes").and_then(Json::as_array);
    let root = graph.get("root_index").and_then(Json::as_size);
    let (Some(nodes), Some(root)) = (nodes, root) else {
        return Err(Error::value("the JSON text is not a graph: it needs `nodes` and `root_index`"));
    };
    let mut values = Vec::with_capacity(nodes.len());
    for (i, node) in nodes.iter().enumerate() {
        let value = load_node(node, &values);
        values.push(
            value.map_err(|error| Error::new(error.kind().to_owned(), format!("node {i}: {}", error.message())))?,
        );
    }
    values.get(root).cloned().ok_or_else(|| Error::value(format!("there is no node {root}")))
}

fn load_node(node: &Json, values: &[Any]) -> Result<Any, Error> {
    let ty = node.get("type").and_then(Json::as_str).ok_or_else(|| Error::value("it has no type"))?;
    let data = node.get("data").unwrap_or(&Json::Null);
    if let (Json::Object(fields), Some(object)) = (data, find(ty)) {
        let make = object.make.ok_or_else(|| unsaved(ty))?;
        let field = |(name, part): &'_ (String, Json)| Ok((name.clone(), part_of(part, values)?));
        let fields: Result<Vec<(String, Any)>, Error> = fields.iter().map(field).collect();
        let fields = fields?;
        return make(&Fields { key: ty, values: fields.iter().map(|(n, v)| (n.as_str(), v.clone())).collect() });
    }
    load_leaf(ty, data, values)?.ok_or_else(|| Error::value(format!("its data is not of type {ty}")))
}

/// The value of a preceding node.
fn part_of(part: &Json, values: &[Any]) -> Result<Any, Error> {
    let value = part.as_size().and_then(|part| values.get(part));
    value.cloned().ok_or_else(|| Error::value(format!("it refers to {part}, which is not a node before it")))
}

fn load_leaf(ty: &str, data: &Json, values: &[Any]) -> Result<Option<Any>, Error> {
    let ints = || data.as_array()?.iter().map(Json::as_int).collect::<Option<Vec<_>>>();
    let bytes = || base64::decode(data.as_str()?);
    Ok(match ty {
        "None" => Some(Any::NONE),
        "bool" => {
            if let Json::Bool(value) = data {
                Some((*value).into())
            } else {
                None
            }
        }
        "int" => data.as_int().map(Any::from),
        "float" => load_float(data).map(Any::from),
        "DataType" => data.as_str().and_then(|text| text.parse::<DType>().ok()).map(Any::from),
        "Device" => ints().and_then(|parts| device(&parts)).map(Any::from),
        "ffi.String" => data.as_str().map(|text| Str::new(text).into()),
        "ffi.Bytes" => bytes().map(|bytes| Bytes::new(&bytes).into()),
        "ffi.Shape" => ints().map(|sizes| Shape::new(&sizes).into()),
        "ffi.Tensor" => bytes().and_then(|bytes| tensor_from_bytes(&bytes)).map(Any::from),
        "ffi.Array" => match data.as_array() {
            Some(parts) => {
                let parts: Result<Vec<_>, Error> = parts.iter().map(|part| part_of(part, values)).collect();
                Some(Tuple::new(parts?.into_iter()).into())
            }
            None => None,
        },
        other => return Err(Error::value(format!("its type `{other}` is unknown"))),
    })
}

fn load_float(data: &Json) -> Option<f64> {
    match data {
        Json::Str(name) => NO_NUMBERS.iter().find(|(known, _)| known == name).map(|(_, value)| *value),
        number => number.as_float(),
    }
}

fn device(parts: &[i64]) -> Option<Device> {
    let [kind, id] = *parts else { return None };
    Some(Device { kind: kind.try_into().ok()?, id: id.try_into().ok()? })
}
