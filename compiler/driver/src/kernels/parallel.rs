//! A parallel map over kernels.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering::Relaxed},
};

/// Applies `f` to every item on up to `threads` threads. Returns the results in order, or the first error in order. After
/// an error, no further items are started.
pub fn in_parallel<T: Sync, R: Send, E: Send>(
    items: &[T],
    threads: usize,
    f: impl Fn(&T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    if threads < 2 || items.len() < 2 {
        return items.iter().map(f).collect();
    }
    let next = Mutex::new(items.iter().enumerate());
    let failed = AtomicBool::new(false);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            // Same stack size as the main thread: kernels are trees and walked recursively.
            let worker = std::thread::Builder::new().stack_size(64 << 20);
            let work = || {
                while !failed.load(Relaxed)
                    && let Some((i, item)) = next.lock().ok().and_then(|mut n| n.next())
                {
                    let result = f(item);
                    failed.fetch_or(result.is_err(), Relaxed);
                    results.lock().map(|mut r| r.push((i, result))).ok();
                }
            };
            if worker.spawn_scoped(scope, work).is_err() {
                break;
            }
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    // Items that no thread took, because none could be started, run here.
    if !failed.into_inner() {
        let rest = next.into_inner().into_iter().flatten();
        results.extend(rest.map(|(i, item)| (i, f(item))));
    }
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, r)| r).collect()
}
