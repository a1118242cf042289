//! Writes what commands print, with failures as diagnostics: see [`hammock_tools`].

use crate::progress::suspended;
use hammock_compiler::Failure;
use hammock_diagnostics::codes;
use hammock_tools::{Content, InputError, WeightsFormat};
use std::{
    io::{self, Write},
    path::Path,
    sync::OnceLock,
};

/// True if messages are coloured; `main` says so first.
static COLOR: OnceLock<bool> = OnceLock::new();

/// Says whether messages are coloured.
pub fn set_color(color: bool) {
    let _ = COLOR.set(color);
}

/// Returns true if messages are coloured.
pub fn colored() -> bool {
    COLOR.get().copied().unwrap_or_default()
}

/// Writes text to standard output. It is not an error if the reader has gone away (`hammock … | head`).
pub fn print(text: &str) -> Result<(), Failure> {
    hammock_tools::print(text).map_err(unwritable)
}

/// Writes text to standard error.
pub fn say(text: &str) -> Result<(), Failure> {
    suspended(|| hammock_tools::print_stderr(text)).map_err(unwritable)
}

/// Writes a file, completely or not at all.
pub fn write_file(
    path: &Path,
    content: Content,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    hammock_tools::write_file(path, content, |mut out| fill(&mut out)).map_err(unwritable)
}

/// Refuses a file that cannot be written, before what it is for is made.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    hammock_tools::check_writable(path).map_err(unwritable)
}

/// Refuses to write a second output to standard output, which has the first.
pub fn not_stdout(flag: &str, path: &Path) -> Result<(), Failure> {
    if path != Path::new("-") {
        return Ok(());
    }
    let message = format!("`{flag} {}` would mix a file with the text on standard output", path.display());
    Err(Failure::new(codes::UNSUPPORTED_OPTION, message).help("name a file"))
}

/// Refuses a file of weights that goes to standard output, or whose name does not say how to write it.
pub fn expect_weights(flag: &str, path: &Path) -> Result<(), Failure> {
    not_stdout(flag, path)?;
    WeightsFormat::of(path).map(drop).map_err(|e| Failure::of_input(codes::UNSUPPORTED_OPTION, e))
}

fn unwritable(error: InputError) -> Failure {
    Failure::of_input(codes::UNWRITABLE_FILE, error)
}
