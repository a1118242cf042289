//! Short-time Fourier transforms.

use super::dft::{Dft, checked_length};
use crate::{
    node::{Node, product},
    ops::Result,
};
use hammock_ops::dims;

/// `STFT`: transforms of overlapping frames.
pub fn stft(n: &mut Node) -> Result {
    let signal = n.input(0)?;
    let sizes = n.dims(&signal)?;
    let [_, total, _] = sizes.as_slice() else { return n.error("its signal has to have 3 dimensions") };
    let window = n.optional(2)?;
    let length = match (n.given(3).is_some(), &window) {
        (true, _) => n.scalar_dim(3)?,
        (false, Some(window)) => product(&n.dims(window)?),
        (false, None) => return n.error("it has neither a window nor a length of frames"),
    };
    let length = checked_length(n, length)?;
    let step = n.input_as_int64(1)?;
    let step = n.reshape(step, vec![1i64.into()])?;
    let room = n.dims_vector(&[dims::sub(total, &length)])?;
    let count = n.call("floor_divide", [room, step.clone()])?;
    let count = n.with_scalar("add", &count, 1.0)?;
    let count = n.symbolic_dims(count)?.swap_remove(0);
    let starts = n.arange(count.clone())?;
    let starts = n.call("multiply", [starts, step])?;
    let starts = n.reshape(starts, vec![count, 1i64.into()])?;
    let inner = n.arange(length.clone())?;
    let indices = n.call("add", [starts, inner])?;
    let mut frames = n.call_with("take", [signal, indices], &[("axis", 1i64.into())])?;
    if let Some(window) = window {
        let size = product(&n.dims(&window)?);
        let window = n.reshape(window, vec![size, 1i64.into()])?;
        frames = n.call("multiply", [frames, window])?;
    }
    let half = n.attrs.int_or("onesided", 1)? != 0;
    Ok(Dft { length, inverse: false, half }.append(n, frames)?.into())
}
