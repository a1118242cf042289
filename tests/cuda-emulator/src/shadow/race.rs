//! Accesses that the shadow rejects.
use std::fmt;

use super::ThreadId;

/// How a thread accesses bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// `ld`, `ld.weak`, `ldmatrix`, …
    Read,
    /// `st`, `st.weak`, `stmatrix`, `mbarrier.init`, …
    Write,
    /// `ld.volatile`, `ld.relaxed`, `ld.acquire`: no race with strong accesses.
    StrongRead,
    /// `st.volatile`, `st.relaxed`, `st.release`.
    StrongWrite,
    /// `atom`, `red`, other operations on a mbarrier: reads and writes.
    Atomic,
    /// Read by `cp.async` at some time from its issue to its wait.
    AsyncRead,
    /// Written by `cp.async` at some time from its issue to its wait.
    AsyncWrite,
}

impl AccessKind {
    pub(super) fn reads(self) -> bool {
        !matches!(self, AccessKind::Write | AccessKind::StrongWrite | AccessKind::AsyncWrite)
    }

    pub(super) fn is_in_flight(self) -> bool {
        matches!(self, AccessKind::AsyncRead | AccessKind::AsyncWrite)
    }

    fn noun(self) -> &'static str {
        match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::StrongRead => "strong read",
            AccessKind::StrongWrite => "strong write",
            AccessKind::Atomic => "atomic access",
            AccessKind::AsyncRead => "asynchronous read",
            AccessKind::AsyncWrite => "asynchronous write",
        }
    }
}

/// One of the two accesses of a race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// The thread.
    pub thread: ThreadId,
    /// How.
    pub kind: AccessKind,
    /// Line of the PTX.
    pub line: u32,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ThreadId { block, thread } = self.thread;
        write!(f, "{} by thread {thread} of block {block} in line {}", self.kind.noun(), self.line)
    }
}

/// Two accesses of a byte, one of them a write, that nothing orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {address:#x}: {second} is not ordered after {first}")]
pub struct Race {
    /// Address or offset of the byte.
    pub address: u64,
    /// The earlier access.
    pub first: Access,
    /// The later access.
    pub second: Access,
}

/// An access that the shadow rejects.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShadowError {
    /// A race.
    #[error(transparent)]
    Race(Box<Race>),
    /// A read of a byte that nobody wrote.
    #[error("byte {0:#x} was not written")]
    Unwritten(u64),
}
