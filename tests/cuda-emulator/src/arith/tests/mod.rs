//! Arithmetic against the host's, exact integers and tables.
mod approximate;
mod comparison;
mod conversion;
mod directed;
mod float;
mod integer;
mod rules;

use super::{Modifiers, Rounding, Type};

/// No modifiers but a rounding.
fn rounded(rounding: Rounding) -> Modifiers {
    Modifiers { rounding: Some(rounding), ..Modifiers::default() }
}

/// Patterns where rounding and special cases matter, then random ones.
fn samples(ty: Type, count: usize) -> Vec<u64> {
    let (bits, fraction) = match ty {
        Type::F16 => (16, 10),
        Type::BF16 => (16, 7),
        Type::F32 => (32, 23),
        _ => (64, 52),
    };
    let sign = 1u64 << (bits - 1);
    let infinity = sign - (1 << fraction);
    let one = (infinity >> 1) & !((1 << fraction) - 1);
    let positive = [
        0,
        1,
        2,
        (1 << fraction) - 1,
        1 << fraction,
        (1 << fraction) + 1,
        one - 1,
        one,
        one + 1,
        one + (1 << fraction),
        one + (1 << (fraction - 1)),
        infinity - 1,
        infinity,
        infinity + 1,
        sign - 1,
    ];
    let mut random = fastrand::Rng::with_seed(7);
    let random = std::iter::repeat_with(move || random.u64(..) >> (64 - bits)).take(count);
    positive.into_iter().chain(positive.map(|bits| bits | sign)).chain(random).collect()
}
