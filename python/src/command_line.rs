//! The command line: `hammock` with the compiler, `hammock-run` without.
use pyo3::prelude::*;
use std::{ffi::OsString, iter::once};

/// Name of the program in its messages, which is that of the script that the package installs.
const PROGRAM: &str = if cfg!(feature = "compiler") { "hammock" } else { "hammock-run" };

/// Runs the command line with these arguments, without the program's name, and returns the exit status.
///
/// Other threads of Python run meanwhile. From now on, signals end the process, as they end the program.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| run(once(PROGRAM.into()).chain(arguments)))
}

#[cfg(feature = "compiler")]
fn run(arguments: impl Iterator<Item = OsString>) -> u8 {
    hammock::run(arguments)
}

#[cfg(not(feature = "compiler"))]
fn run(arguments: impl Iterator<Item = OsString>) -> u8 {
    hammock_tools::run(arguments)
}
