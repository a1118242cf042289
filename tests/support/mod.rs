//! The command line from outside: running it in a folder, and snapshots of what it says.

use std::{
    path::Path,
    process::{Command, Output},
};

/// The repository's root.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs `hammock` in a folder.
pub fn hammock(folder: impl AsRef<Path>, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hammock")).args(args).current_dir(folder).output().unwrap()
}

/// The exit status that goes with what a command says: 2 if the command line is wrong, 1 for all else.
pub fn status_of(said: &str) -> Option<i32> {
    let code = said.split_once("error[").and_then(|(_, rest)| rest.get(..5));
    Some(if code.is_some_and(hammock_diagnostics::codes::is_wrong_usage) { 2 } else { 1 })
}

/// Standard output of a command that succeeded.
pub fn stdout(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Compares a text with a snapshot in a folder of `snapshots`; names of temporary folders are replaced.
pub fn snapshot(folder: &str, name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("snapshots").join(folder));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let temporary = std::env::temp_dir().display().to_string().replace('.', r"\.");
    settings.add_filter(&format!(r"{temporary}/\.tmp\w+"), "[tmp]");
    settings.bind(|| insta::assert_snapshot!(name, text));
}
