//! Floor division of integers.

/// Floor division; `None` for a zero divisor.
pub(super) fn floor_div(x: i64, y: i64) -> Option<i64> {
    let q = x.checked_div(y)?;
    Some(if x % y != 0 && (x < 0) != (y < 0) { q - 1 } else { q })
}

/// Remainder with the divisor's sign; `None` for a zero divisor.
pub(super) fn floor_mod(x: i64, y: i64) -> Option<i64> {
    let r = x.checked_rem(y)?;
    Some(if r != 0 && (r < 0) != (y < 0) { r + y } else { r })
}
