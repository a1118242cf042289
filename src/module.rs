//! Flags that say which module a command is about.

use crate::effect::refuse;
use clap::Args;
use hammock_compiler::{
    Constants, Digest, Failure, ImportOptions, Input, InputShape, OnnxWeights, Overridden, Ranks, RanksOf, ReadOptions,
    Weights, check_module, data_files, import_onnx, is_onnx, misfit_in, read_file, read_source, read_weights,
    signatures,
};
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_ir::Module;
use hammock_runtime::{
    Tensor,
    image::{Signature, signature::Role},
    tools::{BudgetFlags, CallFlags, CommandFiles, parse_argument, split_name},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Says which file is meant.
#[derive(Args, Clone, Default)]
pub struct DigestFlag {
    /// Verify the file's SHA-256 before loading it; other files that it needs are not verified
    #[arg(long, value_name = "HEX")]
    sha256: Option<Digest>,
}

impl DigestFlag {
    /// Refuses a file that is another than the one that was meant.
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
    shapes: Vec<InputShape>,
}

impl OnnxFlags {
    /// How to import a model, whose weights become `weights`.
    pub fn import(&self, weights: OnnxWeights, overridden: Overridden) -> ImportOptions {
        let (shapes, data_folders) = (self.shapes.clone(), self.data_folders.clone());
        ImportOptions { weights, data_folders, overridden, shapes, ranks: Ranks::default() }
    }

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
    /// The files that the flags name, and what belongs to them.
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

    /// The named tensors of `--params`.
    pub fn weights(&self) -> Result<Option<Weights>, Failure> {
        match &self.params {
            Some(path) if !is_zeros(Some(path)) => read_weights(path).map(Some),
            _ => Ok(None),
        }
    }

    /// Reads the file, which must be text, and the weights.
    pub fn read_text(&self) -> Result<(Module, SourceFile, Option<Weights>), Failure> {
        let weights = self.weights()?;
        let (module, source) = self.read_text_for(weights.as_ref(), None)?;
        Ok((module, source, weights))
    }

    /// Reads the file, which must be text, whose constants may be among the weights. A call, if one is known, overrides
    /// defaults of an ONNX model's inputs.
    pub fn read_text_for(
        &self,
        weights: Option<&Weights>,
        call: Option<&CallFlags>,
    ) -> Result<(Module, SourceFile), Failure> {
        self.digest.expect(&self.file)?;
        self.onnx.expect_onnx(&self.file)?;
        if !is_onnx(&self.file) {
            let why = format!("{} is no ONNX model, so its inputs have no default values", self.file);
            refuse(&[("--overridable", !self.overridable.is_empty())], &why)?;
        }
        let mut onnx = self.onnx.import(OnnxWeights::Constants, self.overridden(weights, call));
        onnx.ranks = Ranks(call.map(ranks_of));
        match read_file(&self.file, &self.options(weights), &onnx)? {
            Input::Module(module, source) => Ok((*module, source)),
            Input::Executable => Err(self.not_text()),
        }
    }

    /// The file's text, and all diagnostics about it.
    pub fn check_text(&self) -> Result<(SourceFile, Vec<Diagnostic>), Failure> {
        self.digest.expect(&self.file)?;
        if is_onnx(&self.file) {
            let options = self.onnx.import(OnnxWeights::Constants, self.overridden(None, None));
            let imported = import_onnx(&self.file, &options)?;
            return Ok((imported.source, hammock_ir::verify::module(&imported.module, &hammock_ops::Table)));
        }
        let weights = self.weights()?;
        let source = read_source(&self.file)?.ok_or_else(|| self.not_text())?;
        let options = self.options(weights.as_ref());
        let (module, mut found) = check_module(&source, &options);
        if let (Some(weights), Some(module)) = (&weights, &module) {
            found.extend(misfit_in(module, weights));
        }
        Ok((source, found))
    }

    /// What the functions of an ONNX model take and give, its weights and default values too.
    pub fn onnx_signatures(&self) -> Result<Vec<Signature>, Failure> {
        let overridden = Overridden { all: true, ..self.overridden(None, None) };
        let options = self.onnx.import(OnnxWeights::Parameters, overridden);
        let imported = import_onnx(&self.file, &options)?;
        let mut all = signatures(&imported.module);
        let weights = all.iter_mut().flat_map(|signature| &mut signature.params);
        for param in weights.filter(|param| param.role == Role::Weight) {
            param.role = if imported.defaults.contains(&param.name) { Role::Default } else { Role::Bound };
        }
        Ok(all)
    }

    /// The inputs with a default value that are parameters: those of the flag, and those that a call or weights give.
    fn overridden(&self, weights: Option<&Weights>, call: Option<&CallFlags>) -> Overridden {
        let (args, unnamed) = call.map(CallFlags::names).unwrap_or_default();
        let weights = weights.into_iter().flat_map(|weights| weights.iter().map(|(name, _)| name));
        let named = args.into_iter().chain(weights).map(str::to_owned).collect();
        Overridden { required: self.overridable.clone(), named, unnamed, all: false }
    }

    fn options(&self, weights: Option<&Weights>) -> ReadOptions {
        let tensors = |w: &Weights| w.iter().map(|(n, t)| (n.to_owned(), t.clone())).collect();
        let constants = match weights {
            Some(weights) => Constants::Tensors(tensors(weights)),
            None if is_zeros(self.params.as_deref()) => Constants::Zeros,
            None => Constants::Missing,
        };
        ReadOptions { module: self.module.clone(), constants }
    }

    fn not_text(&self) -> Failure {
        Failure::new(codes::UNSUPPORTED_FILE, format!("{} is a compiled executable, not a text module", self.file))
            .help("`hammock inspect` shows what is in it, `hammock run` runs it")
    }
}

/// The ranks of parameters, by the arguments of a call.
fn ranks_of(call: &CallFlags) -> Arc<RanksOf> {
    let args = call.args.clone();
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

/// Adds the model that a command reads, with the files that belong to it.
pub fn reads_model(files: &mut CommandFiles, file: &str, onnx: &OnnxFlags) {
    files.reads_model("FILE", file);
    files.reads_beside(Path::new(file), data_files(file, &onnx.data_folders));
}

/// Returns true if `--params` names no file but asks for zeros in place of the constants that the text leaves out.
pub fn is_zeros(params: Option<&Path>) -> bool {
    params.is_some_and(|path| path.as_os_str() == "zeros")
}
