//! Models: files read to modules, with their weights.

pub mod digest;
pub mod entry;
pub mod input;
pub mod onnx;
pub mod params;
pub mod signature;
pub mod stream;

use crate::{Failure, Progress};
use digest::Digest;
use entry::add_entry;
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_import::{Constants, ReadOptions, check_module};
use hammock_ir::{Module, Name};
use hammock_onnx::{ImportOptions, Imported, InputShape, Overridden, Ranks, Weights as OnnxWeights};
use hammock_ops::Table;
use hammock_runtime::{
    Tensor,
    image::{
        Signature,
        signature::{Param, Role},
    },
};
use hammock_tools::{CallSpec, Weights, parse_argument, split_name};
use input::{read_source, read_text, read_weights, source_of};
use onnx::{import_bytes, import_onnx, is_onnx};
use params::{bind, misfit_in};
use signature::signatures;
use std::{path::PathBuf, sync::Arc};

/// A text module or an ONNX model, and how to read it.
#[derive(Clone, Default)]
pub struct ModelFile {
    /// Path of the file, or `-` for standard input.
    pub path: String,
    /// Contents of the file, if they are in memory: nothing is read, and `path` only names them in messages.
    pub contents: Option<Arc<Vec<u8>>>,
    /// Module to use, if a text has several.
    pub module: Option<String>,
    /// Values of constants and parameters.
    pub params: Params,
    /// SHA-256 that the file must have.
    pub digest: Option<Digest>,
    /// Folders that links to an ONNX model's external data may lead to, in addition to the model's own folder.
    pub data_folders: Vec<PathBuf>,
    /// Shapes of an ONNX model's inputs, where the model leaves sizes or ranks open.
    pub shapes: Vec<InputShape>,
    /// Inputs of an ONNX model with a default value that stay parameters.
    pub overridable: Vec<String>,
}

/// Values of constants that a text leaves out, and of parameters by name.
#[derive(Clone, Default)]
pub enum Params {
    /// None.
    #[default]
    None,
    /// Zeros for constants, if only shapes matter.
    Zeros,
    /// A file (.safetensors or .npz), or a folder or an index of .safetensors files.
    File(PathBuf),
    /// Tensors by name.
    Tensors(Weights),
}

/// A model that has been read and verified.
struct Verified {
    /// The module; `None` if reading finds errors.
    module: Option<Module>,
    source: SourceFile,
    /// Errors and warnings.
    found: Vec<Diagnostic>,
    weights: Option<Weights>,
}

/// A model that has been read.
#[derive(Clone)]
pub struct Model {
    /// The module.
    pub module: Module,
    /// Text that its spans point into; for an ONNX model, a list of its nodes.
    pub source: SourceFile,
    /// Signatures of its functions before weights became constants.
    pub signatures: Vec<Signature>,
    /// Weights whose parameters are not bound yet.
    pub weights: Option<Weights>,
}

impl Model {
    /// Signatures of its functions, with weights that are constants by now.
    pub fn complete_signatures(&self) -> Vec<Signature> {
        signature::lowered(&self.module, &self.signatures)
    }
}

impl ModelFile {
    /// Reads the file with all its diagnostics, warnings too.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn check(&self) -> Result<(SourceFile, Vec<Diagnostic>), Failure> {
        self.verified().map(|Verified { source, found, .. }| (source, found))
    }

    /// Reads and verifies the file.
    fn verified(&self) -> Result<Verified, Failure> {
        self.expect_digest()?;
        let weights = self.weights()?;
        let (module, source, mut found) = if self.is_onnx() {
            let imported = self.import(&self.import_options(self.overridden(weights.as_ref(), None)))?;
            let found = hammock_ir::verify::module(&imported.module, &Table);
            (Some(imported.module), imported.source, found)
        } else {
            let source = self.source()?.ok_or_else(|| self.is_executable())?;
            let (module, found) = check_module(&source, &self.read_options(weights.as_ref()));
            (module, source, found)
        };
        if let (Some(weights), Some(module)) = (&weights, &module) {
            found.extend(misfit_in(module, weights));
        }
        Ok(Verified { module, source, found, weights })
    }

    /// Returns true if it is an ONNX model, by its name or its first bytes.
    pub fn is_onnx(&self) -> bool {
        match &self.contents {
            Some(bytes) => hammock_onnx::is_model(bytes),
            None => is_onnx(&self.path),
        }
    }

    fn import(&self, options: &ImportOptions) -> Result<Imported, Failure> {
        match &self.contents {
            Some(bytes) => import_bytes(bytes.clone(), &self.path, options),
            None => import_onnx(&self.path, options),
        }
    }

    /// The text; a compiled executable has none.
    fn source(&self) -> Result<Option<SourceFile>, Failure> {
        match &self.contents {
            Some(bytes) => source_of(&self.path, bytes.to_vec()),
            None => read_source(&self.path),
        }
    }

    /// Reads the module and its weights, which need not fit each other.
    ///
    /// # Errors
    /// If a file cannot be read or is damaged.
    pub fn read(&self) -> Result<(Module, SourceFile, Option<Weights>), Failure> {
        let weights = self.weights()?;
        let (module, source) = self.read_for(None, weights.as_ref())?;
        Ok((module, source, weights))
    }

    fn read_for(&self, call: Option<&CallSpec>, weights: Option<&Weights>) -> Result<(Module, SourceFile), Failure> {
        self.expect_digest()?;
        let mut onnx = self.import_options(self.overridden(weights, call));
        onnx.ranks = Ranks(call.map(ranks_of));
        if self.is_onnx() {
            return self.import(&onnx).map(|imported| (imported.module, imported.source));
        }
        let source = self.source()?.ok_or_else(|| self.is_executable())?;
        let module = read_text(&source, &self.read_options(weights))?;
        Ok((module, source))
    }

    /// Signatures of an ONNX model's functions with its weights and default values as parameters.
    ///
    /// # Errors
    /// If the model cannot be imported.
    pub fn onnx_signatures(&self) -> Result<Vec<Signature>, Failure> {
        self.expect_digest()?;
        let overridden = Overridden { all: true, ..self.overridden(None, None) };
        let options = ImportOptions { weights: OnnxWeights::Parameters, ..self.import_options(overridden) };
        let imported = self.import(&options)?;
        let mut all = signatures(&imported.module);
        let weights = all.iter_mut().flat_map(|signature| &mut signature.params);
        for param in weights.filter(|param| param.role == Role::Weight) {
            param.role = if imported.defaults.contains(&param.name) { Role::Default } else { Role::Bound };
        }
        Ok(all)
    }

    /// Options to import an ONNX model, where `overridden` inputs stay parameters.
    pub fn import_options(&self, overridden: Overridden) -> ImportOptions {
        let (data_folders, shapes) = (self.data_folders.clone(), self.shapes.clone());
        ImportOptions { data_folders, overridden, shapes, ..ImportOptions::default() }
    }

    fn expect_digest(&self) -> Result<(), Failure> {
        self.digest.map_or(Ok(()), |digest| digest.expect(&self.path))
    }

    fn weights(&self) -> Result<Option<Weights>, Failure> {
        match &self.params {
            Params::None | Params::Zeros => Ok(None),
            Params::File(path) => read_weights(path).map(Some),
            Params::Tensors(weights) => Ok(Some(weights.clone())),
        }
    }

    /// Inputs with a default value that are parameters: those of `overridable`, and those that a call or weights provide.
    fn overridden(&self, weights: Option<&Weights>, call: Option<&CallSpec>) -> Overridden {
        let (args, unnamed) = call.map(CallSpec::names).unwrap_or_default();
        let weights = weights.into_iter().flat_map(|weights| weights.iter().map(|(name, _)| name));
        let named = args.into_iter().chain(weights).map(str::to_owned).collect();
        Overridden { required: self.overridable.clone(), named, unnamed, all: false }
    }

    fn read_options(&self, weights: Option<&Weights>) -> ReadOptions {
        let tensors = |w: &Weights| w.iter().map(|(n, t)| (n.to_owned(), t.clone())).collect();
        let constants = match weights {
            Some(weights) => Constants::Tensors(tensors(weights)),
            None if matches!(self.params, Params::Zeros) => Constants::Zeros,
            None => Constants::Missing,
        };
        ReadOptions { module: self.module.clone(), constants }
    }

    fn is_executable(&self) -> Failure {
        Failure::new(codes::UNSUPPORTED_FILE, format!("{} is a compiled executable, not a text module", self.path))
            .help("`hammock inspect` shows what is in it, `hammock run` runs it")
    }
}

impl Model {
    /// Reads a model and its weights. Arguments of `call`, if it is known, override default values of an ONNX model's inputs
    /// and set their ranks. Warns about weights that fit no parameter.
    ///
    /// # Errors
    /// If a file cannot be read, is damaged, or weights do not fit the module.
    pub fn read(file: &ModelFile, call: Option<&CallSpec>, progress: &mut dyn Progress) -> Result<Model, Failure> {
        if !matches!(file.params, Params::None) {
            progress.begin("reading weights")?;
        }
        let weights = file.weights()?;
        progress.begin("reading the model")?;
        let (module, source) = file.read_for(call, weights.as_ref())?;
        if let Some(misfit) = weights.as_ref().and_then(|weights| misfit_in(&module, weights)) {
            let (is_error, failure) = (misfit.is_error(), Failure::from(misfit).within(&source));
            if is_error {
                return Err(failure);
            }
            progress.warn(&failure)?;
        }
        Ok(Model { signatures: signatures(&module), module, source, weights })
    }

    /// Reads and verifies a model and its weights. The progress gets warnings.
    ///
    /// # Errors
    /// All errors in the model, or that a file cannot be read.
    pub fn read_verified(file: &ModelFile, progress: &mut dyn Progress) -> Result<Model, Failure> {
        progress.begin("reading the model")?;
        let Verified { module, source, found, weights } = file.verified()?;
        let (is_wrong, found) = (found.iter().any(Diagnostic::is_error), Failure::from(found).within(&source));
        let Some(module) = module.filter(|_| !is_wrong) else { return Err(found) };
        if !found.diagnostics.is_empty() {
            progress.warn(&found)?;
        }
        Ok(Model { signatures: signatures(&module), module, source, weights })
    }

    /// Reads a text module.
    ///
    /// # Errors
    /// If the text is not a module.
    pub fn from_text(source: SourceFile) -> Result<Model, Failure> {
        let module = read_text(&source, &ReadOptions::default())?;
        Ok(Model { signatures: signatures(&module), module, source, weights: None })
    }

    /// Turns parameters that weights have the names of into constants; not those that `call` has arguments for.
    ///
    /// # Errors
    /// If a tensor does not fit its parameter.
    pub fn bind_weights(&mut self, call: Option<&CallSpec>) -> Result<(), Failure> {
        let Some(weights) = self.weights.take() else { return Ok(()) };
        let weights = match call {
            Some(call) => {
                let of_call = self.signatures.iter().find(|signature| signature.function == call.func);
                let params = of_call.into_iter().flat_map(|signature| &signature.params);
                let params: Vec<&str> = params.map(|param| param.name.as_str()).collect();
                CallSpec { weights: Some(&weights), ..call.clone() }.weights_for(&params)
            }
            None => Some(weights),
        };
        match weights {
            Some(weights) => bind(&mut self.module, &weights).map_err(|e| e.within(&self.source)),
            None => Ok(()),
        }
    }

    /// Adds the weights of an ONNX model to its signatures: in the module they are constants without names.
    pub fn name_weights(&mut self, file: &ModelFile) {
        let named = if file.is_onnx() { file.onnx_signatures().unwrap_or_default() } else { Vec::new() };
        for (signature, named) in self.signatures.iter_mut().zip(&named) {
            let is_known = |param: &&Param| signature.params.iter().any(|own| own.name == param.name);
            let weights = named.params.iter().filter(|param| matches!(param.role, Role::Bound | Role::Default));
            let weights = weights.filter(|param| !is_known(param));
            let bound: Vec<Param> = weights.map(|param| Param { role: Role::Bound, ..param.clone() }).collect();
            signature.params.extend(bound);
        }
    }

    /// Gives a module without graphs a function `name` that calls its kernel: see [`add_entry`]. Returns the kernel's new
    /// name, if the function took it.
    ///
    /// # Errors
    /// If there are several kernels, and none of that name.
    pub fn add_entry(&mut self, name: &str) -> Result<Option<Name>, Failure> {
        add_entry(&mut self.module, name).map_err(|e| e.within(&self.source))
    }
}

/// Ranks of parameters, from the arguments of a call.
fn ranks_of(call: &CallSpec) -> Arc<hammock_onnx::RanksOf> {
    let args = call.args.to_vec();
    Arc::new(move |params| {
        let mut unnamed = args.iter().filter(|text| split_name(text).is_none());
        let mut argument = |param: &&str| {
            let named = args.iter().filter_map(|text| split_name(text)).find(|(name, _)| name == param);
            let value = named.map(|(_, value)| value).or_else(|| unnamed.next().map(String::as_str))?;
            Some(parse_argument(value).ok()?.get::<&Tensor>()?.shape().len())
        };
        params.iter().map(&mut argument).collect()
    })
}
