//! Scratch memory of kernels.
//!
//! Kernels release scratch memory in reverse order of allocation, so each thread that runs kernels has a stack of
//! scratch memory, in a block of the allocator of the program that it works for. The stack belongs to the virtual
//! machine whose call the thread runs, or to the parallel loop that it works on. A kernel that is called outside of a
//! program uses the thread's own stack, whose block is released when the kernel returns; a virtual machine retains its
//! block for the next call. So scratch memory counts like any other, in use or idle, and idle scratch memory is
//! released before an allocation fails.
//!
//! A stack that outgrows its block continues in a second one. Stacks that are created for the same program afterwards
//! start with a block for everything, so a program holds as much as its kernels need at once, not one block per
//! requested size. Pool workers need less than threads that call kernels, so their initial size is tracked separately.
use super::ALIGNMENT;
use super::allocator::{Allocator, AllocatorKind, Block};
use super::meter::{self, Account};
use crate::value::Device;
use std::cell::Cell;
use std::ptr::{from_ref, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};

/// A stack of scratch memory.
pub(crate) struct Workspace {
    /// Start and end of the block, and top of the stack; null if there is no block.
    base: Cell<*mut u8>,
    top: Cell<*mut u8>,
    end: Cell<*mut u8>,
    /// Start of the block if it is released as soon as it is empty, otherwise null.
    floor: Cell<*mut u8>,
    block: Cell<Option<Block>>,
    /// The rest of the stack, in a block that was too small for the allocations in this one.
    below: Cell<Option<Box<Workspace>>>,
}

/// Allocates on this thread's stack, aligned to [`ALIGNMENT`]; null if the system or the program's limit has no room.
#[inline]
pub(crate) fn alloc(bytes: u64) -> *mut u8 {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).max(1);
    current(|workspace| workspace.alloc(bytes))
}

/// Releases the last live result of [`alloc`] on this thread.
#[inline]
pub(crate) fn free(piece: *mut u8) {
    current(|workspace| workspace.free(piece));
}

/// Releases this thread's block if it is idle; returns true if there was one.
pub(crate) fn release_idle() -> bool {
    current(Workspace::release)
}

/// The stack of kernels on this thread.
#[inline]
fn current<R>(f: impl FnOnce(&Workspace) -> R) -> R {
    // SAFETY: `within` sets the address only while it borrows the stack.
    meter::workspace(|set, own| f(unsafe { set.get().as_ref() }.unwrap_or(own)))
}

impl Workspace {
    /// A stack without a block.
    pub(crate) const fn new() -> Workspace {
        let [base, top, end, floor] = [const { Cell::new(null_mut()) }; 4];
        Workspace { base, top, end, floor, block: Cell::new(None), below: Cell::new(None) }
    }

    /// A stack in a block.
    fn on(block: Block) -> Workspace {
        let workspace = Workspace::new();
        let base = block.as_ptr();
        workspace.base.set(base);
        workspace.top.set(base);
        workspace.end.set(base.wrapping_add(block.size()));
        workspace.block.set(Some(block));
        workspace
    }

    /// Runs `body` with this stack for its kernels.
    #[inline]
    pub(crate) fn within<R>(&self, body: impl FnOnce() -> R) -> R {
        struct Restore(*const Workspace);
        impl Drop for Restore {
            fn drop(&mut self) {
                meter::workspace(|set, _| set.set(self.0));
            }
        }
        let _restore = Restore(meter::workspace(|set, _| set.replace(from_ref(self))));
        body()
    }

    /// Size of the block in bytes.
    pub(crate) fn size(&self) -> usize {
        self.end.get().addr() - self.base.get().addr()
    }

    #[inline]
    fn alloc(&self, bytes: usize) -> *mut u8 {
        let top = self.top.get();
        if bytes > self.end.get().addr() - top.addr() {
            return self.grow(bytes).unwrap_or(null_mut());
        }
        // Sizes are rounded up to whole lines.
        self.top.set(top.wrapping_add(bytes.next_multiple_of(ALIGNMENT)));
        top
    }

    #[inline]
    fn free(&self, piece: *mut u8) {
        self.top.set(piece);
        if self.top == self.floor {
            self.pop();
        }
    }

    /// Allocates from a new block.
    #[cold]
    fn grow(&self, bytes: usize) -> Option<*mut u8> {
        self.release();
        let (allocator, initial) = allocator()?;
        let (held, known) = (self.in_use(), initial.load(Relaxed));
        let whole = if held == 0 && known > bytes { allocator.alloc(known).ok() } else { None };
        let below = Workspace::on(whole.or_else(|| allocator.alloc(bytes).ok())?);
        initial.fetch_max(held + bytes, Relaxed);
        self.swap(&below);
        if held > 0 {
            self.below.set(Some(Box::new(below)));
        }
        if held > 0 || meter::workspace(|_, own| std::ptr::eq(self, own)) {
            self.floor.set(self.base.get());
        }
        Some(self.alloc(bytes))
    }

    /// Releases the empty block and continues in the smaller block below.
    #[cold]
    fn pop(&self) {
        let size = self.size();
        let below = self.below.take().map_or(const { Workspace::new() }, |below| *below);
        below.floor.set(below.base.get());
        self.swap(&below);
        drop(below);
        if let Some((allocator, initial)) = allocator()
            && size < initial.load(Relaxed)
        {
            // Blocks of this size will not be requested again.
            allocator.clear();
        }
    }

    /// Releases the block if it is empty; returns true if there was one.
    pub(crate) fn release(&self) -> bool {
        let is_idle = self.top == self.base && !self.base.get().is_null();
        if is_idle {
            self.pop();
        }
        is_idle
    }

    /// Bytes in use.
    fn in_use(&self) -> usize {
        let below = self.below.take();
        let bytes = below.as_ref().map_or(0, |below| below.in_use());
        self.below.set(below);
        bytes + (self.top.get().addr() - self.base.get().addr())
    }

    fn swap(&self, other: &Workspace) {
        self.base.swap(&other.base);
        self.top.swap(&other.top);
        self.end.swap(&other.end);
        self.floor.swap(&other.floor);
        self.block.swap(&other.block);
        self.below.swap(&other.below);
    }
}

/// The allocator of this thread's scratch memory, and the initial size of a stack.
fn allocator<'a>() -> Option<(&'a Allocator, &'a AtomicUsize)> {
    let account = Account::current();
    // SAFETY: the result is used at once.
    let allocator = unsafe { account.allocator() }.or_else(default_allocator)?;
    Some((allocator, allocator.workspace(account.is_worker())))
}

/// The allocator for threads outside of programs; `None` if there is no memory for it. A thread that waited for another to
/// make it would wait forever in a forked child.
fn default_allocator() -> Option<&'static Allocator> {
    static DEFAULT: AtomicPtr<Allocator> = AtomicPtr::new(null_mut());
    let known = DEFAULT.load(Acquire);
    let allocator = if known.is_null() {
        let new = Arc::into_raw(Allocator::new(Device::CPU, AllocatorKind::Pooled, usize::MAX).ok()?).cast_mut();
        match DEFAULT.compare_exchange(known, new, AcqRel, Acquire) {
            Ok(_) => new,
            Err(first) => {
                // SAFETY: the pointer came from `into_raw`, and nobody else has it.
                drop(unsafe { Arc::from_raw(new) });
                first
            }
        }
    } else {
        known
    };
    // SAFETY: not null, and never freed.
    Some(unsafe { &*allocator })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Cache;
    use crate::parallel;
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicU8;
    use std::sync::{Barrier, LazyLock, Mutex, Weak};

    const KB: u64 = 1 << 10;

    /// Runs work for a program on this thread.
    fn call<R>(allocator: &Allocator, work: impl FnOnce() -> R) -> R {
        let flag = AtomicU8::new(0);
        // SAFETY: allocator and flag outlive the work.
        let _call = unsafe { Account::new(allocator, &flag).enter() };
        let workspace = Workspace::new();
        workspace.within(work)
    }

    /// A program that retains only its threads' scratch memory.
    struct Program;

    impl Cache for Program {
        fn release_idle(&self) -> bool {
            release_idle()
        }
    }

    fn allocator(limit: u64) -> Arc<Allocator> {
        static PROGRAM: LazyLock<Arc<Program>> = LazyLock::new(|| Arc::new(Program));
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, limit as usize).unwrap();
        let program: Weak<Program> = Arc::downgrade(&PROGRAM);
        allocator.set_cache(program);
        allocator
    }

    /// A kernel with temporaries of these sizes; returns true if it got them.
    fn kernel(sizes: &[u64]) -> bool {
        let [size, rest @ ..] = sizes else { return true };
        let piece = alloc(*size);
        if piece.is_null() {
            return false;
        }
        assert!(piece.addr().is_multiple_of(ALIGNMENT));
        let (size, mark) = (*size as usize, rest.len() as u8);
        // SAFETY: the memory belongs to this kernel.
        unsafe { piece.write_bytes(mark, size) };
        let done = kernel(rest);
        // SAFETY: as above.
        assert!(unsafe { std::slice::from_raw_parts(piece, size) }.iter().all(|byte| *byte == mark));
        free(piece);
        done
    }

    #[test]
    fn a_program_holds_memory_for_one_kernel() {
        let allocator = allocator(u64::MAX / 2);
        for _ in 0..5 {
            call(&allocator, || {
                for sizes in [&[16 * KB][..], &[0, 1], &[100 * KB, 8 * KB, 20 * KB], &[64 * KB, 64 * KB], &[KB; 9]] {
                    assert!(kernel(sizes));
                }
            });
        }
        let held = 128 * KB as usize;
        let stats = allocator.stats();
        assert_eq!((stats.used, stats.pooled), (0, held), "one block, and not one for each size");
        allocator.reset_peak();
        call(&allocator, || assert!(kernel(&[100 * KB, 8 * KB, 20 * KB]) && kernel(&[64 * KB, 64 * KB])));
        assert_eq!(allocator.stats().charged_peak, held, "as much as it holds");
    }

    #[test]
    fn idle_memory_makes_room_and_busy_memory_does_not() {
        let allocator = allocator(100 * KB);
        call(&allocator, || {
            assert!(kernel(&[64 * KB]));
            assert_eq!(allocator.stats().used, 64 << 10, "the thread keeps it for the next kernel");
            drop(allocator.alloc(80 << 10).unwrap());
            assert!(kernel(&[64 * KB]) && allocator.reserve(80 << 10).is_ok());
            assert!(kernel(&[80 * KB]) && !kernel(&[101 * KB]));
            let piece = alloc(64 * KB);
            assert!(allocator.alloc(80 << 10).is_err() && allocator.reserve(80 << 10).is_err() && !kernel(&[80 * KB]));
            free(piece);
            let _other = allocator.alloc(80 << 10).unwrap();
            assert!(!kernel(&[64 * KB]) && kernel(&[16 * KB]), "though a larger one was known to be needed");
        });
        assert_eq!(allocator.stats().used, 0);
    }

    #[test]
    fn programs_within_programs_have_memory_of_their_own() {
        let (outer, inner) = (allocator(100 * KB), allocator(50 * KB));
        call(&outer, || {
            let piece = alloc(64 * KB);
            call(&inner, || assert!(kernel(&[40 * KB]) && !kernel(&[64 * KB])));
            assert_eq!((outer.stats().used, inner.stats().used), (64 << 10, 0));
            assert!(kernel(&[16 * KB]));
            free(piece);
        });
        assert_eq!(alloc(u64::MAX), null_mut());
        assert!(kernel(&[64 * KB, 64 * KB]), "nobody counts");
        assert_eq!(inner.stats().charged_peak, 40 << 10);
    }

    #[test]
    fn threads_have_memory_of_their_own() {
        let allocator = allocator(u64::MAX / 2);
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            for size in [16 * KB, 32 * KB] {
                let (allocator, both) = (&allocator, &both);
                scope.spawn(move || {
                    call(allocator, || {
                        assert!(kernel(&[32 * KB]) && kernel(&[size]));
                        both.wait();
                        assert_eq!(allocator.stats().used, 64 << 10);
                        both.wait();
                    });
                });
            }
        });
        let stats = allocator.stats();
        assert_eq!((stats.used, stats.pooled, stats.charged_peak), (0, 64 << 10, 64 << 10));
    }

    #[test]
    fn workers_count_apart() {
        let allocator = allocator(u64::MAX / 2);
        call(&allocator, || {
            for _ in 0..20 {
                let shared = alloc(496 * KB);
                let threads = Mutex::new(BTreeSet::new());
                parallel::for_each(64, 1, |_| {
                    assert!(kernel(&[16 * KB]));
                    threads.lock().unwrap().insert(format!("{:?}", std::thread::current().id()));
                });
                free(shared);
                let workers = threads.into_inner().unwrap().len() - 1;
                assert!(allocator.stats().used <= (512 + 16 * workers) << 10, "{workers}: {:?}", allocator.stats());
            }
        });
        assert_eq!(allocator.stats().used, 0);
        let most = 512 + 16 * (parallel::threads() - 1);
        assert!(allocator.stats().pooled <= most << 10, "{:?}", allocator.stats());
    }
}
