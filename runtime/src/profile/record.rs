//! The call tree while it is recorded.
use super::Profile;
use crate::ffi::Location;
use crate::vm::instrument::CalleeKind;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Calls of one function or kernel, from one instruction, below one parent.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The calling node; none for top-level calls.
    pub parent: Option<usize>,
    /// Name of the callee.
    pub name: String,
    /// Kind of the callee.
    pub kind: CalleeKind,
    /// Source location of the call.
    pub source: Option<Location>,
    /// Number of calls.
    pub count: u64,
    /// Inclusive time of all calls.
    pub total: Duration,
    /// Time of the callees.
    pub below: Duration,
    /// Inclusive time of the shortest call.
    pub min: Duration,
    /// Inclusive time of the longest call.
    pub max: Duration,
    /// Bytes of the tensors among arguments and results.
    pub bytes: u64,
    /// Time of its work on a device other than the host.
    pub device: Duration,
}

impl Node {
    /// Exclusive time: without callees.
    pub fn own(&self) -> Duration {
        self.total.saturating_sub(self.below)
    }
}

/// An individual call.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Index of its node.
    pub node: usize,
    /// Number of its thread, from 0.
    pub thread: u32,
    /// Start time on the thread's clock.
    pub start: Duration,
    /// Duration.
    pub time: Duration,
}

/// A call site.
pub(super) struct Site<'a> {
    pub(super) instruction: usize,
    pub(super) name: &'a str,
    pub(super) kind: CalleeKind,
    pub(super) source: &'a dyn Fn() -> Option<Location>,
}

/// Maximum depth of the tree; deeper calls count for the node at this depth, so recursion does not grow the tree
/// forever.
const MAX_DEPTH: usize = 100;
/// Stands for the instruction of top-level calls.
const OUTSIDE: usize = usize::MAX;

#[derive(Default)]
pub(super) struct Record {
    nodes: Vec<Node>,
    /// Nodes by parent and instruction, and by name where the callee varies: for top-level calls and function values.
    known: HashMap<(Option<usize>, usize, Option<String>), usize>,
    threads: Vec<Thread>,
    events: Vec<Event>,
    most_events: usize,
    lost: u64,
}

/// State of a thread's calls.
struct Thread {
    id: u32,
    open: Vec<Open>,
    /// The call site of the function that begins next.
    expected: Option<(usize, Option<Location>)>,
    /// Time at which the clock was stopped.
    now: Duration,
    /// Total time that the clock was stopped before.
    paused: Duration,
    /// System time at which the clock was stopped.
    stopped: Duration,
}

struct Open {
    node: usize,
    /// The instruction; `None` for frames of functions.
    instruction: Option<usize>,
    start: Duration,
}

thread_local! {
    static ID: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// A unique number of the current thread.
fn thread_id() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    ID.with(|id| {
        if id.get() == u32::MAX {
            id.set(NEXT.fetch_add(1, Relaxed));
        }
        id.get()
    })
}

impl Record {
    pub(super) fn new(most_events: usize) -> Record {
        Record { most_events, ..Record::default() }
    }

    pub(super) fn profile(&self) -> Profile {
        Profile { nodes: self.nodes.clone(), events: self.events.clone(), lost: self.lost }
    }

    /// Clears everything, including calls in progress.
    pub(super) fn reset(&mut self) {
        *self = Record::new(self.most_events);
    }

    /// Stops the current thread's clock; returns the thread's index.
    pub(super) fn stop_clock(&mut self, now: Duration) -> u32 {
        let id = thread_id();
        let index = self.threads.iter().position(|thread| thread.id == id).unwrap_or_else(|| {
            let (open, expected, paused) = Default::default();
            self.threads.push(Thread { id, open, expected, paused, now, stopped: now });
            self.threads.len() - 1
        });
        let thread = &mut self.threads[index];
        thread.now = now.saturating_sub(thread.paused);
        thread.stopped = now;
        index as u32
    }

    /// Restarts the clock.
    pub(super) fn start_clock(&mut self, thread: u32, now: impl FnOnce() -> Duration) {
        let thread = &mut self.threads[thread as usize];
        thread.paused += now().saturating_sub(thread.stopped);
    }

    /// Records a call of a bytecode function, which begins next.
    pub(super) fn expect(&mut self, thread: u32, site: &Site<'_>) {
        self.threads[thread as usize].expected = Some((site.instruction, (site.source)()));
    }

    /// Records the start of a call.
    pub(super) fn open(&mut self, thread: u32, site: &Site<'_>, bytes: u64) {
        let node = self.node(thread, site);
        self.nodes[node].bytes += bytes;
        let thread = &mut self.threads[thread as usize];
        thread.open.push(Open { node, instruction: Some(site.instruction), start: thread.now });
    }

    /// Records the end of a call.
    pub(super) fn close(&mut self, thread: u32, instruction: usize, bytes: u64, device: Duration) {
        let open = &mut self.threads[thread as usize].open;
        if let Some(call) = open.pop_if(|call| call.instruction == Some(instruction)) {
            self.nodes[call.node].bytes += bytes;
            self.nodes[call.node].device += device;
            self.count(thread, call);
        }
    }

    /// Records the start of a bytecode function.
    pub(super) fn enter(&mut self, thread: u32, function: &str) {
        let expected = self.threads[thread as usize].expected.take();
        let (instruction, source) = expected.unwrap_or((OUTSIDE, None));
        let source = || source.clone();
        let site = Site { instruction, name: function, kind: CalleeKind::Function, source: &source };
        let node = self.node(thread, &site);
        let thread = &mut self.threads[thread as usize];
        thread.open.push(Open { node, instruction: None, start: thread.now });
    }

    /// Records the end of the innermost function. Its tail call has no end event.
    pub(super) fn leave(&mut self, thread: u32) {
        while let Some(call) = self.threads[thread as usize].open.pop() {
            let is_function = call.instruction.is_none();
            self.count(thread, call);
            if is_function {
                return;
            }
        }
    }

    fn count(&mut self, index: u32, call: Open) {
        let thread = &self.threads[index as usize];
        let time = thread.now.saturating_sub(call.start);
        let node = &mut self.nodes[call.node];
        node.count += 1;
        node.total += time;
        node.min = node.min.min(time);
        node.max = node.max.max(time);
        if let Some(outer) = thread.open.last() {
            self.nodes[outer.node].below += time;
        }
        if self.events.len() < self.most_events {
            self.events.push(Event { node: call.node, thread: thread.id, start: call.start, time });
        } else if self.most_events > 0 {
            self.lost += 1;
        }
    }

    /// The node of a call from the thread's current frame.
    fn node(&mut self, thread: u32, site: &Site<'_>) -> usize {
        let open = &self.threads[thread as usize].open;
        let parent = open[..open.len().min(MAX_DEPTH)].last().map(|call| call.node);
        let name = (site.instruction == OUTSIDE).then(|| site.name.to_owned());
        *self.known.entry((parent, site.instruction, name)).or_insert_with(|| {
            self.nodes.push(Node {
                parent,
                name: site.name.to_owned(),
                kind: site.kind,
                source: (site.source)(),
                count: 0,
                total: Duration::ZERO,
                below: Duration::ZERO,
                min: Duration::MAX,
                max: Duration::ZERO,
                bytes: 0,
                device: Duration::ZERO,
            });
            self.nodes.len() - 1
        })
    }
}
