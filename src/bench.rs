//! `hammock bench`: times a function.

use crate::{
    failure::{input_failure, tool_failure},
    run::Program,
};
use clap::Args;
use hammock_compiler::Failure;
use hammock_runtime::tools::{BenchFlags, ProfileFlags};

/// Times a function of a text module (compiled first) or of a compiled executable
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock bench model.so --arg 'random(1,64):float32'
  hammock bench model.py --params weights.safetensors --arg @images.npy --threads 1 --min-time 0.5 --json")]
pub struct Bench {
    #[command(flatten)]
    program: Program,
    #[command(flatten)]
    bench: BenchFlags,
    #[command(flatten)]
    profile: ProfileFlags,
}

impl Bench {
    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let least = self.bench.least().map_err(input_failure)?;
        let session = self.program.open()?;
        let weights = self.program.weights(&session)?;
        let spec = self.program.call.spec(weights.as_ref());
        crate::print(&session.bench(&spec, least, self.bench.json).map_err(tool_failure)?)?;
        self.profile.repeat(&session, &spec).map_err(tool_failure)
    }
}
