//! `hammock inspect`: shows what functions of a model take and give, and what is in a compiled executable.

use crate::{failure::tool_failure, module::ModuleArgs, output::expect_weights};
use clap::Args;
use hammock_compiler::{Failure, is_onnx, signatures, write_weights};
use hammock_diagnostics::codes;
use hammock_runtime::image::{Signature, signature::Role};
use hammock_tools::{CommandFiles, FileKind, InspectFlags, View, inspect, signature_json, signature_text};
use std::path::Path;

/// Shows the functions of a model with their parameters and results, and the contents of a compiled executable
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock inspect model.onnx            inputs, weights and outputs, with their shapes and dtypes
  hammock inspect model.so --json       the same as JSON: of text modules, ONNX models and executables
  hammock inspect model.so --text       the bytecode as text
  hammock inspect model.so --stats      functions and constants
  hammock inspect model.so --listing --params-out weights.safetensors > listing.txt")]
pub struct Inspect {
    #[command(flatten)]
    pub module: ModuleArgs,
    #[command(flatten)]
    view: InspectFlags,
}

impl Inspect {
    /// The files that the command reads and writes.
    pub fn files(&self, files: &mut CommandFiles) {
        self.module.files(files);
        self.view.params_out.iter().for_each(|path| files.writes("--params-out", path));
    }

    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let view = self.view.view();
        let kind = if self.module.file == "-" { None } else { FileKind::of_file(Path::new(&self.module.file)) };
        if kind.is_some_and(|kind| kind != FileKind::Tensors) {
            return self.executable(view);
        }
        let signatures = self.signatures()?;
        match view {
            View::Signature => crate::print(&signature_text(&signatures)),
            View::SignatureJson => crate::print(&signature_json(&signatures)),
            _ => {
                let message = format!("{} is no compiled executable: it has no bytecode", self.module.file);
                Err(Failure::new(codes::UNSUPPORTED_FILE, message)
                    .help("`hammock compile` makes an executable of a model; `hammock opt` shows the module itself"))
            }
        }
    }

    fn executable(&self, view: View) -> Result<(), Failure> {
        self.module.digest.expect(&self.module.file)?;
        let listing = inspect(Path::new(&self.module.file), view).map_err(tool_failure)?;
        if let Some(path) = &self.view.params_out {
            expect_weights("--params-out", path)?;
            write_weights(path, &listing.tensors)?;
        }
        crate::print(&listing.text)
    }

    /// Signatures of a model that is not compiled yet.
    fn signatures(&self) -> Result<Vec<Signature>, Failure> {
        let file = self.module.model_file()?;
        if is_onnx(&self.module.file) {
            return file.onnx_signatures();
        }
        let (module, _, weights) = file.read()?;
        let mut signatures = signatures(&module);
        for param in signatures.iter_mut().flat_map(|signature| &mut signature.params) {
            if weights.as_ref().is_some_and(|weights| weights.get(&param.name).is_some()) {
                param.role = Role::Bound;
            }
        }
        Ok(signatures)
    }
}
