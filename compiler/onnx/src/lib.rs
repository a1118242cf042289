//! From ONNX models to IR.
//!
//! The input is the bytes of an ONNX file, the output a [`Module`](hammock_ir::Module) with a function `main`, and a
//! listing of the model's nodes, which spans point into. Each node becomes calls of our operators, typed by their own
//! rules: [`ops`] has a table of ONNX's operators, one file a family, each with the function that imports it. Values
//! whose elements follow from sizes are computed while importing ([`known`]), so that shapes that a model computes
//! become symbolic ones. Data of weights stay in the file, mapped, where they are aligned.
#![forbid(unsafe_code)]

mod agree;
mod attributes;
mod build;
mod declared;
mod dtype;
mod external;
mod fold;
mod graph;
mod input_shape;
mod known;
mod listing;
mod main_graph;
mod model;
mod names;
mod node;
pub mod ops;
mod order;
mod overridden;
mod room;
mod schema;
mod sparse;
mod tensor;
mod value;

pub use external::{Data, data_files};
pub use graph::Errors;
pub use input_shape::{InputShape, InputSize, Ranks, RanksOf};

use hammock_diagnostics::SourceFile;
use hammock_ir::{Module, Tensor};
use std::path::{Path, PathBuf};

/// How to import a model.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// What the model's tensors become.
    pub weights: Weights,
    /// Folders that links to the model's data may lead to, in addition to its own.
    pub data_folders: Vec<PathBuf>,
    /// Which default values of inputs callers override.
    pub overridden: Overridden,
    /// Shapes of inputs, where the model leaves sizes or ranks open.
    pub shapes: Vec<InputShape>,
    /// Ranks that the model leaves open, and `shapes` too.
    pub ranks: Ranks,
}

/// The inputs with a default value that become parameters all the same. An input has one if an initializer has its name;
/// before version 4 of the format each initializer had to be an input too. The others are initializers, and no inputs.
#[derive(Clone, Debug, Default)]
pub struct Overridden {
    /// Inputs that must have a default value.
    pub required: Vec<String>,
    /// Inputs that may have one, such as the names of a call's arguments.
    pub named: Vec<String>,
    /// A number of values without names, which are for all inputs not named, if these are as many.
    pub unnamed: usize,
    /// True if all are.
    pub all: bool,
}

/// What the tensors that a model brings become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// Constants of the function.
    #[default]
    Constants,
    /// Parameters behind the inputs, whose number is the function's `num_input`. Small tensors stay constants, since
    /// operators may have to know them.
    Parameters,
}

/// An imported model.
#[derive(Debug)]
pub struct Imported {
    /// The module, with the function `main`.
    pub module: Module,
    /// The model's nodes, one a line.
    pub source: SourceFile,
    /// The tensors of parameters, by the parameters' names.
    pub weights: Vec<(String, Tensor)>,
    /// The parameters for inputs with a default value.
    pub defaults: Vec<String>,
}

/// Returns true if a file that begins so is an ONNX model: a message that begins with its version, then one of a
/// model's fields.
pub fn is_model(head: &[u8]) -> bool {
    matches!(head, [0x08, 1..=99, 0x12 | 0x1a | 0x22 | 0x28 | 0x32 | 0x3a | 0x42, ..])
}

/// Imports a model. `name` is what messages call it; data beside it are looked for in the folder of `path`.
///
/// # Errors
/// Everything that is wrong with it.
pub fn import(data: Data, name: &str, path: Option<&Path>, options: &ImportOptions) -> Result<Imported, Box<Errors>> {
    let model =
        model::Model::decode(data, path, &options.data_folders).map_err(|error| Box::new(Errors::from(error)))?;
    graph::Importer::new(&model, options).import(name)
}
