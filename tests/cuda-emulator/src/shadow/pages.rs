//! Who accessed each byte of a memory.
use super::{Clocks, ThreadId};

/// How a thread accesses bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// `ld`, `ld.weak`, `ldmatrix`, …
    Read,
    /// `st`, `st.weak`, `stmatrix`, …
    Write,
    /// `ld.volatile`, `ld.relaxed`, `ld.acquire`: no race with strong accesses.
    StrongRead,
    /// `st.volatile`, `st.relaxed`, `st.release`.
    StrongWrite,
    /// `atom`, `red`, operations on a mbarrier.
    Atomic,
    /// Read by `cp.async` at some time from its issue to its wait.
    AsyncRead,
    /// Written by `cp.async` at some time from its issue to its wait.
    AsyncWrite,
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

/// Two accesses of a byte, one of them a write, that nothing orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {address:#x}: {first:?}, {second:?}")]
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

/// Who accessed each byte of a memory. Addresses are any `u64`; the shadow grows with what is accessed.
#[derive(Debug)]
pub struct Shadow {}

impl Shadow {
    /// A shadow of global memory, where [`Memory`](crate::memory::Memory) knows what was written.
    pub fn of_global() -> Shadow {
        todo!()
    }

    /// A shadow of a block's shared memory, where reads of unwritten bytes are errors.
    pub fn of_shared() -> Shadow {
        todo!()
    }

    /// Checks and records an access of `bytes` bytes at `address`.
    ///
    /// # Errors
    /// A race with an earlier access; a read of bytes that nobody wrote.
    pub fn access(
        &mut self,
        clocks: &Clocks,
        thread: ThreadId,
        kind: AccessKind,
        address: u64,
        bytes: u32,
        line: u32,
    ) -> Result<(), ShadowError> {
        todo!("{clocks:?} {thread:?} {kind:?} {address} {bytes} {line}")
    }

    /// `cp.async.wait_group`, or a mbarrier's phase that the copy arrived on: an asynchronous access of the range
    /// that the thread issued is done, as if the thread had made it now.
    pub fn complete_async(&mut self, clocks: &Clocks, thread: ThreadId, address: u64, bytes: u32) {
        todo!("{clocks:?} {thread:?} {address} {bytes}")
    }
}
