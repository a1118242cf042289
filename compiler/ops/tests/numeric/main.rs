//! Each operator's kernel against a plain reference.

mod detection;
mod elementwise;
mod images;
mod indexing;
mod matmul;
mod mismatch;
mod movement;
mod nn;
mod reductions;
mod run;
mod sorting;
mod trees;
mod values;
