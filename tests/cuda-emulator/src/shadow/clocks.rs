//! Vector clocks of the threads of a launch.
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::lanes::lanes;

use super::frontier::{BlockClocks, Frontier, View, join_clocks, join_shared};

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
pub struct Clocks {
    blocks: FxHashMap<u32, Vec<Thread>>,
    flags: FxHashMap<Flag, Released>,
}

#[derive(Debug, Clone)]
struct Thread {
    /// Clock of the thread's accesses; others know earlier ones.
    now: u32,
    block_clocks: BlockClocks,
    others: Option<Arc<Frontier>>,
    /// What the last fence covers.
    fenced: Scoped,
    /// What strong reads observed since the last fence.
    observed: Scoped,
}

/// A frontier for each scope; that of the block includes that of the device.
#[derive(Debug, Clone, Default)]
struct Scoped {
    block: Option<Arc<Frontier>>,
    device: Option<Arc<Frontier>>,
}

/// What a flag has released: to all blocks, and to the block of those who released.
#[derive(Debug, Default)]
struct Released {
    device: Option<Arc<Frontier>>,
    blocks: FxHashMap<u32, Option<Arc<Frontier>>>,
}

impl Clocks {
    /// Begins a block of a number of threads.
    pub fn start_block(&mut self, block: u32, threads: u32) {
        let thread = Thread {
            now: 1,
            block_clocks: Arc::new(vec![0; threads as usize]),
            others: None,
            fenced: Scoped::default(),
            observed: Scoped::default(),
        };
        self.blocks.insert(block, vec![thread; threads as usize]);
    }

    /// Ends a block: what its threads knew is forgotten, what they released stays.
    pub fn end_block(&mut self, block: u32) {
        self.blocks.remove(&block);
    }

    /// A barrier that the threads of a block passed, in any order (`bar.sync`, `barrier.sync`, `bar.red`,
    /// `bar.warp.sync`): what each did before is ordered before what any of them does after. `arrived` are those
    /// of `bar.arrive`, which do not wait.
    pub fn barrier(&mut self, block: u32, waited: &[u32], arrived: &[u32]) {
        let Some(threads) = self.blocks.get_mut(&block) else { return };
        let Some(&first) = waited.first() else { return };
        let mut joined = threads[first as usize].clone();
        let mut last = Arc::clone(&joined.block_clocks);
        for &other in waited.iter().chain(arrived) {
            let other = &threads[other as usize];
            // Threads of a warp mostly share their clocks.
            if !Arc::ptr_eq(&last, &other.block_clocks) {
                last = Arc::clone(&other.block_clocks);
                join_clocks(&mut joined.block_clocks, &last);
            }
            join_shared(&mut joined.others, other.others.as_ref());
            joined.fenced.join(&other.fenced);
        }
        drop(last);
        let clocks = Arc::make_mut(&mut joined.block_clocks);
        for &thread in waited.iter().chain(arrived) {
            clocks[thread as usize] = threads[thread as usize].now;
            threads[thread as usize].now += 1;
        }
        for &thread in waited {
            let thread = &mut threads[thread as usize];
            thread.block_clocks = Arc::clone(&joined.block_clocks);
            thread.others.clone_from(&joined.others);
            thread.fenced.clone_from(&joined.fenced);
        }
    }

    /// `bar.warp.sync`: a barrier of the lanes in `mask` of a warp. By CUDA's guide, shuffles and votes exchange
    /// registers and do not order memory.
    pub fn sync_warp(&mut self, block: u32, warp: u32, mask: u32) {
        let threads = self.blocks.get(&block).map_or(0, |threads| threads.len() as u32);
        // The last warp of a block may have fewer lanes.
        let waited = lanes(mask).map(|lane| warp * 32 + lane as u32).filter(|&thread| thread < threads);
        self.barrier(block, &waited.collect::<Vec<_>>(), &[]);
    }

    /// `membar`, `fence.acq_rel`, `fence.sc`: writes and atomics of the thread that follow release what precedes the
    /// fence, and it acquires what strong reads before it observed.
    pub fn fence(&mut self, thread: ThreadId, scope: Scope) {
        let Some(state) = self.thread_mut(thread) else { return };
        let observed = std::mem::take(&mut state.observed);
        state.acquire(thread.block, observed.block.as_deref());
        match scope {
            Scope::Device => state.acquire(thread.block, observed.device.as_deref()),
            Scope::Block => state.observed.device = observed.device,
        }
        let snapshot = Some(Arc::new(state.snapshot(thread)));
        if scope == Scope::Device {
            state.fenced.device.clone_from(&snapshot);
        }
        state.fenced.block = snapshot;
    }

    /// `st.release`, `atom.release`, `mbarrier.arrive`.
    pub fn release(&mut self, thread: ThreadId, flag: Flag, scope: Scope) {
        let Some(state) = self.thread_mut(thread) else { return };
        let snapshot = Some(Arc::new(state.snapshot(thread)));
        let device = if scope == Scope::Device { snapshot.clone() } else { None };
        self.publish(thread.block, flag, &Scoped { block: snapshot, device });
    }

    /// `ld.acquire`, `atom.acquire`, a wait on a mbarrier that succeeds. Call it also for atomics without `.acquire`
    /// that return a value: reductions whose last block reads what others wrote have no fence after the atomic.
    pub fn acquire(&mut self, thread: ThreadId, flag: Flag, scope: Scope) {
        let visible = self.visible(thread.block, flag);
        let Some(state) = self.thread_mut(thread) else { return };
        state.acquire(thread.block, visible.block.as_deref());
        if scope == Scope::Device {
            state.acquire(thread.block, visible.device.as_deref());
        }
    }

    /// A strong write without `.release` (`st.volatile`, `st.relaxed`, `atom`, `red`): releases what precedes the
    /// thread's last fence.
    pub fn strong_write(&mut self, thread: ThreadId, flag: Flag) {
        let Some(state) = self.thread_mut(thread) else { return };
        let fenced = state.fenced.clone();
        if fenced.block.is_some() {
            self.publish(thread.block, flag, &fenced);
        }
    }

    /// A strong read without `.acquire` (`ld.volatile`, `ld.relaxed`): what it observes is acquired at the thread's
    /// next fence.
    pub fn strong_read(&mut self, thread: ThreadId, flag: Flag) {
        let visible = self.visible(thread.block, flag);
        if let Some(state) = self.thread_mut(thread) {
            state.observed.join(&visible);
        }
    }

    /// Forgets what a flag has released, e.g. a phase on which nobody can wait any more.
    pub fn forget(&mut self, flag: Flag) {
        self.flags.remove(&flag);
    }

    pub(super) fn view(&self, thread: ThreadId) -> Option<View<'_>> {
        let state = self.blocks.get(&thread.block)?.get(thread.thread as usize)?;
        Some(View { thread, now: state.now, block_clocks: &state.block_clocks, others: state.others.as_deref() })
    }

    fn thread_mut(&mut self, thread: ThreadId) -> Option<&mut Thread> {
        self.blocks.get_mut(&thread.block)?.get_mut(thread.thread as usize)
    }

    fn publish(&mut self, block: u32, flag: Flag, released: &Scoped) {
        let known = self.flags.entry(flag).or_default();
        join_shared(&mut known.device, released.device.as_ref());
        join_shared(known.blocks.entry(block).or_default(), released.block.as_ref());
    }

    /// What a flag has released to a block.
    fn visible(&self, block: u32, flag: Flag) -> Scoped {
        let Some(known) = self.flags.get(&flag) else { return Scoped::default() };
        Scoped { block: known.blocks.get(&block).cloned().flatten(), device: known.device.clone() }
    }
}

impl Thread {
    /// Everything up to now, which the next clock follows.
    fn snapshot(&mut self, thread: ThreadId) -> Frontier {
        let mut clocks = self.block_clocks.as_ref().clone();
        clocks[thread.thread as usize] = self.now;
        self.now += 1;
        let mut frontier = self.others.as_deref().cloned().unwrap_or_default();
        frontier.insert(thread.block, Arc::new(clocks));
        frontier
    }

    fn acquire(&mut self, block: u32, released: Option<&Frontier>) {
        let Some(released) = released else { return };
        if let Some(clocks) = released.get(block) {
            join_clocks(&mut self.block_clocks, clocks);
        }
        Arc::make_mut(self.others.get_or_insert_default()).join(released);
    }
}

impl Scoped {
    fn join(&mut self, other: &Scoped) {
        join_shared(&mut self.block, other.block.as_ref());
        join_shared(&mut self.device, other.device.as_ref());
    }
}
