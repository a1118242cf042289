//! Analyses that passes share. They read a module and change nothing.

pub mod compile_time;
pub mod functions;
pub mod memory_plan;
pub mod op_pattern;
pub mod symbolic;
