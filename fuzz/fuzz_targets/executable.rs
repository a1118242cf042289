//! Any bytes as bytecode: refused, or run within limits, with results or errors.
#![no_main]

#[path = "../../runtime/tests/corruption/examples.rs"]
mod examples;

use examples::{Example, TIMEOUT, examples};
use libfuzzer_sys::fuzz_target;

thread_local! {
    static EXAMPLES: Vec<Example> = examples();
}

// The first byte says whose calls are made.
fuzz_target!(|bytes: &[u8]| {
    let Some((which, code)) = bytes.split_first() else { return };
    EXAMPLES.with(|examples| {
        let example = &examples[usize::from(*which) % examples.len()];
        assert!(!example.name.is_empty() && !example.bytes.is_empty());
        example.outcome_of_bytes(code, TIMEOUT);
    });
});
