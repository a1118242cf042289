//! No damaged text makes the reader, the verifier or the printer panic or hang; modules read from damaged texts print
//! to texts that read back as the same.
//!
//! Every case is derived from its number alone. `MUTATION=12345 cargo test -p hammock-import --test mutations` runs one
//! and shows its text; `MUTATIONS=1000000` runs that many.

mod damage;
mod sections;
mod survive;

use damage::Corpus;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use survive::{survive, survive_metadata};

/// Cases of one run.
const CASES: u64 = 20_000;
/// Cases of one run of metadata sections, which are few and short.
const SECTIONS: u64 = 4_000;
/// Maximum time of a case, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);
/// The command line's stack size: trees are as deep as the parser allows.
const STACK: usize = 512 << 20;

#[test]
fn damaged_texts_are_refused_or_read() {
    run(Corpus::load(), CASES, survive);
}

#[test]
fn damaged_metadata_is_refused_or_read() {
    let body = |bytes: Vec<u8>| survive_metadata(&String::from_utf8_lossy(&bytes));
    sections::all().into_iter().for_each(|section| body(section.into_bytes()));
    run(Corpus::of(sections::all()), SECTIONS, body);
}

fn run(corpus: Corpus, cases: u64, body: fn(Vec<u8>)) {
    if let Ok(number) = std::env::var("MUTATION") {
        let bytes = corpus.damaged(number.parse().unwrap());
        eprintln!("{}", String::from_utf8_lossy(&bytes));
        thread::scope(|s| thread::Builder::new().stack_size(STACK).spawn_scoped(s, || body(bytes)).unwrap().join())
            .unwrap();
        return;
    }
    let cases = std::env::var("MUTATIONS").map_or(cases, |n| n.parse().unwrap());
    let run = Run { corpus, cases, body, next: AtomicU64::new(0), failures: Mutex::default() };
    let workers = thread::available_parallelism().map_or(2, |n| n.get());
    let running: Vec<Mutex<Option<(u64, Instant)>>> = (0..workers).map(|_| Mutex::default()).collect();
    thread::scope(|scope| {
        for slot in &running {
            let run = &run;
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || run.work(slot)).unwrap();
        }
        while run.next.load(Ordering::Relaxed) < cases + workers as u64 {
            thread::sleep(Duration::from_millis(50));
            running.iter().for_each(watch);
        }
    });
    let failures = run.failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {cases} cases failed:\n{}", failures.len(), failures.join("\n"));
}

/// Ends the process if a case hangs: threads cannot be stopped.
fn watch(slot: &Mutex<Option<(u64, Instant)>>) {
    if let Some((number, since)) = *slot.lock().unwrap()
        && since.elapsed() > LIMIT
    {
        eprintln!("case {number} does not end: try MUTATION={number}");
        std::process::abort();
    }
}

struct Run {
    corpus: Corpus,
    cases: u64,
    body: fn(Vec<u8>),
    next: AtomicU64,
    failures: Mutex<Vec<String>>,
}

impl Run {
    fn work(&self, slot: &Mutex<Option<(u64, Instant)>>) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.cases {
                *slot.lock().unwrap() = None;
                return;
            }
            *slot.lock().unwrap() = Some((number, Instant::now()));
            let bytes = self.corpus.damaged(number);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (self.body)(bytes))) {
                let what = panic.downcast_ref::<String>().map(String::as_str);
                let what = what.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
                self.failures.lock().unwrap().push(format!("MUTATION={number}: {what}"));
            }
        }
    }
}
