//! PTX text → kernels as instructions.

/// A module: its kernels and variables.
#[derive(Debug, Default)]
pub struct Module {}
