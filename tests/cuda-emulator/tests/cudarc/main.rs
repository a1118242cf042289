//! Programs that use the driver through cudarc, each in a process of its own. Planted faults must be noticed.
mod contexts;
mod driver;
mod faults;
mod graphs;
mod kernels;
mod memory;
mod random;
mod safe;
mod streams;

use std::process::Command;

/// The variable that tells a process which program to run.
const PROGRAM: &str = "CUDA_EMULATOR_PROGRAM";

/// Runs a program on the emulator with variables of its configuration, and returns what it printed.
///
/// The test runs itself again with the emulator as `libcuda.so.1`; that process runs the program and ends.
fn emulated(test: &str, variables: &[(&str, &str)], program: fn()) -> String {
    if std::env::var(PROGRAM).is_ok_and(|name| name == test) {
        program();
        std::process::exit(0);
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(PROGRAM, test);
    command.env("LD_LIBRARY_PATH", hammock_cuda_emulator::library::folder().unwrap());
    for (name, value) in variables {
        command.env(format!("CUDA_EMULATOR_{name}"), value);
    }
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).join("\n");
    assert!(output.status.success(), "{test} on the emulator:\n{text}");
    text
}

/// Runs a program with each of a few orders of unordered work.
fn in_any_order(test: &str, program: fn()) {
    for seed in ["0", "1", "2", "3", "4", "5"] {
        emulated(test, &[("SEED", seed)], program);
    }
}
