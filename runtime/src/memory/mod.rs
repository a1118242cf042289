//! Memory for tensors' data.
mod buffer;

pub use buffer::{ALIGNMENT, Buffer};
