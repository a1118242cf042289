//! The tree of calls, as it grows.
use super::Profile;
use crate::ffi::Location;
use crate::vm::instrument::CalleeKind;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Calls of one function or kernel, from one instruction, below one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The call that made them; none for calls from outside.
    pub parent: Option<usize>,
    /// What is called.
    pub name: String,
    /// What kind of thing that is.
    pub kind: CalleeKind,
    /// Where in the source it is called.
    pub source: Option<Location>,
    /// How often it was called.
    pub count: u64,
    /// The time of all calls.
    pub total: Duration,
    /// Of it, the time of calls below.
    pub below: Duration,
    /// The shortest call.
    pub min: Duration,
    /// The longest call.
    pub max: Duration,
    /// Bytes of the tensors among arguments and results.
    pub bytes: u64,
}

impl Node {
    /// The time that is not that of calls below.
    pub fn own(&self) -> Duration {
        self.total.saturating_sub(self.below)
    }
}

/// One call.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Which calls it belongs to.
    pub node: usize,
    /// The thread it ran on, from 0.
    pub thread: u32,
    /// When it began, on the thread's clock.
    pub start: Duration,
    /// How long it took.
    pub time: Duration,
}

/// Where a call comes from.
pub(super) struct Site<'a> {
    pub(super) instruction: usize,
    pub(super) name: &'a str,
    pub(super) kind: CalleeKind,
    pub(super) source: &'a dyn Fn() -> Option<Location>,
}

/// Calls nested deeper than this count as calls of the one at this depth: recursion must not grow the tree for ever.
const MAX_DEPTH: usize = 100;
/// Stands for the instruction of calls from outside.
const OUTSIDE: usize = usize::MAX;

#[derive(Default)]
pub(super) struct Record {
    nodes: Vec<Node>,
    /// Nodes by parent, instruction, and name where that does not say it all: from outside, and for function values.
    known: HashMap<(Option<usize>, usize, Option<String>), usize>,
    threads: Vec<Thread>,
    events: Vec<Event>,
    most_events: usize,
    lost: u64,
}

/// Calls under way on a thread.
struct Thread {
    id: u32,
    open: Vec<Open>,
    /// The call that the next function to begin belongs to.
    expected: Option<(usize, Option<Location>)>,
    /// When the clock was stopped last.
    now: Duration,
    /// How long it has stood still so far, this time not counted.
    paused: Duration,
    /// What the system's clock said then.
    stopped: Duration,
}

struct Open {
    node: usize,
    /// The instruction; functions that begin and end have none.
    instruction: Option<usize>,
    start: Duration,
}

thread_local! {
    static ID: Cell<u32> = const { Cell::new(u32::MAX) };
}

/// A number of one's own for each thread.
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

    /// Forgets everything, calls under way too.
    pub(super) fn reset(&mut self) {
        *self = Record::new(self.most_events);
    }

    /// Stops the clock of the running thread; returns the thread's place.
    pub(super) fn stop_clock(&mut self, now: Duration) -> u32 {
        let id = thread_id();
        let place = self.threads.iter().position(|thread| thread.id == id).unwrap_or_else(|| {
            let (open, expected, paused) = Default::default();
            self.threads.push(Thread { id, open, expected, paused, now, stopped: now });
            self.threads.len() - 1
        });
        let thread = &mut self.threads[place];
        thread.now = now.saturating_sub(thread.paused);
        thread.stopped = now;
        place as u32
    }

    /// Lets it go on.
    pub(super) fn start_clock(&mut self, thread: u32, now: impl FnOnce() -> Duration) {
        let thread = &mut self.threads[thread as usize];
        thread.paused += now().saturating_sub(thread.stopped);
    }

    /// A call of a function of the program: the function begins next.
    pub(super) fn expect(&mut self, thread: u32, site: &Site<'_>) {
        self.threads[thread as usize].expected = Some((site.instruction, (site.source)()));
    }

    /// A call begins.
    pub(super) fn open(&mut self, thread: u32, site: &Site<'_>, bytes: u64) {
        let node = self.node(thread, site);
        self.nodes[node].bytes += bytes;
        let thread = &mut self.threads[thread as usize];
        thread.open.push(Open { node, instruction: Some(site.instruction), start: thread.now });
    }

    /// A call is over.
    pub(super) fn close(&mut self, thread: u32, instruction: usize, bytes: u64) {
        let open = &mut self.threads[thread as usize].open;
        if let Some(call) = open.pop_if(|call| call.instruction == Some(instruction)) {
            self.nodes[call.node].bytes += bytes;
            self.count(thread, call);
        }
    }

    /// A function of the program begins.
    pub(super) fn enter(&mut self, thread: u32, function: &str) {
        let expected = self.threads[thread as usize].expected.take();
        let (instruction, source) = expected.unwrap_or((OUTSIDE, None));
        let source = || source.clone();
        let site = Site { instruction, name: function, kind: CalleeKind::Function, source: &source };
        let node = self.node(thread, &site);
        let thread = &mut self.threads[thread as usize];
        thread.open.push(Open { node, instruction: None, start: thread.now });
    }

    /// The innermost function is over. A call in its tail has no end of its own.
    pub(super) fn leave(&mut self, thread: u32) {
        while let Some(call) = self.threads[thread as usize].open.pop() {
            let is_function = call.instruction.is_none();
            self.count(thread, call);
            if is_function {
                return;
            }
        }
    }

    fn count(&mut self, place: u32, call: Open) {
        let thread = &self.threads[place as usize];
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

    /// The node of a call from where the thread stands.
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
            });
            self.nodes.len() - 1
        })
    }
}
