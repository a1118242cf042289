//! Contents of executables as text.

pub mod listing;
pub(crate) mod signature;
