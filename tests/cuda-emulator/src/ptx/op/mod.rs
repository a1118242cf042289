//! Decoded instructions: what the machine runs.
mod kinds;
mod operands;

pub(crate) use kinds::{
    AtomicOp, Barrier, BarrierReduction, Carry, CarryKind, Compare, Function, Logic, MbarrierOp, ShuffleMode, VoteMode,
};
pub(crate) use operands::{
    Access, Address, Guard, LOCAL_WINDOW, Order, PARAM_WINDOW, PredicateSource, SHARED_WINDOW, Source, Space,
};

use crate::{
    arith::{Binary, TestProperty, Type},
    matrix::Mma,
    shadow::Scope,
};
use std::ops::Range;

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
    /// True if there are loads with `.nc`.
    pub has_read_only_loads: bool,
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

/// Operations.
#[derive(Debug)]
pub(crate) enum Op {
    Nop,
    Compute {
        function: Function,
        dst: u32,
        args: [Source; 4],
    },
    Carry {
        carry: Carry,
        dst: u32,
        args: [Source; 3],
    },
    SetPredicate {
        compare: Compare,
        dst: Option<u32>,
        complement: Option<u32>,
    },
    /// `set`: the value if true.
    Set {
        compare: Compare,
        dst: u32,
        truth: u64,
    },
    TestProperty {
        property: TestProperty,
        ty: Type,
        dst: u32,
        a: Source,
    },
    PredicateMove {
        dst: u32,
        a: PredicateSource,
    },
    PredicateLogic {
        logic: Logic,
        dst: u32,
        a: PredicateSource,
        b: PredicateSource,
    },
    Select {
        dst: u32,
        a: Source,
        b: Source,
        predicate: PredicateSource,
    },
    Pack {
        dst: u32,
        parts: Box<[Source]>,
        bits: u32,
    },
    Unpack {
        dst: Box<[Option<u32>]>,
        a: Source,
        bits: u32,
    },
    IsSpace {
        dst: u32,
        space: Space,
        a: Source,
    },
    Load {
        access: Access,
        dst: Box<[Option<u32>]>,
        sign_extend: Option<(u32, u32)>,
    },
    Store {
        access: Access,
        src: Box<[Source]>,
    },
    Atomic {
        access: Access,
        op: AtomicOp,
        ty: Type,
        dst: Option<u32>,
        b: Source,
        c: Source,
    },
    /// Copies a parameter of a call, within local memory.
    CopyFrame {
        from: u32,
        to: u32,
        bytes: u32,
    },
    Branch {
        target: u32,
        is_uniform: bool,
    },
    BranchTable {
        index: Source,
        targets: Box<[u32]>,
    },
    Call {
        target: u32,
    },
    Return,
    Exit,
    Trap,
    Breakpoint,
    Shuffle {
        mode: ShuffleMode,
        dst: Option<u32>,
        in_range: Option<u32>,
        a: Source,
        b: Source,
        clamp: Source,
        mask: Source,
    },
    Vote {
        mode: VoteMode,
        dst: u32,
        predicate: PredicateSource,
        mask: Source,
    },
    Match {
        all: bool,
        dst: Option<u32>,
        predicate: Option<u32>,
        ty: Type,
        a: Source,
        mask: Source,
    },
    Reduce {
        op: Binary,
        ty: Type,
        dst: u32,
        a: Source,
        mask: Source,
    },
    Elect {
        dst: Option<u32>,
        predicate: u32,
        mask: Source,
    },
    ActiveMask {
        dst: u32,
    },
    WarpBarrier {
        mask: Source,
    },
    Barrier(Barrier),
    Fence {
        scope: Scope,
    },
    CopyAsync {
        dst: Address,
        src: Address,
        bytes: u32,
        src_bytes: Option<Source>,
        ignore: Option<PredicateSource>,
    },
    CommitGroup,
    WaitGroup {
        pending: u32,
    },
    WaitAll,
    Mbarrier {
        op: MbarrierOp,
        address: Address,
    },
    LoadMatrix {
        dst: Box<[u32]>,
        address: Address,
        transpose: bool,
    },
    StoreMatrix {
        src: Box<[Source]>,
        address: Address,
        transpose: bool,
    },
    TransposeMatrix {
        dst: u32,
        a: Source,
    },
    Mma {
        mma: Mma,
        d: Box<[u32]>,
        a: Box<[Source]>,
        b: Box<[Source]>,
        c: Box<[Source]>,
    },
}
