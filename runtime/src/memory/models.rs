//! Loom models of the lock and the allocators, explored in every interleaving.
use super::allocator::{Allocator, AllocatorKind, Block, MemoryStats};
use super::buffer;
use super::lock::Lock;
use crate::device::{DeviceApi, Event, Stream};
use crate::ffi::Error;
use crate::sync::UnsafeCell;
use crate::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::sync::thread;
use crate::value::Device;
use loom::model::Builder;
use std::ptr::NonNull;
use std::sync::Arc;

/// Size of the smallest block.
const LINE: usize = 64;

/// A device that checks its use: every block begins with a cell that loom checks.
struct Watched {
    limit: usize,
    taken: AtomicUsize,
}

impl DeviceApi for Watched {
    fn device(&self) -> Device {
        Device::CPU
    }

    fn default_memory_limit(&self) -> usize {
        usize::MAX
    }

    fn allocate(&self, bytes: usize) -> Result<Option<NonNull<u8>>, Error> {
        let taken = self.taken.fetch_add(bytes, Relaxed) + bytes;
        assert!(taken <= self.limit, "{taken} bytes are taken, more than the limit");
        let Some(data) = buffer::allocate(bytes) else { return Ok(None) };
        const { assert!(size_of::<UnsafeCell<u32>>() <= LINE) }
        // SAFETY: the block has room for the cell.
        unsafe { data.cast::<UnsafeCell<u32>>().write(UnsafeCell::new(0)) };
        Ok(Some(data))
    }

    unsafe fn free(&self, data: NonNull<u8>, bytes: usize) {
        // SAFETY: `allocate` wrote the cell.
        unsafe { data.cast::<UnsafeCell<u32>>().as_ref().get().write(0) };
        // SAFETY: as the caller promises.
        unsafe { buffer::free(data, bytes) }
        self.taken.fetch_sub(bytes, Relaxed);
    }

    fn create_stream(&self) -> Result<Box<dyn Stream>, Error> {
        unreachable!("models do not copy")
    }

    fn create_event(&self) -> Result<Box<dyn Event>, Error> {
        unreachable!("models do not measure time")
    }
}

/// Uses a block; loom checks that no other thread does.
fn touch(block: &Block) {
    // SAFETY: the device wrote the cell; loom checks that nobody else uses the block.
    unsafe { *block.as_ptr().cast::<UnsafeCell<u32>>().as_ref().unwrap().get() += 1 };
}

/// Explores all interleavings of threads that use an allocator, with a bounded number of involuntary switches.
fn check(
    kind: AllocatorKind,
    limit: usize,
    switches: usize,
    model: impl Fn(Arc<Allocator>, &'static Watched) + Sync + Send + 'static,
) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(switches);
    builder.check(move || {
        let device: &'static Watched = Box::leak(Box::new(Watched { limit, taken: AtomicUsize::new(0) }));
        model(Arc::new(Allocator::on(device, kind, limit)), device);
    });
}

/// Runs the bodies on two threads with an allocator, and joins them.
fn both<F: Fn(&Allocator) + Send + 'static>(allocator: &Arc<Allocator>, bodies: [F; 2]) {
    let threads = bodies.map(|body| {
        let allocator = allocator.clone();
        thread::spawn(move || body(&allocator))
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Allocates a block, uses it and frees it.
fn take_and_return(allocator: &Allocator, bytes: usize) -> bool {
    let block = allocator.alloc(bytes);
    block.iter().for_each(touch);
    block.is_ok()
}

#[test]
fn the_lock_lets_one_in() {
    loom::model(|| {
        let count = Arc::new(Lock::new(0));
        let other = count.clone();
        let thread = thread::spawn(move || *other.lock() += 1);
        *count.lock() += 1;
        thread.join().unwrap();
        assert_eq!(*count.lock(), 2);
    });
}

#[test]
fn no_block_is_given_out_twice() {
    check(AllocatorKind::Pooled, 2 * LINE, 2, |allocator, device| {
        let twice = |allocator: &Allocator| (0..2).for_each(|_| assert!(take_and_return(allocator, 1)));
        both(&allocator, [twice; 2]);
        let MemoryStats { used, peak, pooled, .. } = allocator.stats();
        let taken = device.taken.load(Relaxed);
        assert_eq!((used, pooled), (0, taken));
        assert!((LINE..=2 * LINE).contains(&peak) && peak == taken);
    });
}

#[test]
fn limits_hold_at_every_moment() {
    for kind in [AllocatorKind::Naive, AllocatorKind::Pooled] {
        // Each block fits the limit, both together do not.
        check(kind, 3 * LINE, 3, |allocator, device| {
            let body = |lines: usize| {
                move |allocator: &Allocator| {
                    take_and_return(allocator, lines * LINE);
                }
            };
            both(&allocator, [body(2), body(3)]);
            assert!(take_and_return(&allocator, LINE), "nothing else is in use");
            let MemoryStats { used, pooled, .. } = allocator.stats();
            assert_eq!((used, pooled), (0, device.taken.load(Relaxed)));
        });
    }
}

#[test]
fn cached_blocks_are_released_for_others() {
    // One thread's block only fits after cached blocks are released; the other can use a cached block.
    check(AllocatorKind::Pooled, 4 * LINE, 2, |allocator, device| {
        assert!(take_and_return(&allocator, 2 * LINE));
        let body =
            |lines: usize| move |allocator: &Allocator| assert!(take_and_return(allocator, lines * LINE) || lines == 3);
        both(&allocator, [body(3), body(1)]);
        let MemoryStats { used, pooled, .. } = allocator.stats();
        assert_eq!((used, pooled), (0, device.taken.load(Relaxed)));
    });
}

#[test]
fn trimming_frees_cached_blocks() {
    check(AllocatorKind::Pooled, 2 * LINE, 3, |allocator, device| {
        let body = |trims: bool| {
            move |allocator: &Allocator| match trims {
                true => allocator.clear(),
                false => assert!(take_and_return(allocator, 1)),
            }
        };
        assert!(take_and_return(&allocator, 1));
        both(&allocator, [body(true), body(false)]);
        allocator.clear();
        assert_eq!((allocator.stats().used, allocator.stats().pooled, device.taken.load(Relaxed)), (0, 0, 0));
    });
}

#[test]
fn the_last_block_or_the_allocator_cleans_up() {
    for kind in [AllocatorKind::Naive, AllocatorKind::Pooled] {
        check(kind, 2 * LINE, 3, |allocator, device| {
            let (first, second) = (allocator.alloc(1).unwrap(), allocator.alloc(1).unwrap());
            let thread = thread::spawn(move || {
                touch(&first);
                drop(first);
            });
            drop(allocator);
            touch(&second);
            drop(second);
            thread.join().unwrap();
            assert_eq!(device.taken.load(Relaxed), 0);
        });
    }
}
