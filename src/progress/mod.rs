//! Stages of a command: shown on a terminal while they run, and timed.

mod bar;

pub use bar::{clear, suspended};

use crate::output::say;
use clap::{Args, ValueEnum};
use hammock_compiler::{Failure, Progress, Timing};
use serde_json::json;
use std::{
    io::{IsTerminal, stderr, stdout},
    time::{Duration, Instant},
};

/// Flags of progress and timing.
#[derive(Args)]
#[command(next_help_heading = "Stages")]
pub struct StageFlags {
    /// Print how long each stage took to standard error, as `text` or `json` [default: text]
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "text",
          hide_default_value = true)]
    timing: Option<TimingForm>,
    /// Say what is being done, as terminals show it anyway when it takes long, and which GPUs are used
    #[arg(short, long)]
    verbose: bool,
}

impl StageFlags {
    /// Starts a command. Terminals show its stages if `may` is true.
    pub fn start(&self, may: bool) -> Stages {
        if stderr().is_terminal() && !self.verbose && may {
            bar::show_later();
        }
        let (verbose, timing) = (self.verbose, self.timing);
        Stages { started: Instant::now(), now: None, times: Vec::new(), verbose, timing }
    }
}

/// How times are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimingForm {
    /// A line for each stage
    Text,
    /// One object
    Json,
}

/// The stages of a command.
pub struct Stages {
    started: Instant,
    now: Option<(&'static str, Instant)>,
    times: Vec<Timing>,
    verbose: bool,
    timing: Option<TimingForm>,
}

impl Stages {
    /// Returns true if a user sees the progress.
    pub fn is_shown(&self) -> bool {
        self.verbose || stderr().is_terminal()
    }

    /// Says more about a stage, with `--verbose`.
    pub fn detail(&self, text: &str) -> Result<(), Failure> {
        if self.verbose { say(&format!("  {text}\n")) } else { Ok(()) }
    }

    /// Starts a stage in which the program runs, and hides progress if it writes to a terminal.
    pub fn begin_call(&mut self, stage: &'static str) -> Result<(), Failure> {
        if stdout().is_terminal() {
            clear();
        }
        self.begin(stage)
    }

    /// Starts a stage that is measured: the display is not updated, so it takes no time.
    pub fn begin_measured(&mut self, stage: &'static str) -> Result<(), Failure> {
        self.begin(stage)?;
        bar::freeze();
        Ok(())
    }

    fn end(&mut self) {
        let ended = self.now.take().map(|(pass, begin)| Timing { pass, took: begin.elapsed() });
        self.times.extend(ended);
    }

    /// Time since the command started.
    pub fn total(&self) -> Duration {
        self.started.elapsed()
    }

    /// Ends the last stage, removes the progress bar, and prints the times if asked to.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.end();
        clear();
        let ms = |took: Duration| took.as_secs_f64() * 1e3;
        match self.timing {
            None => Ok(()),
            Some(TimingForm::Text) => {
                let line = |took, stage| format!("{:>10.1} ms  {stage}\n", ms(took));
                let lines: String = self.times.iter().map(|timing| line(timing.took, timing.pass)).collect();
                say(&(lines + &line(self.total(), "all")))
            }
            Some(TimingForm::Json) => {
                let stage = |timing: &Timing| json!({"name": timing.pass, "ms": ms(timing.took)});
                let stages: Vec<_> = self.times.iter().map(stage).collect();
                say(&format!("{}\n", json!({"stages": stages, "total_ms": ms(self.total())})))
            }
        }
    }
}

/// Prints warnings and notes of a build whose stages are not shown.
pub struct Messages;

impl Progress for Messages {
    fn warn(&mut self, warning: &Failure) -> Result<(), Failure> {
        say(&warning.render(false))
    }

    fn note(&mut self, text: &str) {
        // Passes have no way to handle a failure to write.
        let _ = say(&format!("{text}\n"));
    }
}

impl Progress for Stages {
    fn begin(&mut self, stage: &'static str) -> Result<(), Failure> {
        self.end();
        self.now = Some((stage, Instant::now()));
        bar::set_stage(stage);
        if self.verbose { say(&format!("{stage}\n")) } else { Ok(()) }
    }

    fn end_with(&mut self, parts: &[Timing]) {
        self.now = None;
        self.times.extend(parts.iter().map(|&Timing { pass, took }| Timing { pass, took }));
    }

    fn warn(&mut self, warning: &Failure) -> Result<(), Failure> {
        Messages.warn(warning)
    }

    fn note(&mut self, text: &str) {
        Messages.note(text);
    }
}
