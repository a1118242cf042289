//! Objects without a notation of their own, written as JSON in front of the module: `metadata["ir.GenericConst"][0]`.

use super::{json::Graph, literal};
use crate::{Name, Tensor, VDevice};
use rustc_hash::FxHashMap;
use std::{collections::BTreeMap, sync::Arc};

/// Type key of constants of graphs.
pub(super) const CONSTANT: &str = "ir.GenericConst";

/// The objects so far: arrays by type key.
#[derive(Default)]
pub(super) struct Metadata {
    arrays: BTreeMap<Name, Vec<Object>>,
    seen: FxHashMap<Identity, usize>,
}

/// An object.
pub(super) enum Object {
    Constant(Tensor, Option<Arc<VDevice>>),
    Tensor(Tensor),
    Str(Name),
    ScalarStr(Name),
    Opaque(Arc<str>),
}

/// Identity of an object in its array.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Identity {
    /// A tensor and its device.
    Constant(usize, usize),
    Address(Name, usize),
    Text(Name, Name),
}

impl Metadata {
    /// Adds an object unless it is present; returns its index in the array of its type key.
    pub fn add(&mut self, key: &Name, identity: Identity, object: Object) -> usize {
        let array = self.arrays.entry(key.clone()).or_default();
        let index = *self.seen.entry(identity).or_insert(array.len());
        if index == array.len() {
            array.push(object);
        }
        index
    }

    /// Returns true if the text refers to any object.
    pub fn is_empty(&self) -> bool {
        self.arrays.is_empty()
    }

    /// The constants of graphs, in order.
    pub fn constants(&self) -> Vec<Tensor> {
        let constant = |o: &Object| match o {
            Object::Constant(tensor, _) => Some(tensor.clone()),
            _ => None,
        };
        self.arrays.get(CONSTANT).into_iter().flatten().filter_map(constant).collect()
    }

    /// Drops the constants, which are stored elsewhere.
    pub fn drop_constants(&mut self) {
        self.arrays.remove(CONSTANT);
    }

    /// The statement that defines the objects.
    pub fn text(&self) -> String {
        let mut graph = Graph::default();
        let mut entries = Vec::new();
        for (key, objects) in &self.arrays {
            entries.push(graph.string(key));
            let elements: Vec<usize> = objects.iter().map(|o| o.node(&mut graph, key)).collect();
            entries.push(graph.array("ffi.Array", &elements));
        }
        let root = graph.array("ffi.Map", &entries);
        let mut text = String::from("metadata = tvm.ir.load_json(\"\"\"");
        for line in graph.finish(root).split_inclusive('\n') {
            literal::escape(&mut text, line.trim_end_matches('\n'));
            text.push_str(if line.ends_with('\n') { "\n" } else { "" });
        }
        text.push_str("\"\"\")\n");
        text
    }
}

impl Object {
    fn node(&self, graph: &mut Graph, key: &str) -> usize {
        match self {
            Object::Constant(tensor, vdevice) => graph.constant(tensor, vdevice.as_deref()),
            Object::Tensor(tensor) => graph.tensor(tensor),
            Object::Str(text) => graph.string(text),
            Object::ScalarStr(text) => graph.scalar_string(text),
            Object::Opaque(json) => graph.opaque(key, json),
        }
    }
}
