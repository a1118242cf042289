//! Flags that say which module a command is about.

use clap::Args;
use hammock_compiler::{
    Constants, Failure, Input, ReadOptions, Weights, check_text, read_file, read_source, read_weights,
};
use hammock_ir::Module;
use hammock_syntax::{Diagnostic, SourceFile, codes};
use std::path::PathBuf;

/// A text module, and the weights that go with it.
#[derive(Args, Clone)]
pub struct ModuleArgs {
    /// A text module (TVMScript), or `-` for standard input
    pub file: String,
    /// Which module, when the file has several
    #[arg(long, value_name = "NAME")]
    pub module: Option<String>,
    /// Weights by name (.safetensors or .npz), or `zeros` for shape-only work
    #[arg(long, value_name = "FILE")]
    pub params: Option<PathBuf>,
}

impl ModuleArgs {
    /// The same flags for another file.
    pub fn of_file(&self, file: &str) -> Self {
        ModuleArgs { file: file.to_owned(), ..self.clone() }
    }

    /// The named tensors of `--params`.
    pub fn weights(&self) -> Result<Option<Weights>, Failure> {
        match &self.params {
            Some(path) if path.as_os_str() != "zeros" => read_weights(path).map(Some),
            _ => Ok(None),
        }
    }

    /// Reads the file; a compiled executable is `None`.
    pub fn read(&self, weights: Option<&Weights>) -> Result<Option<(Module, SourceFile)>, Failure> {
        match read_file(&self.file, &self.options(weights))? {
            Input::Module(module, source) => Ok(Some((*module, source))),
            Input::Executable => Ok(None),
        }
    }

    /// Reads the file, which must be text.
    pub fn read_text(&self) -> Result<(Module, SourceFile), Failure> {
        let weights = self.weights()?;
        self.read(weights.as_ref())?.ok_or_else(|| self.not_text())
    }

    /// The file's text, and all that is to be said about it.
    pub fn check_text(&self) -> Result<(SourceFile, Vec<Diagnostic>), Failure> {
        let weights = self.weights()?;
        let source = read_source(&self.file)?.ok_or_else(|| self.not_text())?;
        let found = check_text(&source, &self.options(weights.as_ref()));
        Ok((source, found))
    }

    fn options(&self, weights: Option<&Weights>) -> ReadOptions {
        let zeros = self.params.as_ref().is_some_and(|p| p.as_os_str() == "zeros");
        let tensors = |w: &Weights| w.iter().map(|(n, t)| (n.to_owned(), t.clone())).collect();
        let constants = match weights {
            Some(weights) => Constants::Tensors(tensors(weights)),
            None if zeros => Constants::Zeros,
            None => Constants::Missing,
        };
        ReadOptions { module: self.module.clone(), constants }
    }

    fn not_text(&self) -> Failure {
        Failure::new(codes::UNSUPPORTED_FILE, format!("{} is a compiled executable, not a text module", self.file))
            .help("`hammock inspect` shows what is in it, `hammock run` runs it")
    }
}
