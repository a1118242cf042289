//! Listings: executables as text, all of them, so that they assemble back to the same bytes.
//!
//! [`print`] writes a listing, [`assemble`] reads one. A listing is read line by line; `#` begins a comment, which is
//! where the printer puts source lines. Sections may stand in any order:
//!
//! ```text
//! bytecode @main(x, y) registers 5        the function table, in order: a kind, a name, names of parameters
//! packed @add                             found by name when loaded
//! compiled @twice(x) registers 2          machine code `__vmtir__twice`
//!
//! c0 = dtype float32                      the constant pool, in order
//! c1 = str "text"
//! c2 = shape (2, 3)
//! c3 = int 1152921504606846976
//! c4 = float 0.5
//! c5 = tensor float32(2) [0.0, 1.5]       numbers, or the bytes in memory: {x"00000000 0000c03f"}
//! c6 = tensor float32(8, 8) from "c6"     in a file beside the listing, by name
//! scope c5 "global.texture"
//!
//! code @main:                             instructions; functions' code lies in the order of the listing
//!    0: %2 = call @add(%0, -3, c5, @main) a number and a colon before an instruction are not read
//!    1: if %2 else L3
//!    2: call @add(%vm, %void)
//! L3:                                     labels belong to their function
//!    3: ret %2
//! ```
//!
//! What programs rarely have is written behind these: `args 2` where parameters have no names, `range 3 7` where a
//! function without code says that it has some, and `unused:` before `words 1 2 3`, instructions of no function.
//! Functions whose names are no names are written `@"like this"`.
#![forbid(unsafe_code)]

mod assemble;
mod constants;
mod cursor;
mod instructions;
mod lexer;
mod print;
mod quote;

pub use assemble::assemble;
pub use print::{Listing, print};
