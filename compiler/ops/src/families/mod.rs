//! The operators, one file a family.

pub mod binary;
pub mod call;
pub mod create;
pub mod device;
pub mod distributed;
pub mod gradient;
pub mod image;
pub mod index;
pub mod linear_algebra;
pub mod manipulate;
pub mod memory;
pub mod ml;
pub mod nn;
pub mod quantize;
pub mod reduce;
pub mod runtime;
pub mod scan;
pub mod scatter;
pub mod shape_value;
pub mod sort;
pub mod ternary;
pub mod unary;
pub mod vision;

use crate::op::Op;

/// The operators of every family file.
pub(crate) fn all() -> Vec<Vec<Op>> {
    vec![
        unary::ops(),
        binary::ops(),
        ternary::ops(),
        create::ops(),
        linear_algebra::ops(),
        manipulate::ops(),
        index::ops(),
        scatter::ops(),
        reduce::ops(),
        sort::ops(),
        scan::ops(),
        runtime::ops(),
        nn::ops(),
        image::ops(),
        vision::ops(),
        ml::ops(),
        quantize::ops(),
        gradient::ops(),
        call::ops(),
        shape_value::ops(),
        memory::ops(),
        device::ops(),
        distributed::collective::ops(),
        distributed::ops(),
    ]
}
