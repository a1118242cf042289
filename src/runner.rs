//! The runner: the program that `--emit exe` appends a model to.

use hammock_compiler::Failure;
use hammock_diagnostics::codes;
use hammock_runtime::library::seal::{self, RUNNER_MARK};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

/// The runner's file name.
const NAME: &str = "hammock-runner";

/// Reads the runner: a given one, or that of this installation.
pub fn read(given: Option<&Path>) -> Result<Vec<u8>, Failure> {
    let path = match given {
        Some(path) => path.to_owned(),
        None => installed().ok_or_else(|| {
            Failure::new(
                codes::UNREADABLE_FILE,
                format!("`--emit exe` needs the program {NAME}, which is not installed"),
            )
            .help("build it by `runtime/runner/build.sh` in a clone of Hammock, or name it by `--runner`")
        })?,
    };
    let unreadable = |error: io::Error| {
        Failure::new(codes::UNREADABLE_FILE, format!("cannot read the runner {}: {error}", path.display()))
    };
    let runner = fs::read(&path).map_err(unreadable)?;
    let has_mark = runner.windows(RUNNER_MARK.len()).any(|bytes| bytes == RUNNER_MARK.as_bytes());
    if !has_mark || seal::appended(&runner).is_some() {
        let message = format!("{} is not a runner of this version, `{RUNNER_MARK}`", path.display());
        return Err(Failure::new(codes::UNREADABLE_FILE, message)
            .help(format!("name a {NAME} that was built with this compiler")));
    }
    Ok(runner)
}

/// The runner next to this program, or in the folder for programs that are not on the path.
fn installed() -> Option<PathBuf> {
    let program = env::current_exe().and_then(fs::canonicalize).ok()?;
    let folder = program.parent()?;
    let paths = [folder.join(NAME), folder.join("../lib/hammock").join(NAME)];
    paths.into_iter().find(|path| path.is_file())
}
