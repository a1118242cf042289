//! Stages of long work: shown on a terminal while they last, and how long each took.

use crate::output::say;
use clap::{Args, ValueEnum};
use hammock_compiler::{Failure, Progress, Timing};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use std::{
    io::{IsTerminal, stderr, stdout},
    sync::OnceLock,
    time::{Duration, Instant},
};

/// Work that takes less is not shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is shown, if anything is.
static BAR: OnceLock<ProgressBar> = OnceLock::new();

/// Does something while nothing is shown, such as writing a message.
pub fn suspended<T>(work: impl FnOnce() -> T) -> T {
    match BAR.get() {
        Some(bar) => bar.suspend(work),
        None => work(),
    }
}

/// Shows nothing any more.
pub fn clear() {
    if let Some(bar) = BAR.get() {
        bar.finish_and_clear();
    }
}

/// Flags that say what is shown of stages.
#[derive(Args)]
#[command(next_help_heading = "Stages")]
pub struct StageFlags {
    /// Print how long each stage took to standard error, as `text` or `json` [default: text]
    #[arg(long, value_enum, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "text",
          hide_default_value = true)]
    timing: Option<TimingForm>,
    /// Say what is being done, as terminals show it anyway when it takes long
    #[arg(short, long)]
    verbose: bool,
}

impl StageFlags {
    /// Begins a command without any stage yet. Terminals show its stages if they `may`.
    pub fn start(&self, may: bool) -> Stages {
        if stderr().is_terminal() && !self.verbose && may {
            show_later();
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
    /// Returns true if people see what is done.
    pub fn is_shown(&self) -> bool {
        self.verbose || stderr().is_terminal()
    }

    /// Ends a stage, and begins with one in which the program runs: what it writes to a terminal is not disturbed.
    pub fn begin_call(&mut self, stage: &'static str) -> Result<(), Failure> {
        if stdout().is_terminal() {
            clear();
        }
        self.begin(stage)
    }

    /// Ends a stage, and begins with one that is measured: what is shown stays as it is, which takes no time.
    pub fn begin_measured(&mut self, stage: &'static str) -> Result<(), Failure> {
        self.begin(stage)?;
        if let Some(bar) = BAR.get() {
            bar.abandon();
        }
        Ok(())
    }

    fn end(&mut self) {
        let ended = self.now.take().map(|(pass, begin)| Timing { pass, took: begin.elapsed() });
        self.times.extend(ended);
    }

    /// How long all took so far.
    pub fn total(&self) -> Duration {
        self.started.elapsed()
    }

    /// Ends the last stage, shows nothing any more, and prints how long each took, if asked to.
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
        if let Some(bar) = BAR.get() {
            bar.set_message(stage);
        }
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

/// Shows stages, beginning in a while.
fn show_later() {
    let bar = BAR.get_or_init(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())).clone();
    let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE);
        if !bar.is_finished() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(Duration::from_millis(100));
        }
    });
}
