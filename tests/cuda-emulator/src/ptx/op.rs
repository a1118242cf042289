//! Decoded instructions: what the machine runs.
use super::special::Special;
use crate::{
    arith::{Binary, Comparison, Modifiers, PrmtMode, Ternary, TestProperty, Type, Unary},
    matrix::Mma,
    shadow::Scope,
};
use std::ops::Range;

/// Generic addresses of shared memory begin here.
pub(crate) const SHARED_WINDOW: u64 = 1 << 56;
/// Generic addresses of local memory begin here.
pub(crate) const LOCAL_WINDOW: u64 = 2 << 56;
/// Generic addresses of a kernel's parameters begin here.
pub(crate) const PARAM_WINDOW: u64 = 3 << 56;

/// The code of a kernel, with the functions that it calls before it: a call's target is lower than the call.
#[derive(Debug, Default)]
pub(crate) struct Code {
    pub instructions: Vec<Instruction>,
    /// Index of the kernel's first instruction.
    pub entry: usize,
    /// Number of registers that are no predicates.
    pub registers: usize,
    /// Number of predicates.
    pub predicates: usize,
    /// Bytes of local memory of a thread, with the parameters of calls.
    pub local_bytes: u32,
    /// Bytes of static shared memory.
    pub shared_bytes: u32,
    /// Where dynamic shared memory begins.
    pub dynamic_offset: u32,
}

/// An instruction.
#[derive(Debug)]
pub(crate) struct Instruction {
    pub op: Op,
    /// The lanes that execute it.
    pub guard: Option<Guard>,
    pub line: u32,
    /// Where it is in the text.
    pub span: Range<u32>,
}

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
}

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
    Shf { left: bool, wrap: bool },
    Bfi(Type),
    Dp4a([bool; 2]),
    Dp2a { high: bool, signed: [bool; 2] },
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
    Init { count: Source },
    Invalidate,
    /// `arrive`, and `arrive_drop` with `drop`; the state goes to a register.
    Arrive { count: Source, drop: bool, state: Option<u32> },
    /// `test_wait` and `try_wait`: by the state of a phase, or by its parity.
    Wait { predicate: Option<u32>, by_parity: bool, phase: Source },
    PendingCount { dst: u32, state: Source },
    /// `cp.async.mbarrier.arrive`: arrives when the thread's earlier copies are done; `no_increment` for `.noinc`.
    ArriveAfterCopies { no_increment: bool },
}

/// Operations.
#[derive(Debug)]
pub(crate) enum Op {
    Nop,
    Compute { function: Function, dst: u32, args: [Source; 4] },
    Carry { carry: Carry, dst: u32, args: [Source; 3] },
    SetPredicate { compare: Compare, dst: Option<u32>, complement: Option<u32> },
    /// `set`: the value if true.
    Set { compare: Compare, dst: u32, truth: u64 },
    TestProperty { property: TestProperty, ty: Type, dst: u32, a: Source },
    PredicateMove { dst: u32, a: PredicateSource },
    PredicateLogic { logic: Logic, dst: u32, a: PredicateSource, b: PredicateSource },
    Select { dst: u32, a: Source, b: Source, predicate: PredicateSource },
    Pack { dst: u32, parts: Box<[Source]>, bits: u32 },
    Unpack { dst: Box<[Option<u32>]>, a: Source, bits: u32 },
    IsSpace { dst: u32, space: Space, a: Source },
    Load { access: Access, dst: Box<[Option<u32>]>, sign_extend: Option<(u32, u32)> },
    Store { access: Access, src: Box<[Source]> },
    Atomic { access: Access, op: AtomicOp, ty: Type, dst: Option<u32>, b: Source, c: Source },
    /// Copies a parameter of a call, within local memory.
    CopyFrame { from: u32, to: u32, bytes: u32 },
    Branch { target: u32, is_uniform: bool },
    BranchTable { index: Source, targets: Box<[u32]> },
    Call { target: u32 },
    Return,
    Exit,
    Trap,
    Breakpoint,
    Shuffle { mode: ShuffleMode, dst: Option<u32>, in_range: Option<u32>, a: Source, b: Source, clamp: Source, mask: Source },
    Vote { mode: VoteMode, dst: u32, predicate: PredicateSource, mask: Source },
    Match { all: bool, dst: Option<u32>, predicate: Option<u32>, ty: Type, a: Source, mask: Source },
    Reduce { op: Binary, ty: Type, dst: u32, a: Source, mask: Source },
    Elect { dst: Option<u32>, predicate: u32, mask: Source },
    ActiveMask { dst: u32 },
    WarpBarrier { mask: Source },
    Barrier(Barrier),
    Fence { scope: Scope },
    CopyAsync { dst: Address, src: Address, bytes: u32, src_bytes: Option<Source>, ignore: Option<PredicateSource> },
    CommitGroup,
    WaitGroup { pending: u32 },
    WaitAll,
    Mbarrier { op: MbarrierOp, address: Address },
    LoadMatrix { dst: Box<[u32]>, address: Address, transpose: bool },
    StoreMatrix { src: Box<[Source]>, address: Address, transpose: bool },
    TransposeMatrix { dst: u32, a: Source },
    Mma { mma: Mma, d: Box<[u32]>, a: Box<[Source]>, b: Box<[Source]>, c: Box<[Source]> },
}
