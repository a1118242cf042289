//! `mma.sync.aligned`.
use crate::arith::{Lanes, Type};

/// An `mma.sync.aligned.SHAPE.row.col.D.A.B.C`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mma {}

impl Mma {
    /// Returns the instruction of a shape (`m16n8k16`) and types.
    ///
    /// # Errors
    /// Names the combination if the emulator lacks it.
    pub fn new(shape: &str, d: Type, a: Type, b: Type, c: Type, satfinite: bool) -> Result<Mma, String> {
        todo!("{shape} {d:?} {a:?} {b:?} {c:?} {satfinite}")
    }

    /// Numbers of registers of D, A, B and C.
    pub fn registers(&self) -> [usize; 4] {
        todo!()
    }

    /// Computes D = A × B + C. The registers of D are the first ones of the result.
    pub fn multiply(&self, a: &[Lanes], b: &[Lanes], c: &[Lanes]) -> [Lanes; 4] {
        todo!("{a:?} {b:?} {c:?}")
    }
}
