//! Code that `hammock-run` and the command line share: parsing of arguments, npy and npz files, values and executables
//! as text, timing.

mod argument;
mod call;
mod command_files;
mod deprecated;
mod expect;
mod flags;
mod kind;
mod limits;
pub mod listing;
mod npy;
mod npz;
mod onnx_tensor;
mod output;
mod profiling;
mod safetensors_file;
mod session;
mod shards;
mod signature;
mod temporary;
mod tensor_text;
mod terminal;
mod timing;
mod watchdog;
mod weights;
mod weights_format;

pub use crate::show::{leaves, show};
pub use argument::parse_argument;
pub use call::split_name;
pub use command_files::CommandFiles;
pub use deprecated::deprecation_warning;
pub use expect::ExpectFlags;
pub use flags::{BenchFlags, CallFlags, CallSpec, InspectFlags, JsonForm, OutputFlags, RunOptions, View};
pub use kind::FileKind;
pub use limits::{BudgetFlags, LimitFlags, parse_bytes, parse_seconds};
pub use npz::{load_npy, load_npz, save_npz};
pub use onnx_tensor::{ElementType, load_onnx_tensor};
pub use output::{Content, Sink, check_writable, print, print_colored, print_stderr, print_stderr_colored, write_file};
pub use profiling::{ProfileFlags, ProfileForm};
pub use safetensors_file::{ExternalWeights, save_safetensors};
pub use session::{Session, Step, ToolError, inspect};
pub use signature::{signature_json, signature_text};
pub use terminal::{Color, TerminalFlags, parse, report_fatal};
pub use timing::{Samples, sample};
pub use watchdog::set_timeout_handler;
pub use weights::{Fit, Weights, Wrong, map_file};
pub use weights_format::{WeightsFormat, save_weights};

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
    fn about<'a>(mut self, parameters: impl IntoIterator<Item = &'a str>) -> Self {
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
