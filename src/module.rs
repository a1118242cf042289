//! Flags that select a model and its weights.

use crate::unused_flags::refuse;
use clap::Args;
use hammock_compiler::{Digest, Failure, InputShape, ModelFile, Params, data_files, is_onnx};
use hammock_tools::{BudgetFlags, CommandFiles};
use std::path::{Path, PathBuf};

/// Digest of the file.
#[derive(Args, Clone, Default)]
pub struct DigestFlag {
    /// Verify the file's SHA-256 before loading it; other files that it needs are not verified
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<Digest>,
}

impl DigestFlag {
    /// Refuses a file with another SHA-256.
    pub fn expect(&self, file: &str) -> Result<(), Failure> {
        self.sha256.map_or(Ok(()), |digest| digest.expect(file))
    }
}

/// How an ONNX model is imported.
#[derive(Args, Clone, Default)]
pub struct OnnxFlags {
    /// A folder that links to an ONNX model's external data may lead to, in addition to the model's own folder; may be
    /// repeated
    #[arg(long = "external-data-dir", value_name = "DIR", value_parser = existing_folder)]
    pub data_folders: Vec<PathBuf>,
    /// The shape of an input of an ONNX model, whose sizes or rank the model leaves open: x=1,3,n,n with a name for each
    /// size that stays open
    #[arg(long = "shape", value_name = "NAME=SIZES")]
    pub shapes: Vec<InputShape>,
}

impl OnnxFlags {
    /// Refuses `--shape` for a file that is no ONNX model.
    pub fn expect_onnx(&self, file: &str) -> Result<(), Failure> {
        let why = format!("{file} is no ONNX model, whose inputs it is for");
        refuse(&[("--shape", !self.shapes.is_empty() && !is_onnx(file))], &why)
    }
}

fn existing_folder(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_dir() { Ok(path) } else { Err("there is no such folder".to_owned()) }
}

/// A module, and the weights that go with it.
#[derive(Args, Clone)]
pub struct ModuleArgs {
    /// A text module (TVMScript), an ONNX model, or `-` for either on standard input
    pub file: String,
    /// The module to use, if the file has several
    #[arg(long, value_name = "NAME")]
    pub module: Option<String>,
    /// Weights by name (.safetensors, an index or a folder of them, or .npz), or `zeros` if only shapes matter
    #[arg(long, value_name = "FILE")]
    pub params: Option<PathBuf>,
    /// Inputs of an ONNX model with a default value (an initializer) that stay parameters, which each call gives; other
    /// such inputs become constants
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub overridable: Vec<String>,
    #[command(flatten)]
    pub onnx: OnnxFlags,
    #[command(flatten)]
    pub digest: DigestFlag,
    #[command(flatten)]
    pub budget: BudgetFlags,
}

impl ModuleArgs {
    /// Files that the flags name, with their external data.
    pub fn files(&self, files: &mut CommandFiles) {
        reads_model(files, &self.file, &self.onnx);
        if let Some(path) = self.params.as_deref().filter(|path| !is_zeros(Some(path))) {
            files.reads_weights("--params", path);
        }
    }

    /// The same flags for another file.
    pub fn of_file(&self, file: &str) -> Self {
        ModuleArgs { file: file.to_owned(), digest: DigestFlag::default(), ..self.clone() }
    }

    /// The file, once flags that have no effect on it are refused.
    pub fn model_file(&self) -> Result<ModelFile, Failure> {
        let OnnxFlags { data_folders, shapes } = self.onnx.clone();
        let file = ModelFile {
            path: self.file.clone(),
            contents: None,
            module: self.module.clone(),
            params: self.params.as_deref().map_or(Params::None, params),
            digest: self.digest.sha256,
            data_folders,
            shapes,
            overridable: self.overridable.clone(),
        };
        self.onnx.expect_onnx(&self.file)?;
        if !is_onnx(&self.file) {
            let why = format!("{} is no ONNX model, so its inputs have no default values", self.file);
            refuse(&[("--overridable", !self.overridable.is_empty())], &why)?;
        }
        Ok(file)
    }
}

/// The value of `--params`.
fn params(path: &Path) -> Params {
    if is_zeros(Some(path)) { Params::Zeros } else { Params::File(path.to_owned()) }
}

/// Adds the model that a command reads, with the files that belong to it.
pub fn reads_model(files: &mut CommandFiles, file: &str, onnx: &OnnxFlags) {
    files.reads_model("FILE", file);
    files.reads_beside(Path::new(file), data_files(file, &onnx.data_folders));
}

/// Returns true if `--params` asks for zeros instead of the constants that a text leaves out.
pub fn is_zeros(params: Option<&Path>) -> bool {
    params.is_some_and(|path| path.as_os_str() == "zeros")
}
