//! Random kernels, compared with the reference interpreter: both give the same error or the same numbers, and nothing
//! crashes.
//!
//! Kernels are generated from their numbers. They run in separate processes, in batches, so that a crash is reported
//! with its kernel. `KERNELS=100000` runs more of them, from `KERNELS_FROM` on; `KERNEL=17` runs one and prints its
//! text.
#![cfg(feature = "native")]

mod exprs;
mod generate;
mod rng;
mod run;
mod stmts;

use std::{
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Number of kernels per module.
const BATCH: u64 = 50;
/// Number of kernels per process.
const SHARE: u64 = 2500;
/// Environment variable of the processes that run kernels: their range of numbers.
const RANGE: &str = "KERNELS_RANGE";
/// Timeout of a process; debug builds are slow.
const TIMEOUT: Duration = Duration::from_secs(1200);

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn random_kernels_match_the_interpreter() {
    if let Some(one) = number("KERNEL") {
        let case = generate::case(one);
        println!("{}", run::text(&case));
        let reports = run::batch(&[case]);
        assert!(reports.is_empty(), "{}", reports.join("\n"));
        return;
    }
    let (from, count) = (number("KERNELS_FROM").unwrap_or(0), number("KERNELS").unwrap_or(400));
    let dir = tempfile::tempdir().unwrap();
    let mut reports = Vec::new();
    let mut at = from;
    while at < from + count {
        let end = (at + SHARE).min(from + count);
        at = share(at, end, dir.path(), &mut reports);
    }
    assert!(reports.is_empty(), "{} of {count} kernels differ:\n{}", reports.len(), reports.join("\n"));
}

/// Runs kernels in a process; returns where the next one begins, which is after a kernel that crashed.
fn share(from: u64, to: u64, dir: &Path, reports: &mut Vec<String>) -> u64 {
    let (now, found) = (dir.join("now"), dir.join("found"));
    let _ = (std::fs::remove_file(&now), std::fs::remove_file(&found));
    let mut process = Command::new(std::env::current_exe().unwrap());
    process.args(["run_of_kernels", "--exact", "--ignored", "--nocapture"]).stdout(Stdio::null());
    process.env(RANGE, format!("{from} {to}")).env("KERNELS_DIR", dir);
    // Debug builds have large frames, so use a stack as large as the command line's.
    process.env("RUST_MIN_STACK", "67108864");
    let mut process = process.spawn().unwrap();
    let begun = Instant::now();
    let status = loop {
        match process.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if begun.elapsed() > TIMEOUT => {
                process.kill().unwrap();
                process.wait().unwrap();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    reports.extend(std::fs::read_to_string(&found).unwrap_or_default().lines().map(str::to_owned));
    if status.is_some_and(|s| s.success()) {
        return to;
    }
    let last: u64 = std::fs::read_to_string(&now).unwrap_or_default().trim().parse().unwrap_or(from);
    let how = status.map_or("it does not end".to_owned(), |s| s.to_string());
    reports.push(format!("kernel {last}: the process ends with {how}"));
    last + 1
}

/// Entry of the processes, not a test of its own.
#[test]
#[ignore = "called by the test above, in a process of its own"]
fn run_of_kernels() {
    let (Ok(range), Ok(dir)) = (std::env::var(RANGE), std::env::var("KERNELS_DIR")) else { return };
    let mut numbers = range.split(' ').map(|n| n.parse::<u64>().unwrap());
    let (from, to) = (numbers.next().unwrap(), numbers.next().unwrap());
    run::all(from, to, BATCH, Path::new(&dir));
}
