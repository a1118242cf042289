//! Intrinsics that only flat TIR has: dot instructions on packed groups, prefetches, and steps of float32 exponentials.

use crate::DType;

/// Dtype of packed groups.
pub const PACKED_DTYPE: DType = DType::UINT32;
/// Bytes of a packed group.
pub const GROUP_BYTES: i64 = 4;

/// The intrinsic that loads a packed group from the address of a load on.
pub const LOAD_PACKED: &str = "load_packed";

/// The intrinsic that prefetches the cache line a number of bytes after an element into a level of cache:
/// `(load, distance, level)`. The buffer may end before it.
pub const PREFETCH: &str = "prefetch_line";

/// Kind of a dot instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dot {
    /// 8-bit integers, accumulated in 32 bits; the flags say which operand is signed.
    Bytes([bool; 2]),
    /// bfloat16, accumulated in float32.
    Bfloat16,
}

impl Dot {
    /// Returns the number of elements of a packed group.
    pub fn group_size(self) -> i64 {
        match self {
            Dot::Bytes(_) => 4,
            Dot::Bfloat16 => 2,
        }
    }

    /// Returns the intrinsic that multiplies two packed groups and accumulates.
    pub fn intrinsic(self) -> &'static str {
        match self {
            Dot::Bytes([false, false]) => "dot_u8u8",
            Dot::Bytes([false, true]) => "dot_u8s8",
            Dot::Bytes([true, false]) => "dot_s8u8",
            Dot::Bytes([true, true]) => "dot_s8s8",
            Dot::Bfloat16 => "dot_bf16",
        }
    }

    /// Returns the dot instruction of an intrinsic.
    pub fn named(name: &str) -> Option<Dot> {
        let bytes = [[false, false], [false, true], [true, false], [true, true]].map(Dot::Bytes);
        bytes.into_iter().chain([Dot::Bfloat16]).find(|dot| dot.intrinsic() == name)
    }
}

/// Number of powers in the table.
pub const EXP2_STEPS: i64 = 16;

/// Intrinsic: `2^(k / 16)` in float32, where `k` is the four lowest bits of an int32.
pub const EXP2_STEP: &str = "exp2_step";

/// Value of [`EXP2_STEP`] for an integer, before rounding.
pub fn exp2_step(k: i64) -> f64 {
    (k.rem_euclid(EXP2_STEPS) as f64 / EXP2_STEPS as f64).exp2()
}

/// Intrinsic: clamps the magnitude of a float32 to that of another; NaN becomes the other.
pub const WITHIN: &str = "within";

/// Value of [`WITHIN`].
pub fn within(x: f64, bound: f64) -> f64 {
    if x.abs() <= bound { x } else { bound.copysign(x) }
}
