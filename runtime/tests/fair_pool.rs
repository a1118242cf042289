//! Callers that share the pool all make progress. The pool is global, so this is a separate test program with one test.
use hammock_runtime::parallel;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Number of regions that each caller completes in a fixed time, and number of all chunks that ran on workers.
fn race(callers: usize) -> (Vec<usize>, usize) {
    let (over, start) = (AtomicBool::new(false), Barrier::new(callers + 1));
    let helped = AtomicUsize::new(0);
    let caller = || {
        let (me, mut regions) = (thread::current().id(), 0);
        start.wait();
        while !over.load(Relaxed) {
            parallel::for_each(16, 1, |chunk| {
                helped.fetch_add(usize::from(thread::current().id() != me), Relaxed);
                (0..(chunk.end - chunk.start) * 500).for_each(|n| _ = black_box(n));
            });
            regions += 1;
        }
        regions
    };
    let counts = thread::scope(|scope| {
        let callers: Vec<_> = (0..callers).map(|_| scope.spawn(caller)).collect();
        start.wait();
        thread::sleep(Duration::from_millis(200));
        over.store(true, Relaxed);
        callers.into_iter().map(|caller| caller.join().unwrap()).collect()
    });
    (counts, helped.into_inner())
}

#[test]
fn callers_of_one_pool_all_get_on() {
    for (threads, callers) in [(2, 2), (2, 4), (4, 3), (3, 8)] {
        parallel::set_threads(threads);
        // Other programs may keep a thread from running for a while, but not repeatedly.
        let mut seen = Vec::new();
        let fair = (0..5).any(|_| {
            let (counts, _) = race(callers);
            let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
            seen.push(counts);
            least.zip(most).is_some_and(|(least, most)| least * 2 >= most)
        });
        assert!(fair, "{callers} callers with {threads} threads: {seen:?}");
    }
    // A single caller gets workers.
    parallel::set_threads(3);
    assert!((0..5).any(|_| race(1).1 > 0));
}
