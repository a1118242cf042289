//! `hammock explain`: what a diagnostic's code means.

use clap::Args;
use hammock_compiler::Failure;
use hammock_syntax::codes;

/// Explains a diagnostic's code
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
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        let Some(code) = self.code else {
            let list: String = codes::all().map(|c| format!("{}  {}\n", c.code, c.name)).collect();
            crate::print(&list);
            return Ok(());
        };
        let entry = codes::explain(&code).ok_or_else(|| {
            Failure::new(codes::UNKNOWN_NAME, format!("there is no diagnostic `{code}`"))
                .help("`hammock explain` lists them")
        })?;
        let shown = |title: &str, text: &str| match text {
            "" => String::new(),
            text => format!("\n{title}:\n\n{}", text.lines().map(|l| format!("    {l}\n")).collect::<String>()),
        };
        let examples = shown("Wrong", entry.wrong) + &shown("Right", entry.right);
        crate::print(&format!("{}: {}\n\n{}\n{examples}", entry.code, entry.name, entry.page));
        Ok(())
    }
}
