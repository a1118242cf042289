//! `hammock inspect`: shows what is in a compiled executable.

use crate::{failure::tool_failure, output::not_stdout};
use clap::Args;
use hammock_compiler::{Failure, read_source, write_weights};
use hammock_diagnostics::codes;
use hammock_runtime::{
    library::LibraryError,
    tools::{InspectFlags, ToolError, inspect},
};
use std::path::PathBuf;

/// Shows what is in a compiled executable
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock inspect model.so              the bytecode as text
  hammock inspect model.so --stats      functions and constants
  hammock inspect model.so --asm --params-out weights.safetensors > listing.txt")]
pub struct Inspect {
    /// A compiled executable, a library that TVM exported, or bytecode
    file: PathBuf,
    #[command(flatten)]
    view: InspectFlags,
}

impl Inspect {
    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let listing = inspect(&self.file, self.view.view()).map_err(|e| self.failure(e))?;
        if let Some(path) = &self.view.params_out {
            not_stdout("--params-out", path)?;
            write_weights(path, &listing.tensors)?;
        }
        crate::print(&listing.text)
    }

    /// What went wrong; a text is not called a damaged library.
    fn failure(&self, error: ToolError) -> Failure {
        let file = self.file.display().to_string();
        let unsealed = matches!(error, ToolError::Library(LibraryError::Seal(_)));
        if !(unsealed && matches!(read_source(&file), Ok(Some(_)))) {
            return tool_failure(error);
        }
        Failure::new(codes::UNSUPPORTED_FILE, format!("{file} is text, not a compiled executable"))
            .help("`hammock compile` makes an executable of a text module; `hammock opt` shows the module itself")
    }
}
