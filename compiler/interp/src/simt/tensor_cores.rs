//! Matrix instructions of a warp, and asynchronous copies.
//!
//! The PTX manual ("Matrix Fragments for mma") gives the elements that a lane has. Sums of floats start from the
//! accumulator and go on by ascending k, each step a fused multiply-add in float32. An asynchronous copy is done at once.

use super::{Block, EXCHANGE};
use crate::{Fault, Interpreter, Pointer, Value, number, stmt::Flow};
use hammock_ir::{DType, Name, PrimExpr, prim::intrinsics::WARP_THREADS};

const WARP: usize = WARP_THREADS as usize;
/// Rows and columns of a matrix that `ldmatrix` loads, of elements of 16 bits.
const MATRIX: usize = 8;

/// Shape and dtypes of an `mma.sync`.
struct Mma {
    depth: usize,
    operands: DType,
    sums: DType,
    /// True if operands are rounded to tf32.
    is_tf32: bool,
}

impl Mma {
    /// Returns the instruction of a shape and dtypes as `ptx_mma` names them.
    fn named(args: &[PrimExpr]) -> Option<Mma> {
        let [shape, _, _, a, b, c] = args.first_chunk::<6>()?.each_ref().map(PrimExpr::as_str);
        let operands = dtype(a?).filter(|_| a == b)?;
        let (rows, depth) = shape?.split_once("n8k")?;
        let depth = depth.parse().ok().filter(|depth| rows == "m16" && [8, 16, 32].contains(depth))?;
        Some(Mma { depth, operands, sums: dtype(c?)?, is_tf32: a == Some("tf32") })
    }

    /// Returns an operand as it is multiplied.
    fn rounded(&self, value: Value) -> Value {
        match value {
            Value::Float(float) if self.is_tf32 => Value::Float(f64::from(round_to_tf32(float as f32))),
            value => value,
        }
    }

    /// Elements of a register.
    fn packed(&self) -> usize {
        usize::from(32 / self.operands.bits)
    }

    /// Row and column of an element of A.
    fn in_a(&self, lane: usize, element: usize) -> (usize, usize) {
        let (register, within) = (element / self.packed(), element % self.packed());
        let column = lane % 4 * self.packed() + within + 4 * self.packed() * (register / 2);
        (lane / 4 + 8 * (register % 2), column)
    }

    /// Row and column of an element of B.
    fn in_b(&self, lane: usize, element: usize) -> (usize, usize) {
        let (register, within) = (element / self.packed(), element % self.packed());
        (lane % 4 * self.packed() + within + 4 * self.packed() * register, lane / 4)
    }
}

/// Row and column of a sum.
fn in_c(lane: usize, element: usize) -> (usize, usize) {
    (lane / 4 + 8 * (element / 2), lane % 4 * 2 + element % 2)
}

/// Rounds to ten bits of the mantissa, the nearest value, ties away from zero.
fn round_to_tf32(value: f32) -> f32 {
    const DROPPED: u32 = 13;
    match value.is_finite() {
        true => f32::from_bits((value.to_bits() + (1 << (DROPPED - 1))) & !((1 << DROPPED) - 1)),
        false => value,
    }
}

/// Returns the dtype of a name in `ptx_mma`.
fn dtype(name: &str) -> Option<DType> {
    Some(match name {
        "fp16" => DType::FLOAT16,
        "bf16" => DType::BFLOAT16,
        "fp32" | "tf32" => DType::FLOAT32,
        "int8" => DType::INT8,
        "uint8" => DType::UINT8,
        "int32" => DType::INT32,
        _ => return None,
    })
}

impl Interpreter {
    /// `ptx_ldmatrix(transposes, count, ".b16", to, to_offset, from, from_offset)`: lane `i` gives the address of the
    /// `i`-th row of 16 bytes.
    pub(super) fn load_matrices(&mut self, args: &[PrimExpr], dtype: DType, block: &mut Block) -> Result<(), Fault> {
        let [transposes, count, _, to, to_offset, from, from_offset] = args else {
            return Err(unknown("ptx_ldmatrix"));
        };
        let (Some(transposes), Some(count @ (1 | 2 | 4))) = (transposes.as_int(), count.as_int()) else {
            return Err(unknown("ptx_ldmatrix"));
        };
        let mut rows = vec![None; block.threads.len()];
        self.each(block, |own, number| {
            let at = own.element(from, from_offset, dtype)?;
            let is_row = number % WARP < MATRIX * count as usize;
            let halves = if is_row { own.load_all(at, MATRIX, DType::UINT16)? } else { Vec::new() };
            rows[number] = Some(halves);
            Ok(Flow::Next)
        })?;
        self.each(block, |own, number| {
            let (lane, to) = (number % WARP, own.element(to, to_offset, dtype)?);
            for (matrix, half) in (0..count as usize).flat_map(|matrix| [(matrix, 0), (matrix, 1)]) {
                let (along, across) = (lane / 4, 2 * (lane % 4) + half);
                let (row, column) = if transposes != 0 { (across, along) } else { (along, across) };
                let source = number - lane + MATRIX * matrix + row;
                let value = rows.get(source).and_then(Option::as_ref).and_then(|row| row.get(column));
                let value = value.ok_or(Fault::Divergent(EXCHANGE))?;
                own.heap.store(to, (2 * matrix + half) as i64, DType::UINT16, value, &memory())?;
            }
            Ok(Flow::Next)
        })
    }

    /// `ptx_mma(shape, "row", "col", A's dtype, B's, C's, a, a_index, b, b_index, c, c_index, saturates)`: C += A B.
    pub(super) fn multiply_matrices(&mut self, args: &[PrimExpr], block: &mut Block) -> Result<(), Fault> {
        let (Some(mma), [_, _, _, _, _, _, a, a_index, b, b_index, c, c_index, ..]) = (Mma::named(args), args) else {
            return Err(unknown("ptx_mma"));
        };
        let mut lanes = vec![None; block.threads.len()];
        self.each(block, |own, number| {
            let a = own.element(a, a_index, mma.operands)?;
            let b = own.element(b, b_index, mma.operands)?;
            let c = own.element(c, c_index, mma.sums)?;
            let per_lane = mma.depth / 2;
            let load = |from, count| -> Result<Vec<Value>, Fault> {
                let values = own.load_all(from, count, mma.operands)?;
                Ok(values.into_iter().map(|value| mma.rounded(value)).collect())
            };
            let (a, b) = (load(a, per_lane)?, load(b, per_lane / 2)?);
            lanes[number] = Some((a, b, own.load_all(c, 4, mma.sums)?));
            Ok(Flow::Next)
        })?;
        let mut sums = Vec::new();
        for warp in lanes.chunks(WARP) {
            let (mut a, mut b) = (vec![Value::Void; 16 * mma.depth], vec![Value::Void; 8 * mma.depth]);
            for (lane, fragments) in warp.iter().enumerate() {
                let (own_a, own_b, _) = fragments.as_ref().ok_or(Fault::Divergent(EXCHANGE))?;
                for (element, value) in own_a.iter().enumerate() {
                    let (row, column) = mma.in_a(lane, element);
                    a[row * mma.depth + column] = value.clone();
                }
                for (element, value) in own_b.iter().enumerate() {
                    let (row, column) = mma.in_b(lane, element);
                    b[column * mma.depth + row] = value.clone();
                }
            }
            for (lane, fragments) in warp.iter().enumerate() {
                let own = fragments.iter().flat_map(|(_, _, c)| c.iter().enumerate());
                let sum = own.map(|(element, c)| {
                    let (row, column) = in_c(lane, element);
                    let (a, b) = (&a[row * mma.depth..][..mma.depth], &b[column * mma.depth..][..mma.depth]);
                    a.iter().zip(b).try_fold(c.clone(), |sum, (a, b)| add(&sum, a, b))
                });
                sums.push(sum.collect::<Result<Vec<_>, _>>()?);
            }
        }
        self.each(block, |own, number| {
            let c = own.element(c, c_index, mma.sums)?;
            for (element, sum) in sums[number].iter().enumerate() {
                own.heap.store(c, element as i64, mma.sums, sum, &memory())?;
            }
            Ok(Flow::Next)
        })
    }

    /// `ptx_cp_async(to, to_offset, from, from_offset, bytes, predicate)`: copies bytes, or zeros if the predicate does
    /// not hold.
    pub(crate) fn copy_async(&mut self, args: &[PrimExpr], dtype: DType) -> Result<Value, Fault> {
        let [to, to_offset, from, from_offset, bytes, predicate @ ..] = args else {
            return Err(unknown("ptx_cp_async"));
        };
        let to = self.element(to, to_offset, dtype)?;
        let copies = predicate.first().map_or(Ok(true), |predicate| self.eval(predicate)?.truth())?;
        let words = (self.int(bytes)? / 4).clamp(0, 4) as usize;
        let values = match copies {
            true => {
                let from = self.element(from, from_offset, dtype)?;
                self.load_all(from, words, DType::UINT32)?
            }
            false => vec![Value::Int(0); words],
        };
        for (word, value) in values.iter().enumerate() {
            self.heap.store(to, word as i64, DType::UINT32, value, &memory())?;
        }
        Ok(Value::Void)
    }

    /// Returns the address of an element.
    fn element(&mut self, base: &PrimExpr, index: &PrimExpr, dtype: DType) -> Result<Pointer, Fault> {
        Ok(self.eval(base)?.pointer()?.offset(self.int(index)?, dtype))
    }

    fn load_all(&self, from: Pointer, count: usize, dtype: DType) -> Result<Vec<Value>, Fault> {
        (0..count as i64).map(|element| self.heap.load(from, element, dtype, &memory())).collect()
    }
}

/// Returns `sum + a * b`.
fn add(sum: &Value, a: &Value, b: &Value) -> Result<Value, Fault> {
    Ok(match (sum, a, b) {
        (Value::Int(sum), Value::Int(a), Value::Int(b)) => Value::Int(number::wrap(sum + a * b, DType::INT32)),
        _ => Value::Float(f64::from((a.float()? as f32).mul_add(b.float()? as f32, sum.float()? as f32))),
    })
}

/// Name of memory that an instruction accesses by address.
fn memory() -> Name {
    "memory of a matrix".into()
}

fn unknown(name: &'static str) -> Fault {
    Fault::Callee(name.into())
}
