//! Observers of a pipeline.

use crate::Pass;
use hammock_diagnostics::Diagnostic;
use hammock_ir::Module;
use std::time::Duration;

/// Callback after each pass: prints the module, writes it to a folder, verifies it, measures time.
pub trait Observer {
    /// Called before the first pass.
    fn before(&mut self, _module: &Module) {}

    /// Called after each pass with its duration. An error stops the pipeline.
    ///
    /// # Errors
    /// Whatever the observer finds wrong.
    fn after(&mut self, pass: &Pass, module: &Module, took: Duration) -> Result<(), Diagnostic>;
}

/// Observer that does nothing.
pub struct Silent;

impl Observer for Silent {
    fn after(&mut self, _: &Pass, _: &Module, _: Duration) -> Result<(), Diagnostic> {
        Ok(())
    }
}
