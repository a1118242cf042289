//! The operators, one file a family.

pub mod binary;
pub mod create;
pub mod linear_algebra;
pub mod manipulate;
pub mod reduce;
pub mod unary;
