//! The loop of a connection: reads messages, keeps their order, and publishes diagnostics when the editor pauses.
//!
//! A thread reads from the stream, so that the editor is never blocked while a request is handled. Before a message is
//! handled, all that have arrived are queued: a request that was cancelled in the meantime is answered without work, and
//! edits that follow one another are applied before the text is analysed.

use crate::{
    refusal::Refusal,
    session::Session,
    transport::{self, Incoming},
};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response, ResponseError};
use lsp_types::notification::{Cancel, Exit, Notification as _};
use lsp_types::request::{Initialize, Request as _, Shutdown};
use std::{
    collections::VecDeque,
    io::{self, BufReader, Read, Write},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// Pause after the last message before diagnostics are published.
const QUIET: Duration = Duration::from_millis(120);

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// After the request `shutdown`.
    AfterShutdown,
    /// Without it: the editor exited or closed the stream.
    WithoutShutdown,
}

/// Serves a client until it ends the connection. The stack must be as deep as the compiler needs.
///
/// # Errors
/// If a stream fails, or the input is no sequence of messages.
pub fn serve(input: impl Read + Send + 'static, output: impl Write) -> io::Result<Ended> {
    let (sender, receiver) = channel();
    thread::Builder::new().name("reader".to_owned()).spawn(move || {
        let mut input = BufReader::new(input);
        // The stream ends, fails, or nobody listens any more.
        while let Some(read) = transport::read(&mut input).transpose() {
            let failed = read.is_err();
            if sender.send(read).is_err() || failed {
                return;
            }
        }
    })?;
    let mut server = Server { output, session: None, is_shut_down: false, queue: VecDeque::new() };
    server.run(&receiver)
}

/// Something to do.
enum Task {
    Message(Message),
    Invalid(Refusal),
    /// A request that was cancelled before it was handled.
    Cancelled(RequestId),
}

struct Server<W> {
    output: W,
    /// `Some` from the request `initialize` on.
    session: Option<Session>,
    is_shut_down: bool,
    queue: VecDeque<Task>,
}

impl<W: Write> Server<W> {
    fn run(&mut self, messages: &Receiver<io::Result<Incoming>>) -> io::Result<Ended> {
        loop {
            while let Ok(incoming) = messages.try_recv() {
                self.enqueue(incoming?);
            }
            if let Some(task) = self.queue.pop_front() {
                if let Some(ended) = self.perform(task)? {
                    return Ok(ended);
                }
                continue;
            }
            let has_changes = self.session.as_ref().is_some_and(Session::has_changes);
            match messages.recv_timeout(if has_changes { QUIET } else { Duration::MAX }) {
                Ok(incoming) => self.enqueue(incoming?),
                Err(RecvTimeoutError::Timeout) => self.publish()?,
                Err(RecvTimeoutError::Disconnected) => return Ok(self.ended()),
            }
        }
    }

    fn ended(&self) -> Ended {
        if self.is_shut_down { Ended::AfterShutdown } else { Ended::WithoutShutdown }
    }

    fn enqueue(&mut self, incoming: Incoming) {
        let message = match incoming {
            Incoming::Invalid(refusal) => return self.queue.push_back(Task::Invalid(refusal)),
            Incoming::Message(message) => message,
        };
        if let Message::Notification(Notification { method, params }) = &message
            && method == Cancel::METHOD
            && let Some(Ok(id)) = params.get("id").cloned().map(serde_json::from_value::<RequestId>)
        {
            return self.cancel(&id);
        }
        self.queue.push_back(Task::Message(message));
    }

    /// Replaces a queued request. One that is answered already is ignored.
    fn cancel(&mut self, id: &RequestId) {
        let is_it = |task: &Task| matches!(task, Task::Message(Message::Request(request)) if request.id == *id);
        if let Some(at) = self.queue.iter().position(is_it) {
            self.queue[at] = Task::Cancelled(id.clone());
        }
    }

    fn perform(&mut self, task: Task) -> io::Result<Option<Ended>> {
        match task {
            Task::Invalid(refusal) => transport::write_invalid(&mut self.output, refusal)?,
            Task::Cancelled(id) => {
                self.respond(id, Err(Refusal::new(ErrorCode::RequestCanceled, "the request was cancelled")))?;
            }
            Task::Message(Message::Request(request)) => {
                let Request { id, method, params } = request;
                let result = self.answer(&method, params);
                self.respond(id, result)?;
            }
            Task::Message(Message::Notification(note)) if note.method == Exit::METHOD => {
                return Ok(Some(self.ended()));
            }
            Task::Message(Message::Notification(Notification { method, params })) => {
                if let Some(session) = self.session.as_mut().filter(|_| !self.is_shut_down) {
                    let messages = session.notify(&method, params);
                    self.send(messages)?;
                }
            }
            // The server asks nothing, so these are answers to nothing.
            Task::Message(Message::Response(_)) => {}
        }
        Ok(None)
    }

    fn answer(&mut self, method: &str, params: serde_json::Value) -> Result<serde_json::Value, Refusal> {
        match &mut self.session {
            None if method == Initialize::METHOD => {
                let (session, result) = Session::initialize(params)?;
                self.session = Some(session);
                Ok(result)
            }
            None => Err(Refusal::new(ErrorCode::ServerNotInitialized, "the first request is `initialize`")),
            Some(_) if method == Initialize::METHOD => {
                Err(Refusal::new(ErrorCode::InvalidRequest, "the server is initialized already"))
            }
            Some(_) if self.is_shut_down => {
                Err(Refusal::new(ErrorCode::InvalidRequest, "the server is shut down; only `exit` may follow"))
            }
            Some(_) if method == Shutdown::METHOD => {
                self.is_shut_down = true;
                Ok(serde_json::Value::Null)
            }
            Some(session) => session.answer(method, params),
        }
    }

    fn respond(&mut self, id: RequestId, result: Result<serde_json::Value, Refusal>) -> io::Result<()> {
        let response_result = result.map_err(ResponseError::from);
        transport::write(&mut self.output, Response { id, response_result })
    }

    /// Publishes the diagnostics of one changed document; others follow unless messages arrive first.
    fn publish(&mut self) -> io::Result<()> {
        let messages = self.session.as_mut().and_then(Session::publish);
        self.send(messages)
    }

    fn send(&mut self, notifications: impl IntoIterator<Item = Notification>) -> io::Result<()> {
        notifications.into_iter().try_for_each(|note| transport::write(&mut self.output, note))
    }
}
