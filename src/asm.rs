//! `hammock asm`: assembles a listing to bytecode.

use crate::output::write_file;
use clap::Args;
use hammock_compiler::{Failure, read_source, read_weights};
use hammock_diagnostics::codes;
use hammock_tools::{CommandFiles, Content};
use std::path::PathBuf;

/// Assembles a listing of an executable to bytecode
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock inspect model.so --listing > listing.txt
  hammock asm listing.txt -o code.bin                            the same bytecode, or an edited one
  hammock compile kernels.py --bytecode code.bin -o model.so     with kernels from a text module")]
pub struct Asm {
    /// A listing, or `-` for standard input
    file: String,
    /// The bytecode file to write, or `-` for standard output: the executable's section, in TVM's format
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The tensors that the listing refers to by name (.safetensors or .npz)
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
}

impl Asm {
    /// The files that the command reads and writes.
    pub fn files(&self, files: &mut CommandFiles) {
        files.reads("FILE", &self.file);
        self.params.iter().for_each(|path| files.reads_weights("--params", path));
        files.writes("-o", &self.output);
    }

    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let tensors = self.params.as_deref().map(read_weights).transpose()?;
        let source = read_source(&self.file)?.ok_or_else(|| {
            let message = format!("{} is a compiled executable, not a listing", self.file);
            Failure::new(codes::UNSUPPORTED_FILE, message).help("`hammock inspect --listing` writes its listing")
        })?;
        let find = |name: &str| tensors.as_ref().and_then(|t| t.get(name)).cloned();
        let executable =
            hammock_asm::assemble(&source, &find).map_err(|errors| Failure::from(errors).within(&source))?;
        write_file(&self.output, Content::Data, |out| out.write_all(&executable.save_checked()))
    }
}
