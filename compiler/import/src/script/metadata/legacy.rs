//! The object graph as versions before 0.21 wrote it: attributes are strings, tensors stand in a list of their own.

use super::{Entry, tensor};
use hammock_ir::AttrValue;
use indexmap::IndexMap;
use serde_json::{Value as Json, json};

type Section = IndexMap<String, Vec<Entry>>;

/// Whether a document has the older form.
pub(super) fn is_legacy(document: &Json) -> bool {
    document.get("root").is_some()
}

/// The section's entries.
///
/// # Errors
/// Why the document is no such graph.
pub(super) fn section(document: &Json) -> Result<Section, String> {
    let nodes = document["nodes"].as_array().ok_or("it has no `nodes`")?;
    let node = |at: &Json| number(at).and_then(|at| nodes.get(at)).ok_or_else(|| format!("there is no node {at}"));
    let root = node(&document["root"])?;
    let keys = root["keys"].as_array().ok_or("its root is no map")?;
    let values = root["data"].as_array().ok_or("its root is no map")?;
    let mut section = Section::new();
    for (key, value) in keys.iter().zip(values) {
        let items = node(value)?["data"].as_array().ok_or("a value of its root is no array")?;
        let entries = items.iter().map(|at| entry(document, node(at)?)).collect::<Result<Vec<_>, _>>()?;
        section.insert(key.as_str().ok_or("a key of its root is no string")?.to_owned(), entries);
    }
    Ok(section)
}

/// Numbers are written plain or as strings.
fn number(json: &Json) -> Option<usize> {
    json.as_u64().and_then(|n| usize::try_from(n).ok()).or_else(|| json.as_str()?.parse().ok())
}

fn entry(document: &Json, node: &Json) -> Result<Entry, String> {
    let ty = node["type_key"].as_str().unwrap_or_default();
    match ty {
        "relax.expr.Constant" | "relay.Constant" | "Constant" => {
            let at = number(&node["attrs"]["data"]).ok_or("a constant has no data")?;
            let tensors = document["b64ndarrays"].as_array().ok_or("it has no `b64ndarrays`")?;
            let data = tensors.get(at).and_then(Json::as_str).ok_or("a constant has no data")?;
            tensor::decode(data).map(Entry::Tensor)
        }
        "runtime.String" | "ffi.String" => {
            node["repr_str"].as_str().map(|s| Entry::Str(s.into())).ok_or_else(|| "a string has no text".into())
        }
        "tir.StringImm" | "StringImm" => {
            let value = node["attrs"]["value"].as_str();
            value.map(|s| Entry::Str(s.into())).ok_or_else(|| "a string has no text".into())
        }
        _ => Ok(Entry::Other(AttrValue::Opaque(ty.into(), json!(node).to_string().into()))),
    }
}
