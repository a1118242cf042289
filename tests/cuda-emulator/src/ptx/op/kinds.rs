//! What the variants of instructions do.
use super::{PredicateSource, Source};
use crate::arith::{Binary, Comparison, Modifiers, PrmtMode, Ternary, Type, Unary};

/// Operations of `atom` and `red`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Arithmetic(Binary, Modifiers),
    Exchange,
    CompareAndSwap,
    Increment,
    Decrement,
}

/// What a lane computes from its own registers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Function {
    Move,
    Unary(Unary, Type, Modifiers),
    Binary(Binary, Type, Modifiers),
    Ternary(Ternary, Type, Modifiers),
    Convert(Type, Type, Modifiers),
    ConvertPair(Type, Type, Modifiers),
    /// `slct`; the type of the third operand.
    SelectBySign(Type),
    Lop3(u64),
    Prmt(PrmtMode),
    Shf {
        left: bool,
        wrap: bool,
    },
    Bfi(Type),
    Dp4a([bool; 2]),
    Dp2a {
        high: bool,
        signed: [bool; 2],
    },
}

/// Instructions with the carry flag.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Carry {
    pub kind: CarryKind,
    pub ty: Type,
    pub reads: bool,
    pub writes: bool,
}

/// The instructions that have a carry.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CarryKind {
    Add,
    Sub,
    /// `mad.lo`, or `mad.hi`: the operation of the multiplication.
    Mad(Binary),
}

/// Functions of two predicates, and how `setp` combines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

impl Logic {
    pub fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Logic::And => a & b,
            Logic::Or => a | b,
            Logic::Xor => a ^ b,
        }
    }
}

/// What `setp` and `set` compare.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compare {
    pub comparison: Comparison,
    pub ty: Type,
    pub ftz: bool,
    pub a: Source,
    pub b: Source,
    pub combine: Option<(Logic, PredicateSource)>,
}

/// Modes of `shfl.sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Bfly,
    Idx,
}

/// Modes of `vote.sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uni,
    Ballot,
}

/// What a barrier computes: `bar.red`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BarrierReduction {
    And(u32),
    Or(u32),
    Popc(u32),
}

/// `bar` and `barrier`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Barrier {
    pub id: Source,
    pub threads: Option<Source>,
    /// True for `bar` and `.aligned`: all threads of a warp execute it together.
    pub is_aligned: bool,
    /// True for `.arrive`, which does not wait.
    pub is_arrive: bool,
    /// The reduction, with its operand.
    pub reduction: Option<(BarrierReduction, PredicateSource)>,
}

/// Operations on a mbarrier.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MbarrierOp {
    Init {
        count: Source,
    },
    Invalidate,
    /// `arrive`, and `arrive_drop` with `drop`; the state goes to a register.
    Arrive {
        count: Source,
        drop: bool,
        state: Option<u32>,
    },
    /// `test_wait` and `try_wait`: by the state of a phase, or by its parity.
    Wait {
        predicate: Option<u32>,
        by_parity: bool,
        phase: Source,
    },
    PendingCount {
        dst: u32,
        state: Source,
    },
    /// `cp.async.mbarrier.arrive`: arrives when the thread's earlier copies are done; `no_increment` for `.noinc`.
    ArriveAfterCopies {
        no_increment: bool,
    },
}
