//! Any bytes as a text module: refused with diagnostics, or read, verified, printed, and read back the same.
#![no_main]

#[allow(dead_code)]
#[path = "../../compiler/import/tests/mutations/survive.rs"]
mod survive;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| survive::survive(bytes.to_vec()));
