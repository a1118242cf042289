//! `ldmatrix`, `stmatrix` and `movmatrix` of matrices of 8 × 8 elements of 16 bits.
//!
//! Lane `l` holds the elements `2 * (l % 4)` and `2 * (l % 4) + 1` of row `l / 4`; with `.trans`, of column `l / 4`.
use crate::lanes::Lanes;

/// `ldmatrix.sync.aligned.m8n8.xN.b16`: returns the N registers from 8 × N rows of 16 bytes, the `i`-th at the address
/// that lane `i` supplies (lanes from 8 × N on supply none). `transpose` for `.trans`.
pub fn load_matrices(rows: &[[u8; 16]], transpose: bool) -> [Lanes; 4] {
    let mut registers = [[0; 32]; 4];
    for (register, matrix) in registers.iter_mut().zip(rows.chunks_exact(8)) {
        let element = |row: usize, column: usize| {
            u64::from(u16::from_le_bytes([matrix[row][2 * column], matrix[row][2 * column + 1]]))
        };
        for (lane, value) in register.iter_mut().enumerate() {
            let half = |i| match transpose {
                false => element(lane / 4, 2 * (lane % 4) + i),
                true => element(2 * (lane % 4) + i, lane / 4),
            };
            *value = half(0) | half(1) << 16;
        }
    }
    registers
}

/// `stmatrix.sync.aligned.m8n8.xN.b16`: returns the rows of N registers; the first 8 × N of them, the `i`-th for the
/// address that lane `i` supplies.
pub fn store_matrices(registers: &[Lanes], transpose: bool) -> [[u8; 16]; 32] {
    let mut rows = [[0; 16]; 32];
    for (matrix, register) in rows.chunks_exact_mut(8).zip(registers) {
        for (lane, value) in register.iter().enumerate() {
            for i in 0..2 {
                let (row, column) = match transpose {
                    false => (lane / 4, 2 * (lane % 4) + i),
                    true => (2 * (lane % 4) + i, lane / 4),
                };
                let bytes = ((value >> (16 * i)) as u16).to_le_bytes();
                matrix[row][2 * column..2 * column + 2].copy_from_slice(&bytes);
            }
        }
    }
    rows
}

/// `movmatrix.sync.aligned.m8n8.trans.b16`.
pub fn transpose_matrix(register: &Lanes) -> Lanes {
    let rows = store_matrices(std::slice::from_ref(register), false);
    load_matrices(&rows[..8], true)[0]
}
