//! Forks: a child process has a single thread, a copy of the forking one.
//!
//! A lock that another thread held would stay locked in the child forever, over data in an unknown state. So the
//! forking thread takes all locks first: those of allocators, programs and process-wide tables. They are held for a few
//! instructions and never across a call, so this does not wait for work. Parent and child release them. The pool's
//! threads do not exist in the child: it starts workers of its own at first use (`parallel`).
//!
//! State that one thread uses at a time is not covered: a child must not use a KV cache or a stateful call that another
//! thread was changing, and it cannot continue a parallel loop that was running on several threads.
use crate::vm::Programs;
use crate::{memory, module, parallel, reflect, registry, vm};
use std::any::Any;
use std::cell::RefCell;
use std::sync::Once;

/// Guards of locks.
pub(crate) type Guards = Vec<Box<dyn Any>>;

thread_local! {
    /// Locks that the forking thread holds.
    static HELD_LOCKS: RefCell<Option<(Guards, Programs)>> = const { RefCell::new(None) };
}

/// Installs the fork handlers. Called before there is a lock that another thread may hold.
pub(crate) fn prepare() {
    static PREPARED: Once = Once::new();
    // SAFETY: the functions may be called at any fork, as long as this library is loaded. If there is no memory for the
    // entry, forks are unprotected.
    PREPARED.call_once(|| _ = unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) });
}

extern "C" fn before() {
    let mut guards = Guards::new();
    registry::take_locks(&mut guards);
    module::take_locks(&mut guards);
    reflect::take_locks(&mut guards);
    let programs = vm::take_locks(&mut guards);
    // Last, because holders of other locks allocate and free.
    memory::take_locks(&mut guards);
    // A thread that is about to exit forks without locks.
    let _ = HELD_LOCKS.try_with(|taken| *taken.borrow_mut() = Some((guards, programs)));
}

extern "C" fn in_parent() {
    release_locks();
}

extern "C" fn in_child() {
    parallel::reset_after_fork();
    vm::reset_after_fork();
    release_locks();
}

fn release_locks() {
    if let Ok(Some((mut guards, programs))) = HELD_LOCKS.try_with(RefCell::take) {
        while let Some(last) = guards.pop() {
            drop(last);
        }
        // Dropping the last reference to a program takes locks.
        drop(programs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Allocator, AllocatorKind};
    use crate::value::{Device, Function};
    use std::collections::HashSet;
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Barrier, Mutex};
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
        prepare();
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
        while_another_has(
            || {
                let mut guards = Guards::new();
                registry::take_locks(&mut guards);
                module::take_locks(&mut guards);
                reflect::take_locks(&mut guards);
                let programs = vm::take_locks(&mut guards);
                (guards, programs)
            },
            || {
                assert!(in_a_child(|| {
                    registry::register("test.fork", Function::new(|_| Ok(1i64.into())));
                    registry::get("test.fork").is_some()
                }));
            },
        );
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
