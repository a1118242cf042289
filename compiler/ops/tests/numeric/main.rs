//! Each operator's kernel against a plain definition of what it computes.

mod detection;
mod elementwise;
mod images;
mod indexing;
mod mismatch;
mod movement;
mod nn;
mod products;
mod reductions;
mod run;
mod sorting;
mod values;
