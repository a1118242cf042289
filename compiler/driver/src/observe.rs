//! Watching passes: printing, dumping, verifying, timing.

use hammock_ir::{Module, Name, print};
use hammock_ops::Table;
use hammock_passes::{MemoryPlan, Observer, Pass};
use hammock_runtime::tools::{Content, InputError, say, write_file};
use hammock_syntax::{Diagnostic, codes};
use indexmap::IndexMap;
use std::{path::PathBuf, time::Duration};

/// The pass after which functions allocate what they need, and nothing is lowered further.
const ALLOCATES: &str = "LowerAllocTensor";

/// What to do after each pass.
#[derive(Default)]
pub struct Dump {
    /// Print the module after these passes, or after every one for `all`, to standard error.
    pub print_after: Vec<String>,
    /// Write the module after each pass to this folder, as `01_Normalize.py`, `02_LegalizeOps.py`, ….
    pub dir: Option<PathBuf>,
    /// Verify the module after each pass.
    pub verify: bool,
    /// How long each pass took, in order.
    pub times: Vec<Timing>,
    /// The memory of each function, as it is when all allocations are there and sizes are still expressions.
    pub memory: IndexMap<Name, MemoryPlan>,
}

/// A pass's name and time.
pub struct Timing {
    /// The pass.
    pub pass: &'static str,
    /// How long it took.
    pub took: Duration,
}

impl Observer for Dump {
    fn after(&mut self, pass: &Pass, module: &Module, took: Duration) -> Result<(), Diagnostic> {
        self.times.push(Timing { pass: pass.name, took });
        if pass.name == ALLOCATES {
            self.memory = MemoryPlan::all(module);
        }
        if self.print_after.iter().any(|p| p == pass.name || p == "all") {
            let text = print::module_text(module, &print::PrintOptions::default());
            say(&format!("# after {}\n{text}\n", pass.name)).map_err(unwritable)?;
        }
        if let Some(dir) = &self.dir {
            let path = dir.join(format!("{:02}_{}.py", self.times.len(), pass.name));
            let text = print::module_text(module, &print::PrintOptions::default());
            std::fs::create_dir_all(dir)
                .map_err(|e| unwritable(InputError::new(format!("cannot make the folder {}: {e}", dir.display()))))?;
            write_file(&path, Content::Text, |out| out.write_all(text.as_bytes())).map_err(unwritable)?;
        }
        if self.verify
            && let Some(error) = hammock_ir::verify::module(module, &Table).into_iter().find(Diagnostic::is_error)
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
