//! Overhead of a parallel region: opening it, running it on all threads, joining it.
//!
//! `empty` does no work. The others run the given number of nanoseconds of work on each thread; the difference between
//! measured and given time is the overhead. `callers` opens regions on several threads at once.

use criterion::{Criterion, criterion_group, criterion_main};
use hammock_runtime::parallel;
use std::{
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

/// Consecutive regions: workers stay awake between them.
const REGIONS: u64 = 1000;

/// Busy work that takes about the given number of nanoseconds.
fn work(nanoseconds: i64) {
    (0..nanoseconds).for_each(|n| {
        black_box(n);
    });
}

/// Time of `count` regions in which each thread works for the given number of nanoseconds.
fn regions(count: u64, nanoseconds: i64) -> Duration {
    let threads = parallel::threads() as i64;
    let begin = Instant::now();
    for _ in 0..count {
        parallel::for_each(threads * 8, 1, |chunk| work((chunk.end - chunk.start) * nanoseconds / 8));
    }
    begin.elapsed()
}

/// Like `regions`, split over several calling threads.
fn callers(callers: usize, count: u64, nanoseconds: i64) -> Duration {
    let begin = Instant::now();
    thread::scope(|scope| {
        for _ in 0..callers {
            scope.spawn(|| regions(count, nanoseconds));
        }
    });
    begin.elapsed()
}

fn benches(c: &mut Criterion) {
    parallel::set_threads(2);
    for (name, nanoseconds) in [("empty", 0), ("1us", 1000), ("10us", 10_000)] {
        c.bench_function(&format!("regions/{name}"), |b| {
            b.iter_custom(|count| regions(count * REGIONS, nanoseconds) / REGIONS as u32);
        });
    }
    c.bench_function("regions/alone/10us", |b| {
        b.iter_custom(|count| {
            let begin = Instant::now();
            (0..count).for_each(|_| work(2 * 10_000));
            begin.elapsed()
        });
    });
    for count in [1, 2, 3] {
        c.bench_function(&format!("regions/callers/{count}/10us"), |b| {
            b.iter_custom(|regions| callers(count, regions * REGIONS, 10_000) / REGIONS as u32);
        });
    }
}

criterion_group! {
    name = all;
    config = Criterion::default().sample_size(20).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_millis(600));
    targets = benches
}
criterion_main!(all);
