//! Any text as a listing: refused with diagnostics, or assembled to bytecode that is listed and assembled alike.
#![no_main]

#[path = "../../compiler/asm/tests/survive/mod.rs"]
mod survive;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| survive::survive(text));
