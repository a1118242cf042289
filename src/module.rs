//! Flags that say which module a command is about.

use clap::Args;
use hammock_compiler::{
    Constants, Digest, Failure, ImportOptions, Input, OnnxWeights, ReadOptions, Weights, check_module, data_files,
    import_onnx, is_onnx, misfit_in, read_file, read_source, read_weights, signatures,
};
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_ir::Module;
use hammock_runtime::{
    image::{Signature, signature::Role},
    tools::{BudgetFlags, CommandFiles},
};
use std::path::{Path, PathBuf};

/// Says which file is meant.
#[derive(Args, Clone, Default)]
pub struct DigestFlag {
    /// Refuse the file unless its bytes have this SHA-256; other files that it needs are not looked at
    #[arg(long, value_name = "HEX")]
    sha256: Option<Digest>,
}

impl DigestFlag {
    /// Refuses a file that is another than the one that was meant.
    pub fn expect(&self, file: &str) -> Result<(), Failure> {
        self.sha256.map_or(Ok(()), |digest| digest.expect(file))
    }
}

/// Says where data of an ONNX model may lie.
#[derive(Args, Clone, Default)]
pub struct DataFolders {
    /// A folder that links to an ONNX model's external data may lead to, besides the model's own folder; may be repeated
    #[arg(long = "external-data-dir", value_name = "DIR", value_parser = existing_folder)]
    pub folders: Vec<PathBuf>,
}

impl DataFolders {
    /// The options of importing a model.
    pub fn importing(&self, weights: OnnxWeights) -> ImportOptions {
        ImportOptions { weights, data_folders: self.folders.clone() }
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
    /// Which module to use, if the file has several
    #[arg(long, value_name = "NAME")]
    pub module: Option<String>,
    /// Weights by name (.safetensors, an index or a folder of them, or .npz), or `zeros` if only shapes matter
    #[arg(long, value_name = "FILE")]
    pub params: Option<PathBuf>,
    #[command(flatten)]
    pub data: DataFolders,
    #[command(flatten)]
    pub digest: DigestFlag,
    #[command(flatten)]
    pub budget: BudgetFlags,
}

impl ModuleArgs {
    /// The files that the flags name, and what belongs to them.
    pub fn files(&self, files: &mut CommandFiles) {
        reads_model(files, &self.file, &self.data);
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
        let (module, source) = self.read_text_for(weights.as_ref())?;
        Ok((module, source, weights))
    }

    /// Reads the file, which must be text, whose constants may be among the weights.
    pub fn read_text_for(&self, weights: Option<&Weights>) -> Result<(Module, SourceFile), Failure> {
        self.digest.expect(&self.file)?;
        match read_file(&self.file, &self.options(weights), &self.data.folders)? {
            Input::Module(module, source) => Ok((*module, source)),
            Input::Executable => Err(self.not_text()),
        }
    }

    /// The file's text, and all diagnostics about it.
    pub fn check_text(&self) -> Result<(SourceFile, Vec<Diagnostic>), Failure> {
        self.digest.expect(&self.file)?;
        if is_onnx(&self.file) {
            let imported = import_onnx(&self.file, &self.data.importing(OnnxWeights::Constants))?;
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

    /// What the functions of an ONNX model take and give, its weights too.
    pub fn onnx_signatures(&self) -> Result<Vec<Signature>, Failure> {
        let imported = import_onnx(&self.file, &self.data.importing(OnnxWeights::Parameters))?;
        let mut all = signatures(&imported.module);
        let weights = all.iter_mut().flat_map(|signature| &mut signature.params);
        weights.filter(|param| param.role == Role::Weight).for_each(|param| param.role = Role::Bound);
        Ok(all)
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

/// Adds the model that a command reads, with the files that belong to it.
pub fn reads_model(files: &mut CommandFiles, file: &str, data: &DataFolders) {
    files.reads_model("FILE", file);
    files.reads_beside(Path::new(file), data_files(file, &data.folders));
}

/// Whether `--params` names no file but asks for zeros in place of the constants that the text leaves out.
pub fn is_zeros(params: Option<&Path>) -> bool {
    params.is_some_and(|path| path.as_os_str() == "zeros")
}
