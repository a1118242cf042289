//! Runs steps of the compiler on threads of their own, where Ctrl-C and a time limit stop them.
use super::{
    failure::{raise, warn},
    keywords::Keywords,
};
use crate::error::InternalError;
use hammock_compiler::{Failure, Progress, STACK_BYTES};
use hammock_passes::{StopCondition, StopReason};
use pyo3::{
    exceptions::{PyRuntimeError, PyTimeoutError},
    prelude::*,
    types::PyDict,
};
use std::{
    any::Any,
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

/// Interval at which signals are looked for while the compiler works.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(20);

/// How a step is watched and stopped.
pub struct Control<'py> {
    stop: StopCondition,
    progress: Option<Bound<'py, PyAny>>,
}

impl<'py> Control<'py> {
    /// Reads the keyword arguments `timeout`, the seconds that are left, and `progress`, a callable that gets texts.
    pub fn new(given: &Bound<'py, PyDict>) -> PyResult<Control<'py>> {
        let keywords = Keywords(given);
        let seconds: Option<f64> = keywords.get("timeout", "a number of seconds")?;
        let left = seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default());
        let deadline = left.and_then(|left| Instant::now().checked_add(left));
        let stop = deadline.map_or_else(StopCondition::default, StopCondition::at);
        Ok(Control { stop, progress: keywords.get("progress", "a callable that takes a text")? })
    }

    /// The condition under which the step stops.
    pub fn stop(&self) -> StopCondition {
        self.stop.clone()
    }

    /// Runs a step on a thread with a large stack, while this thread serves signals and calls `progress`. The first
    /// exception of either cancels the step, and is raised once it has stopped.
    ///
    /// # Errors
    /// That exception, or the step's failure.
    pub fn run<R: Send>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&mut Reporter) -> Result<R, Failure> + Send,
    ) -> PyResult<R> {
        thread::scope(|scope| {
            let (send, mut events) = channel();
            let thread = thread::Builder::new().name("hammock-compile".into()).stack_size(STACK_BYTES);
            let mut reporter = Reporter(send);
            let thread = thread
                .spawn_scoped(scope, move || step(&mut reporter))
                .map_err(|error| PyRuntimeError::new_err(format!("cannot start a thread for the compiler: {error}")))?;
            let mut raised = Ok(());
            loop {
                let events = &mut events;
                let event = py.detach(move || events.recv_timeout(SIGNAL_INTERVAL));
                let served = match event {
                    Err(RecvTimeoutError::Disconnected) => break,
                    Err(RecvTimeoutError::Timeout) => py.check_signals(),
                    Ok(event) => self.deliver(py, event),
                };
                // While the step is stopping, further exceptions tell nothing new.
                if raised.is_ok() && served.is_err() {
                    raised = served;
                    self.stop.cancel();
                }
            }
            let result = py.detach(|| thread.join());
            raised?;
            result.map_err(|panic| internal_error(&*panic))?.map_err(|failure| self.exception(py, &failure))
        })
    }

    fn deliver(&self, py: Python<'py>, event: Event) -> PyResult<()> {
        // A flood of events must not keep signals waiting.
        py.check_signals()?;
        match (event, &self.progress) {
            (Event::Warning(text, json), _) => warn(py, &text, &json),
            (Event::Text(text), Some(progress)) => progress.call1((text,)).map(drop),
            (Event::Text(_), None) => Ok(()),
        }
    }

    fn exception(&self, py: Python<'_>, failure: &Failure) -> PyErr {
        let is_timeout = |reason: StopReason| {
            reason == StopReason::Timeout && failure.diagnostics.iter().any(|d| d.message == reason.to_string())
        };
        match self.stop.reason() {
            Some(reason) if is_timeout(reason) => PyTimeoutError::new_err("compiling exceeded its time limit"),
            _ => raise(py, failure),
        }
    }
}

/// The exception for a panic.
fn internal_error(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("it panicked");
    InternalError::new_err(format!("the compiler stopped at a mistake of its own: {text}. Please report it."))
}

/// What a step reports to the calling thread.
enum Event {
    Text(String),
    /// A warning as text, and its diagnostics as JSON.
    Warning(String, String),
}

/// Reports the progress of a step.
pub struct Reporter(Sender<Event>);

impl Reporter {
    /// Reports a text.
    pub fn say(&self, text: impl Into<String>) {
        self.send(Event::Text(text.into()));
    }

    /// Another reporter to the same thread.
    pub fn again(&self) -> Reporter {
        Reporter(self.0.clone())
    }

    fn send(&self, event: Event) {
        // The calling thread receives until the step has ended.
        let _ = self.0.send(event);
    }
}

impl Progress for Reporter {
    fn begin(&mut self, stage: &'static str) -> Result<(), Failure> {
        self.say(stage);
        Ok(())
    }

    fn warn(&mut self, warning: &Failure) -> Result<(), Failure> {
        self.send(Event::Warning(warning.to_string(), warning.json().to_string()));
        Ok(())
    }

    fn note(&mut self, text: &str) {
        match text.strip_prefix("warning: ") {
            Some(warning) => self.send(Event::Warning(warning.trim_end().to_owned(), "[]".to_owned())),
            None => self.say(text.trim_end()),
        }
    }
}
