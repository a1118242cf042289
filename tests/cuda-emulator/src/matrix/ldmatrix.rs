//! `ldmatrix`, `stmatrix` and `movmatrix` of matrices of 8 × 8 elements of 16 bits.
use crate::arith::Lanes;

/// `ldmatrix.sync.aligned.m8n8.xN.b16`: returns the N registers from 8 × N rows of 16 bytes, the `i`-th at the address
/// that lane `i` supplies (lanes from 8 × N on supply none). `transpose` for `.trans`.
pub fn load_matrices(rows: &[[u8; 16]], transpose: bool) -> [Lanes; 4] {
    todo!("{rows:?} {transpose}")
}

/// `stmatrix.sync.aligned.m8n8.xN.b16`: returns the rows of N registers; the first 8 × N of them, the `i`-th for the
/// address that lane `i` supplies.
pub fn store_matrices(registers: &[Lanes], transpose: bool) -> [[u8; 16]; 32] {
    todo!("{registers:?} {transpose}")
}

/// `movmatrix.sync.aligned.m8n8.trans.b16`.
pub fn transpose_matrix(register: &Lanes) -> Lanes {
    todo!("{register:?}")
}
