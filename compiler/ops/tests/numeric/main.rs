//! Each operator's kernel against a plain definition of what it computes.

mod elementwise;
mod indexing;
mod mismatch;
mod movement;
mod products;
mod reductions;
mod run;
mod sorting;
mod values;
