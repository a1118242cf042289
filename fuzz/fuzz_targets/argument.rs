//! Any text as an argument of a call: refused, or read.
#![no_main]

#[allow(dead_code)]
#[path = "../../runtime/tools/tests/damaged_files/survive.rs"]
mod survive;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| survive::survive_argument(text));
