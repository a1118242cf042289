//! The profiler: where a program's time goes.
//!
//! A [`Profiler`] is an [`Instrument`]. It keeps a tree of calls: below each function are the calls it made, by
//! instruction, with their count and times. A [`Profile`] is what it has recorded so far; it renders as a table, as JSON, as
//! a trace for Chrome or Perfetto, and as a flame graph.
//!
//! Times come from a clock that stops while the profiler itself works, so a function's own time does not include the cost
//! of profiling it. They do include what the machine loses by running one instruction at a time.
//!
//! ```no_run
//! # use hammock_runtime::{Error, Vm, profile::Profiler};
//! # fn profiled(vm: &Vm) -> Result<(), Error> {
//! let profiler = Profiler::new();
//! vm.set_instrument(Some(profiler.clone()));
//! vm.call("main", &[])?;
//! println!("{}", profiler.profile().table());
//! # Ok(())
//! # }
//! ```
mod flame;
mod json;
mod record;
mod table;
mod trace;

pub use record::{Event, Node};

use crate::ffi::{Error, Location};
use crate::value::{Any, Tensor, Tuple};
use crate::vm::instrument::{Action, Call, CalleeKind, Instrument};
use record::{Record, Site};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Watches a machine ([`crate::Vm::set_instrument`]), or several, on any number of threads.
pub struct Profiler {
    start: Instant,
    record: Mutex<Record>,
}

/// What a profiler has seen.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// Calls; those of a call come after it.
    pub nodes: Vec<Node>,
    /// Every single call, in the order in which they ended, if the profiler keeps them.
    pub events: Vec<Event>,
    /// How many calls are missing there.
    pub lost: u64,
}

/// What a function or kernel took, wherever it was called.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: CalleeKind,
    /// How often it was called.
    pub count: u64,
    /// The time of all calls; of a function that calls itself, inner calls count again.
    pub total: Duration,
    /// The same without the calls it made.
    pub own: Duration,
    /// The shortest call.
    pub min: Duration,
    /// The longest call.
    pub max: Duration,
    /// Bytes of the tensors among its arguments and results, if it reads or writes them.
    pub bytes: u64,
    /// Its own time's share of the time of all calls from outside.
    pub share: f64,
    /// Where in the source it is called.
    pub sources: Vec<Location>,
}

impl Profiler {
    /// A profiler that counts.
    pub fn new() -> Arc<Profiler> {
        Profiler::with_events(0)
    }

    /// A profiler that keeps up to `most` calls one by one as well, for a trace.
    pub fn with_events(most: usize) -> Arc<Profiler> {
        Arc::new(Profiler { start: Instant::now(), record: Mutex::new(Record::new(most)) })
    }

    /// What it has seen so far.
    pub fn profile(&self) -> Profile {
        self.record().profile()
    }

    /// Forgets what it has seen.
    pub fn reset(&self) {
        self.record().reset();
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `body` while the thread's clock stands still.
    fn pause(&self, body: impl FnOnce(&mut Record, u32)) {
        let now = self.start.elapsed();
        let mut record = self.record();
        let thread = record.stop_clock(now);
        body(&mut record, thread);
        record.start_clock(thread, || self.start.elapsed());
    }
}

impl Instrument for Profiler {
    fn before(&self, call: &Call<'_>) -> Result<Action, Error> {
        let bytes = if reads(call) { call.args.iter().map(bytes).sum() } else { 0 };
        let source = || call.location();
        self.pause(|record, thread| {
            let site = Site { instruction: call.instruction, name: call.callee, kind: call.kind, source: &source };
            match call.kind {
                CalleeKind::Function => record.expect(thread, &site),
                _ => record.open(thread, &site, bytes),
            }
        });
        Ok(Action::Run)
    }

    fn after(&self, call: &Call<'_>, result: Result<&Any, &Error>) -> Result<(), Error> {
        let bytes = result.ok().filter(|_| reads(call)).map_or(0, bytes);
        self.pause(|record, thread| record.close(thread, call.instruction, bytes));
        Ok(())
    }

    fn enter(&self, function: &str) {
        self.pause(|record, thread| record.enter(thread, function));
    }

    fn leave(&self, _function: &str) {
        self.pause(|record, thread| record.leave(thread));
    }
}

/// Does the callee read or write the elements of its tensors? The machine's own builtins pass tensors around.
fn reads(call: &Call<'_>) -> bool {
    call.kind != CalleeKind::Function && !call.callee.starts_with("vm.builtin.")
}

/// Bytes of the tensors in a value.
fn bytes(value: &Any) -> u64 {
    match (value.get::<&Tensor>(), value.get::<&Tuple>()) {
        (Some(tensor), _) => tensor.nbytes() as u64,
        (_, Some(tuple)) => tuple.as_slice().iter().map(bytes).sum(),
        _ => 0,
    }
}

impl Profile {
    /// The time of all calls from outside.
    pub fn total(&self) -> Duration {
        self.nodes.iter().filter(|node| node.parent.is_none()).map(|node| node.total).sum()
    }

    /// What each function and kernel took; those that took most of themselves come first.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for node in self.nodes.iter().filter(|node| node.count > 0) {
            match rows.iter_mut().find(|row| row.kind == node.kind && row.name == node.name) {
                Some(row) => row.add(node),
                None => rows.push(Row::new(node)),
            }
        }
        let total = self.total().as_secs_f64().max(f64::MIN_POSITIVE);
        rows.iter_mut().for_each(|row| row.share = row.own.as_secs_f64() / total);
        longest_first(rows, |row| row.own)
    }
}

/// In the order of their times. One sort of numbers does for all types.
fn longest_first<T>(items: Vec<T>, time: impl Fn(&T) -> Duration) -> Vec<T> {
    let mut order: Vec<(u64, usize)> =
        items.iter().map(|item| u64::MAX - time(item).as_nanos() as u64).zip(0..).collect();
    order.sort_unstable();
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    order.into_iter().filter_map(|(_, at)| items[at].take()).collect()
}

impl Row {
    fn new(node: &Node) -> Row {
        Row {
            name: node.name.clone(),
            kind: node.kind,
            count: node.count,
            total: node.total,
            own: node.own(),
            min: node.min,
            max: node.max,
            bytes: node.bytes,
            share: 0.0,
            sources: node.source.iter().cloned().collect(),
        }
    }

    fn add(&mut self, node: &Node) {
        self.count += node.count;
        self.total += node.total;
        self.own += node.own();
        self.min = self.min.min(node.min);
        self.max = self.max.max(node.max);
        self.bytes += node.bytes;
        self.sources
            .extend(node.source.iter().filter(|source| !self.sources.contains(source)).cloned().collect::<Vec<_>>());
    }

    /// The time of a call on average.
    pub fn mean(&self) -> Duration {
        Duration::from_secs_f64(self.total.as_secs_f64() / self.count.max(1) as f64)
    }
}

#[cfg(test)]
mod tests;
