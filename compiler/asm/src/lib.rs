//! Assembles listings: turns the text that `hammock inspect --listing` writes back into the same bytes.
//!
//! The writer, `hammock_tools::listing`, documents the format.
#![forbid(unsafe_code)]

mod assemble;
mod constants;
mod cursor;
mod instructions;
mod lexer;
mod quote;

pub use assemble::assemble;
