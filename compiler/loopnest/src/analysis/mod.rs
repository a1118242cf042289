//! Analyses of stages, which change nothing.

pub mod access;
pub mod consumers;
pub mod contraction;
pub mod cost;
pub mod dots;
pub mod footprint;
pub mod parallel_loops;
pub mod row_axes;
pub mod scale_groups;
pub mod zero_insertion;
