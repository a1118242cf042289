//! Vector clocks of the threads of a launch.

/// A thread of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadId {
    /// Index of the block, counted through x, then y, then z.
    pub block: u32,
    /// Index of the thread in its block, counted likewise; lane = `thread % 32`.
    pub thread: u32,
}

/// How far a release or acquire reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// `.cta`: threads of the block.
    Block,
    /// `.gpu`, `.sys` and `.cluster`: all threads.
    Device,
}

/// What threads synchronise through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flag {
    /// A location of global memory.
    Global(u64),
    /// An offset in the shared memory of a block.
    Shared(u32, u64),
    /// A phase of the mbarrier at an offset in the shared memory of a block: arrivals release to the current phase,
    /// a successful wait acquires the one that it waited for.
    Phase(u32, u64, u64),
}

/// What each thread of a launch is ordered after.
#[derive(Debug, Default)]
pub struct Clocks {}

impl Clocks {
    /// Begins a block of a number of threads.
    pub fn start_block(&mut self, block: u32, threads: u32) {
        todo!("{block} {threads}")
    }

    /// Ends a block: what its threads knew is forgotten, what they released stays.
    pub fn end_block(&mut self, block: u32) {
        todo!("{block}")
    }

    /// A barrier that the threads of a block passed, in any order (`bar.sync`, `barrier.sync`, `bar.red`,
    /// `bar.warp.sync`): what each did before is ordered before what any of them does after. `arrived` are those
    /// of `bar.arrive`, which do not wait.
    pub fn barrier(&mut self, block: u32, waited: &[u32], arrived: &[u32]) {
        todo!("{block} {waited:?} {arrived:?}")
    }

    /// `bar.warp.sync`: a barrier of the lanes in `mask` of a warp.
    pub fn sync_warp(&mut self, block: u32, warp: u32, mask: u32) {
        todo!("{block} {warp} {mask}")
    }

    /// `membar`, `fence.acq_rel`, `fence.sc`: writes and atomics of the thread that follow release what precedes the
    /// fence, and it acquires what strong reads before it observed.
    pub fn fence(&mut self, thread: ThreadId, scope: Scope) {
        todo!("{thread:?} {scope:?}")
    }

    /// `st.release`, `atom.release`, `mbarrier.arrive`.
    pub fn release(&mut self, thread: ThreadId, flag: Flag, scope: Scope) {
        todo!("{thread:?} {flag:?} {scope:?}")
    }

    /// `ld.acquire`, `atom.acquire`, a wait on a mbarrier that succeeds. Call it also for atomics without `.acquire`
    /// that return a value: reductions whose last block reads what others wrote have no fence after the atomic.
    pub fn acquire(&mut self, thread: ThreadId, flag: Flag, scope: Scope) {
        todo!("{thread:?} {flag:?} {scope:?}")
    }

    /// A strong write without `.release` (`st.volatile`, `st.relaxed`, `atom`, `red`): releases what precedes the
    /// thread's last fence.
    pub fn strong_write(&mut self, thread: ThreadId, flag: Flag) {
        todo!("{thread:?} {flag:?}")
    }

    /// A strong read without `.acquire` (`ld.volatile`, `ld.relaxed`): what it observes is acquired at the thread's
    /// next fence.
    pub fn strong_read(&mut self, thread: ThreadId, flag: Flag) {
        todo!("{thread:?} {flag:?}")
    }
}
