//! What instructions read and write.
use crate::{ptx::special::Special, shadow::Scope};

/// Generic addresses of shared memory begin here.
pub(crate) const SHARED_WINDOW: u64 = 1 << 56;

/// Generic addresses of local memory begin here.
pub(crate) const LOCAL_WINDOW: u64 = 2 << 56;

/// Generic addresses of a kernel's parameters begin here.
pub(crate) const PARAM_WINDOW: u64 = 3 << 56;

/// A predicate, perhaps negated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guard {
    pub predicate: u32,
    pub is_negated: bool,
}

/// A predicate as an operand.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PredicateSource {
    Register(Guard),
    Constant(bool),
}

/// An operand that is read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    Register(u32),
    Immediate(u64),
    Special(Special),
    /// Address of a module's variable, plus an offset.
    Variable(u32, i64),
}

/// State spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    Generic,
    Global,
    /// Read only.
    Const,
    Shared,
    Local,
    /// Parameters of the kernel: read only.
    Param,
}

/// How an access is ordered with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Weak,
    /// `.relaxed`, `.volatile`
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
}

impl Order {
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcquireRelease)
    }

    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcquireRelease)
    }
}

/// `[base + offset]`
#[derive(Debug, Clone, Copy)]
pub(crate) struct Address {
    pub space: Space,
    pub base: Source,
    pub offset: i64,
    /// True if the base has 32 bits.
    pub is_narrow: bool,
}

/// An access of memory by a warp.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub address: Address,
    /// Bytes of an element.
    pub bytes: u32,
    /// Elements of a vector.
    pub count: u32,
    pub order: Order,
    pub scope: Scope,
    /// True for `.nc`: the kernel writes nowhere what it reads.
    pub is_read_only: bool,
}
