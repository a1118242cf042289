//! The profiler: measures where a program spends its time.
//!
//! A [`Profiler`] is an [`Instrument`]. It records a call tree: the children of a function are the calls it made, by
//! instruction, with their count and times. A [`Profile`] is a snapshot of the recorded data; it renders as a table, as
//! JSON, as a trace for Chrome or Perfetto, and as a flame graph.
//!
//! Times come from a clock that stops while the profiler itself works, so a function's own time does not include the
//! cost of profiling. It does include the cost of running one instruction at a time, and a kernel's time on another
//! device than the host, which is also measured there, by events of the device.
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

/// Observes a virtual machine ([`crate::Vm::set_instrument`]), or several, on any number of threads.
pub struct Profiler {
    start: Instant,
    record: Mutex<Record>,
}

/// Data that a profiler has recorded.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// The call tree; children come after their parents.
    pub nodes: Vec<Node>,
    /// Every individual call, in the order in which they ended, if the profiler records them.
    pub events: Vec<Event>,
    /// Number of calls that are missing in `events`.
    pub lost: u64,
}

/// Statistics of a function or kernel over all its call sites.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Kind of the callee.
    pub kind: CalleeKind,
    /// Number of calls.
    pub count: u64,
    /// Inclusive time of all calls; recursive calls count repeatedly.
    pub total: Duration,
    /// Exclusive time: without callees.
    pub own: Duration,
    /// Inclusive time of the shortest call.
    pub min: Duration,
    /// Inclusive time of the longest call.
    pub max: Duration,
    /// Bytes of the tensors among arguments and results, if the callee accesses their elements.
    pub bytes: u64,
    /// Time of its work on a device other than the host; zero for a callee without any.
    pub device: Duration,
    /// Exclusive time relative to the total time.
    pub share: f64,
    /// Source locations of the calls.
    pub sources: Vec<Location>,
}

impl Profiler {
    /// A profiler that records the call tree.
    pub fn new() -> Arc<Profiler> {
        Profiler::with_events(0)
    }

    /// A profiler that also records up to `max_events` individual calls, for a trace.
    pub fn with_events(max_events: usize) -> Arc<Profiler> {
        Arc::new(Profiler { start: Instant::now(), record: Mutex::new(Record::new(max_events)) })
    }

    /// The data recorded so far.
    pub fn profile(&self) -> Profile {
        self.record().profile()
    }

    /// Clears the recorded data.
    pub fn reset(&self) {
        self.record().reset();
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `body` while the thread's clock is stopped.
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
        let device = call.device_time.unwrap_or_default();
        self.pause(|record, thread| record.close(thread, call.instruction, bytes, device));
        Ok(())
    }

    fn enter(&self, function: &str) {
        self.pause(|record, thread| record.enter(thread, function));
    }

    fn leave(&self, _function: &str) {
        self.pause(|record, thread| record.leave(thread));
    }
}

/// Returns true if the callee accesses the elements of its tensors. The virtual machine's builtins only pass tensors
/// on.
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
    /// Total time of all top-level calls.
    pub fn total(&self) -> Duration {
        self.nodes.iter().filter(|node| node.parent.is_none()).map(|node| node.total).sum()
    }

    /// Statistics of each function and kernel, sorted by exclusive time, largest first.
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

/// Sorts by time, descending. One sort of numbers serves all types, which keeps the code small.
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
            device: node.device,
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
        self.device += node.device;
        self.sources
            .extend(node.source.iter().filter(|source| !self.sources.contains(source)).cloned().collect::<Vec<_>>());
    }

    /// Average time of a call.
    pub fn mean(&self) -> Duration {
        Duration::from_secs_f64(self.total.as_secs_f64() / self.count.max(1) as f64)
    }
}

#[cfg(test)]
mod tests;
