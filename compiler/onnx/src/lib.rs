//! Importer of ONNX models.
//!
//! The input is the bytes of an ONNX file, the output a [`Module`](hammock_ir::Module) with a function `main`, and a
//! listing of the model's nodes that spans refer to. Each node becomes calls of our operators, typed by their own
//! rules; [`ops`] has the table of ONNX operators, one file per family, each with its import function. Small integer
//! tensors that depend on dimensions only are evaluated during the import ([`known_tensor`]), so shapes computed in the graph
//! become symbolic shapes. Aligned weights stay in the mapped file, without a copy.
#![forbid(unsafe_code)]

mod assumptions;
mod attributes;
mod build;
mod declared_outputs;
mod decode_budget;
mod dtype;
mod external;
mod fold;
mod graph;
mod input_shape;
mod known_tensor;
mod listing;
mod main_graph;
mod model;
mod names;
pub mod ops;
mod overridden_inputs;
mod schema;
mod sparse;
mod tensor;
mod topological_sort;
mod value;

pub use assumptions::Assumption;
pub use external::{Data, data_files};
pub use graph::Errors;
pub use input_shape::{InputShape, InputSize, Ranks, RanksOf};

use graph::{looping, node};
use hammock_diagnostics::SourceFile;
use hammock_ir::{Module, Tensor};
use std::path::{Path, PathBuf};

/// Options of an import.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Representation of the model's tensors.
    pub weights: Weights,
    /// Folders that symbolic links to external data may point to, in addition to the model's own.
    pub data_folders: Vec<PathBuf>,
    /// Inputs whose default values callers override.
    pub overridden: Overridden,
    /// Shapes of inputs whose dimensions or ranks the model leaves open.
    pub shapes: Vec<InputShape>,
    /// Ranks of inputs that neither the model nor `shapes` determines.
    pub ranks: Ranks,
}

/// Inputs with a default value that become parameters; all other such inputs become constants. An input has a default
/// if an initializer has its name. Before version 4 of the format, every initializer had to be an input too.
#[derive(Clone, Debug, Default)]
pub struct Overridden {
    /// Inputs that must have a default value.
    pub required: Vec<String>,
    /// Inputs that may have a default value, such as the names of a call's arguments.
    pub named: Vec<String>,
    /// Number of positional arguments: if it equals the number of inputs that are not named, it covers all of them.
    pub unnamed: usize,
    /// True if all inputs with a default value become parameters.
    pub all: bool,
}

/// Representation of a model's tensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// Constants of the function.
    #[default]
    Constants,
    /// Parameters after the inputs; the function's `num_input` is the number of inputs. Small tensors stay constants,
    /// since operators may need their values.
    Parameters,
}

/// Imported model.
#[derive(Debug)]
pub struct Imported {
    /// The module, with the function `main`.
    pub module: Module,
    /// Listing of the model's nodes, one per line.
    pub source: SourceFile,
    /// Tensors of the weight parameters, by name.
    pub weights: Vec<(String, Tensor)>,
    /// Names of the parameters for inputs with a default value.
    pub defaults: Vec<String>,
}

/// Returns true if a file with this prefix is an ONNX model: `ir_version`, then the tag of another field of
/// `ModelProto`.
pub fn is_model(head: &[u8]) -> bool {
    matches!(head, [0x08, 1..=99, 0x12 | 0x1a | 0x22 | 0x28 | 0x32 | 0x3a | 0x42, ..])
}

/// Imports a model. Messages refer to it as `name`; external data are searched in the folder of `path`.
///
/// # Errors
/// All errors of the model.
pub fn import(data: Data, name: &str, path: Option<&Path>, options: &ImportOptions) -> Result<Imported, Box<Errors>> {
    let model =
        model::Model::decode(data, path, &options.data_folders).map_err(|error| Box::new(Errors::from(error)))?;
    graph::Importer::new(&model, options).import(name)
}
