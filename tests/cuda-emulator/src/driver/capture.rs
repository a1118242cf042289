//! Stream capture: work submitted to a stream becomes nodes of a graph. Whatever is illegal meanwhile invalidates the
//! capture, as the API demands.
use super::{
    Code, Driver, Handle, Result,
    graphs::{Graph, Node},
    streams::Stream,
    work::Work,
};
use std::thread::{self, ThreadId};

/// Which calls are refused while a stream is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Calls that may synchronise, by any thread.
    #[default]
    Global,
    /// Calls that may synchronise, by the thread that captures.
    ThreadLocal,
    /// None.
    Relaxed,
}

impl Mode {
    /// Returns the mode of a `CUstreamCaptureMode`.
    ///
    /// # Errors
    /// If there is no such mode.
    pub fn from_number(number: u32) -> Result<Self> {
        match number {
            0 => Ok(Self::Global),
            1 => Ok(Self::ThreadLocal),
            2 => Ok(Self::Relaxed),
            _ => Err(Code::INVALID_VALUE),
        }
    }
}

/// A capture under way.
#[derive(Debug)]
pub(super) struct Capture {
    pub(super) context: Handle,
    /// The stream in which it began and has to end.
    origin: Handle,
    mode: Mode,
    thread: ThreadId,
    /// The graph that it builds.
    graph: Handle,
    is_valid: bool,
}

/// State of a stream's capture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaptureInfo {
    /// `CUstreamCaptureStatus`: 0 none, 1 active, 2 invalidated.
    pub status: u32,
    /// The capture's number.
    pub id: u64,
    /// The graph that it builds.
    pub graph: Handle,
    /// The nodes that the stream's next one waits for.
    pub nodes: Vec<Handle>,
}

impl Driver {
    /// Begins to capture a stream.
    ///
    /// # Errors
    /// If the stream is the legacy default stream, or captured already.
    pub fn begin_capture(&mut self, stream: Handle, mode: Mode) -> Result {
        self.current()?;
        let stream = self.resolve(stream)?;
        let object = self.streams.get(stream)?;
        if object.is_legacy() {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        if object.capture.is_some() {
            return Err(Code::ILLEGAL_STATE);
        }
        let context = object.context;
        let (graph, capture) = (self.new_handle(), self.new_handle());
        self.graphs.insert(graph, Graph { context, nodes: Vec::new(), is_captured: true });
        let thread = thread::current().id();
        self.captures.insert(capture, Capture { context, origin: stream, mode, thread, graph, is_valid: true });
        self.streams.get_mut(stream)?.capture = Some((capture, Vec::new()));
        Ok(())
    }

    /// Ends a capture and returns its graph.
    ///
    /// # Errors
    /// If the stream is not captured, the capture began in another stream or thread, it was invalidated, or streams that
    /// joined it were not joined back.
    pub fn end_capture(&mut self, stream: Handle) -> Result<Handle> {
        self.current()?;
        let stream = self.resolve(stream)?;
        let (handle, tail) = self.streams.get(stream)?.capture.clone().ok_or(Code::ILLEGAL_STATE)?;
        let capture = self.captures.get(handle)?;
        if capture.origin != stream {
            self.invalidate(handle);
            return Err(Code::STREAM_CAPTURE_UNMATCHED);
        }
        if capture.thread != thread::current().id() && capture.mode != Mode::Relaxed {
            return Err(Code::STREAM_CAPTURE_WRONG_THREAD);
        }
        let (graph, is_valid) = (capture.graph, capture.is_valid);
        let is_joined = self.is_joined(handle, &tail)?;
        self.remove_capture(handle);
        let error = match (is_valid, is_joined) {
            (false, _) => Code::STREAM_CAPTURE_INVALIDATED,
            (_, false) => Code::STREAM_CAPTURE_UNJOINED,
            _ => {
                self.graphs.get_mut(graph)?.is_captured = false;
                return Ok(graph);
            }
        };
        self.graphs.remove(graph)?;
        Err(error)
    }

    /// Removes a capture from all its streams.
    fn remove_capture(&mut self, handle: Handle) {
        let _ = self.captures.remove(handle);
        for object in self.streams.values_mut() {
            object.capture.take_if(|(capture, _)| *capture == handle);
        }
    }

    /// Invalidates a capture when one of its streams is destroyed. If that is its origin, the capture is removed.
    pub(super) fn leave_capture(&mut self, stream: Handle, handle: Handle) {
        self.invalidate(handle);
        let origin = self.captures.get(handle).map(|capture| (capture.origin, capture.graph));
        if let Ok((origin, graph)) = origin
            && origin == stream
        {
            self.remove_capture(handle);
            let _ = self.graphs.remove(graph);
        }
    }

    /// Returns true if the origin's last nodes come after all other nodes.
    fn is_joined(&self, capture: Handle, tail: &[usize]) -> Result<bool> {
        let nodes = &self.graphs.get(self.captures.get(capture)?.graph)?.nodes;
        let mut is_before = vec![false; nodes.len()];
        let mut stack = tail.to_vec();
        while let Some(index) = stack.pop() {
            if !std::mem::replace(&mut is_before[index], true) {
                stack.extend(&nodes[index].needs);
            }
        }
        Ok(is_before.iter().all(|&is_before| is_before))
    }

    /// Returns the state of a stream's capture.
    ///
    /// # Errors
    /// If there is no such stream, or it is the legacy default stream while a blocking stream is captured.
    pub fn capture_info(&mut self, stream: Handle) -> Result<CaptureInfo> {
        let stream = self.resolve(stream)?;
        // This question, unlike others, leaves the capture valid.
        if self.captures.iter().any(|(handle, _)| self.is_implicit(stream, handle)) {
            return Err(Code::STREAM_CAPTURE_IMPLICIT);
        }
        let Some((handle, tail)) = &self.streams.get(stream)?.capture else { return Ok(CaptureInfo::default()) };
        let capture = self.captures.get(*handle)?;
        if !capture.is_valid {
            return Ok(CaptureInfo { status: 2, ..CaptureInfo::default() });
        }
        let nodes = &self.graphs.get(capture.graph)?.nodes;
        let nodes = tail.iter().map(|&index| nodes[index].handle).collect();
        Ok(CaptureInfo { status: 1, id: *handle as u64, graph: capture.graph, nodes })
    }

    /// Sets which calls this thread is refused while streams are captured, and returns the previous mode.
    pub fn exchange_capture_mode(&mut self, mode: Mode) -> Mode {
        std::mem::replace(&mut self.thread().capture_mode, mode)
    }

    /// Adds a node to a stream's capture.
    pub(super) fn capture_node(&mut self, stream: Handle, work: Work) -> Result {
        let (capture, needs) = self.streams.get(stream)?.capture.clone().ok_or(Code::ILLEGAL_STATE)?;
        self.check_valid(capture)?;
        let handle = self.new_handle();
        let graph = self.captures.get(capture)?.graph;
        let nodes = &mut self.graphs.get_mut(graph)?.nodes;
        nodes.push(Node::new(handle, work, needs));
        let index = nodes.len() - 1;
        self.streams.get_mut(stream)?.capture = Some((capture, vec![index]));
        Ok(())
    }

    /// Makes a stream wait for nodes of a capture, which it joins.
    pub(super) fn join_capture(&mut self, stream: Handle, capture: Handle, nodes: &[usize]) -> Result {
        if self.captures.get(capture).is_err() {
            return Err(Code::CAPTURED_EVENT);
        }
        self.check_valid(capture)?;
        let context = self.captures.get(capture)?.context;
        let object = self.streams.get_mut(stream)?;
        let is_foreign = object.is_legacy() || object.context != context;
        match &mut object.capture {
            Some((own, _)) if *own != capture => {
                let own = *own;
                self.invalidate(own);
                self.invalidate(capture);
                Err(Code::STREAM_CAPTURE_MERGE)
            }
            Some((_, tail)) => {
                tail.extend(nodes);
                tail.sort_unstable();
                tail.dedup();
                Ok(())
            }
            // Streams of other devices can join too, which the emulator does not support.
            None if is_foreign => {
                self.invalidate(capture);
                Err(Code::STREAM_CAPTURE_IMPLICIT)
            }
            None => {
                object.capture = Some((capture, nodes.to_vec()));
                Ok(())
            }
        }
    }

    /// Marks a capture as invalid: it ends without a graph.
    pub(super) fn invalidate(&mut self, capture: Handle) {
        if let Ok(capture) = self.captures.get_mut(capture) {
            capture.is_valid = false;
        }
    }

    pub(super) fn check_valid(&self, capture: Handle) -> Result {
        if self.captures.get(capture)?.is_valid { Ok(()) } else { Err(Code::STREAM_CAPTURE_INVALIDATED) }
    }

    /// Returns true if a stream is captured.
    pub(super) fn is_capturing(&self, stream: Handle) -> bool {
        self.streams.get(stream).is_ok_and(|stream| stream.capture.is_some())
    }

    /// Reports what the emulator cannot capture.
    pub(super) fn refuse_in_capture(&mut self, stream: Handle, what: &str) -> Code {
        if let Ok(Some((capture, _))) = self.streams.get(stream).map(|stream| stream.capture.clone()) {
            self.invalidate(capture);
        }
        self.unsupported(what)
    }

    /// Refuses to wait for a captured stream.
    pub(super) fn refuse_capturing(&mut self, stream: Handle) -> Result {
        let Some((capture, _)) = self.streams.get(stream)?.capture else { return Ok(()) };
        self.check_valid(capture)?;
        self.invalidate(capture);
        Err(Code::STREAM_CAPTURE_UNSUPPORTED)
    }

    /// Refuses to wait for a context with captured streams.
    pub(super) fn refuse_captures_of(&mut self, context: Handle) -> Result {
        self.refuse_if(|_, _, capture| capture.context == context, Code::STREAM_CAPTURE_UNSUPPORTED)
    }

    /// Refuses work in the legacy default stream while a stream that it waits for is captured.
    pub(super) fn refuse_implicit(&mut self, stream: Handle) -> Result {
        self.refuse_if(|driver, handle, _| driver.is_implicit(stream, handle), Code::STREAM_CAPTURE_IMPLICIT)
    }

    /// Returns true if a stream is the legacy default stream, which waits for a blocking stream in a capture.
    fn is_implicit(&self, stream: Handle, capture: Handle) -> bool {
        let is_captured = |other: &Stream| other.capture.as_ref().is_some_and(|(handle, _)| *handle == capture);
        self.streams.get(stream).is_ok_and(|stream| {
            let mut others = self.streams.iter().map(|(_, other)| other);
            stream.is_legacy()
                && others.any(|other| other.context == stream.context && other.is_blocking() && is_captured(other))
        })
    }

    /// Refuses a call that may synchronise while streams are captured, by the modes of captures and of this thread.
    pub(super) fn refuse_unsafe(&mut self) -> Result {
        let (thread, mode) = (thread::current().id(), self.thread().capture_mode);
        let is_refused = |_: &Self, _: Handle, capture: &Capture| match (mode, capture.mode) {
            (Mode::Relaxed, _) | (_, Mode::Relaxed) => false,
            (Mode::Global, Mode::Global) => true,
            _ => capture.thread == thread,
        };
        self.refuse_if(is_refused, Code::STREAM_CAPTURE_UNSUPPORTED)
    }

    fn refuse_if(&mut self, is_refused: impl Fn(&Self, Handle, &Capture) -> bool, code: Code) -> Result {
        let refused = self.captures.iter().filter(|(handle, capture)| is_refused(self, *handle, capture));
        let refused: Vec<Handle> = refused.map(|(handle, _)| handle).collect();
        for &capture in &refused {
            self.invalidate(capture);
        }
        if refused.is_empty() { Ok(()) } else { Err(code) }
    }
}
