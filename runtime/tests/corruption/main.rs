//! Damaged executables: every file is rejected, or its calls end within their limits, with results or errors. `cargo
//! test --release -p hammock-runtime --test corruption -- --ignored --nocapture` tries every change of every byte and a
//! million changes of contents; without `--ignored`, a sample is tried.

mod examples;
mod mutate;

use examples::{Example, Outcome, TIMEOUT, examples};
use hammock_runtime::{Executable, executable::verify};
use mutate::{Mutant, Random};
use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    time::{Duration, Instant},
};

/// Maximum duration of a case: several times the timeout of a call, for busy machines.
const LONGEST: Duration = Duration::from_secs(5);

/// Maximum memory of this process in kB; tensors and frames of a program are limited to 20 MB.
const MAX_MEMORY: usize = 500_000;

/// Counts of outcomes.
#[derive(Default)]
struct Counts([AtomicUsize; 3]);

impl Counts {
    /// Runs a case, which must neither panic nor take too long.
    fn count(&self, what: &dyn Fn() -> String, case: impl FnOnce() -> Outcome) {
        let begin = Instant::now();
        let outcome = case();
        assert!(begin.elapsed() < LONGEST, "{} took {:?}", what(), begin.elapsed());
        assert_eq!(PANICS.load(Relaxed), 0, "{} panicked", what());
        self.0[outcome as usize].fetch_add(1, Relaxed);
    }

    fn report(&self, name: &str) {
        let [refused, failed, ran] = self.0.each_ref().map(|count| count.load(Relaxed));
        let (all, peak) = (refused + failed + ran, peak_memory());
        println!("{name}: {all} cases: {refused} refused, {failed} failed, {ran} ran; at most {peak} kB");
        assert!(peak < MAX_MEMORY, "{name}: {peak} kB");
    }
}

/// Peak memory of the process in kB, if the system reports it.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// Number of panics, including those that the runtime caught.
static PANICS: AtomicUsize = AtomicUsize::new(0);

fn watch_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Relaxed);
        before(info);
    }));
}

/// Runs `body` for indices below `count`, on two threads.
fn in_parallel(count: usize, body: impl Fn(usize) + Sync) {
    let body = &body;
    std::thread::scope(|scope| {
        for part in 0..2 {
            scope.spawn(move || (part..count).step_by(2).for_each(body));
        }
    });
}

#[test]
fn the_examples_run() {
    for example in examples() {
        // Without damage nothing ends at its limit, however busy the machine is.
        assert_eq!(example.outcome_of_bytes(&example.bytes, LONGEST), Outcome::Ran, "{}", example.name);
    }
}

#[test]
fn samples_of_changed_bytes_are_refused_or_end() {
    watch_panics();
    for example in examples() {
        changed_bytes(&example, 97);
        truncations(&example, 3);
    }
}

#[test]
fn samples_of_changed_contents_are_refused_or_end() {
    watch_panics();
    changed_contents(6_000);
}

#[test]
#[ignore = "takes minutes"]
fn every_changed_byte_is_refused_or_ends() {
    watch_panics();
    for example in examples() {
        changed_bytes(&example, 1);
        truncations(&example, 1);
    }
}

#[test]
#[ignore = "takes minutes"]
fn a_million_changed_contents_are_refused_or_end() {
    watch_panics();
    changed_contents(1_000_000);
}

/// Changes every byte of an executable to each of the 255 other values, or makes every `step`-th of these changes.
fn changed_bytes(example: &Example, step: usize) {
    let counts = Counts::default();
    in_parallel((example.bytes.len() * 255).div_ceil(step), |number| {
        let (position, change) = (number * step / 255, (number * step % 255 + 1) as u8);
        let mut damaged = example.bytes.clone();
        damaged[position] ^= change;
        let what = || format!("{}, byte {position} changed by {change:#x},", example.name);
        counts.count(&what, || example.outcome_of_bytes(&damaged, TIMEOUT));
    });
    counts.report(&format!("{}, bytes changed", example.name));
}

fn truncations(example: &Example, step: usize) {
    let counts = Counts::default();
    in_parallel(example.bytes.len() / step, |number| {
        let len = number * step;
        let what = || format!("{}, truncated to {len},", example.name);
        counts.count(&what, || example.outcome_of_bytes(&example.bytes[..len], TIMEOUT));
    });
    counts.report(&format!("{}, truncated", example.name));
    let refused = counts.0[Outcome::Refused as usize].load(Relaxed);
    assert_eq!(refused, example.bytes.len() / step, "no part of an executable is one");
}

/// Changes registers, offsets, indices, immediates, constants and kinds; executables that pass the verifier are run.
fn changed_contents(count: usize) {
    let examples = examples();
    let mutants = examples.iter().map(|e| Mutant::new(&Executable::load(&e.bytes).unwrap()));
    let mutants: Vec<Mutant> = mutants.collect();
    let counts = Counts::default();
    in_parallel(count, |number| {
        let which = number % examples.len();
        let mut random = Random(fastrand::Rng::with_seed(number as u64));
        let changed = mutants[which].changed(&mut random);
        let what = || format!("{}, case {number},", examples[which].name);
        counts.count(&what, || match verify::verify(&changed) {
            Ok(()) => {
                let bytes = changed.save();
                assert!(Executable::load(&bytes).is_ok_and(|e| e.save() == bytes), "{}", what());
                examples[which].outcome(changed, TIMEOUT)
            }
            Err(_) => Outcome::Refused,
        });
    });
    counts.report("contents changed");
}
