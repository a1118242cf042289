//! The program `hammock-run`.

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    hammock_tools::run(env::args_os()).into()
}
