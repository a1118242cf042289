//! Any text as a metadata section: refused with diagnostics, or read, and printed to what reads the same.
#![no_main]

#[allow(dead_code)]
#[path = "../../compiler/import/tests/mutations/survive.rs"]
mod survive;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|section: &str| survive::survive_metadata(section));
