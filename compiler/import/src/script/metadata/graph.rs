//! The object graph of `tvm.ir.load_json`: nodes by number, each with a type key and data.

use super::{Entry, tensor};
use hammock_ir::{AttrValue, DType, PrimExpr};
use indexmap::IndexMap;
use serde_json::{Value as Json, json};

type Section = IndexMap<String, Vec<Entry>>;

/// The section's entries.
///
/// # Errors
/// Why the document is no such graph.
pub(super) fn section(document: &Json) -> Result<Section, String> {
    let graph = Graph { nodes: document["nodes"].as_array().ok_or("it has no `nodes`")? };
    let root = document["root_index"].as_u64().ok_or("it has no `root_index`")?;
    let map = graph.node(root, "ffi.Map")?.as_array().ok_or("its root is no map")?;
    let mut section = Section::new();
    for pair in map.chunks_exact(2) {
        let key = graph.data(&pair[0])?.as_str().ok_or("a key of its root is no string")?.to_owned();
        let items = graph.data(&pair[1])?.as_array().ok_or("a value of its root is no array")?;
        let entries = items.iter().map(|item| graph.entry(item)).collect::<Result<Vec<_>, _>>()?;
        section.insert(key, entries);
    }
    Ok(section)
}

struct Graph<'a> {
    nodes: &'a [Json],
}

impl<'a> Graph<'a> {
    /// The node that a reference means.
    fn get(&self, reference: &Json) -> Result<&'a Json, String> {
        let at = reference.as_u64().and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.nodes.get(at)).ok_or_else(|| format!("there is no node {reference}"))
    }

    fn data(&self, reference: &Json) -> Result<&'a Json, String> {
        self.get(reference).map(|node| &node["data"])
    }

    /// The data of a node that must have that type.
    fn node(&self, at: u64, ty: &str) -> Result<&'a Json, String> {
        let node = self.get(&json!(at))?;
        if node["type"] == ty { Ok(&node["data"]) } else { Err(format!("node {at} is no {ty}")) }
    }

    fn entry(&self, reference: &Json) -> Result<Entry, String> {
        let node = self.get(reference)?;
        let (ty, data) = (node["type"].as_str().unwrap_or_default(), &node["data"]);
        match ty {
            "ir.GenericConst" => self.entry(&data["value"]),
            "relax.expr.Constant" => self.entry(&data["data"]),
            "ffi.Tensor" | "runtime.NDArray" => {
                tensor::decode(data.as_str().ok_or("a tensor has no data")?).map(Entry::Tensor)
            }
            "ffi.String" | "ffi.SmallStr" | "runtime.String" => text(data),
            "ir.StringImm" | "tirx.StringImm" | "tir.StringImm" => match data["value"].as_str() {
                Some(value) => Ok(Entry::Str(value.into())),
                None => self.entry(&data["value"]),
            },
            "dtype" | "DataType" => dtype(data).map(Entry::DType),
            "ir.IntImm" => {
                let value = data["value"].as_i64().ok_or("an integer has no value")?;
                let dtype = dtype(self.dtype_of(data)?)?;
                Ok(Entry::Other(AttrValue::Expr(PrimExpr::int(value, dtype))))
            }
            "int" => {
                data.as_i64().map(|v| Entry::Other(AttrValue::Int(v))).ok_or_else(|| "an integer has no value".into())
            }
            "float" => {
                data.as_f64().map(|v| Entry::Other(AttrValue::Float(v))).ok_or_else(|| "a float has no value".into())
            }
            "bool" => {
                data.as_bool().map(|v| Entry::Other(AttrValue::Bool(v))).ok_or_else(|| "a truth value is none".into())
            }
            "" => Err(format!("node {reference} has no type")),
            _ => Ok(self.opaque(ty, reference)),
        }
    }

    /// The dtype of a scalar: of its type node, or its own field in older texts.
    fn dtype_of(&self, data: &'a Json) -> Result<&'a Json, String> {
        match data.get("dtype") {
            Some(dtype) => Ok(dtype),
            None => Ok(&self.data(&data["ty"])?["dtype"]),
        }
    }

    /// Any other object: the nodes up to it, which hold all that it mentions.
    fn opaque(&self, ty: &str, reference: &Json) -> Entry {
        let at = reference.as_u64().unwrap_or(0) as usize;
        let graph = json!({ "root_index": at, "nodes": &self.nodes[..=at] });
        Entry::Other(AttrValue::Opaque(ty.into(), graph.to_string().into()))
    }
}

fn text(data: &Json) -> Result<Entry, String> {
    data.as_str().map(|s| Entry::Str(s.into())).ok_or_else(|| "a string has no text".into())
}

fn dtype(data: &Json) -> Result<DType, String> {
    let text = data.as_str().ok_or("a dtype has no name")?;
    text.parse().map_err(|_| format!("`{text}` is no dtype"))
}
