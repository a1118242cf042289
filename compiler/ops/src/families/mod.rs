//! The operators, one file a family.

pub mod binary;
pub mod call;
pub mod collective;
pub mod create;
pub mod device;
pub mod distributed;
pub mod gradient;
pub mod image;
pub mod index;
pub mod inspect;
pub mod linear_algebra;
pub mod manipulate;
pub mod memory;
pub mod nn;
pub mod quantize;
pub mod reduce;
pub mod scan;
pub mod scatter;
pub mod set;
pub mod shape_value;
pub mod sort;
pub mod ternary;
pub mod unary;
pub mod vision;
