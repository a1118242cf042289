//! Flags for profiling a model.

use super::Session;
use crate::{
    arguments::CallSpec,
    command_files::CommandFiles,
    error::{InputError, ToolError},
    output::{Content, print_stderr, write_file},
};
use clap::{Args, ValueEnum};
use hammock_runtime::{
    printable,
    profile::{Profile, Profiler},
};
use std::path::PathBuf;

/// Output format of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProfileForm {
    /// A table
    Table,
    /// JSON output
    Json,
    /// A trace of every call, for ui.perfetto.dev or chrome://tracing
    Trace,
    /// A flame graph, as SVG
    Flame,
}

/// Profiling flags.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Profile")]
pub struct ProfileFlags {
    /// Profile the call, by function and kernel
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "table")]
    pub profile: Option<ProfileForm>,
    /// Write the profile to this file [default: standard error]
    #[arg(long, value_name = "FILE", requires = "profile")]
    pub profile_output: Option<PathBuf>,
}

/// Maximum number of calls in a trace.
const MAX_EVENTS: usize = 1_000_000;
/// Number of calls in the profile of `bench`.
const REPEATS: usize = 10;

impl ProfileFlags {
    /// Adds the output file of the flags.
    pub fn files(&self, files: &mut CommandFiles) {
        self.profile_output.iter().for_each(|path| files.writes("--profile-output", path));
    }

    /// Runs `body` and reports the profile, even if it fails.
    ///
    /// # Errors
    /// Those of `body`, and if the profile cannot be written.
    pub fn watch<R>(&self, session: &Session, body: impl FnOnce() -> Result<R, ToolError>) -> Result<R, ToolError> {
        let Some(form) = self.profile else { return body() };
        let profiler = match form {
            ProfileForm::Trace => Profiler::with_events(MAX_EVENTS),
            _ => Profiler::new(),
        };
        session.vm().set_instrument(Some(profiler.clone()));
        let result = body();
        session.vm().set_instrument(None);
        self.write(&render(&profiler.profile(), form))?;
        result
    }

    /// Calls the function a few more times and reports the profile.
    ///
    /// # Errors
    /// As for [`ProfileFlags::watch`].
    pub fn repeat(&self, session: &Session, spec: &CallSpec) -> Result<(), ToolError> {
        if self.profile.is_none() {
            return Ok(());
        }
        let args = session.arguments(spec)?;
        let calls = || (0..REPEATS).try_for_each(|_| session.call(spec.func, &args).map(drop));
        self.watch(session, || Ok(calls()?))
    }

    fn write(&self, text: &str) -> Result<(), InputError> {
        match self.profile_output.as_deref() {
            None => print_stderr(text),
            Some(path) => write_file(path, Content::Text, |out| out.write_all(text.as_bytes())),
        }
    }
}

fn render(profile: &Profile, form: ProfileForm) -> String {
    let text = match form {
        ProfileForm::Table => profile.table(),
        ProfileForm::Json => profile.json(),
        ProfileForm::Trace => profile.trace(),
        ProfileForm::Flame => profile.flame_graph(),
    };
    // Names may come from untrusted sources; control characters would make the SVG ill-formed.
    printable(&text).into_owned()
}
