//! Code that `hammock-run` and the command line share. A deployed model needs none of it.
//!
//! - `flags`: flags of several commands, such as [`CallFlags`].
//! - `arguments`: the arguments of a call, from text to values that fit the parameters.
//! - `weights`: [`Weights`], tensors by name, matched against the parameters.
//! - `formats`: tensor files: npy, npz, safetensors, ONNX tensors.
//! - `session`: [`Session`], a loaded model: running, timing, profiling, comparing its results.
//! - `inspect`: signatures and [`listing`]s of executables.
//! - `limits`: limits of memory and time, and the watchdog that enforces them.
//! - `output`: files and streams that a command writes; the terminal.
//! - `command_files`: [`CommandFiles`], which rejects outputs that are also inputs.

mod arguments;
mod command_files;
mod flags;
mod formats;
mod inspect;
mod limits;
mod output;
mod session;
mod weights;

pub use arguments::{argument::parse_argument, bind::split_name};
pub use command_files::CommandFiles;
pub use flags::{BenchFlags, CallFlags, CallSpec, InspectFlags, JsonForm, OutputFlags, RunOptions, View};
pub use formats::{
    file_kind::FileKind,
    npz::{load_npy, load_npz, save_npz},
    onnx_tensor::{ElementType, load_onnx_tensor},
    safetensors_file::{ExternalWeights, save_safetensors},
};
pub use inspect::{
    listing,
    signature::{signature_json, signature_text},
};
pub use limits::{BudgetFlags, LimitFlags, parse_bytes, parse_seconds, watchdog::set_timeout_handler};
pub use output::{
    Content, Sink, check_writable, print, print_colored, print_stderr, print_stderr_colored,
    terminal::{Color, TerminalFlags, parse, report_fatal},
    write_file,
};
pub use session::{
    Session, Step, ToolError,
    expect::ExpectFlags,
    inspect,
    profiling::{ProfileFlags, ProfileForm},
    timing::{Samples, sample},
};
pub use weights::{
    Fit, Weights, Wrong, map_file,
    save::{WeightsFormat, save_weights},
};

use std::{borrow::Cow, fmt};

/// A problem with an argument or a file, and advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError {
    /// One sentence that quotes the argument or names the file.
    pub message: String,
    /// Advice.
    pub help: Option<String>,
    /// The parameters of the callee that the error is about.
    pub parameters: Vec<String>,
}

impl InputError {
    /// An error without advice.
    pub fn new(message: impl Into<String>) -> Self {
        InputError { message: message.into(), help: None, parameters: Vec::new() }
    }

    /// Adds advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the parameters that the error is about.
    pub(crate) fn about<'a>(mut self, parameters: impl IntoIterator<Item = &'a str>) -> Self {
        self.parameters = parameters.into_iter().map(str::to_owned).collect();
        self
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for InputError {}

/// Abbreviates a text from a file for a message.
fn brief(text: &str) -> Cow<'_, str> {
    const MAX: usize = 120;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// Lists names for a message, abbreviated if there are many.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MAX: usize = 24;
    let names: Vec<&str> = names.collect();
    let mut list = names.iter().take(MAX).map(|name| brief(name)).collect::<Vec<_>>().join(", ");
    if names.len() > MAX {
        list += &format!(", and {} more", names.len() - MAX);
    }
    if names.is_empty() { "none".to_owned() } else { list }
}
