//! An observer of passes: prints, dumps, verifies, measures time.

use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{Module, Name, print};
use hammock_ops::Table;
use hammock_passes::{MemoryPlan, Observer, Pass};
use hammock_runtime::printable;
use hammock_tools::{Content, InputError, print_stderr, print_stderr_colored, write_file};
use indexmap::IndexMap;
use similar::TextDiff;
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Pass after which all allocations are explicit.
const ALLOCATES: &str = "LowerAllocTensor";
/// Passes after which operators are kernels of their own, and those after which fused groups of kernels are functions.
const GROUP: [&str; 3] = ["LegalizeOps", "FuseOps", "FuseRows"];

/// Actions after each pass, and what they have recorded.
#[derive(Default)]
pub struct Dump {
    /// Print the module after these passes, or after every one for `all`, to standard error; for `changed` what passes
    /// change.
    pub print_after: Vec<String>,
    /// True if changes are printed in colour.
    pub color: bool,
    /// The module's text before the next pass, where changes are printed.
    pub text: Option<String>,
    /// Write the module after each pass to this folder, as `01_Normalize.py`, `02_LegalizeOps.py`, ….
    pub dir: Option<PathBuf>,
    /// Verify the module after each pass.
    pub verify: bool,
    /// Time of each pass, in order.
    pub times: Vec<Timing>,
    /// Memory plan of each function, once all allocations exist and while sizes are still expressions.
    pub memory: IndexMap<Name, MemoryPlan>,
    /// Keep the module after LegalizeOps, FuseOps and FuseRows.
    pub keep_groups: bool,
    /// The modules that are kept: in them, fused groups of kernels are functions.
    pub groups: Vec<Module>,
}

/// Time of a pass, or of a stage of the build after passes.
pub struct Timing {
    /// The pass or stage.
    pub pass: &'static str,
    /// Its duration.
    pub took: Duration,
}

/// Measures consecutive stages.
pub struct Clock(Instant);

impl Clock {
    /// Starts the first stage.
    pub fn start() -> Self {
        Clock(Instant::now())
    }

    /// Ends a stage, and starts the next.
    pub fn lap(&mut self, stage: &'static str, times: &mut Vec<Timing>) {
        let now = Instant::now();
        times.push(Timing { pass: stage, took: now - std::mem::replace(&mut self.0, now) });
    }
}

impl Dump {
    /// File in a folder with the module after the `number`-th pass.
    pub fn path(dir: &Path, number: usize, pass: &Pass) -> PathBuf {
        dir.join(format!("{number:02}_{}.py", pass.name))
    }

    /// Prints what a pass has changed.
    fn print_changes(&mut self, pass: &Pass, module: &Module) -> Result<(), Diagnostic> {
        let text = without_constants(module);
        let before = self.text.replace(text.clone()).unwrap_or_default();
        let heading = format!("# after {}", pass.name);
        if before == text {
            return print_stderr(&format!("{heading}: no change\n")).map_err(unwritable);
        }
        let diff = TextDiff::from_lines(&before, &text);
        let diff = diff.unified_diff().context_radius(2).to_string();
        if !self.color {
            return print_stderr(&format!("{heading}\n{diff}\n")).map_err(unwritable);
        }
        let colored: String = diff.lines().map(painted).collect();
        print_stderr_colored(&format!("\x1b[1m{heading}\x1b[0m\n{colored}\n")).map_err(unwritable)
    }
}

/// A module's text without the contents of constants.
fn without_constants(module: &Module) -> String {
    print::module_text(module, &print::PrintOptions { metadata: print::Metadata::NoConstants })
}

/// A line of a diff, coloured for terminals.
fn painted(line: &str) -> String {
    let color = match line.as_bytes().first() {
        Some(b'+') => "32",
        Some(b'-') => "31",
        Some(b'@') => "36",
        _ => return format!("{}\n", printable(line)),
    };
    format!("\x1b[{color}m{}\x1b[0m\n", printable(line))
}

impl Observer for Dump {
    fn before(&mut self, module: &Module) {
        if self.print_after.iter().any(|p| p == "changed") {
            self.text = Some(without_constants(module));
        }
    }

    fn after(&mut self, pass: &Pass, module: &Module, took: Duration) -> Result<(), Diagnostic> {
        self.times.push(Timing { pass: pass.name, took });
        if pass.name == ALLOCATES {
            self.memory = MemoryPlan::all(module);
        }
        if self.keep_groups && GROUP.contains(&pass.name) {
            self.groups.push(module.clone());
        }
        if self.print_after.iter().any(|p| p == pass.name || p == "all") {
            let text = print::module_text(module, &print::PrintOptions::default());
            print_stderr(&format!("# after {}\n{text}\n", pass.name)).map_err(unwritable)?;
        }
        if self.text.is_some() {
            self.print_changes(pass, module)?;
        }
        if let Some(dir) = &self.dir {
            let path = Dump::path(dir, self.times.len(), pass);
            let text = print::module_text(module, &print::PrintOptions::default());
            std::fs::create_dir_all(dir)
                .map_err(|e| unwritable(InputError::new(format!("cannot make the folder {}: {e}", dir.display()))))?;
            write_file(&path, Content::Text, |out| out.write_all(text.as_bytes())).map_err(unwritable)?;
        }
        if self.verify
            && let Some(error) = hammock_ir::verify::errors(module, &Table).into_iter().next()
        {
            return Err(
                error.help(format!("pass {} left the module in this state: this is a bug in Hammock", pass.name))
            );
        }
        Ok(())
    }
}

fn unwritable(error: InputError) -> Diagnostic {
    Diagnostic::error(codes::UNWRITABLE_FILE, error.message)
}
