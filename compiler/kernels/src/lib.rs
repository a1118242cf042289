//! From block TIR to scheduled and flat TIR; the reference interpreter.
//!
//! - [`interp`]: runs TIR of every stage, slowly and exactly: what everything else is tested against.
#![forbid(unsafe_code)]

pub mod interp;
#[cfg(test)]
mod samples;
