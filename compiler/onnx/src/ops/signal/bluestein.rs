//! Bluestein's algorithm: a discrete Fourier transform as a convolution with a chirp.
//!
//! With `a[i] = exp(-πi·i² / n)`, `y[k] = a[k] · Σ x[i] · a[i] · conj(a[k - i])`. The convolution is computed by fast
//! transforms of a power of two (Bluestein, A linear filtering approach to the computation of discrete Fourier
//! transform, 1970).

use super::{
    fft::{Transform, parts, swap_parts},
    plan::Plan,
    roots::{Root, Roots, constant, root},
};
use crate::node::{self, Node};
use hammock_ir::relax::Operand;

/// Returns the length of the transforms that compute the convolution.
fn padded_length(length: i64) -> i64 {
    (2 * length - 1).max(1).unsigned_abs().next_power_of_two() as i64
}

/// Returns the cost per element, in multiplications of complex numbers.
pub fn cost(length: i64) -> i64 {
    let padded = padded_length(length);
    let own = Plan::new(padded).map_or(i64::MAX / 8, |plan| plan.cost);
    own.saturating_mul(2 * padded) / length.max(1)
}

/// Transforms `[batch, length, parts]` to `[batch, 2, length]`.
pub fn append(n: &mut Node, x: Operand, of: Transform) -> node::Result<Operand> {
    let Transform { length, inverse, scale } = of;
    let (dims, dtype, padded) = (n.dims(&x)?, n.dtype(&x)?, padded_length(length));
    let chirp = |i: i64| root(i * i % (2 * length), 2 * length, inverse);
    let x = if parts(&dims[2]) == 2 {
        let x = swap_parts(n, x)?;
        Roots::new(1, length, 0, dtype, |_, i| chirp(i))?.multiply(n, x, 1)?
    } else {
        let x = n.reshape(x, vec![dims[0].clone(), 1i64.into(), length.into()])?;
        let both = (0..length).map(|i| chirp(i).0).chain((0..length).map(|i| chirp(i).1));
        n.call("multiply", [x, constant(&[2, length], dtype, both)?])?
    };
    let x = n.append_zeros(x, 2, &(padded - length).into())?;
    let forward = Transform { length: padded, inverse: false, scale: 1.0 };
    let x = swap_parts(n, x)?;
    let radices = Plan::new(padded).map_or_else(|| vec![padded], |plan| plan.radices);
    let x = forward.passes(n, x, &radices)?;
    let spectrum = chirp_spectrum(padded, length, chirp);
    let x = Roots::new(1, padded, 0, dtype, |_, k| spectrum[k as usize])?.multiply(n, x, 1)?;
    let x = swap_parts(n, x)?;
    let x = Transform { inverse: true, scale: 1.0 / padded as f64, ..forward }.passes(n, x, &radices)?;
    let x = n.strided_slice(x, 2, 0i64.into(), length.into(), 1)?;
    let scaled = |_, k| (chirp(k).0 * scale, chirp(k).1 * scale);
    Roots::new(1, length, 0, dtype, scaled)?.multiply(n, x, 1)
}

/// Returns the spectrum of the conjugate chirp, which is symmetric around 0.
fn chirp_spectrum(padded: i64, length: i64, chirp: impl Fn(i64) -> Root) -> Vec<Root> {
    let mut signal = vec![(0.0, 0.0); padded as usize];
    for i in 0..length {
        let (re, im) = chirp(i);
        signal[i as usize] = (re, -im);
        signal[((padded - i) % padded) as usize] = (re, -im);
    }
    power_of_two_spectrum(&signal)
}

/// Transforms a signal whose length is a power of two, in float64.
fn power_of_two_spectrum(signal: &[Root]) -> Vec<Root> {
    if signal.len() < 2 {
        return signal.to_vec();
    }
    let half = |first: usize| signal.iter().skip(first).step_by(2).copied().collect::<Vec<_>>();
    let [even, odd] = [0, 1].map(|first| power_of_two_spectrum(&half(first)));
    let turned = |k: usize| {
        let ((re, im), (c, s)) = (odd[k], root(k as i64, signal.len() as i64, false));
        (re * c - im * s, re * s + im * c)
    };
    let sums = even.iter().enumerate().map(|(k, (re, im))| (re + turned(k).0, im + turned(k).1));
    let differences = even.iter().enumerate().map(|(k, (re, im))| (re - turned(k).0, im - turned(k).1));
    sums.chain(differences).collect()
}
