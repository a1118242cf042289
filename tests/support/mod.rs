//! Test support: runs the command line in a folder, and compares its output with snapshots.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::LazyLock,
};

/// Returns the root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder with `hammock` and the programs of other crates.
pub fn programs() -> &'static Path {
    static PROGRAMS: LazyLock<PathBuf> = LazyLock::new(|| {
        let programs = Path::new(env!("CARGO_BIN_EXE_hammock")).parent().unwrap().to_owned();
        // Cargo may not have built those for these tests.
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "-q", "--workspace", "--bin", "hammock-run", "--bin", "hammock-runner"]);
        build.args(programs.ends_with("release").then_some("--release"));
        assert!(build.current_dir(root()).status().unwrap().success());
        programs
    });
    &PROGRAMS
}

/// Runs `hammock` in a folder.
pub fn hammock(folder: impl AsRef<Path>, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hammock")).args(args).current_dir(folder).output().unwrap()
}

/// Runs `hammock` in a folder, with the emulator as the CUDA driver.
pub fn emulated(folder: impl AsRef<Path>, args: &[&str]) -> Output {
    emulated_with(&[], folder, args)
}

/// Like [`emulated`], with variables of the emulator's configuration.
pub fn emulated_with(variables: &[(&str, &str)], folder: impl AsRef<Path>, args: &[&str]) -> Output {
    let driver = hammock_cuda_emulator::library::folder().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hammock"));
    command.args(args).current_dir(folder).env("LD_LIBRARY_PATH", driver);
    command.envs(variables.iter().map(|(name, value)| (format!("CUDA_EMULATOR_{name}"), value)));
    command.output().unwrap()
}

/// Returns the expected exit status of an error message: 2 for usage errors, 1 for all others.
pub fn status_of(said: &str) -> Option<i32> {
    let code = said.split_once("error[").and_then(|(_, rest)| rest.get(..5));
    Some(if code.is_some_and(hammock_diagnostics::codes::is_wrong_usage) { 2 } else { 1 })
}

/// Returns standard output of a command that must succeed.
pub fn stdout(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Compares a text with a snapshot in a folder of `snapshots`; replaces names of temporary folders.
pub fn snapshot(folder: &str, name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("snapshots").join(folder));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let temporary = std::env::temp_dir().display().to_string().replace('.', r"\.");
    settings.add_filter(&format!(r"{temporary}/\.tmp\w+"), "[tmp]");
    settings.bind(|| insta::assert_snapshot!(name, text));
}
