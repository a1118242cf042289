//! A queued matmul: `D = epilogue(A · B + bias)` of column-major matrices.
use super::{Layout, Operation};
use crate::{
    driver::{Driver, work::Failure},
    memory::{AccessError, Memory},
};
use half::{bf16, f16};

/// A matmul with all that it needs.
#[derive(Debug, Clone)]
pub(in crate::driver) struct MatmulCall {
    pub(super) operation: Parameters,
    /// Layouts of A, B, C and D.
    pub(super) layouts: [Layout; 4],
    pub(super) addresses: [u64; 4],
    /// Rows and columns of D, and the reduction extent.
    pub(super) extents: [u64; 3],
}

/// Transposes and epilogue of a matmul.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameters {
    transposes: [bool; 2],
    epilogue: u32,
    bias: u64,
}

impl From<&Operation> for Parameters {
    fn from(operation: &Operation) -> Self {
        Self { transposes: operation.transposes, epilogue: operation.epilogue, bias: operation.bias }
    }
}

const BIAS: u32 = 4;
const RELU: u32 = 2;
const GELU: u32 = 32;

/// Returns true for the epilogues that are known: the sum itself, or one or both of a bias and an activation.
pub(super) fn has_epilogue(epilogue: u32) -> bool {
    matches!(epilogue, 1 | RELU | BIAS | 6 | GELU | 36)
}

pub(super) fn has_bias(epilogue: u32) -> bool {
    epilogue & BIAS != 0
}

/// Returns the bytes of an element.
pub(super) fn element_bytes(dtype: u32) -> Option<u64> {
    match dtype {
        2 | 14 => Some(2),
        0 => Some(4),
        1 => Some(8),
        _ => None,
    }
}

/// Returns rows, columns and reduction extent; `None` if the matrices do not fit together.
pub(super) fn extents(operation: &Operation, [a, b, c, d]: &[Layout; 4]) -> Option<[u64; 3]> {
    let sizes = |layout: &Layout, transposed| {
        if transposed { [layout.columns, layout.rows] } else { [layout.rows, layout.columns] }
    };
    let ([m, k], [b_k, n]) = (sizes(a, operation.transposes[0]), sizes(b, operation.transposes[1]));
    let fits = b_k == k && sizes(d, false) == [m, n] && sizes(c, false) == [m, n];
    let is_half = |dtype| matches!(dtype, 2 | 14);
    let dtypes = a.dtype == b.dtype
        && c.dtype == d.dtype
        && (a.dtype == d.dtype || (is_half(a.dtype) && d.dtype == 0))
        && (a.dtype == 1) == (operation.compute == 70)
        && (a.dtype == 1) == (operation.scale == 1);
    let batches = [a, b, c].iter().all(|layout| layout.batch == d.batch);
    (fits && dtypes && batches).then_some([m, n, k])
}

impl Driver {
    /// Computes a matmul.
    pub(in crate::driver) fn run_matmul(&mut self, call: &MatmulCall) -> Result<(), Failure> {
        if self.config.no_op {
            return Ok(());
        }
        let [_, _, _, out] = &call.layouts;
        for matrix in 0..i64::from(out.batch) {
            multiply(&mut self.memory, call, matrix)?;
        }
        Ok(())
    }
}

/// Computes one matmul of a batch.
fn multiply(memory: &mut Memory, call: &MatmulCall, matrix: i64) -> Result<(), AccessError> {
    let Parameters { transposes, epilogue, bias } = call.operation;
    let [a, b, _, d] = &call.layouts;
    let ([a_address, b_address, _, d_address], [m, n, k]) = (call.addresses, call.extents);
    let (a, b) = (values(memory, a, a_address, matrix)?, values(memory, b, b_address, matrix)?);
    let at = |values: &Matrix, transposed, row, column| {
        if transposed { values.at(column, row) } else { values.at(row, column) }
    };
    let added = match has_bias(epilogue) {
        true => {
            let row = Layout { rows: m, columns: 1, ld: m as i64, offset: 0, ..*d };
            Some(values(memory, &row, bias, 0)?)
        }
        false => None,
    };
    for column in 0..n {
        let mut bytes = Vec::new();
        for row in 0..m {
            let sum = |k| at(&a, transposes[0], row, k) * at(&b, transposes[1], k, column);
            let sum = (0..k).map(sum).sum::<f64>() + added.as_ref().map_or(0.0, |added| added.at(row, 0));
            push(&mut bytes, d.dtype, activation(epilogue, sum));
        }
        memory.write(address(d, d_address, matrix, column), &bytes)?;
    }
    Ok(())
}

/// A matrix whose elements were read.
struct Matrix {
    columns: Vec<Vec<f64>>,
}

impl Matrix {
    fn at(&self, row: u64, column: u64) -> f64 {
        self.columns[column as usize][row as usize]
    }
}

fn values(memory: &Memory, layout: &Layout, begin: u64, matrix: i64) -> Result<Matrix, AccessError> {
    let bytes = element_bytes(layout.dtype).unwrap_or(1);
    let column = |column| {
        let read = memory.bytes(address(layout, begin, matrix, column), layout.rows * bytes)?;
        Ok(read.chunks_exact(bytes as usize).map(|element| value(layout.dtype, element)).collect())
    };
    Ok(Matrix { columns: (0..layout.columns).map(column).collect::<Result<_, _>>()? })
}

fn address(layout: &Layout, begin: u64, matrix: i64, column: u64) -> u64 {
    let element = matrix * layout.offset + column as i64 * layout.ld;
    begin + element as u64 * element_bytes(layout.dtype).unwrap_or(1)
}

fn value(dtype: u32, bytes: &[u8]) -> f64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let word = u64::from_le_bytes(word);
    match dtype {
        2 => f16::from_bits(word as u16).to_f64(),
        14 => bf16::from_bits(word as u16).to_f64(),
        0 => f32::from_bits(word as u32).into(),
        _ => f64::from_bits(word),
    }
}

fn push(bytes: &mut Vec<u8>, dtype: u32, value: f64) {
    match dtype {
        2 => bytes.extend(f16::from_f64(value).to_le_bytes()),
        14 => bytes.extend(bf16::from_f64(value).to_le_bytes()),
        0 => bytes.extend((value as f32).to_le_bytes()),
        _ => bytes.extend(value.to_le_bytes()),
    }
}

fn activation(epilogue: u32, x: f64) -> f64 {
    match epilogue & !BIAS {
        RELU => x.max(0.0),
        GELU => 0.5 * x * (1.0 + (0.797_884_560_802_865_4 * (x + 0.044_715 * x * x * x)).tanh()),
        _ => x,
    }
}
