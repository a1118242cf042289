//! The program that `hammock compile --emit exe` appends a model to: it calls the model's functions.
//!
//! `runtime/runner/build.sh` builds it small and linked statically. The compiler checks by [`RUNNER_MARK`] that a file is this
//! program, in its own version.
#![deny(unsafe_code)]

mod help;
#[cfg(all(target_env = "musl", panic = "abort"))]
mod no_unwinder;
mod options;

use hammock_runtime::{Library, library::seal::RUNNER_MARK};
use hammock_tools::{CommandFiles, Session, ToolError, call_weights, print, report_fatal};
use options::{Request, Task};
use std::{
    env,
    ffi::{OsStr, OsString},
    hint::black_box,
    path::Path,
    process::ExitCode,
};

/// Exit status if the command line is invalid.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    black_box(RUNNER_MARK);
    let mut arguments = env::args_os();
    let program = name(&arguments.next().unwrap_or_default());
    let library = match Library::appended() {
        Ok(Some(library)) => library,
        Ok(None) => {
            let message = format!(
                "{program} has no model, or is truncated; `hammock compile model.py --emit exe -o PROGRAM` writes a \
                 program with a model"
            );
            return report_fatal(&message).into();
        }
        Err(error) => return report_fatal(&error).into(),
    };
    let request = match options::read(arguments) {
        Ok(request) => request,
        Err(error) => {
            report_fatal(&format!("{error} (`{program} --help` lists what there is)"));
            return USAGE.into();
        }
    };
    match serve(&program, library, &request).and_then(|text| Ok(print(&text)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report_fatal(&error).into(),
    }
}

/// The program's name, from the path that it was started by.
fn name(path: &OsStr) -> String {
    let name = Path::new(path).file_name().map(OsString::from).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Does what is asked for, and returns the text to print.
fn serve(program: &str, library: Library, request: &Request) -> Result<String, ToolError> {
    match request.task {
        Task::Help => Ok(help::text(program, library.image())),
        Task::Version => Ok(format!("{program}, compiled by Hammock {}\n", env!("CARGO_PKG_VERSION"))),
        Task::Signatures => Ok(help::signatures_json(library.image())),
        Task::Call => call(library, request),
    }
}

fn call(library: Library, Request { call, output, bench, .. }: &Request) -> Result<String, ToolError> {
    let mut files = CommandFiles::default();
    call.files(&mut files);
    output.path().iter().for_each(|path| files.writes("--output", path));
    files.check()?;
    let session = Session::from_library(library, &call.run_options())?;
    let weights = call_weights(call, &session)?;
    let spec = call.spec(weights.as_ref());
    match bench {
        Some(min_time) => session.bench(&spec, *min_time, output.json.is_some()),
        None => session.run(&spec, output, &mut |_| {}),
    }
}
