//! `hammock explain`: explains a diagnostic's code.

use crate::tables::unknown;
use clap::Args;
use hammock_compiler::Failure;
use hammock_diagnostics::codes;
use hammock_runtime::suggest::nearest;

/// Explains the code of a diagnostic
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock explain E0201
  hammock explain            lists all codes")]
pub struct Explain {
    /// The code, as in `error[E0201]`
    code: Option<String>,
}

impl Explain {
    /// Runs the subcommand.
    pub fn run(self) -> Result<(), Failure> {
        let Some(code) = self.code else {
            let list: String = codes::all().map(|c| format!("{}  {}\n", c.code, c.name)).collect();
            return crate::print(&list);
        };
        let entry = codes::explain(&code).ok_or_else(|| {
            let known = || codes::all().flat_map(|c| [c.code, c.name]);
            unknown("diagnostic", &code, nearest(&code, known()), "hammock explain")
        })?;
        let shown = |title: &str, text: &str| match text {
            "" => String::new(),
            text => format!("\n{title}:\n\n{}", text.lines().map(|l| format!("    {l}\n")).collect::<String>()),
        };
        let examples = shown("Wrong", entry.wrong) + &shown("Right", entry.right);
        crate::print(&format!("{}: {}\n\n{}\n{examples}", entry.code, entry.name, entry.page))
    }
}
