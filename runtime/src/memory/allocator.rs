//! Allocators: one per device and program, handing out blocks that return to it when dropped.
//!
//! *Naive* goes to the device for every block. *Pooled* keeps returned blocks and hands them out again, so that a
//! program that runs over and over stops asking the system after the first run. Both count, and refuse to go over
//! their limit.
use super::ALIGNMENT;
use crate::device::{self, DeviceApi};
use crate::ffi::{Error, kind};
use crate::value::Device;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
}

/// Hands out memory of one device.
pub struct Allocator {
    api: &'static dyn DeviceApi,
    kind: AllocatorKind,
    limit: usize,
    used: AtomicUsize,
    peak: AtomicUsize,
    pool: Mutex<Pool>,
}

/// Returned blocks by size.
#[derive(Default)]
struct Pool {
    free: BTreeMap<usize, Vec<Data>>,
    bytes: usize,
}

struct Data(NonNull<u8>);

// SAFETY: a free block is plain memory that nobody else refers to.
unsafe impl Send for Data {}

/// Memory that returns to its allocator when dropped.
pub struct Block {
    data: NonNull<u8>,
    size: usize,
    allocator: Arc<Allocator>,
}

// SAFETY: a block is plain memory; who may write it is its holders' agreement.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Allocator {
    /// An allocator for `device` that hands out at most `limit` bytes at a time.
    pub fn new(device: Device, kind: AllocatorKind, limit: usize) -> Result<Arc<Allocator>, Error> {
        let api = device::find(device)?;
        let (used, peak, pool) = Default::default();
        Ok(Arc::new(Allocator { api, kind, limit, used, peak, pool }))
    }

    /// The device.
    pub fn device(&self) -> Device {
        self.api.device()
    }

    /// A block of at least `bytes` bytes, aligned to 64. Its contents are unspecified but initialized.
    pub fn alloc(self: &Arc<Self>, bytes: usize) -> Result<Block, Error> {
        let size = size_class(bytes).ok_or_else(|| self.exhausted(bytes))?;
        self.count(size, bytes)?;
        let data = self.take_pooled(size).or_else(|| self.api.allocate(size)).or_else(|| {
            self.clear();
            self.api.allocate(size)
        });
        match data {
            Some(data) => Ok(Block { data, size, allocator: self.clone() }),
            None => {
                self.used.fetch_sub(size, Relaxed);
                Err(self.exhausted(bytes))
            }
        }
    }

    /// What is in use now, and what was at most.
    pub fn stats(&self) -> MemoryStats {
        MemoryStats { used: self.used.load(Relaxed), peak: self.peak.load(Relaxed), pooled: self.pool().bytes }
    }

    /// Forgets the peak: from now on, the most in use is what is in use.
    pub fn reset_peak(&self) {
        self.peak.store(self.used.load(Relaxed), Relaxed);
    }

    /// Gives what is kept for reuse back to the device.
    pub fn clear(&self) {
        let pool = std::mem::take(&mut *self.pool());
        for (size, blocks) in pool.free {
            for Data(data) in blocks {
                // SAFETY: allocated by this device with this size, and free.
                unsafe { self.api.free(data, size) };
            }
        }
    }

    fn count(&self, size: usize, bytes: usize) -> Result<(), Error> {
        let used = self.used.fetch_add(size, Relaxed).saturating_add(size);
        if used > self.limit {
            self.used.fetch_sub(size, Relaxed);
            return Err(self.over_limit(bytes));
        }
        self.peak.fetch_max(used, Relaxed);
        Ok(())
    }

    fn take_pooled(&self, size: usize) -> Option<NonNull<u8>> {
        if self.kind == AllocatorKind::Naive {
            return None;
        }
        let mut pool = self.pool();
        let Data(data) = pool.free.get_mut(&size)?.pop()?;
        pool.bytes -= size;
        Some(data)
    }

    fn give_back(&self, data: NonNull<u8>, size: usize) {
        self.used.fetch_sub(size, Relaxed);
        match self.kind {
            // SAFETY: allocated by this device with this size, and dropped by its holder.
            AllocatorKind::Naive => unsafe { self.api.free(data, size) },
            AllocatorKind::Pooled => {
                let mut pool = self.pool();
                pool.bytes += size;
                pool.free.entry(size).or_default().push(Data(data));
            }
        }
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn over_limit(&self, bytes: usize) -> Error {
        let (device, used, limit) = (self.device(), self.used.load(Relaxed), self.limit);
        let message = format!("{bytes} bytes on {device} would exceed the limit of {limit} ({used} are in use)");
        Error::new(kind::MEMORY, message)
    }

    fn exhausted(&self, bytes: usize) -> Error {
        Error::new(kind::MEMORY, format!("out of memory: cannot allocate {bytes} bytes on {}", self.device()))
    }
}

impl Drop for Allocator {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Sizes are rounded up so that nearby sizes share blocks: to whole lines, and above 4 KiB to an eighth of the
/// power of two below.
fn size_class(bytes: usize) -> Option<usize> {
    let step = if bytes <= 4096 { ALIGNMENT } else { 1 << (bytes.ilog2() - 3) };
    bytes.max(1).checked_next_multiple_of(step).filter(|size| isize::try_from(*size).is_ok())
}

impl Block {
    /// The first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    /// The number of bytes, at least what was asked for.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Where the memory is.
    pub fn device(&self) -> Device {
        self.allocator.device()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.allocator.give_back(self.data, self.size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooled_blocks_are_reused_and_counted() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, usize::MAX).unwrap();
        let first = allocator.alloc(100).unwrap();
        let address = first.as_ptr();
        assert_eq!(address.addr() % ALIGNMENT, 0);
        assert_eq!(allocator.stats(), MemoryStats { used: 128, peak: 128, pooled: 0 });
        drop(first);
        assert_eq!(allocator.stats(), MemoryStats { used: 0, peak: 128, pooled: 128 });
        assert_eq!(allocator.alloc(65).unwrap().as_ptr(), address);
        allocator.clear();
        allocator.reset_peak();
        assert_eq!(allocator.stats(), MemoryStats { used: 0, peak: 0, pooled: 0 });
    }

    #[test]
    fn naive_blocks_go_back_at_once() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Naive, usize::MAX).unwrap();
        drop(allocator.alloc(1).unwrap());
        assert_eq!(allocator.stats(), MemoryStats { used: 0, peak: 64, pooled: 0 });
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
    fn size_classes_waste_at_most_an_eighth() {
        for bytes in [0, 1, 64, 65, 4096, 4097, 100_000, 1 << 30] {
            let size = size_class(bytes).unwrap();
            assert!(size >= bytes.max(1) && size <= bytes + bytes / 8 + 64 && size.is_multiple_of(ALIGNMENT));
        }
    }
}
