//! Addresses.

use hammock_ir::DType;

/// An address in the memory of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    pub(crate) memory: usize,
    /// Offset from the start of that memory in bits, since types below a byte are packed.
    pub(crate) bits: i64,
}

impl Pointer {
    /// Advances by `bytes`.
    pub(crate) fn offset_bytes(self, bytes: i64) -> Pointer {
        Pointer { bits: self.bits.wrapping_add(bytes.wrapping_mul(8)), ..self }
    }

    /// Advances by `elements`.
    pub(crate) fn offset(self, elements: i64, dtype: DType) -> Pointer {
        let step = i64::from(dtype.bits) * i64::from(dtype.lanes);
        Pointer { bits: self.bits.wrapping_add(elements.wrapping_mul(step)), ..self }
    }
}
