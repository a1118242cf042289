//! The CUDA device on the emulator of the driver: each test runs in a process of its own, with the emulator as
//! `libcuda.so.1`.
mod cublas;
mod device;
mod failures;
mod graphs;
mod kernels;
mod programs;

use hammock_cuda_emulator::library;
use std::path::PathBuf;
use std::process::Command;

/// The variable that tells a process which program to run.
const PROGRAM: &str = "CUDA_EMULATOR_PROGRAM";

/// Runs a program on the emulator with variables of its configuration.
///
/// The test runs itself again with the emulator as driver; that process runs the program and ends.
fn emulated(test: &str, variables: &[(&str, &str)], program: fn()) {
    emulated_in(library::folder().unwrap(), test, variables, program);
}

/// Like [`emulated`], with the libraries in a folder.
fn emulated_in(folder: PathBuf, test: &str, variables: &[(&str, &str)], program: fn()) {
    if std::env::var(PROGRAM).is_ok_and(|name| name == test) {
        program();
        std::process::exit(0);
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1", "--include-ignored"]).env(PROGRAM, test);
    command.env("LD_LIBRARY_PATH", folder);
    for (name, value) in variables {
        command.env(format!("CUDA_EMULATOR_{name}"), value);
    }
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).join("\n");
    assert!(output.status.success(), "{test} on the emulator:\n{text}");
    println!("{text}");
}
