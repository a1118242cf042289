//! Kernels for GPUs, with inputs that nobody chose: random shapes of every class of kernels, random programs under
//! random passes, and schedules that TVM made. The emulator of the driver runs them, and the results are those of the
//! reference interpreter.
//!
//! Cases follow from their numbers. `CASES=1000` runs more of each class, from `CASES_FROM` on; `CASE=17` one, with its
//! text: `CASE=17 cargo test --test device -- --nocapture scatter`.

mod classes;
mod counters;
mod draw;
mod emulated;
mod images;
mod listed;
mod programs;
#[path = "../../compiler/codegen/tests/random_kernels/rng.rs"]
mod rng;
mod run;
mod schedules;
mod splits;
mod tf32;

/// Cases of a class that a test without `CASES` runs.
const CASES: u64 = 6;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Calls `check` with the numbers of the cases to run, and whether to print them.
fn for_each_case(mut check: impl FnMut(u64, bool) -> Result<(), String>) {
    let one = number("CASE");
    let from = one.or(number("CASES_FROM")).unwrap_or(0);
    let count = if one.is_some() { 1 } else { number("CASES").unwrap_or(CASES) };
    for case in from..from + count {
        // A kernel that faults ends the device's context, and so the cases after it.
        check(case, one.is_some()).unwrap_or_else(|why| panic!("case {case}: {why}"));
    }
}
