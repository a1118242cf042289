//! Lanes of a warp: their values, and masks with a bit for each.

/// A value for each lane of a warp.
pub type Lanes = [u64; 32];

/// Returns the lanes of a mask, in order.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}

/// Returns the lanes of a mask for which a predicate is true, as a mask.
pub(crate) fn filter(mask: u32, is_chosen: impl Fn(usize) -> bool) -> u32 {
    lanes(mask).fold(0, |chosen, lane| chosen | u32::from(is_chosen(lane)) << lane)
}
