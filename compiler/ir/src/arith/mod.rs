//! Arithmetic on scalar expressions: what they are worth, which are equal, how they are written most simply.
//!
//! - [`fold`](mod@fold): operators that compute with constants at once and drop neutral operands, as whoever writes
//!   `1 + 2` or `x * 1` in a model's text expects. Local and cheap.
mod fold;

pub use fold::{binary, cast, fold, fold_bits, match_types, neg, not, promote};
