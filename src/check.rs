//! `hammock check`: reads and verifies a module.

use crate::{Answer, module::ModuleArgs};
use clap::Args;
use hammock_compiler::Failure;
use hammock_diagnostics::{Diagnostic, codes};
use hammock_tools::print_stderr_colored;

/// Reads and verifies a module; prints nothing if it is correct
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock check model.py
  hammock check model.py --json      diagnostics as a JSON list, for editors

Each object in the list has `source` (hammock), `file`, `severity` (error, warning, note),
`code`, `message`, `help` (a list), a place, `labels` (places, each with `message` and
`primary`) and `fixes` (places, each with the `text` to put there). A place has `line`,
`column`, `end_line` and `end_column`, counted from 1 in characters, with exclusive ends, and
`range`, the same in the form of the Language Server Protocol: from 0, in UTF-16 code units.")]
pub struct Check {
    #[command(flatten)]
    pub module: ModuleArgs,
    /// Print diagnostics to standard output as a JSON list
    #[arg(long)]
    json: bool,
}

impl Check {
    /// Runs the subcommand.
    pub fn run(self, color: bool) -> Result<Answer, Failure> {
        let said = match self.module.model_file().and_then(|file| file.check()) {
            Ok((source, found)) => Failure::from(found).within(&source),
            Err(failure) => failure,
        };
        let wrong = said.diagnostics.iter().any(Diagnostic::is_error);
        if self.json {
            crate::print(&format!("{:#}\n", said.json()))?;
            Ok(if wrong { Answer::Negative } else { Answer::Positive })
        } else if wrong {
            Err(said)
        } else {
            print_stderr_colored(&said.render(color)).map_err(|e| Failure::of_input(codes::UNWRITABLE_FILE, e))?;
            Ok(Answer::Positive)
        }
    }
}
