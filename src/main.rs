//! The program `hammock`.
#![forbid(unsafe_code)]

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    hammock_cli::run(env::args_os()).into()
}
