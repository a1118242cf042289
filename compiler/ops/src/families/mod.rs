//! The operators, one file a family.

pub mod binary;
pub mod call;
pub mod collective;
pub mod create;
pub mod device;
pub mod distributed;
pub mod gradient;
pub mod image;
pub mod inspect;
pub mod linear_algebra;
pub mod manipulate;
pub mod memory;
pub mod nn;
pub mod quantize;
pub mod reduce;
pub mod shape_value;
pub mod unary;
pub mod vision;
