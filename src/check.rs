//! `hammock check`: is this a module?

use crate::module::ModuleArgs;
use clap::Args;
use hammock_compiler::Failure;
use hammock_ops::Table;
use hammock_syntax::Diagnostic;

/// Reads a module and verifies it; prints nothing when all is well
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock check model.py
  hammock check model.py --json      diagnostics as a JSON list, for editors

Each object of the list has `source` (hammock), `file`, `severity` (error, warning, note),
`code`, `message`, `help` (a list), a place, `labels` (places, each with `message` and
`primary`) and `fixes` (places, each with the `text` that should stand there). A place is
`line`, `column`, `end_line`, `end_column`, from 1 and in characters, ends exclusive, and
`range`, the same as the Language Server Protocol has it: from 0, in UTF-16 code units.")]
pub struct Check {
    #[command(flatten)]
    module: ModuleArgs,
    /// Print diagnostics to standard output as a JSON list
    #[arg(long)]
    json: bool,
}

impl Check {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        let result = self.check();
        if self.json {
            let list = match &result {
                Ok(warnings) => warnings.json(),
                Err(errors) => errors.json(),
            };
            crate::print(&format!("{list:#}\n"));
            return match result {
                Ok(_) => Ok(()),
                Err(_) => std::process::exit(1),
            };
        }
        let warnings = result?;
        eprint!("{}", warnings.render(false));
        Ok(())
    }

    /// Warnings, when there are no errors.
    fn check(&self) -> Result<Failure, Failure> {
        let (module, source) = self.module.read_text()?;
        let found = Failure::from(hammock_ir::verify::module(&module, &Table)).within(&source);
        if found.diagnostics.iter().any(Diagnostic::is_error) { Err(found) } else { Ok(found) }
    }
}
