//! `hammock inspect`: what is in a compiled executable.

use crate::{output::write_whole, run::tool_failure};
use clap::Args;
use hammock_compiler::{Failure, write_weights};
use hammock_runtime::{
    library::image_of,
    tools::{InspectFlags, inspect},
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
    /// All of the bytecode as a listing that `hammock asm` assembles
    #[arg(long, conflicts_with_all = ["text", "python", "stats"])]
    asm: bool,
    /// With `--asm`: write tensors of more than 256 bytes to this .safetensors file, not into the listing
    #[arg(long, value_name = "FILE", requires = "asm")]
    params_out: Option<PathBuf>,
}

/// The most bytes of a tensor in a listing that has a file beside it.
const MOST_INLINE: usize = 256;

impl Inspect {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        if !self.asm {
            crate::print(&inspect(&self.file, self.view.view()).map_err(tool_failure)?);
            return Ok(());
        }
        let image = image_of(&self.file).map_err(|e| tool_failure(e.into()))?;
        let most = if self.params_out.is_some() { MOST_INLINE } else { usize::MAX };
        let listing = hammock_asm::print(&image, most);
        if let Some(path) = &self.params_out {
            write_whole(path, 0o644, |file| write_weights(file, &listing.tensors))?;
        }
        crate::print(&listing.text);
        Ok(())
    }
}
