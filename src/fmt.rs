//! `hammock fmt`: formats text modules.

use crate::{Answer, output::write_file};
use clap::Args;
use hammock_compiler::{Failure, read_source};
use hammock_diagnostics::{Diagnostic, SourceFile, codes};
use hammock_runtime::printable;
use hammock_syntax::format;
use hammock_tools::{CommandFiles, Content};
use similar::TextDiff;
use std::path::Path;

/// Formats text modules; comments stay
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock fmt model.py kernels.py                      rewrites the files
  hammock fmt --check model.py || echo unformatted     lists the files that are not formatted, and fails if there are any
  hammock fmt --diff model.py                          what it would change
  hammock opt model.py | hammock fmt -

Levels are indented by 4 spaces. Lines of more than 120 columns are broken inside brackets, outermost first, with one
element a line and a trailing comma; other lines are joined, unless a bracket has a comment or a trailing comma. There
are two blank lines around definitions at the top level, elsewhere at most two there and one inside bodies. Only white
space and such commas change: strings and numbers stay as they are, and so does a file with syntax errors.")]
pub struct Fmt {
    /// Text modules, or `-` to format standard input to standard output
    #[arg(required = true, value_name = "FILE")]
    modules: Vec<String>,
    /// Write nothing, list the files that are not formatted, and fail if there are any
    #[arg(long)]
    check: bool,
    /// Write nothing, and print the changes as a unified diff
    #[arg(long)]
    diff: bool,
}

impl Fmt {
    /// The files that the command reads and writes.
    pub fn files(&self, files: &mut CommandFiles) {
        let rewritten = self.modules.iter().filter(|path| *path != "-" && !self.check && !self.diff);
        rewritten.for_each(|path| files.writes("FILE", path));
    }

    /// Runs the subcommand.
    pub fn run(self) -> Result<Answer, Failure> {
        let mut errors: Vec<Diagnostic> = Vec::new();
        let mut is_formatted = true;
        for path in &self.modules {
            match self.format(path) {
                Ok(unchanged) => is_formatted &= unchanged,
                Err(failure) => errors.extend(with_file(failure)),
            }
        }
        if !errors.is_empty() {
            return Err(errors.into());
        }
        Ok(if self.check && !is_formatted { Answer::Negative } else { Answer::Positive })
    }

    /// Formats a file; returns true if it was formatted already.
    fn format(&self, path: &str) -> Result<bool, Failure> {
        let source = read_source(path)?.ok_or_else(|| {
            let message = format!("{} is a compiled executable, not a text", printable(path));
            Failure::new(codes::UNSUPPORTED_FILE, message).help("`hammock fmt` formats text modules")
        })?;
        let text = format(&source).map_err(|errors| Failure::from(errors).within(&source))?;
        let unchanged = text == source.text();
        if self.check && !unchanged {
            crate::print(&format!("{}\n", printable(source.name())))?;
        }
        if self.diff {
            crate::print(&diff(&source, &text))?;
        } else if !self.check && path == "-" {
            crate::print(&text)?;
        } else if !self.check && !unchanged {
            write_file(Path::new(path), Content::Text, |out| out.write_all(text.as_bytes()))?;
        }
        Ok(unchanged)
    }
}

/// The changes as a unified diff; empty if there are none.
fn diff(source: &SourceFile, formatted: &str) -> String {
    let name = printable(source.name());
    TextDiff::from_lines(source.text(), formatted).unified_diff().header(&name, &name).to_string()
}

/// The diagnostics, each with its file.
fn with_file(failure: Failure) -> Vec<Diagnostic> {
    let Failure { mut diagnostics, source } = failure;
    for diagnostic in &mut diagnostics {
        if let (None, Some(source)) = (&diagnostic.file, &source) {
            diagnostic.file = Some(Box::new(source.clone()));
        }
    }
    diagnostics
}
