//! `hammock inspect`: shows what is in a compiled executable.

use crate::{output::not_stdout, run::tool_failure};
use clap::Args;
use hammock_compiler::{Failure, write_weights};
use hammock_runtime::tools::{InspectFlags, inspect};
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
        let listing = inspect(&self.file, self.view.view()).map_err(tool_failure)?;
        if let Some(path) = &self.view.params_out {
            not_stdout("--params-out", path)?;
            write_weights(path, &listing.tensors)?;
        }
        crate::print(&listing.text)
    }
}
