//! Allocators: one per device and program. Blocks return to their allocator when dropped.
//!
//! *Naive* requests every block from the device. *Pooled* caches returned blocks for reuse, so a program that runs
//! repeatedly allocates nothing from the system after the first run. Both count the memory in use and enforce a limit.
use super::lock::Lock;
use super::pool::{Pool, SizeClass};
use crate::device::{self, DeviceApi};
use crate::ffi::{Error, kind};
use crate::value::Device;
use std::ptr::NonNull;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock, Weak};

/// Policy for released blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AllocatorKind {
    /// They are returned to the device.
    Naive,
    /// They are cached for the next request of about their size.
    #[default]
    Pooled,
}

/// Statistics of an allocator, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryStats {
    /// Size of live blocks.
    pub used: usize,
    /// Maximum of `used`.
    pub peak: usize,
    /// Size of cached blocks.
    pub pooled: usize,
    /// Maximum that counted towards the limit at once: blocks and charges. This limit would be sufficient.
    pub charged_peak: usize,
}

/// A user of an allocator that retains blocks for reuse. They count as used, and are released before an allocation fails.
pub(crate) trait Cache: Send + Sync {
    /// Releases retained blocks; returns true if there were any.
    fn release_idle(&self) -> bool;
}

/// Allocates memory of one device.
///
/// Blocks may outlive it; the last of them frees the shared state.
pub struct Allocator(NonNull<Shared>);

// SAFETY: the shared state is behind a lock or never written.
unsafe impl Send for Allocator {}
// SAFETY: as above.
unsafe impl Sync for Allocator {}

/// State shared by an allocator and its blocks. The last of them frees it, by a count under the lock, which is cheaper
/// than a reference count.
struct Shared {
    api: &'static dyn DeviceApi,
    device: Device,
    kind: AllocatorKind,
    limit: usize,
    state: Lock<State>,
    /// The user of the allocator that retains blocks.
    cache: OnceLock<Weak<dyn Cache>>,
    /// Initial size of scratch stacks: of threads that call kernels, and of pool workers.
    workspaces: [AtomicUsize; 2],
}

struct State {
    stats: MemoryStats,
    /// Bytes that count towards the limit without being blocks.
    charged: usize,
    pool: Pool,
    /// Number of live blocks and reservations.
    blocks: usize,
    /// True if the allocator is gone, so that blocks need not be cached.
    retired: bool,
}

/// Memory that returns to its allocator when dropped.
pub struct Block {
    data: NonNull<u8>,
    class: SizeClass,
    shared: NonNull<Shared>,
}

// SAFETY: a block is plain memory; its holders synchronize writes.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Allocator {
    /// Creates an allocator for `device` that holds at charged_peak `limit` bytes at once.
    pub fn new(device: Device, kind: AllocatorKind, limit: usize) -> Result<Arc<Allocator>, Error> {
        Ok(Arc::new(Allocator::on(device::find(device)?, kind, limit)))
    }

    /// Creates an allocator for the device behind `api`.
    pub(super) fn on(api: &'static dyn DeviceApi, kind: AllocatorKind, limit: usize) -> Allocator {
        let stats = MemoryStats { used: 0, peak: 0, pooled: 0, charged_peak: 0 };
        let pool = if kind == AllocatorKind::Pooled { Pool::new() } else { Pool::default() };
        let state = Lock::new(State { stats, charged: 0, pool, blocks: 0, retired: false });
        let workspaces = Default::default();
        let (device, cache) = (api.device(), OnceLock::new());
        let shared = Box::new(Shared { api, device, kind, limit, state, cache, workspaces });
        let shared = NonNull::from(Box::leak(shared));
        all::add(shared);
        Allocator(shared)
    }

    /// Sets the user that retains blocks of the allocator, once.
    pub(crate) fn set_cache(&self, cache: Weak<dyn Cache>) {
        let _ = self.shared().cache.set(cache);
    }

    /// Locks the allocator.
    #[cfg(all(test, not(any(loom, miri))))]
    pub(crate) fn lock(&self) -> impl Drop {
        self.shared().state.lock()
    }

    fn shared(&self) -> &Shared {
        // SAFETY: the shared state lives as long as the allocator.
        unsafe { self.0.as_ref() }
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.shared().device
    }

    /// Allocates at least `bytes` bytes, aligned to 64. Their contents are unspecified but initialized.
    pub fn alloc(&self, bytes: usize) -> Result<Block, Error> {
        let shared = self.shared();
        let class = SizeClass::of(bytes).ok_or_else(|| shared.out_of_memory(bytes))?;
        let mut state = shared.state.lock();
        let used = state.stats.used.saturating_add(class.bytes);
        let counted = used.saturating_add(state.charged);
        if counted > shared.limit {
            drop(state);
            return if shared.release_idle() { self.alloc(bytes) } else { Err(self.over_limit(bytes)) };
        }
        state.stats.used = used;
        state.stats.peak = state.stats.peak.max(used);
        state.stats.charged_peak = state.stats.charged_peak.max(counted);
        state.blocks += 1;
        if let Some(data) = state.pool.take(class) {
            state.stats.pooled -= class.bytes;
            return Ok(Block { data, class, shared: self.0 });
        }
        let crowded = counted.saturating_add(state.stats.pooled) > shared.limit;
        drop(state);
        let fresh = self.alloc_fresh(class, crowded);
        match fresh.and_then(|data| data.ok_or_else(|| shared.out_of_memory(bytes))) {
            Ok(data) => Ok(Block { data, class, shared: self.0 }),
            Err(error) => {
                let mut state = shared.state.lock();
                state.stats.used -= class.bytes;
                state.blocks -= 1;
                drop(state);
                if error.kind() == kind::MEMORY && shared.release_idle() { self.alloc(bytes) } else { Err(error) }
            }
        }
    }

    /// Allocates from the device, after releasing cached blocks if necessary.
    #[cold]
    fn alloc_fresh(&self, class: SizeClass, crowded: bool) -> Result<Option<NonNull<u8>>, Error> {
        if crowded {
            self.clear();
        }
        let api = self.shared().api;
        match api.allocate(class.bytes)? {
            None => {
                self.clear();
                api.allocate(class.bytes)
            }
            data => Ok(data),
        }
    }

    /// Current and peak memory use.
    pub fn stats(&self) -> MemoryStats {
        self.shared().state.lock().stats
    }

    /// Limit in bytes.
    pub fn limit(&self) -> usize {
        self.shared().limit
    }

    /// Resets the peaks to the current use.
    pub fn reset_peak(&self) {
        let mut state = self.shared().state.lock();
        state.stats.peak = state.stats.used;
        state.stats.charged_peak = state.stats.used + state.charged;
    }

    /// Initial size of scratch stacks, for pool workers or for threads that call kernels.
    pub(super) fn workspace(&self, workers: bool) -> &AtomicUsize {
        &self.shared().workspaces[usize::from(workers)]
    }

    /// Returns cached blocks to the device.
    pub fn clear(&self) {
        let mut state = self.shared().state.lock();
        state.stats.pooled = 0;
        // Under the lock: a thread that sees an empty cache may allocate as much from the device.
        // SAFETY: the blocks were allocated by this device and are cached, so nobody refers to them.
        unsafe { free_all(self.shared().api, state.pool.drain()) };
    }

    /// Charges bytes to the limit, after releasing cached blocks if necessary; returns false if they exceed it.
    pub(super) fn charge(&self, bytes: usize) -> bool {
        let shared = self.shared();
        let mut state = shared.state.lock();
        let used = state.stats.used.saturating_add(state.charged).saturating_add(bytes);
        let fits = used <= shared.limit;
        if fits {
            state.charged += bytes;
            state.stats.charged_peak = state.stats.charged_peak.max(used);
        }
        let crowded = used.saturating_add(state.stats.pooled) > shared.limit;
        drop(state);
        if crowded {
            self.clear();
        }
        fits || shared.release_idle() && self.charge(bytes)
    }

    /// Reverts [`Allocator::charge`].
    pub(super) fn discharge(&self, bytes: usize) {
        self.shared().state.lock().charged -= bytes;
    }

    /// Charges memory from another source to the limit until the reservation is dropped.
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

impl Shared {
    /// Releases blocks that the allocator's user retains; returns true if there were any.
    #[cold]
    fn release_idle(&self) -> bool {
        self.cache.get().and_then(Weak::upgrade).is_some_and(|cache| cache.release_idle())
    }

    fn out_of_memory(&self, bytes: usize) -> Error {
        Error::new(kind::MEMORY, format!("out of memory: cannot allocate {bytes} bytes on {}", self.device))
    }
}

/// Returns blocks to the device.
///
/// # Safety
/// They were allocated by the device with these sizes, and nobody refers to them any more.
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
        // SAFETY: the blocks were allocated by this device and are cached, so nobody refers to them.
        unsafe { free_all(api, waiting) };
        if last {
            // SAFETY: the allocator and all its blocks are gone.
            unsafe { all::end(self.0) };
        }
    }
}

impl Block {
    /// Address of the first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// Size in bytes, at least the requested size.
    pub fn size(&self) -> usize {
        self.class.bytes
    }

    /// The device of the memory.
    pub fn device(&self) -> Device {
        // SAFETY: the shared state lives as long as the block.
        unsafe { self.shared.as_ref() }.device
    }
}

impl Drop for Block {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the shared state lives as long as the block. Once the lock is released, it may be gone.
        let shared = unsafe { self.shared.as_ref() };
        let (api, kind) = (shared.api, shared.kind);
        // SAFETY: allocated by this device with this size, and nobody refers to it any more.
        let free = || unsafe { api.free(self.data, self.class.bytes) };
        if kind == AllocatorKind::Naive {
            // Before it counts as free: a thread that sees the count may allocate as much from the device.
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
            // SAFETY: the allocator and all its blocks are gone.
            unsafe { all::end(self.shared) };
        }
    }
}

/// Memory from another source that counts towards an allocator's limit.
#[derive(Debug)]
pub struct Reservation {
    bytes: usize,
    shared: NonNull<Shared>,
}

// SAFETY: the shared state is behind a lock or never written.
unsafe impl Send for Reservation {}
// SAFETY: as above.
unsafe impl Sync for Reservation {}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the shared state lives as long as the reservation. Once the lock is released, it may be gone.
        let mut state = unsafe { self.shared.as_ref() }.state.lock();
        state.charged -= self.bytes;
        state.blocks -= 1;
        let last = state.retired && state.blocks == 0;
        drop(state);
        if last {
            // SAFETY: the allocator and all its blocks are gone.
            unsafe { all::end(self.shared) };
        }
    }
}

/// The shared states of all allocators of the process, for forks, which lock all of them.
mod all {
    use super::{NonNull, Shared};
    use crate::fork::{self, ForkHandler, Guards, Stage};
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicBool;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// Addresses of the shared states.
    struct Addresses(Mutex<BTreeSet<usize>>);

    static ALL: Addresses = Addresses(Mutex::new(BTreeSet::new()));

    impl Addresses {
        fn lock(&self) -> MutexGuard<'_, BTreeSet<usize>> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl ForkHandler for Addresses {
        /// Locks all allocators, and keeps allocators from being created and freed.
        fn take_locks(&'static self, guards: &mut Guards) {
            let all = self.lock();
            // SAFETY: freeing a state takes the set's lock, which is released after the state's.
            let shared = |address: &usize| unsafe { std::ptr::with_exposed_provenance::<Shared>(*address).as_ref() };
            let states: Vec<&'static Shared> = all.iter().filter_map(shared).collect();
            guards.push(all);
            states.into_iter().for_each(|shared| guards.push(shared.state.lock()));
        }
    }

    /// Adds a shared state.
    pub(super) fn add(shared: NonNull<Shared>) {
        static REGISTERED: AtomicBool = AtomicBool::new(false);
        fork::register(&REGISTERED, Stage::Allocators, &ALL);
        ALL.lock().insert(shared.as_ptr().expose_provenance());
    }

    /// Frees a shared state.
    ///
    /// # Safety
    /// `Allocator::on` boxed it, and the allocator and all its blocks are gone.
    pub(super) unsafe fn end(shared: NonNull<Shared>) {
        ALL.lock().remove(&shared.as_ptr().addr());
        // SAFETY: as the caller promises.
        drop(unsafe { Box::from_raw(shared.as_ptr()) });
    }
}

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
        assert_eq!(allocator.stats(), MemoryStats { used: 128, peak: 128, pooled: 0, charged_peak: 128 });
        drop(first);
        assert_eq!(allocator.stats(), MemoryStats { used: 0, peak: 128, pooled: 128, charged_peak: 128 });
        assert_eq!(allocator.alloc(65).unwrap().as_ptr(), address);
        allocator.clear();
        allocator.reset_peak();
        assert_eq!(allocator.stats(), MemoryStats { used: 0, peak: 0, pooled: 0, charged_peak: 0 });
    }

    #[test]
    fn naive_blocks_go_back_at_once() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Naive, usize::MAX).unwrap();
        drop(allocator.alloc(1).unwrap());
        assert_eq!(allocator.stats(), MemoryStats { used: 0, peak: 64, pooled: 0, charged_peak: 64 });
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
    fn cached_blocks_count_towards_the_limit() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, 1000).unwrap();
        drop(allocator.alloc(900).unwrap());
        let _other = allocator.alloc(500).unwrap();
        assert_eq!(allocator.stats(), MemoryStats { used: 512, peak: 960, pooled: 0, charged_peak: 960 });
    }

    #[test]
    fn reservations_count_and_may_outlive_their_allocator() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, 1000).unwrap();
        drop(allocator.alloc(900).unwrap());
        let held = allocator.reserve(700).unwrap();
        assert_eq!(allocator.stats(), MemoryStats { used: 0, peak: 960, pooled: 0, charged_peak: 960 });
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
                        // SAFETY: the block belongs to this thread.
                        unsafe { block.as_ptr().write_bytes(thread as u8, block.size()) };
                    }
                });
            }
        });
        assert_eq!(allocator.stats().used, 0);
    }
}
