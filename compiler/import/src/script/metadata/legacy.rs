//! The object graph as versions before 0.21 wrote it: attributes are strings, tensors are in a separate list.

use super::{Entry, MAX_OPAQUE_BYTES, MetadataError, Section, tensor};
use hammock_ir::{AttrValue, Tensor};
use serde_json::{Value as Json, json};
use std::{collections::HashMap, sync::Arc};

/// Returns true if a document has the older form.
pub(super) fn is_legacy(document: &Json) -> bool {
    document.get("root").is_some()
}

/// The section's entries.
///
/// # Errors
/// When the document is not such a graph.
pub(super) fn section(document: &Json) -> Result<Section, MetadataError> {
    let nodes = document["nodes"].as_array().ok_or("it has no `nodes`")?;
    let mut graph = Graph { document, nodes, arrays: HashMap::new(), tensors: HashMap::new(), opaque_bytes: 0 };
    let root = &nodes[graph.index(&document["root"])?];
    let keys = root["keys"].as_array().ok_or("its root is not a map")?;
    let values = root["data"].as_array().ok_or("its root is not a map")?;
    if keys.len() != values.len() {
        return Err("its root has keys without values".into());
    }
    let mut section = Section::new();
    for (key, value) in keys.iter().zip(values) {
        let entries = graph.array(value)?;
        section.insert(key.as_str().ok_or("a key of its root is not a string")?.to_owned(), entries);
    }
    Ok(section)
}

/// The nodes, and the arrays and tensors converted so far, which may be shared.
struct Graph<'a> {
    document: &'a Json,
    nodes: &'a [Json],
    arrays: HashMap<usize, Arc<[Entry]>>,
    tensors: HashMap<usize, Tensor>,
    /// Number of bytes of opaque objects so far.
    opaque_bytes: usize,
}

impl Graph<'_> {
    fn index(&self, reference: &Json) -> Result<usize, MetadataError> {
        let at = number(reference).filter(|at| *at < self.nodes.len());
        at.ok_or_else(|| format!("there is no node {}", super::brief(&reference.to_string())).into())
    }

    fn array(&mut self, value: &Json) -> Result<Arc<[Entry]>, MetadataError> {
        let at = self.index(value)?;
        if let Some(known) = self.arrays.get(&at) {
            return Ok(known.clone());
        }
        let nodes = self.nodes;
        let items = nodes[at]["data"]
            .as_array()
            .ok_or_else(|| MetadataError::at(at, "it is a value of the root, and no array"))?;
        let mut entries = Vec::with_capacity(items.len());
        for item in items {
            let item = self.index(item).map_err(|damage| damage.or_at(at))?;
            entries.push(self.entry(&nodes[item]).map_err(|damage| damage.or_at(item))?);
        }
        let entries: Arc<[Entry]> = entries.into();
        self.arrays.insert(at, entries.clone());
        Ok(entries)
    }

    fn entry(&mut self, node: &Json) -> Result<Entry, MetadataError> {
        let ty = node["type_key"].as_str().unwrap_or_default();
        let text = match ty {
            "relax.expr.Constant" | "relay.Constant" | "Constant" => return self.constant(node).map(Entry::Tensor),
            "runtime.String" | "ffi.String" => &node["repr_str"],
            "tir.StringImm" | "ir.StringImm" | "StringImm" => &node["attrs"]["value"],
            "" => return Err("it has no type".into()),
            _ if super::graph::KNOWN.contains(&ty) => return Err("its type is younger than the section".into()),
            _ => return self.opaque(ty, node).map(Entry::Other),
        };
        Ok(Entry::Str(text.as_str().ok_or("it is a string without text")?.into()))
    }

    fn constant(&mut self, node: &Json) -> Result<Tensor, MetadataError> {
        let at = number(&node["attrs"]["data"]).ok_or("it is a constant without data")?;
        if let Some(tensor) = self.tensors.get(&at) {
            return Ok(tensor.clone());
        }
        let tensors = self.document["b64ndarrays"].as_array().ok_or("there are no `b64ndarrays`")?;
        let data = tensors.get(at).and_then(Json::as_str).ok_or("it is a constant without data")?;
        let tensor = tensor::decode(data)?;
        self.tensors.insert(at, tensor.clone());
        Ok(tensor)
    }

    fn opaque(&mut self, ty: &str, node: &Json) -> Result<AttrValue, MetadataError> {
        // A graph of its own, as for objects of the current format.
        let text = json!({ "root_index": 0, "nodes": [node] }).to_string();
        self.opaque_bytes += text.len();
        if self.opaque_bytes > MAX_OPAQUE_BYTES {
            return Err("the objects up to it that are of no known type are too large".into());
        }
        Ok(AttrValue::Opaque(ty.into(), text.into()))
    }
}

/// Numbers are plain or strings.
fn number(json: &Json) -> Option<usize> {
    json.as_u64().and_then(|n| usize::try_from(n).ok()).or_else(|| json.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_refer_to_is_there_once() {
        let text = crate::script::metadata::tensor::tests::QUARTER;
        let constant = r#"{"type_key": "relax.expr.Constant", "attrs": {"data": "0"}}"#;
        let nodes = format!(
            r#"{{"type_key": "Map", "keys": ["a", "b"], "data": [1, "1"]}}, {{"type_key": "Array", "data": [2, 3]}}, {constant}, {constant}"#
        );
        let document = format!(r#"{{"root": 0, "nodes": [{nodes}], "b64ndarrays": ["{text}"]}}"#);
        let section = section(&serde_json::from_str(&document).unwrap()).unwrap();
        let tensor = |key: &str, at: usize| match &section[key][at] {
            Entry::Tensor(tensor) => tensor.clone(),
            _ => panic!(),
        };
        assert!(tensor("a", 0).ptr_eq(&tensor("a", 1)) && tensor("a", 0).ptr_eq(&tensor("b", 1)));
    }
}
