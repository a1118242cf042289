//! What goes wrong while a kernel runs.
use crate::memory::AccessError;

/// An error of a kernel, with where it happened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}; kernel `{kernel}`, line {line} of its PTX: `{instruction}`; block {block:?}, thread {thread:?}")]
pub struct Fault {
    /// What went wrong.
    pub kind: FaultKind,
    /// The kernel.
    pub kernel: String,
    /// The line of the module's PTX, counted from 1.
    pub line: u32,
    /// The instruction as written.
    pub instruction: String,
    /// The block's index.
    pub block: [u32; 3],
    /// The thread's index in its block.
    pub thread: [u32; 3],
}

/// The kinds of errors of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// An access of global memory.
    #[error(transparent)]
    Global(#[from] AccessError),
    /// An access of shared memory outside what the launch has.
    #[error("access of {bytes} bytes at offset {offset} of {size} bytes of shared memory")]
    SharedOutOfBounds {
        /// Offset of the first byte.
        offset: u64,
        /// Bytes accessed.
        bytes: u32,
        /// Bytes of shared memory.
        size: u32,
    },
    /// An access of shared or local memory whose address is no multiple of its width.
    #[error("misaligned access of {bytes} bytes at {address:#x}")]
    Misaligned {
        /// The address.
        address: u64,
        /// Bytes accessed.
        bytes: u32,
    },
    /// A read of bytes of shared memory that nobody wrote.
    #[error("read of unwritten shared memory at offset {0}")]
    Unwritten(u64),
    /// An access of local memory, or of a kernel's parameters, outside of them.
    #[error("access of {bytes} bytes at offset {offset} of {size} bytes of {space} memory")]
    OutOfBounds {
        /// The state space.
        space: &'static str,
        /// Offset of the first byte.
        offset: u64,
        /// Bytes accessed.
        bytes: u32,
        /// Bytes that there are.
        size: u32,
    },
    /// A read of bytes of local memory that the thread did not write.
    #[error("read of unwritten local memory at offset {0}")]
    UnwrittenLocal(u64),
    /// Two accesses that no barrier orders.
    #[error("data race: {0}")]
    Race(String),
    /// A barrier that not all threads reach.
    #[error("divergent barrier: {0}")]
    DivergentBarrier(String),
    /// An instruction of a warp that not all lanes that it needs execute.
    #[error("divergent warp: {0}")]
    DivergentWarp(String),
    /// A wrong use of a mbarrier.
    #[error("mbarrier: {0}")]
    Mbarrier(String),
    /// A write of memory that the kernel reads as read-only, or the other way round.
    #[error("read-only memory: {0}")]
    ReadOnly(String),
    /// No thread can go on.
    #[error("deadlock: {0}")]
    Deadlock(String),
    /// `trap`, `brkpt`, division of an integer by zero and the like.
    #[error("trap: {0}")]
    Trap(String),
    /// More instructions than the limit.
    #[error("more than {0} instructions")]
    TooLong(u64),
    /// A feature of PTX that the emulator lacks, by name.
    #[error("unsupported: {0}")]
    Unsupported(String),
}
