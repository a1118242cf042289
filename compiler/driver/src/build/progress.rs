//! Progress and messages of a build.

use crate::{Failure, Timing};

/// Receives the progress and the messages of a build.
pub trait Progress {
    /// A stage begins, such as `reading weights`; the one before it has ended.
    ///
    /// # Errors
    /// If the message cannot be written; the build fails.
    fn begin(&mut self, stage: &'static str) -> Result<(), Failure> {
        let _ = stage;
        Ok(())
    }

    /// The current stage has ended, and consisted of these.
    fn end_with(&mut self, parts: &[Timing]) {
        let _ = parts;
    }

    /// A warning, for example about weights that no parameter has the name of.
    ///
    /// # Errors
    /// If the message cannot be written; the build fails.
    fn warn(&mut self, warning: &Failure) -> Result<(), Failure> {
        let _ = warning;
        Ok(())
    }

    /// A report of a pass in one or more lines, for example the accuracy loss of quantization.
    fn note(&mut self, text: &str) {
        let _ = text;
    }
}

/// Ignores progress and messages.
pub struct Silent;

impl Progress for Silent {}
