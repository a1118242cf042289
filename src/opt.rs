//! `hammock opt`: a module through passes, as text.

use crate::module::ModuleArgs;
use clap::Args;
use hammock_compiler::{Dump, Failure, bind};
use hammock_ir::print::{PrintOptions, module_text};
use hammock_passes::Pipeline;
use std::path::PathBuf;

/// Prints a module, after running passes on it
#[derive(Args)]
#[command(after_help = "\
Examples:
  hammock opt model.py                                  the module as it was understood
  hammock opt model.py --passes LegalizeOps             operators as loops
  hammock opt model.py --passes Normalize,LegalizeOps --print-after all")]
pub struct Opt {
    #[command(flatten)]
    module: ModuleArgs,
    /// Passes to run, in order: `A,B{option=1},C` (`hammock passes` lists them)
    #[arg(long, value_name = "LIST", default_value = "")]
    passes: String,
    #[command(flatten)]
    watch: Watch,
}

/// Flags that show passes at work.
#[derive(Args)]
pub struct Watch {
    /// Print the module to standard error after these passes (`all` for every one)
    #[arg(long, value_name = "PASS", value_delimiter = ',')]
    pub print_after: Vec<String>,
    /// Write the module after each pass into this folder
    #[arg(long, value_name = "DIR")]
    pub dump_dir: Option<PathBuf>,
    /// Print how long each pass took to standard error
    #[arg(long)]
    pub time_passes: bool,
    /// Verify the module after each pass
    #[arg(long, default_value_t = cfg!(debug_assertions))]
    pub verify_each: bool,
}

impl Watch {
    /// The observer that does what the flags ask for.
    pub fn observer(&self) -> Dump {
        Dump {
            print_after: self.print_after.clone(),
            dir: self.dump_dir.clone(),
            verify: self.verify_each,
            times: Vec::new(),
        }
    }

    /// Prints times, when asked for.
    pub fn report(&self, dump: &Dump) {
        for timing in dump.times.iter().filter(|_| self.time_passes) {
            eprintln!("{:>10.3} ms  {}", timing.took.as_secs_f64() * 1e3, timing.pass);
        }
    }
}

impl Opt {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        let pipeline = Pipeline::parse(&self.passes)?;
        let (mut module, source) = self.module.read_text()?;
        if !pipeline.steps.is_empty()
            && let Some(weights) = self.module.weights()?
        {
            bind(&mut module, &weights).map_err(|e| e.within(&source))?;
        }
        let mut dump = self.watch.observer();
        pipeline.run(&mut module, &mut dump).map_err(|e| Failure::from(e).within(&source))?;
        self.watch.report(&dump);
        crate::print(&module_text(&module, &PrintOptions::default()));
        Ok(())
    }
}
