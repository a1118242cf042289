//! Errors of commands; abbreviation of names and texts in their messages.

use hammock_runtime::{Error, library::LibraryError};
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

/// Reason why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// An argument or a file is invalid.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The executable was rejected.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The model failed at run time; with its stack trace.
    #[error("{0:#}")]
    Run(#[from] Error),
    /// The result differs from that of `--expect`.
    #[error("{0}")]
    Mismatch(String),
}

/// Abbreviates a text from a file for a message.
pub(crate) fn brief(text: &str) -> Cow<'_, str> {
    const MAX: usize = 120;
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// Lists names for a message, abbreviated if there are many.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const MAX: usize = 24;
    let names: Vec<&str> = names.collect();
    let mut list = names.iter().take(MAX).map(|name| brief(name)).collect::<Vec<_>>().join(", ");
    if names.len() > MAX {
        list += &format!(", and {} more", names.len() - MAX);
    }
    if names.is_empty() { "none".to_owned() } else { list }
}
