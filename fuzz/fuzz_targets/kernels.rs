//! Random kernels, each by its number, compiled and run: the same results and errors as the reference interpreter's.
#![no_main]
#![allow(dead_code)]

#[path = "../../compiler/codegen/tests/random_kernels/exprs.rs"]
mod exprs;
#[path = "../../compiler/codegen/tests/random_kernels/generate.rs"]
mod generate;
#[path = "../../compiler/codegen/tests/random_kernels/rng.rs"]
mod rng;
#[path = "../../compiler/codegen/tests/random_kernels/run.rs"]
mod run;
#[path = "../../compiler/codegen/tests/random_kernels/stmts.rs"]
mod stmts;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|number: u64| {
    let reports = run::batch(&[generate::case(number)]);
    assert!(reports.is_empty(), "{}", reports.join("\n"));
});
