//! Models compiled and run, against references. One program, since it is linked with all of the compiler.

mod attention;
mod examples;
mod fake_quantization;
mod kv_cache;
mod quantize;
#[allow(dead_code)]
#[path = "../support/mod.rs"]
mod support;
mod tiny_lm;
