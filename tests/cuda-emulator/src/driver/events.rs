//! Events: marks in streams that hosts and other streams wait for.
use super::{Code, Driver, Handle, Result, queue::OpId, work::Work};

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: u32 = 2;
/// Flags: `CU_EVENT_BLOCKING_SYNC` and `CU_EVENT_DISABLE_TIMING`; sharing with other processes is unsupported.
const FLAGS: u32 = 3;

/// An event.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) context: Handle,
    flags: u32,
    record: Record,
}

/// Where an event was recorded last.
#[derive(Debug, Clone)]
enum Record {
    Never,
    /// In a stream, by an operation; with the time at which it ran.
    Stream {
        op: OpId,
        context: Handle,
        time: Option<u64>,
    },
    /// In a capture, after these nodes.
    Capture {
        capture: Handle,
        nodes: Vec<usize>,
    },
}

impl Driver {
    /// Creates an event in the current context.
    ///
    /// # Errors
    /// If there is no current context, or the flags are unknown.
    pub fn create_event(&mut self, flags: u32) -> Result<Handle> {
        let context = self.current()?;
        if flags & !FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let event = self.new_handle();
        self.events.insert(event, Event { context, flags, record: Record::Never });
        Ok(event)
    }

    /// Destroys an event. What waits for it goes on waiting.
    ///
    /// # Errors
    /// If there is no such event.
    pub fn destroy_event(&mut self, event: Handle) -> Result {
        self.current()?;
        self.events.remove(event).map(|_| ())
    }

    /// Records an event in a stream of the same context.
    ///
    /// # Errors
    /// If there is no such event or stream, or their contexts differ.
    pub fn record_event(&mut self, event: Handle, stream: Handle) -> Result {
        self.current()?;
        let stream = self.resolve(stream)?;
        let context = self.streams.get(stream)?.context;
        if self.events.get(event)?.context != context {
            return Err(Code::INVALID_HANDLE);
        }
        let record = match self.streams.get(stream)?.capture.clone() {
            Some((capture, nodes)) => {
                self.check_valid(capture)?;
                Record::Capture { capture, nodes }
            }
            None => match self.enqueue(stream, Work::Record(event))? {
                Some(op) => Record::Stream { op, context, time: None },
                None => return Ok(()),
            },
        };
        self.events.get_mut(event)?.record = record;
        Ok(())
    }

    /// Notes that the operation which records an event has run.
    pub(super) fn complete_event(&mut self, event: Handle, id: OpId) {
        let now = self.clock;
        if let Ok(Event { record: Record::Stream { op, time, .. }, .. }) = self.events.get_mut(event)
            && *op == id
        {
            *time = Some(now);
        }
    }

    /// Makes a stream wait for an event; no effect if the event was never recorded.
    ///
    /// # Errors
    /// If there is no such event or stream, or the wait breaks a capture.
    pub fn wait_event(&mut self, stream: Handle, event: Handle, flags: u32) -> Result {
        self.current()?;
        let stream = self.resolve(stream)?;
        let record = self.events.get(event)?.record.clone();
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        match record {
            Record::Never => Ok(()),
            Record::Capture { capture, nodes } => self.join_capture(stream, capture, &nodes),
            Record::Stream { op, .. } => {
                if let Some((capture, _)) = self.streams.get(stream)?.capture {
                    self.invalidate(capture);
                    return Err(Code::STREAM_CAPTURE_ISOLATION);
                }
                self.refuse_implicit(stream)?;
                let tail = &mut self.streams.get_mut(stream)?.tail;
                tail.push(op);
                // Events that were waited for one after the other must not pile up.
                *tail = self.queue.unfinished(tail);
                Ok(())
            }
        }
    }

    /// Waits for an event.
    ///
    /// # Errors
    /// If there is no such event, it was recorded in a capture, or work before it fails.
    pub fn synchronize_event(&mut self, event: Handle) -> Result {
        self.current()?;
        match self.recorded(event)? {
            Some((op, context)) => self.settle(context, &[op]),
            None => Ok(()),
        }
    }

    /// Looks if an event has been reached.
    ///
    /// # Errors
    /// `NOT_READY` if not; or if there is no such event, it was recorded in a capture, or work before it failed.
    pub fn query_event(&mut self, event: Handle) -> Result {
        self.current()?;
        match self.recorded(event)? {
            Some((op, context)) => self.poll(context, &[op]),
            None => Ok(()),
        }
    }

    /// Returns the operation that records an event, if it was recorded.
    fn recorded(&mut self, event: Handle) -> Result<Option<(OpId, Handle)>> {
        match self.events.get(event)?.record.clone() {
            Record::Never => Ok(None),
            Record::Stream { op, context, .. } => Ok(Some((op, context))),
            Record::Capture { capture, .. } => {
                self.invalidate(capture);
                Err(Code::CAPTURED_EVENT)
            }
        }
    }

    /// Returns the milliseconds between two events, by the devices' clock.
    ///
    /// # Errors
    /// `NOT_READY` if an event has not been reached; or if it was never recorded or has no time.
    pub fn elapsed(&mut self, start: Handle, end: Handle) -> Result<f32> {
        self.current()?;
        let mut times = [0; 2];
        for (time, event) in times.iter_mut().zip([start, end]) {
            let object = self.events.get(event)?;
            if object.flags & DISABLE_TIMING != 0 {
                return Err(Code::INVALID_HANDLE);
            }
            *time = match object.record {
                Record::Never => return Err(Code::INVALID_HANDLE),
                Record::Stream { time: Some(time), .. } => time,
                Record::Stream { .. } => return Err(Code::NOT_READY),
                Record::Capture { .. } => return Err(Code::CAPTURED_EVENT),
            };
        }
        Ok((times[1] as f64 - times[0] as f64) as f32 / 1e6)
    }
}
