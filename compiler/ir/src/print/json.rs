//! The JSON graph of objects: a list of nodes that refer to each other by index, tensors as base64.

use super::literal::push;
use crate::{AttrValue, DType, Tensor, VDevice};
use hammock_runtime::base64;
use rustc_hash::FxHashMap;
use std::fmt::Display;

/// The TVM version of this format, which is part of the graph.
const VERSION: &str = "0.27.0.post1";
/// Magic number of a serialized tensor.
const TENSOR_MAGIC: u64 = 0xDD5E_40F0_96B4_A13F;

/// Nodes so far; equal leaves are one node.
#[derive(Default)]
pub(super) struct Graph {
    nodes: Vec<String>,
    leaves: FxHashMap<String, usize>,
}

impl Graph {
    /// The whole graph with its root.
    pub fn finish(self, root: usize) -> String {
        let mut out = format!("{{\n  \"root_index\": {root},\n  \"nodes\": [");
        for (i, node) in self.nodes.iter().enumerate() {
            out.push_str(if i > 0 { "," } else { "" });
            out.push_str("\n    ");
            out.push_str(node);
        }
        push(&mut out, format_args!("\n  ],\n  \"metadata\": {{\n    \"tvm_version\": \"{VERSION}\"\n  }}\n}}"));
        out
    }

    /// A string.
    pub fn string(&mut self, text: &str) -> usize {
        let data = quoted(text);
        self.leaf("ffi.String", &data)
    }

    /// An array of nodes.
    pub fn array(&mut self, key: &str, elements: &[usize]) -> usize {
        let mut data = String::from("[");
        for (i, element) in elements.iter().enumerate() {
            push(&mut data, format_args!("{}\n        {element}", if i > 0 { "," } else { "" }));
        }
        data.push_str(if elements.is_empty() { "]" } else { "\n      ]" });
        self.node(key, &data)
    }

    /// A constant of a graph: its type with its device, and its data.
    pub fn constant(&mut self, tensor: &Tensor, vdevice: Option<&VDevice>) -> usize {
        let span = self.none();
        let ty = self.tensor_type(tensor, vdevice);
        let value = self.tensor(tensor);
        self.object("ir.GenericConst", &[("span", span), ("ty", ty), ("value", value)])
    }

    /// A tensor's bytes.
    pub fn tensor(&mut self, tensor: &Tensor) -> usize {
        self.node("ffi.Tensor", &format!("\"{}\"", base64::encode(&tensor_bytes(tensor)).replace('/', "\\/")))
    }

    /// A string operand of a scalar expression.
    pub fn scalar_string(&mut self, text: &str) -> usize {
        let span = self.none();
        let ty = self.prim_type(DType::HANDLE);
        let value = self.string(text);
        self.object("ir.StringImm", &[("span", span), ("ty", ty), ("value", value)])
    }

    /// An unparsed JSON object.
    pub fn opaque(&mut self, key: &str, json: &str) -> usize {
        self.node(key, json)
    }

    fn tensor_type(&mut self, tensor: &Tensor, vdevice: Option<&VDevice>) -> usize {
        let span = self.none();
        let dims: Vec<usize> = tensor.shape().iter().map(|dim| self.dim(*dim)).collect();
        let (values, ndim) = (self.array("ffi.Array", &dims), dims.len());
        let ty = self.object("relax.ShapeType", &[("span", span), ("values", values), ("ndim", ndim)]);
        let shape = self.object("relax.expr.ShapeExpr", &[("span", span), ("ty", ty), ("values", values)]);
        let dtype = self.prim_type(tensor.dtype());
        let vdevice = vdevice.map_or(span, |device| self.vdevice(device));
        let fields = [("span", span), ("shape", shape), ("dtype", dtype), ("vdevice", vdevice), ("ndim", ndim)];
        self.object("relax.TensorType", &fields)
    }

    fn vdevice(&mut self, device: &VDevice) -> usize {
        let target = self.target(device);
        let (index, scope) = (device.index, self.string(&device.scope));
        let fields = [("target", target as i64), ("vdevice_id", index), ("memory_scope", scope as i64)];
        self.object("relax.VDevice", &fields)
    }

    /// The target of a device: dictionary entries other than the target's own fields become attributes.
    fn target(&mut self, device: &VDevice) -> usize {
        let (mut tag, mut keys, mut attrs) = (self.string(""), self.array("ffi.Array", &[]), Vec::new());
        for (name, value) in &device.target {
            let Some(name) = name.as_str() else { continue };
            let value = (name != "kind").then(|| self.attr(value)).flatten();
            match (name, value) {
                ("tag", Some(value)) => tag = value,
                ("keys", Some(value)) => keys = value,
                (name, Some(value)) => attrs.extend([self.string(name), value]),
                (_, None) => {}
            }
        }
        let kind = self.leaf("target.TargetKind", &quoted(device.kind()));
        let (attrs, host) = (self.array("ffi.Map", &attrs), self.none());
        let fields = [("kind", kind), ("tag", tag), ("keys", keys), ("attrs", attrs), ("host", host)];
        self.object("target.Target", &fields)
    }

    /// A value that a target may have.
    fn attr(&mut self, value: &AttrValue) -> Option<usize> {
        Some(match value {
            AttrValue::Bool(value) => self.leaf("bool", &value.to_string()),
            AttrValue::Int(value) => self.leaf("int", &value.to_string()),
            AttrValue::Str(text) => self.string(text),
            AttrValue::List(values) => {
                let values: Option<Vec<usize>> = values.iter().map(|value| self.attr(value)).collect();
                self.array("ffi.Array", &values?)
            }
            _ => return None,
        })
    }

    fn dim(&mut self, dim: i64) -> usize {
        let span = self.none();
        let ty = self.prim_type(DType::INT64);
        let value = self.leaf("int", &dim.to_string());
        self.object("ir.IntImm", &[("span", span), ("ty", ty), ("value", value)])
    }

    fn prim_type(&mut self, dtype: DType) -> usize {
        let span = self.none();
        let data = format!("{{\n        \"span\": {span},\n        \"dtype\": \"{dtype}\"\n      }}");
        self.leaf("ir.PrimType", &data)
    }

    fn none(&mut self) -> usize {
        self.leaf("None", "")
    }

    fn object<N: Display>(&mut self, key: &str, fields: &[(&str, N)]) -> usize {
        let mut data = String::from("{");
        for (i, (name, value)) in fields.iter().enumerate() {
            push(&mut data, format_args!("{}\n        \"{name}\": {value}", if i > 0 { "," } else { "" }));
        }
        data.push_str("\n      }");
        self.node(key, &data)
    }

    fn leaf(&mut self, key: &str, data: &str) -> usize {
        let identity = format!("{key} {data}");
        if let Some(index) = self.leaves.get(&identity) {
            return *index;
        }
        let index = self.node(key, data);
        self.leaves.insert(identity, index);
        index
    }

    fn node(&mut self, key: &str, data: &str) -> usize {
        let data = if data.is_empty() { String::new() } else { format!(",\n      \"data\": {data}") };
        self.nodes.push(format!("{{\n      \"type\": {}{data}\n    }}", quoted(key)));
        self.nodes.len() - 1
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' | '/' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => push(&mut out, format_args!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Header, dtype, shape and data of a tensor, little-endian.
fn tensor_bytes(tensor: &Tensor) -> Vec<u8> {
    const CPU: i32 = 1;
    let dense = tensor.to_contiguous().unwrap_or_else(|_| tensor.clone());
    let data = dense.as_bytes().unwrap_or_default();
    let dtype = dense.dtype();
    let mut bytes = Vec::with_capacity(data.len() + 64);
    bytes.extend(TENSOR_MAGIC.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(CPU.to_le_bytes());
    bytes.extend(0i32.to_le_bytes());
    bytes.extend((dense.shape().len() as i32).to_le_bytes());
    bytes.extend([dtype.code, dtype.bits]);
    bytes.extend(dtype.lanes.to_le_bytes());
    dense.shape().iter().for_each(|dim| bytes.extend(dim.to_le_bytes()));
    bytes.extend((data.len() as i64).to_le_bytes());
    bytes.extend(data);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_leaves_are_shared() {
        let mut graph = Graph::default();
        let a = graph.string("x/\"");
        assert_eq!(graph.string("x/\""), a);
        assert_eq!(graph.array("ffi.Array", &[]), 1);
        assert!(graph.finish(1).contains("\"x\\/\\\"\""));
    }
}
