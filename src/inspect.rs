//! `hammock inspect`: what is in a compiled executable.

use crate::run::tool_failure;
use clap::Args;
use hammock_compiler::Failure;
use hammock_runtime::tools::{InspectFlags, inspect};
use std::path::PathBuf;

/// Shows what is in a compiled executable
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock inspect model.so              the bytecode as text
  hammock inspect model.so --stats      functions and constants")]
pub struct Inspect {
    /// A compiled executable, a library that TVM exported, or bytecode
    file: PathBuf,
    #[command(flatten)]
    view: InspectFlags,
}

impl Inspect {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        crate::print(&inspect(&self.file, self.view.view()).map_err(tool_failure)?);
        Ok(())
    }
}
