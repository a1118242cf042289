//! Decoding of a model file, and the checks before the import: versions and supported operators.

use crate::{
    decode_budget,
    external::{Data, Folder},
    listing::{brief, node_name},
    ops::{
        self,
        attribute_schema::{MAX_IR_VERSION, MAX_OPSETS},
    },
    schema::{FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto},
};
use hammock_diagnostics::{Diagnostic, codes};
use prost::Message;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Decoded model.
pub struct Model {
    /// Decoded protobuf messages.
    pub proto: ModelProto,
    /// Folder with external data.
    pub folder: Folder,
    /// Indices of the model's functions, sorted by name, domain and overload; duplicates stay in file order.
    functions: Vec<usize>,
}

/// Returns an error about the file as a whole.
pub fn damaged(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(codes::BAD_ONNX, message)
}

impl Model {
    /// Decodes a model. Links to its external data may point to `data_folders`.
    ///
    /// # Errors
    /// If the data are not a model, or a version or an operator is not supported.
    pub fn decode(data: Data, path: Option<&Path>, data_folders: &[PathBuf]) -> Result<Model, Diagnostic> {
        let folder = Folder::of_model(path, data_folders);
        let file = folder.model(data);
        if decode_budget::exceeds_budget(&file) {
            return Err(damaged(
                "this ONNX model is damaged: it consists of empty messages, which take too much memory",
            ));
        }
        let proto = ModelProto::decode(file).map_err(|error| {
            damaged(format!("this is not an ONNX model, or it is damaged: {}", brief(&error.to_string())))
        })?;
        let mut functions: Vec<usize> = (0..proto.functions.len()).collect();
        functions.sort_by(|a, b| key(&proto.functions[*a]).cmp(&key(&proto.functions[*b])));
        let model = Model { proto, folder, functions };
        let graph = model.graph()?;
        model.expect_known_versions()?;
        model.expect_supported(graph)?;
        Ok(model)
    }

    /// Returns the main graph.
    pub fn graph(&self) -> Result<&GraphProto, Diagnostic> {
        let help = "a model has an `ir_version`, an `opset_import` and a `graph`";
        let graph = self.proto.graph.as_ref().filter(|_| self.proto.ir_version > 0);
        graph.ok_or_else(|| damaged("this is not an ONNX model, or it is damaged: it has no graph").help(help))
    }

    /// Returns the model function that a node calls, if any.
    pub fn function(&self, node: &NodeProto) -> Option<&FunctionProto> {
        let called = (node.op_type.as_str(), domain(&node.domain), node.overload.as_str());
        let first = self.functions.partition_point(|at| key(&self.proto.functions[*at]) < called);
        let function = &self.proto.functions[*self.functions.get(first)?];
        (key(function) == called).then_some(function)
    }

    /// Rejects versions newer than the supported ones, since their semantics are not known.
    fn expect_known_versions(&self) -> Result<(), Diagnostic> {
        let help = "export the model for an older version, or convert it with `onnx.version_converter`";
        let refused = |message: String| Err(Diagnostic::error(codes::ONNX_UNSUPPORTED, message).help(help));
        let ir = self.proto.ir_version;
        if ir > MAX_IR_VERSION {
            return refused(format!(
                "the model is of version {ir} of ONNX's format; the newest supported is {MAX_IR_VERSION}"
            ));
        }
        let of_functions = self.proto.functions.iter().flat_map(|function| &function.opset_import);
        for set in self.proto.opset_import.iter().chain(of_functions) {
            let newest = MAX_OPSETS.iter().find(|(domain, _)| *domain == self::domain(&set.domain));
            if let Some((domain, newest)) = newest.filter(|(_, newest)| set.version > *newest) {
                let of = if domain.is_empty() { "ONNX's operators".to_owned() } else { format!("`{domain}`") };
                let version = set.version;
                return refused(format!("the model uses version {version} of {of}; the newest supported is {newest}"));
            }
        }
        Ok(())
    }

    /// Reports all unsupported operators in one error.
    fn expect_supported(&self, graph: &GraphProto) -> Result<(), Diagnostic> {
        let mut missing = BTreeMap::new();
        let functions = self.proto.functions.iter().flat_map(|f| &f.node);
        for node in graph.node.iter().chain(functions) {
            self.note_unsupported(node, &mut missing);
        }
        if missing.is_empty() {
            return Ok(());
        }
        let shown: Vec<String> = missing.iter().map(|(op, nodes)| format!("{op} ({})", list(nodes))).collect();
        let what = if missing.len() == 1 { "an operator" } else { "operators" };
        let message = format!("the model uses {what} that cannot be imported: {}", shown.join("; "));
        let error = Diagnostic::error(codes::ONNX_UNSUPPORTED, message);
        Err(if missing.keys().any(|op| op.starts_with("`com.microsoft.nchwc.")) {
            error.help(
                "ONNX Runtime saved the model for one CPU, in a layout that the file does not state: save it with \
                 `ORT_ENABLE_EXTENDED`, or import the original model",
            )
        } else {
            error.help("`hammock ops --onnx` lists those that can")
        })
    }

    fn note_unsupported(&self, node: &NodeProto, missing: &mut BTreeMap<String, Vec<String>>) {
        if self.function(node).is_none() && ops::find(domain(&node.domain), &node.op_type).is_none() {
            let prefix = if domain(&node.domain).is_empty() { String::new() } else { format!("{}.", node.domain) };
            let op = format!("`{}`", brief(&format!("{prefix}{}", node.op_type)));
            missing.entry(op).or_default().push(node_name(node));
        }
        let graphs = node.attribute.iter().flat_map(|a| a.g.iter().chain(&a.graphs));
        for inner in graphs.flat_map(|graph| &graph.node) {
            self.note_unsupported(inner, missing);
        }
    }
}

/// Lookup key of a function: name, domain, overload.
fn key(function: &FunctionProto) -> (&str, &str, &str) {
    (&function.name, domain(&function.domain), &function.overload)
}

/// Formats a truncated list of node names.
fn list(nodes: &[String]) -> String {
    const MAX_SHOWN: usize = 6;
    let shown = nodes[..nodes.len().min(MAX_SHOWN)].join(", ");
    let rest = nodes.len().saturating_sub(MAX_SHOWN);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    match nodes.len() {
        1 => format!("node {shown}"),
        count => format!("{count} nodes: {shown}{more}"),
    }
}

/// Returns a normalized domain: the standard one is empty.
pub fn domain(name: &str) -> &str {
    if name == "ai.onnx" { "" } else { name }
}

/// Returns the imported version of a domain's operator set.
pub fn version(opsets: &[OperatorSetIdProto], of: &str) -> Option<i64> {
    opsets.iter().find(|set| domain(&set.domain) == of).map(|set| set.version)
}
