//! Watching a pipeline at work.

use crate::Pass;
use hammock_diagnostics::Diagnostic;
use hammock_ir::Module;
use std::time::Duration;

/// Looks at the module after each pass: prints it, writes it to a folder, verifies it, keeps times.
pub trait Observer {
    /// Called before the first pass.
    fn before(&mut self, _module: &Module) {}

    /// Called after each pass with the time it took. An error stops the pipeline.
    ///
    /// # Errors
    /// Whatever the observer finds wrong.
    fn after(&mut self, pass: &Pass, module: &Module, took: Duration) -> Result<(), Diagnostic>;
}

/// Looks at nothing.
pub struct Silent;

impl Observer for Silent {
    fn after(&mut self, _: &Pass, _: &Module, _: Duration) -> Result<(), Diagnostic> {
        Ok(())
    }
}
