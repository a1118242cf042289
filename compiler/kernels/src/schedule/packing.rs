//! Packed layouts of operands that are produced before a kernel runs.

use hammock_ir::tir::Buffer;

/// Packed layout of a buffer, produced before a kernel runs.
#[derive(Clone, Debug)]
pub struct Packing {
    /// The buffer.
    pub buffer: Buffer,
    /// Dimension that is divided into blocks.
    pub dim: usize,
    /// Elements of a block.
    pub block: i64,
    /// Packed groups along another dimension, for dot instructions.
    pub groups: Option<PackedGroups>,
}

/// Packed groups along a reduction axis.
#[derive(Clone, Copy, Debug)]
pub struct PackedGroups {
    /// Dimension of the reduction axis.
    pub dim: usize,
    /// Elements of a group.
    pub size: i64,
    /// True if the other operand should have its [sign bit flipped](hammock_loopnest::dots::NarrowOperand::sign_flipped).
    pub flip_sign: bool,
}
