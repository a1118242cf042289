//! Analyses that passes share. They read a module and change nothing.

pub mod attributes;
pub mod compile_time;
pub mod composite;
pub mod convolution;
pub mod functions;
pub mod memory_plan;
pub mod op_pattern;
pub mod permutation;
pub mod purity;
pub mod symbolic;
pub mod types;
pub mod use_order;
