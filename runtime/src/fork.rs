//! Forks: a child process has a single thread, a copy of the forking one.
//!
//! A lock that another thread held would stay locked in the child forever, over data in an unknown state. So the
//! forking thread takes all locks first: those of allocators, programs and process-wide tables. They are held for a few
//! instructions and never across a call, so this does not wait for work. Parent and child release them. The pool's
//! threads do not exist in the child: it starts workers of its own at first use (`parallel`).
//!
//! Whatever has locks or threads registers a [`ForkHandler`] before it uses them; a process-wide [`Table`] does so
//! itself. Nothing is done for forks under loom and miri.
//!
//! Values that are computed at first use are computed without a lock ([`LazyNumber`]).
//!
//! State that one thread uses at a time is not covered: a child must not use a KV cache or a stateful call that another
//! thread was changing, and it cannot continue a parallel loop that was running on several threads.
use std::any::Any;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A part of the runtime with locks or threads, as it handles forks.
pub(crate) trait ForkHandler: Sync {
    /// Takes its locks before the process forks.
    fn take_locks(&'static self, _guards: &mut Guards) {}

    /// Replaces what does not exist in a forked child, whose only thread holds all locks.
    fn reset_in_child(&self) {}
}

/// Order in which locks are taken: whoever holds a lock may take those of later stages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Process-wide tables, and threads.
    Tables,
    /// Programs.
    Programs,
    /// Allocators: holders of other locks allocate and free.
    Allocators,
}

/// The registered handlers, by stage.
static HANDLERS: Mutex<Vec<(Stage, &'static dyn ForkHandler)>> = Mutex::new(Vec::new());

fn handlers() -> MutexGuard<'static, Vec<(Stage, &'static dyn ForkHandler)>> {
    HANDLERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a handler, once, as `registered` notes: before a thread holds one of its locks, or it starts a thread.
///
/// The note is set under the list's lock, which a forking thread holds, so a child finds both as they should be.
pub(crate) fn register(registered: &AtomicBool, stage: Stage, handler: &'static dyn ForkHandler) {
    if cfg!(any(loom, miri)) || registered.load(Acquire) {
        return;
    }
    let mut handlers = handlers();
    if handlers.is_empty() {
        // SAFETY: the functions may be called at any fork, as long as this library is loaded. If there is no memory for
        // the entry, forks are unprotected.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    }
    if !registered.load(Relaxed) {
        let position = handlers.partition_point(|(other, _)| *other <= stage);
        handlers.insert(position, (stage, handler));
        registered.store(true, Release);
    }
}

/// A positive number that is computed at first use, by each thread that needs it before it is known: a thread that waited
/// for another to compute it would wait forever in a forked child, which has no other.
pub(crate) struct LazyNumber(AtomicUsize);

impl LazyNumber {
    /// A number that is not known yet.
    pub(crate) const fn new() -> LazyNumber {
        LazyNumber(AtomicUsize::new(0))
    }

    /// The number; `compute` always returns the same.
    pub(crate) fn get(&self, compute: impl FnOnce() -> usize) -> usize {
        match self.0.load(Relaxed) {
            0 => {
                let number = compute();
                self.0.store(number, Relaxed);
                number
            }
            known => known,
        }
    }
}

/// Guards of locks.
#[derive(Default)]
pub(crate) struct Guards {
    locks: Vec<Box<dyn Any>>,
    /// Owners of some of the locks.
    owners: Vec<Arc<dyn Any>>,
}

impl Guards {
    /// Adds a lock.
    pub(crate) fn push(&mut self, lock: impl Any) {
        self.locks.push(Box::new(lock));
    }

    /// Keeps the owner of locks alive until all locks are released, since dropping it may take some.
    pub(crate) fn keep(&mut self, owner: Arc<dyn Any>) {
        self.owners.push(owner);
    }
}

impl Drop for Guards {
    fn drop(&mut self) {
        while let Some(last) = self.locks.pop() {
            drop(last);
        }
    }
}

/// All handlers, with their locks held.
struct HeldLocks {
    handlers: Vec<(Stage, &'static dyn ForkHandler)>,
    _guards: Guards,
}

impl HeldLocks {
    /// Takes all locks. That of the list comes last, because a handler may be registered while locks are held.
    fn take() -> HeldLocks {
        loop {
            let (known, mut guards) = (handlers().clone(), Guards::default());
            known.iter().for_each(|(_, handler)| handler.take_locks(&mut guards));
            let now = handlers();
            if now.len() == known.len() {
                guards.push(now);
                return HeldLocks { handlers: known, _guards: guards };
            }
        }
    }
}

thread_local! {
    /// The locks that the forking thread holds.
    static HELD: RefCell<Option<HeldLocks>> = const { RefCell::new(None) };
}

extern "C" fn before() {
    // A thread that is about to exit forks without locks.
    let _ = HELD.try_with(|held| *held.borrow_mut() = Some(HeldLocks::take()));
}

extern "C" fn in_parent() {
    drop(HELD.try_with(RefCell::take));
}

extern "C" fn in_child() {
    let held = HELD.try_with(RefCell::take).ok().flatten();
    let handlers = match &held {
        Some(held) => held.handlers.clone(),
        None => HANDLERS.try_lock().map(|handlers| handlers.clone()).unwrap_or_default(),
    };
    handlers.iter().for_each(|(_, handler)| handler.reset_in_child());
}

/// A process-wide table behind a lock, which is free in a forked child.
pub(crate) struct Table<T> {
    lock: RwLock<T>,
    registered: AtomicBool,
}

impl<T: Send + Sync + 'static> Table<T> {
    /// A table with these contents.
    pub(crate) const fn new(contents: T) -> Table<T> {
        Table { lock: RwLock::new(contents), registered: AtomicBool::new(false) }
    }

    /// The contents, for reading.
    pub(crate) fn read(&'static self) -> RwLockReadGuard<'static, T> {
        register(&self.registered, Stage::Tables, self);
        self.lock.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The contents, for writing.
    pub(crate) fn write(&'static self) -> RwLockWriteGuard<'static, T> {
        register(&self.registered, Stage::Tables, self);
        self.lock.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Send + Sync + 'static> ForkHandler for Table<T> {
    fn take_locks(&'static self, guards: &mut Guards) {
        guards.push(self.lock.write().unwrap_or_else(PoisonError::into_inner));
    }
}

#[cfg(test)]
#[cfg(not(any(loom, miri)))]
mod tests {
    use super::*;
    use crate::memory::{Allocator, AllocatorKind};
    use crate::value::{Device, Function};
    use crate::{parallel, registry};
    use std::collections::HashSet;
    use std::sync::Barrier;
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::{Duration, Instant};

    /// Runs `body` in a child process; returns true if it finished and returned true.
    fn in_a_child(body: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child runs `body` and exits at once, without the program's exit handlers.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let content = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(false);
            // SAFETY: a plain system call.
            unsafe { libc::_exit(i32::from(!content)) };
        }
        let (late, mut status) = (Instant::now() + Duration::from_mins(1), 0);
        // SAFETY: plain system calls on a child of this process.
        unsafe {
            while libc::waitpid(child, &raw mut status, libc::WNOHANG) == 0 {
                if Instant::now() > late {
                    libc::kill(child, libc::SIGKILL);
                    libc::waitpid(child, &raw mut status, 0);
                    return false;
                }
                thread::sleep(Duration::from_millis(1));
            }
        }
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
    }

    /// Number of threads of a loop whose iterations wait for each other.
    fn threads_of_a_loop() -> usize {
        let (seen, late) = (Mutex::new(HashSet::new()), Instant::now() + Duration::from_secs(20));
        parallel::for_each(2, 1, |_| {
            seen.lock().unwrap().insert(thread::current().id());
            while seen.lock().unwrap().len() < 2 && Instant::now() < late {
                thread::yield_now();
            }
        });
        seen.into_inner().unwrap().len()
    }

    /// Runs `body` while another thread holds `lock`.
    fn while_another_has<R>(lock: impl Fn() -> R + Send, body: impl FnOnce()) {
        thread::scope(|scope| {
            let (taken, wait) = channel();
            scope.spawn(move || {
                let guard = lock();
                taken.send(()).unwrap();
                thread::sleep(Duration::from_millis(50));
                drop(guard);
            });
            wait.recv().unwrap();
            body();
        });
    }

    /// In processes without the threads of other tests.
    #[test]
    fn children_of_warm_parents_have_workers_of_their_own() {
        let is_parallel = || threads_of_a_loop() == 2;
        assert!(in_a_child(|| {
            parallel::set_threads(2);
            let is_warm = is_parallel();
            is_warm && in_a_child(|| is_parallel() && in_a_child(is_parallel) && is_parallel()) && is_parallel()
        }));
    }

    #[test]
    fn locks_that_other_threads_hold_are_free_in_a_child() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, usize::MAX).unwrap();
        while_another_has(
            || allocator.lock(),
            || {
                assert!(in_a_child(
                    || allocator.alloc(64).is_ok() && Allocator::new(Device::CPU, AllocatorKind::Naive, 1).is_ok()
                ))
            },
        );
        assert!(registry::get("test.fork").is_none());
        while_another_has(HeldLocks::take, || {
            assert!(in_a_child(|| {
                registry::register("test.fork", Function::new(|_| Ok(1i64.into())));
                registry::get("test.fork").is_some()
            }));
        });
    }

    /// Children of a process whose threads allocate and open loops all the time.
    #[test]
    fn children_of_busy_parents_compute() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Pooled, usize::MAX).unwrap();
        let (start, end) = (Barrier::new(3), Arc::new(std::sync::atomic::AtomicBool::new(false)));
        let work = || {
            let sum = std::sync::atomic::AtomicI64::new(0);
            parallel::for_each(64, 1, |range| _ = sum.fetch_add(range.sum(), std::sync::atomic::Ordering::Relaxed));
            allocator.alloc(100).is_ok() && registry::get("test.none").is_none() && sum.into_inner() == 2016
        };
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    start.wait();
                    while !end.load(std::sync::atomic::Ordering::Relaxed) {
                        assert!(work());
                    }
                });
            }
            start.wait();
            let all = (0..20).all(|_| in_a_child(work));
            end.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(all);
        });
    }
}
