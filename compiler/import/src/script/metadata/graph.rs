//! The object graph of `tvm.ir.load_json`: nodes by number, each with a type key and data.
//!
//! Any node may refer to any other, even to itself, and nodes may be shared: every node is converted once.

use super::{Entry, MAX_OPAQUE_BYTES, MetadataError, Section, tensor};
use hammock_ir::{AttrValue, DType, PrimExpr, Tensor, VDevice};
use serde_json::Value as Json;
use std::{collections::HashMap, sync::Arc};

/// Node types that are converted; others are stored unparsed.
pub(super) const KNOWN: [&str; 17] = [
    "ir.GenericConst",
    "relax.expr.Constant",
    "ir.StringImm",
    "tirx.StringImm",
    "tir.StringImm",
    "ffi.Tensor",
    "runtime.NDArray",
    "ffi.String",
    "ffi.SmallStr",
    "runtime.String",
    "dtype",
    "DataType",
    "ir.IntImm",
    "int",
    "float",
    "bool",
    "",
];

/// Types of tensors.
const TENSORS: [&str; 2] = ["ffi.Tensor", "runtime.NDArray"];

/// The section's entries.
///
/// # Errors
/// When the document is not such a graph.
pub(super) fn section(document: &Json) -> Result<Section, MetadataError> {
    let nodes = document["nodes"].as_array().ok_or("it has no `nodes`")?;
    let mut graph = Graph { nodes, entries: vec![None; nodes.len()], opaque_bytes: 0 };
    let root = graph.index(document.get("root_index").ok_or("it has no `root_index`")?)?;
    if nodes[root]["type"] != "ffi.Map" {
        return Err(MetadataError::at(root, "it is the root, and no map"));
    }
    let map = nodes[root]["data"].as_array().ok_or_else(|| MetadataError::at(root, "it is a map without data"))?;
    let mut arrays: HashMap<usize, Arc<[Entry]>> = HashMap::new();
    let mut section = Section::new();
    for pair in map.chunks(2) {
        let [key, value] = pair else {
            return Err(MetadataError::at(root, "it is a map with a key that has no value"));
        };
        let (key, value) = (graph.index(key)?, graph.index(value)?);
        let name = nodes[key]["data"]
            .as_str()
            .ok_or_else(|| MetadataError::at(key, "it is a key of the root, and no string"))?;
        let entries = match arrays.get(&value) {
            Some(entries) => entries.clone(),
            None => arrays.entry(value).or_insert(graph.array(value)?).clone(),
        };
        section.insert(name.to_owned(), entries);
    }
    Ok(section)
}

/// The nodes, and the conversions so far.
struct Graph<'a> {
    nodes: &'a [Json],
    entries: Vec<Option<Entry>>,
    /// Number of bytes of opaque objects so far.
    opaque_bytes: usize,
}

/// A node: an entry, or a reference to another node.
enum Node {
    Is(Entry),
    Holds(usize),
}

impl<'a> Graph<'a> {
    /// The index of a referenced node.
    fn index(&self, reference: &Json) -> Result<usize, MetadataError> {
        let at = reference.as_u64().and_then(|at| usize::try_from(at).ok());
        at.filter(|at| *at < self.nodes.len()).ok_or_else(|| match reference {
            Json::Number(number) => MetadataError::from(format!("there is no node {number}")),
            _ => MetadataError::from("a reference to a node is not a number"),
        })
    }

    fn array(&mut self, at: usize) -> Result<Arc<[Entry]>, MetadataError> {
        let data: &'a Json = &self.nodes[at]["data"];
        let items = data.as_array().ok_or_else(|| MetadataError::at(at, "it is a value of the root, and no array"))?;
        items.iter().map(|item| self.index(item).map_err(|e| e.or_at(at)).and_then(|item| self.entry(item))).collect()
    }

    /// The entry of a node, following references.
    fn entry(&mut self, first: usize) -> Result<Entry, MetadataError> {
        let mut passed = Vec::new();
        let mut at = first;
        let entry = loop {
            if let Some(entry) = &self.entries[at] {
                break entry.clone();
            }
            // A path longer than the number of nodes is a cycle.
            if passed.len() == self.nodes.len() {
                return Err(MetadataError::at(first, "it refers to itself"));
            }
            passed.push(at);
            match self.node(at).map_err(|damage| damage.or_at(at))? {
                Node::Is(entry) => break entry,
                Node::Holds(next) => at = next,
            }
        };
        passed.into_iter().for_each(|at| self.entries[at] = Some(entry.clone()));
        Ok(entry)
    }

    fn node(&mut self, at: usize) -> Result<Node, MetadataError> {
        let nodes = self.nodes;
        let (ty, data) = (nodes[at]["type"].as_str().unwrap_or_default(), &nodes[at]["data"]);
        let value = match ty {
            "ir.GenericConst" | "relax.expr.Constant" => return self.constant(data),
            "ir.StringImm" | "tirx.StringImm" | "tir.StringImm" => match data["value"].as_str() {
                Some(value) => return Ok(Node::Is(Entry::Str(value.into()))),
                None => return self.index(&data["value"]).map(Node::Holds),
            },
            "ffi.Tensor" | "runtime.NDArray" => return self.tensor(at).map(|tensor| Node::Is(Entry::Tensor(tensor))),
            "ffi.String" | "ffi.SmallStr" | "runtime.String" => {
                let text = data.as_str().ok_or("it is a string without text")?;
                return Ok(Node::Is(Entry::Str(text.into())));
            }
            "dtype" | "DataType" => return Ok(Node::Is(Entry::DType(dtype(data)?))),
            "ir.IntImm" => {
                let value = data["value"].as_i64().ok_or("it is an integer without a value")?;
                AttrValue::Expr(PrimExpr::int(value, self.integer_dtype(data)?))
            }
            "int" => AttrValue::Int(data.as_i64().ok_or("it is an integer without a value")?),
            "float" => AttrValue::Float(data.as_f64().ok_or("it is a float without a value")?),
            "bool" => AttrValue::Bool(data.as_bool().ok_or("it is a truth value without a value")?),
            "" => return Err("it has no type".into()),
            _ => AttrValue::Opaque(ty.into(), self.opaque(at)?),
        };
        Ok(Node::Is(Entry::Other(value)))
    }

    fn tensor(&self, at: usize) -> Result<Tensor, MetadataError> {
        tensor::decode(self.nodes[at]["data"].as_str().ok_or("it is a tensor without data")?)
    }

    /// A constant: its tensor and device.
    fn constant(&self, data: &Json) -> Result<Node, MetadataError> {
        let value = self.index(data.get("value").unwrap_or(&data["data"]))?;
        let is_tensor = TENSORS.iter().any(|ty| self.nodes[value]["type"] == *ty);
        match self.vdevice(data).filter(|_| is_tensor) {
            Some(device) => {
                let tensor = self.tensor(value).map_err(|damage| damage.or_at(value))?;
                Ok(Node::Is(Entry::Placed(tensor, Arc::new(device))))
            }
            None => Ok(Node::Holds(value)),
        }
    }

    /// The device in the type of a constant.
    fn vdevice(&self, constant: &Json) -> Option<VDevice> {
        let part = |data: &Json, name: &str| Some(&self.nodes[self.index(data.get(name)?).ok()?]["data"]);
        let ty = part(constant, "ty").or_else(|| part(constant, "struct_info_"))?;
        let device = part(ty, "vdevice")?;
        let kind = part(part(device, "target")?, "kind")?.as_str()?;
        Some(VDevice {
            target: vec![(AttrValue::Str("kind".into()), AttrValue::Str(kind.into()))],
            index: device["vdevice_id"].as_i64()?,
            scope: part(device, "memory_scope")?.as_str()?.into(),
        })
    }

    /// The dtype of a scalar: from its type node, or its own field in older texts.
    fn integer_dtype(&self, data: &Json) -> Result<DType, MetadataError> {
        let dtype = match data.get("dtype") {
            Some(text) => dtype(text)?,
            None => dtype(&self.nodes[self.index(&data["ty"])?]["data"]["dtype"])?,
        };
        let is_whole = (dtype.is_integer() || dtype.is_bool()) && dtype.is_scalar();
        if is_whole { Ok(dtype) } else { Err(format!("it is an integer of dtype `{dtype}`").into()) }
    }

    /// Any other object: a graph of its own, in which the nodes that it may reference keep their indices. For texts
    /// printed by this compiler, that graph is already the object's data.
    fn opaque(&mut self, at: usize) -> Result<Arc<str>, MetadataError> {
        let too_large = || {
            let most = MAX_OPAQUE_BYTES >> 20;
            format!("the objects up to it that are of no known type take more than {most} MiB as text")
        };
        let room = MAX_OPAQUE_BYTES - self.opaque_bytes;
        let data = &self.nodes[at]["data"];
        let text = match data.get("root_index").and(data.get("nodes")) {
            Some(_) => data.to_string(),
            None => {
                // Formatted like JSON with sorted keys.
                let mut text = String::from("{\"nodes\":[");
                for (node, kept) in self.nodes.iter().zip(self.mentioned(at)) {
                    text.push_str(if text.ends_with('[') { "" } else { "," });
                    text.push_str(&if kept { node.to_string() } else { "null".to_owned() });
                    if text.len() > room {
                        return Err(too_large().into());
                    }
                }
                format!("{text}],\"root_index\":{at}}}")
            }
        };
        self.opaque_bytes += text.len();
        if text.len() > room { Err(too_large().into()) } else { Ok(text.into()) }
    }

    /// The nodes that an object may reference. Any of its numbers may be a node index.
    fn mentioned(&self, root: usize) -> Vec<bool> {
        let mut kept = vec![false; self.nodes.len()];
        let mut open: Vec<&Json> = vec![&self.nodes[root]];
        kept[root] = true;
        while let Some(json) = open.pop() {
            match json {
                Json::Array(items) => open.extend(items),
                Json::Object(fields) => open.extend(fields.values()),
                Json::Number(_) => {
                    if let Ok(at) = self.index(json)
                        && !std::mem::replace(&mut kept[at], true)
                    {
                        open.push(&self.nodes[at]);
                    }
                }
                _ => {}
            }
        }
        let end = kept.iter().rposition(|kept| *kept).map_or(0, |last| last + 1);
        kept.truncate(end);
        kept
    }
}

fn dtype(data: &Json) -> Result<DType, MetadataError> {
    let text = data.as_str().ok_or("it has a dtype without a name")?;
    text.parse().map_err(|_| format!("`{}` is not a dtype", super::brief(text)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(nodes: &str) -> Result<Section, MetadataError> {
        section(&serde_json::from_str(&format!(r#"{{"root_index": 0, "nodes": [{nodes}]}}"#)).unwrap())
    }

    #[test]
    fn circles_are_refused_at_their_node() {
        let root = r#"{"type": "ffi.Map", "data": [1, 2]}, {"type": "ffi.String", "data": "ir.GenericConst"},
            {"type": "ffi.Array", "data": [3]}"#;
        for circle in [
            r#"{"type": "ir.GenericConst", "data": {"value": 3}}"#,
            r#"{"type": "ir.GenericConst", "data": {"value": 4}}, {"type": "relax.expr.Constant", "data": {"data": 3}}"#,
            r#"{"type": "ir.GenericConst", "data": {"value": 4}}, {"type": "ir.StringImm", "data": {"value": 4}}"#,
        ] {
            let damage = read(&format!("{root}, {circle}")).err().unwrap();
            assert_eq!((damage.node, &*damage.why), (Some(3), "it refers to itself"), "{circle}");
        }
        let long: String =
            (4..2000).map(|n| format!(r#"{{"type": "ir.GenericConst", "data": {{"value": {n}}}}},"#)).collect();
        let section = read(&format!(r#"{root}, {long} {{"type": "ffi.String", "data": "the end"}}"#)).unwrap();
        assert!(matches!(&section["ir.GenericConst"][0], Entry::Str(text) if &**text == "the end"));
    }

    #[test]
    fn what_many_refer_to_is_there_once() {
        let items = vec!["3"; 20_000].join(",");
        let keys: String = (0..500).map(|n| format!(r#", {{"type": "ffi.String", "data": "k{n}"}}"#)).collect();
        let map: String = (0..500).map(|n| format!("{},2", n + 5)).collect::<Vec<_>>().join(",");
        let text = crate::script::metadata::tensor::tests::QUARTER;
        let nodes = format!(
            r#"{{"type": "ffi.Map", "data": [{map}]}}, 1, {{"type": "ffi.Array", "data": [{items}]}},
               {{"type": "ir.GenericConst", "data": {{"value": 4}}}}, {{"type": "ffi.Tensor", "data": "{text}"}}{keys}"#
        );
        let section = read(&nodes).unwrap();
        assert_eq!(section.len(), 500);
        let Entry::Tensor(first) = &section["k0"][0] else { panic!() };
        let same = |e: &Entry| matches!(e, Entry::Tensor(t) if t.ptr_eq(first));
        assert!(section.values().all(|entries| Arc::ptr_eq(entries, &section["k0"])));
        assert!(section["k0"].iter().all(same) && section["k0"].len() == 20_000);
    }

    #[test]
    fn objects_of_no_known_type_stay_as_they_are_and_small() {
        let root = r#"{"type": "ffi.Map", "data": [1, 2]}, {"type": "ffi.String", "data": "target"},
            {"type": "ffi.Array", "data": [3]}"#;
        let own =
            r#"{"type": "target.Tag", "data": {"kind": 4}}, {"type": "None"}, {"type": "ffi.String", "data": "big"}"#;
        let first = read(&format!("{root}, {own}")).unwrap();
        let Entry::Other(AttrValue::Opaque(_, graph)) = &first["target"][0] else { panic!() };
        assert!(graph.contains("None") && !graph.contains("big"), "{graph}");
        let printed = format!(r#"{root}, {{"type": "target.Tag", "data": {graph}}}"#);
        let second = read(&printed).unwrap();
        assert!(matches!(&second["target"][0], Entry::Other(AttrValue::Opaque(_, again)) if again == graph));
    }

    #[test]
    fn objects_that_repeat_each_other_are_bounded() {
        let many: Vec<String> = (0..20_000).map(|n| format!(r#"{{"type": "x", "data": [{}]}}"#, n + 3)).collect();
        let items: Vec<String> = (0..20_000).map(|n| (n + 3).to_string()).collect();
        let root = format!(
            r#"{{"type": "ffi.Map", "data": [1, 2]}}, {{"type": "ffi.String", "data": "x"}}, {{"type": "ffi.Array", "data": [{}]}}"#,
            items.join(",")
        );
        let damage = read(&format!("{root}, {}", many.join(","))).err().unwrap();
        assert!(damage.why.contains("MiB"), "{}", damage.why);
    }
}
