//! The pass manager and the passes.
