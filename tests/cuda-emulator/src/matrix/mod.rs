//! `mma.sync` and `ldmatrix` on the fragments of a warp.
//!
//! A fragment is a slice of registers, each of all 32 lanes, in the order in which the instruction lists them.
mod fragments;
mod ldmatrix;
mod mma;

pub use fragments::{Slot, position_in_a, position_in_b, position_in_c};
pub use ldmatrix::{load_matrices, store_matrices, transpose_matrix};
pub use mma::Mma;

#[cfg(test)]
mod tests;
