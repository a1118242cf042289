//! The command line: `hammock` with the compiler, `hammock-run` without.
use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command line `arguments`, the program's name and its arguments, and returns the exit status.
///
/// Threads of Python run meanwhile; signals end the process.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| run(arguments))
}

#[cfg(feature = "compiler")]
fn run(arguments: Vec<OsString>) -> u8 {
    hammock_cli::run(arguments)
}

#[cfg(not(feature = "compiler"))]
fn run(arguments: Vec<OsString>) -> u8 {
    hammock_tools::run(arguments)
}
