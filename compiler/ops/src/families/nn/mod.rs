//! Neural networks: convolutions, poolings, activations, normalizations, attention, losses.

pub mod activation;
mod adaptive_pool;
mod attention;
mod batch_norm;
mod conv;
mod conv_transpose;
mod flatten;
mod large_window;
pub mod loss;
mod norm;
mod pad;
pub mod pool;
pub mod rows;
pub mod softmax;
mod var_len_attention;
pub mod window;
mod winograd;

pub use conv::{expect_layout, layout};
pub use winograd::{Tiles as WinogradTiles, of_weights as winograd_weights, winograd};

use crate::op::Op;

/// The operators of these families.
pub fn ops() -> Vec<Op> {
    let families = [
        activation::ops(),
        adaptive_pool::ops(),
        attention::ops(),
        batch_norm::ops(),
        conv::ops(),
        conv_transpose::ops(),
        flatten::ops(),
        loss::ops(),
        norm::ops(),
        pad::ops(),
        pool::ops(),
        softmax::ops(),
        var_len_attention::ops(),
    ];
    families.into_iter().flatten().collect()
}
