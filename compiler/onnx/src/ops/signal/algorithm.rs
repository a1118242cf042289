//! Choice of the algorithm of a Fourier transform of known length.

use super::{bluestein, fft::Transform, plan::Plan};
use crate::node::{self, Node};
use hammock_ir::relax::Operand;

/// Transforms along axis 1 of `[batch, length, parts]`; `parts` is 1 for real elements. Returns `[batch, 2, length]`.
pub fn append(n: &mut Node, x: Operand, of: Transform) -> node::Result<Operand> {
    match Plan::new(of.length).filter(|plan| plan.cost <= bluestein::cost(of.length)) {
        Some(plan) => of.passes(n, x, &plan.radices),
        None => bluestein::append(n, x, of),
    }
}
