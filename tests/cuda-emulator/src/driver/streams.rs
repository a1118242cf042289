//! Streams, with the semantics of the default streams.
use super::{Code, Driver, Handle, Result, queue::OpId, work::Work};
use std::thread;

/// `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;
/// `CU_STREAM_LEGACY`, beside the null handle.
const LEGACY: Handle = 1;
/// `CU_STREAM_PER_THREAD`.
const PER_THREAD: Handle = 2;
/// Lowest and highest priority.
pub(super) const PRIORITIES: (i32, i32) = (0, -5);

/// How a stream relates to the legacy default stream of its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It is the legacy default stream: it waits for all blocking streams, and they wait for it.
    Legacy,
    Blocking,
    NonBlocking,
}

/// A stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) context: Handle,
    kind: Kind,
    priority: i32,
    /// True if the program created it.
    pub(super) is_created: bool,
    /// Operations that the next one waits for.
    pub(super) tail: Vec<OpId>,
    /// The capture that it takes part in, and the nodes that the next one waits for.
    pub(super) capture: Option<(Handle, Vec<usize>)>,
}

impl Stream {
    /// Returns the legacy default stream of a context.
    pub(super) fn legacy(context: Handle) -> Self {
        Self::new(context, Kind::Legacy, 0, false)
    }

    fn new(context: Handle, kind: Kind, priority: i32, is_created: bool) -> Self {
        Self { context, kind, priority, is_created, tail: Vec::new(), capture: None }
    }

    pub(super) fn is_legacy(&self) -> bool {
        self.kind == Kind::Legacy
    }

    pub(super) fn is_blocking(&self) -> bool {
        self.kind == Kind::Blocking
    }
}

impl Driver {
    /// Creates a stream in the current context. Priorities out of range are clamped.
    ///
    /// # Errors
    /// If there is no current context, or the flags are unknown.
    pub fn create_stream(&mut self, flags: u32, priority: i32) -> Result<Handle> {
        let context = self.current()?;
        let kind = match flags {
            0 => Kind::Blocking,
            NON_BLOCKING => Kind::NonBlocking,
            _ => return Err(Code::INVALID_VALUE),
        };
        let stream = self.new_handle();
        let priority = priority.clamp(PRIORITIES.1, PRIORITIES.0);
        self.streams.insert(stream, Stream::new(context, kind, priority, true));
        Ok(stream)
    }

    /// Destroys a stream. Its work remains queued.
    ///
    /// # Errors
    /// If there is no such stream, or it is a default stream.
    pub fn destroy_stream(&mut self, stream: Handle) -> Result {
        self.current()?;
        if !self.streams.get(stream)?.is_created {
            return Err(Code::INVALID_HANDLE);
        }
        if let Some((capture, _)) = self.streams.get(stream)?.capture {
            self.leave_capture(stream, capture);
        }
        let object = self.streams.remove(stream)?;
        if object.is_blocking() {
            let context = self.contexts.get_mut(object.context)?;
            context.detached = self.queue.unfinished(&context.detached);
            context.detached.extend(object.tail);
        }
        Ok(())
    }

    /// Returns the stream that a handle means, which may be a default stream.
    ///
    /// # Errors
    /// If there is no such stream, or its context has ended by a fault.
    pub(super) fn resolve(&mut self, stream: Handle) -> Result<Handle> {
        match stream {
            0 | LEGACY => self.context().map(|context| context.legacy),
            PER_THREAD => self.per_thread_stream(),
            _ => {
                self.healthy(self.streams.get(stream)?.context)?;
                Ok(stream)
            }
        }
    }

    fn per_thread_stream(&mut self) -> Result<Handle> {
        let (current, thread) = (self.current()?, thread::current().id());
        if let Some(&stream) = self.contexts.get(current)?.per_thread.get(&thread) {
            return Ok(stream);
        }
        let stream = self.new_handle();
        self.streams.insert(stream, Stream::new(current, Kind::Blocking, 0, false));
        self.contexts.get_mut(current)?.per_thread.insert(thread, stream);
        Ok(stream)
    }

    /// Submits an operation to a stream, or adds it to the stream's capture.
    ///
    /// # Errors
    /// If the operation breaks a capture.
    pub(super) fn enqueue(&mut self, stream: Handle, work: Work) -> Result<Option<OpId>> {
        if self.streams.get(stream)?.capture.is_some() {
            self.capture_node(stream, work)?;
            return Ok(None);
        }
        self.refuse_implicit(stream)?;
        let needs = self.predecessors(stream)?;
        let context = self.streams.get(stream)?.context;
        let id = self.queue.push(context, &needs, work);
        self.streams.get_mut(stream)?.tail = vec![id];
        Ok(Some(id))
    }

    /// Returns the operations that the next one of a stream waits for.
    pub(super) fn predecessors(&self, stream: Handle) -> Result<Vec<OpId>> {
        let object = self.streams.get(stream)?;
        let context = self.contexts.get(object.context)?;
        let mut needs = object.tail.clone();
        match object.kind {
            Kind::NonBlocking => {}
            Kind::Blocking => needs.extend(&self.streams.get(context.legacy)?.tail),
            Kind::Legacy => {
                needs.extend(&context.detached);
                let blocking =
                    self.streams.iter().filter(|(_, other)| other.context == object.context && other.is_blocking());
                needs.extend(blocking.flat_map(|(_, other)| &other.tail));
            }
        }
        Ok(needs)
    }

    /// Waits for all work of a stream.
    ///
    /// # Errors
    /// If the stream is captured, or the work fails.
    pub fn synchronize_stream(&mut self, stream: Handle) -> Result {
        self.current()?;
        let stream = self.resolve(stream)?;
        self.refuse_capturing(stream)?;
        self.refuse_implicit(stream)?;
        let ops = self.predecessors(stream)?;
        self.settle(self.streams.get(stream)?.context, &ops)
    }

    /// Looks if all work of a stream has run.
    ///
    /// # Errors
    /// `NOT_READY` if not; or if the stream is captured, or the work failed.
    pub fn query_stream(&mut self, stream: Handle) -> Result {
        self.current()?;
        let stream = self.resolve(stream)?;
        self.refuse_capturing(stream)?;
        self.refuse_implicit(stream)?;
        let ops = self.predecessors(stream)?;
        self.poll(self.streams.get(stream)?.context, &ops)
    }

    /// Queues a function of the program.
    ///
    /// # Errors
    /// If there is no such stream.
    pub fn launch_host_function(&mut self, stream: Handle, function: usize, data: usize) -> Result {
        self.current()?;
        let stream = self.resolve(stream)?;
        if function == 0 {
            return Err(Code::INVALID_VALUE);
        }
        self.enqueue(stream, Work::Host(function, data)).map(|_| ())
    }

    /// Returns the context of a stream.
    ///
    /// # Errors
    /// If there is no such stream.
    pub fn stream_context(&mut self, stream: Handle) -> Result<Handle> {
        let stream = self.resolve(stream)?;
        self.streams.get(stream).map(|object| object.context)
    }

    /// Returns the flags of a stream.
    ///
    /// # Errors
    /// If there is no such stream.
    pub fn stream_flags(&mut self, stream: Handle) -> Result<u32> {
        let stream = self.resolve(stream)?;
        self.streams.get(stream).map(|object| u32::from(object.kind == Kind::NonBlocking) * NON_BLOCKING)
    }

    /// Returns the priority of a stream.
    ///
    /// # Errors
    /// If there is no such stream.
    pub fn stream_priority(&mut self, stream: Handle) -> Result<i32> {
        let stream = self.resolve(stream)?;
        self.streams.get(stream).map(|object| object.priority)
    }
}
