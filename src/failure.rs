//! Errors of `hammock_tools` as diagnostics.

use hammock_compiler::{Failure, unreadable};
use hammock_diagnostics::codes;
use hammock_runtime::{image::ImageError, library::LibraryError};
use hammock_tools::{InputError, ToolError};

/// An error of a compiled program as a diagnostic.
pub fn tool_failure(error: ToolError) -> Failure {
    match error {
        ToolError::Input(error) => input_failure(error),
        ToolError::Library(error @ LibraryError::TvmFormat) => Failure::new(codes::UNSUPPORTED_FILE, error.to_string())
            .help(
                "`hammock inspect` shows its bytecode; `--bytecode` runs that with kernels compiled from a text module",
            ),
        ToolError::Library(LibraryError::Read { path, cause }) => unreadable(&path.display().to_string(), &cause),
        ToolError::Library(error) => {
            let help = match &error {
                LibraryError::Image(ImageError::External(file, _)) => {
                    format!("put the `{file}` that was compiled with the model next to it")
                }
                _ => "compile the module again".to_owned(),
            };
            Failure::new(codes::DAMAGED_EXECUTABLE, error.to_string()).help(help)
        }
        ToolError::Mismatch(message) => Failure::new(codes::RUN_FAILED, message)
            .help("`--compare-levels` finds the first binding that differs between two ways of compiling"),
        ToolError::Run(error) => Failure::new(codes::RUN_FAILED, format!("{error:#}")),
    }
}

/// An error in an argument as a diagnostic.
pub fn input_failure(error: InputError) -> Failure {
    Failure::of_input(codes::BAD_ARGUMENT, error)
}
