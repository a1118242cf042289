//! Allocators: one per device and program, handing out blocks that return to it when dropped.
//!
//! *Naive* goes to the device for every block. *Pooled* keeps returned blocks and hands them out again, so that a
//! program that runs over and over stops asking the system after the first run. Both count what is in use and refuse
//! to exceed their limit.
use super::lock::Lock;
use super::pool::{Pool, SizeClass};
use super::workspace;
use crate::device::{self, DeviceApi};
use crate::ffi::{Error, kind};
use crate::value::Device;
use crate::vm;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

/// What happens to blocks that are given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AllocatorKind {
    /// They go back to the device.
    Naive,
    /// They are kept for the next request of about their size.
    #[default]
    Pooled,
}

/// What an allocator has handed out, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryStats {
    /// In blocks that are alive.
    pub used: usize,
    /// The most that was ever in use at once.
    pub peak: usize,
    /// Kept for reuse.
    pub pooled: usize,
    /// The most that ever counted towards the limit at once: blocks, and what is charged besides. So high a limit is
    /// enough.
    pub most: usize,
}

/// Hands out memory of one device.
///
/// Blocks may outlive it; the last of them takes what is shared with it.
pub struct Allocator(NonNull<Shared>);

// SAFETY: what is shared is behind a lock or never written.
unsafe impl Send for Allocator {}
// SAFETY: as above.
unsafe impl Sync for Allocator {}

/// What an allocator and its blocks have in common. It goes with the last of them, which a count under the lock tells:
/// cheaper than a reference count of its own.
struct Shared {
    api: &'static dyn DeviceApi,
    device: Device,
    kind: AllocatorKind,
    limit: usize,
    state: Lock<State>,
    /// Bytes that a stack of scratch memory begins with: of threads that call kernels, and of those that help them.
    workspaces: [AtomicUsize; 2],
}

struct State {
    stats: MemoryStats,
    /// Bytes that are no blocks, but count towards the limit.
    charged: usize,
    pool: Pool,
    /// Blocks and reservations that are alive.
    blocks: usize,
    /// Is the allocator gone, so that blocks need not be kept?
    retired: bool,
}

/// Memory that returns to its allocator when dropped.
pub struct Block {
    data: NonNull<u8>,
    class: SizeClass,
    shared: NonNull<Shared>,
}

// SAFETY: a block is plain memory; who may write it is its holders' agreement.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Allocator {
    /// An allocator for `device` that takes at most `limit` bytes from it at a time.
    pub fn new(device: Device, kind: AllocatorKind, limit: usize) -> Result<Arc<Allocator>, Error> {
        Ok(Arc::new(Allocator::on(device::find(device)?, kind, limit)))
    }

    /// An allocator for the device behind `api`.
    pub(super) fn on(api: &'static dyn DeviceApi, kind: AllocatorKind, limit: usize) -> Allocator {
        let stats = MemoryStats { used: 0, peak: 0, pooled: 0, most: 0 };
        let pool = if kind == AllocatorKind::Pooled { Pool::new() } else { Pool::default() };
        let state = Lock::new(State { stats, charged: 0, pool, blocks: 0, retired: false });
        let workspaces = Default::default();
        let shared = Box::new(Shared { api, device: api.device(), kind, limit, state, workspaces });
        let shared = NonNull::from(Box::leak(shared));
        all::add(shared);
        Allocator(shared)
    }

    /// Holds its lock.
    #[cfg(all(test, not(any(loom, miri))))]
    pub(crate) fn lock(&self) -> impl Drop {
        self.shared().state.lock()
    }

    fn shared(&self) -> &Shared {
        // SAFETY: what is shared lives as long as the allocator.
        unsafe { self.0.as_ref() }
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.shared().device
    }

    /// A block of at least `bytes` bytes, aligned to 64. Its contents are unspecified but initialized.
    pub fn alloc(&self, bytes: usize) -> Result<Block, Error> {
        let shared = self.shared();
        let class = SizeClass::of(bytes).ok_or_else(|| shared.exhausted(bytes))?;
        let mut state = shared.state.lock();
        let used = state.stats.used.saturating_add(class.bytes);
        let counted = used.saturating_add(state.charged);
        if counted > shared.limit {
            drop(state);
            return if make_room() { self.alloc(bytes) } else { Err(self.over_limit(bytes)) };
        }
        state.stats.used = used;
        state.stats.peak = state.stats.peak.max(used);
        state.stats.most = state.stats.most.max(counted);
        state.blocks += 1;
        if let Some(data) = state.pool.take(class) {
            state.stats.pooled -= class.bytes;
            return Ok(Block { data, class, shared: self.0 });
        }
        let crowded = counted.saturating_add(state.stats.pooled) > shared.limit;
        drop(state);
        match self.alloc_fresh(class, crowded) {
            Some(data) => Ok(Block { data, class, shared: self.0 }),
            None => {
                let mut state = shared.state.lock();
                state.stats.used -= class.bytes;
                state.blocks -= 1;
                drop(state);
                Err(shared.exhausted(bytes))
            }
        }
    }

    /// Memory of the device's; what is kept for reuse is given up for it if need be.
    #[cold]
    fn alloc_fresh(&self, class: SizeClass, crowded: bool) -> Option<NonNull<u8>> {
        if crowded {
            self.clear();
        }
        let api = self.shared().api;
        api.allocate(class.bytes).or_else(|| {
            self.clear();
            api.allocate(class.bytes)
        })
    }

    /// What is in use now, and what was at most.
    pub fn stats(&self) -> MemoryStats {
        self.shared().state.lock().stats
    }

    /// The most memory it takes from the device at a time, in bytes.
    pub fn limit(&self) -> usize {
        self.shared().limit
    }

    /// Forgets the peak: from now on, the most in use is what is in use.
    pub fn reset_peak(&self) {
        let mut state = self.shared().state.lock();
        state.stats.peak = state.stats.used;
        state.stats.most = state.stats.used + state.charged;
    }

    /// How many bytes the stacks of scratch memory begin with that are for helpers, or for those who call kernels.
    pub(super) fn workspace(&self, helpers: bool) -> &AtomicUsize {
        &self.shared().workspaces[usize::from(helpers)]
    }

    /// Gives what is kept for reuse back to the device.
    pub fn clear(&self) {
        let mut state = self.shared().state.lock();
        state.stats.pooled = 0;
        // Under the lock: who sees that nothing is kept may take as much from the device.
        // SAFETY: the blocks were this device's, and waited.
        unsafe { free_all(self.shared().api, state.pool.drain()) };
    }

    /// Counts so many bytes towards the limit, if they do not exceed it; what is kept for reuse is given up for them.
    pub(super) fn charge(&self, bytes: usize) -> bool {
        let shared = self.shared();
        let mut state = shared.state.lock();
        let used = state.stats.used.saturating_add(state.charged).saturating_add(bytes);
        let fits = used <= shared.limit;
        if fits {
            state.charged += bytes;
            state.stats.most = state.stats.most.max(used);
        }
        let crowded = used.saturating_add(state.stats.pooled) > shared.limit;
        drop(state);
        if crowded {
            self.clear();
        }
        fits || make_room() && self.charge(bytes)
    }

    /// Takes back what [`Allocator::charge`] counted.
    pub(super) fn discharge(&self, bytes: usize) {
        self.shared().state.lock().charged -= bytes;
    }

    /// Counts memory that comes from elsewhere towards the limit, as long as the reservation lives.
    pub fn reserve(&self, bytes: usize) -> Result<Reservation, Error> {
        if !self.charge(bytes) {
            return Err(self.over_limit(bytes));
        }
        self.shared().state.lock().blocks += 1;
        Ok(Reservation { bytes, shared: self.0 })
    }

    #[cold]
    fn over_limit(&self, bytes: usize) -> Error {
        let state = self.shared().state.lock();
        let used = state.stats.used + state.charged;
        drop(state);
        let (device, limit) = (self.device(), self.limit());
        let message = format!("{bytes} bytes on {device} would exceed the limit of {limit} ({used} are in use)");
        Error::new(kind::MEMORY, message)
    }
}

/// Gives up idle memory that the program under way on this thread counts as in use; says whether there was any.
#[cold]
fn make_room() -> bool {
    workspace::give_up_idle() || vm::trim()
}

impl Shared {
    fn exhausted(&self, bytes: usize) -> Error {
        Error::new(kind::MEMORY, format!("out of memory: cannot allocate {bytes} bytes on {}", self.device))
    }
}

/// Gives blocks back to the device.
///
/// # Safety
/// They were allocated by it with these sizes, and nobody refers to them any more.
unsafe fn free_all(api: &dyn DeviceApi, blocks: Vec<(NonNull<u8>, usize)>) {
    for (data, bytes) in blocks {
        // SAFETY: as the caller promises.
        unsafe { api.free(data, bytes) };
    }
}

impl Drop for Allocator {
    fn drop(&mut self) {
        let api = self.shared().api;
        let mut state = self.shared().state.lock();
        state.retired = true;
        let (waiting, last) = (state.pool.drain(), state.blocks == 0);
        drop(state);
        // SAFETY: the blocks were this device's, and waited.
        unsafe { free_all(api, waiting) };
        if last {
            // SAFETY: neither allocator nor blocks are left.
            unsafe { all::end(self.0) };
        }
    }
}

impl Block {
    /// The first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// The number of bytes, at least what was asked for.
    pub fn size(&self) -> usize {
        self.class.bytes
    }

    /// Where the memory is.
    pub fn device(&self) -> Device {
        // SAFETY: what is shared lives as long as the block.
        unsafe { self.shared.as_ref() }.device
    }
}

impl Drop for Block {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: what is shared lives as long as the block. Once the lock is given back, it may be gone.
        let shared = unsafe { self.shared.as_ref() };
        let (api, kind) = (shared.api, shared.kind);
        // SAFETY: allocated by this device with this size, and nobody refers to it any more.
        let free = || unsafe { api.free(self.data, self.class.bytes) };
        if kind == AllocatorKind::Naive {
            // Before it counts as free: who sees that may take as much from the device.
            free();
        }
        let mut state = shared.state.lock();
        state.stats.used -= self.class.bytes;
        state.blocks -= 1;
        if kind == AllocatorKind::Pooled && !state.retired {
            state.stats.pooled += self.class.bytes;
            state.pool.put(self.class, self.data);
            return;
        }
        let last = state.retired && state.blocks == 0;
        drop(state);
        if kind == AllocatorKind::Pooled {
            free();
        }
        if last {
            // SAFETY: neither allocator nor blocks are left.
            unsafe { all::end(self.shared) };
        }
    }
}

/// Memory that comes from elsewhere and counts towards an allocator's limit.
#[derive(Debug)]
pub struct Reservation {
    bytes: usize,
    shared: NonNull<Shared>,
}

// SAFETY: what is shared is behind a lock or never written.
unsafe impl Send for Reservation {}
// SAFETY: as above.
unsafe impl Sync for Reservation {}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: what is shared lives as long as the reservation. Once the lock is given back, it may be gone.
        let mut state = unsafe { self.shared.as_ref() }.state.lock();
        state.charged -= self.bytes;
        state.blocks -= 1;
        let last = state.retired && state.blocks == 0;
        drop(state);
        if last {
            // SAFETY: neither allocator nor blocks are left.
            unsafe { all::end(self.shared) };
        }
    }
}

/// What all allocators of the process share with their blocks, for those who need all their locks.
mod all {
    use super::{NonNull, Shared};

    #[cfg(not(any(loom, miri)))]
    mod known {
        use super::{NonNull, Shared};
        use std::collections::BTreeSet;
        use std::sync::{Mutex, MutexGuard, PoisonError};

        /// Addresses.
        static ALL: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

        pub(super) fn lock() -> MutexGuard<'static, BTreeSet<usize>> {
            ALL.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// Takes the locks of all allocators, and keeps any from coming and going.
        pub(crate) fn take_locks(guards: &mut crate::fork::Guards) {
            let all = lock();
            for address in &*all {
                // SAFETY: who is about to free it waits for the set's lock, which is given back after this one.
                let shared = unsafe { std::ptr::with_exposed_provenance::<Shared>(*address).as_ref() };
                guards.extend(shared.map(|shared: &'static Shared| Box::new(shared.state.lock()) as Box<_>));
            }
            // Guards are given back from the last on.
            guards.insert(0, Box::new(all));
        }

        pub(super) fn add(shared: NonNull<Shared>) {
            crate::fork::prepare();
            lock().insert(shared.as_ptr().expose_provenance());
        }

        pub(super) fn remove(shared: NonNull<Shared>) {
            lock().remove(&shared.as_ptr().addr());
        }
    }

    #[cfg(not(any(loom, miri)))]
    pub(crate) use known::take_locks;

    pub(super) fn add(_shared: NonNull<Shared>) {
        #[cfg(not(any(loom, miri)))]
        known::add(_shared);
    }

    /// Frees it.
    ///
    /// # Safety
    /// `Allocator::on` boxed it, and neither allocator nor blocks are left.
    pub(super) unsafe fn end(shared: NonNull<Shared>) {
        #[cfg(not(any(loom, miri)))]
        known::remove(shared);
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(shared.as_ptr()) });
    }
}

#[cfg(not(any(loom, miri)))]
pub(crate) use all::take_locks;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::ALIGNMENT;

    #[test]
    fn pooled_blocks_are_reused_and_counted() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, usize::MAX).unwrap();
        let first = allocator.alloc(100).unwrap();
        let address = first.as_ptr();
        assert_eq!(address.addr() % ALIGNMENT, 0);
        assert_eq!(allocator.stats(), MemoryStats { used: 128, peak: 128, pooled: 0, most: 128 });
        drop(first);
        assert_eq!(allocator.stats(), MemoryStats { used: 0, peak: 128, pooled: 128, most: 128 });
        assert_eq!(allocator.alloc(65).unwrap().as_ptr(), address);
        allocator.clear();
        allocator.reset_peak();
        assert_eq!(allocator.stats(), MemoryStats { used: 0, peak: 0, pooled: 0, most: 0 });
    }

    #[test]
    fn naive_blocks_go_back_at_once() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Naive, usize::MAX).unwrap();
        drop(allocator.alloc(1).unwrap());
        assert_eq!(allocator.stats(), MemoryStats { used: 0, peak: 64, pooled: 0, most: 64 });
    }

    #[test]
    fn limits_are_hard() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, 1000).unwrap();
        let held = allocator.alloc(900).unwrap();
        let error = allocator.alloc(200).err().unwrap();
        assert_eq!(
            error.to_string(),
            "MemoryError: 200 bytes on cpu:0 would exceed the limit of 1000 (960 are in use)"
        );
        drop(held);
        assert!(allocator.alloc(200).is_ok());
        assert!(allocator.alloc(usize::MAX).is_err());
    }

    #[test]
    fn what_is_kept_counts_towards_the_limit() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, 1000).unwrap();
        drop(allocator.alloc(900).unwrap());
        let _other = allocator.alloc(500).unwrap();
        assert_eq!(allocator.stats(), MemoryStats { used: 512, peak: 960, pooled: 0, most: 960 });
    }

    #[test]
    fn reservations_count_and_may_outlive_their_allocator() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, 1000).unwrap();
        drop(allocator.alloc(900).unwrap());
        let held = allocator.reserve(700).unwrap();
        assert_eq!(allocator.stats(), MemoryStats { used: 0, peak: 960, pooled: 0, most: 960 });
        assert_eq!(
            allocator.reserve(301).unwrap_err().message(),
            "301 bytes on cpu:0 would exceed the limit of 1000 (700 are in use)"
        );
        assert!(allocator.alloc(400).is_err() && allocator.alloc(300).is_err() && allocator.alloc(200).is_ok());
        drop(held);
        assert!(allocator.alloc(400).is_ok());
        let held = allocator.reserve(700).unwrap();
        drop(allocator);
        drop(held);
    }

    #[test]
    fn blocks_may_outlive_their_allocator() {
        for kind in [AllocatorKind::Naive, AllocatorKind::Pooled] {
            let allocator = Allocator::new(Device::CPU, kind, usize::MAX).unwrap();
            drop(allocator.alloc(10).unwrap());
            let (first, second) = (allocator.alloc(100).unwrap(), allocator.alloc(200).unwrap());
            drop(allocator);
            assert_eq!(first.device(), Device::CPU);
            drop(first);
            std::thread::spawn(move || drop(second)).join().unwrap();
        }
    }

    #[test]
    fn threads_share_an_allocator() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, 4 * 4096).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let allocator = &allocator;
                scope.spawn(move || {
                    for i in 0..if cfg!(miri) { 4 } else { 200 } {
                        let block = allocator.alloc(1 + (i * 37 + thread) % 4096).unwrap();
                        // SAFETY: the block is this thread's.
                        unsafe { block.as_ptr().write_bytes(thread as u8, block.size()) };
                    }
                });
            }
        });
        assert_eq!(allocator.stats().used, 0);
    }
}
