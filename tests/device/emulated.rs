//! Tests in a process that has the emulator as the CUDA driver.

use std::process::Command;

/// The variable that tells a process which test to run.
const TEST: &str = "HAMMOCK_DEVICE_TEST";

/// Runs a test in a process of its own, with the emulator as `libcuda.so.1`.
pub fn emulated(test: &str, body: impl FnOnce()) {
    if std::env::var(TEST).is_ok_and(|name| name == test) {
        return body();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(TEST, test);
    let output = command.env("LD_LIBRARY_PATH", hammock_cuda_emulator::library::folder().unwrap()).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).join("\n");
    assert!(output.status.success(), "{test}:\n{text}");
    println!("{text}");
}
