//! The constant pool: equal constants are one entry.

use hammock_runtime::{
    Tensor,
    executable::{Arg, Constant},
};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Entries, and where to find equal ones.
#[derive(Default)]
pub struct ConstantPool {
    entries: Vec<Constant>,
    /// Entries by the hash of what they hold.
    by_hash: FxHashMap<u64, Vec<usize>>,
}

impl ConstantPool {
    /// The argument for a constant.
    pub fn arg(&mut self, constant: Constant) -> Arg {
        let candidates = self.by_hash.entry(hash(&constant)).or_default();
        let found = candidates.iter().copied().find(|at| are_equal(&self.entries[*at], &constant));
        let index = found.unwrap_or_else(|| {
            candidates.push(self.entries.len());
            self.entries.push(constant);
            self.entries.len() - 1
        });
        Arg::Constant(index as i64)
    }

    /// The entries in order.
    pub fn into_entries(self) -> Vec<Constant> {
        self.entries
    }
}

fn hash(constant: &Constant) -> u64 {
    let mut hasher = FxHasher::default();
    std::mem::discriminant(constant).hash(&mut hasher);
    match constant {
        Constant::Tensor(t) => {
            (t.dtype(), t.shape()).hash(&mut hasher);
            match t.as_bytes() {
                Ok(bytes) => bytes.hash(&mut hasher),
                Err(_) => t.data_ptr().hash(&mut hasher),
            }
        }
        Constant::Shape(s) => s.as_slice().hash(&mut hasher),
        Constant::Str(s) => s.as_str().hash(&mut hasher),
        Constant::Int(v) => v.hash(&mut hasher),
        Constant::Float(v) => v.to_bits().hash(&mut hasher),
        Constant::DType(t) => t.hash(&mut hasher),
    }
    hasher.finish()
}

/// Floats are equal when their bits are: zeros of different sign and NaNs are told apart as they must be.
fn are_equal(a: &Constant, b: &Constant) -> bool {
    match (a, b) {
        (Constant::Tensor(a), Constant::Tensor(b)) => are_equal_tensors(a, b),
        (Constant::Shape(a), Constant::Shape(b)) => a.as_slice() == b.as_slice(),
        (Constant::Str(a), Constant::Str(b)) => a.as_str() == b.as_str(),
        (Constant::Int(a), Constant::Int(b)) => a == b,
        (Constant::Float(a), Constant::Float(b)) => a.to_bits() == b.to_bits(),
        (Constant::DType(a), Constant::DType(b)) => a == b,
        _ => false,
    }
}

fn are_equal_tensors(a: &Tensor, b: &Tensor) -> bool {
    let same_kind = a.dtype() == b.dtype() && a.shape() == b.shape();
    same_kind && (a.ptr_eq(b) || matches!((a.as_bytes(), b.as_bytes()), (Ok(x), Ok(y)) if x == y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hammock_runtime::{DType, Shape, Str};

    #[test]
    fn equal_constants_are_one_entry() {
        let tensor = |values: &[f32]| Constant::Tensor(Tensor::from_slice(&[values.len() as i64], values).unwrap());
        let mut pool = ConstantPool::default();
        let constants = || {
            [
                tensor(&[1.0, 2.0]),
                tensor(&[1.0, 2.5]),
                tensor(&[-0.0]),
                tensor(&[0.0]),
                Constant::Shape(Shape::new(&[2])),
                Constant::Str(Str::new("2")),
                Constant::Int(2),
                Constant::Float(2.0),
                Constant::Float(f64::NAN),
                Constant::DType(DType::FLOAT32),
            ]
        };
        let first: Vec<Arg> = constants().into_iter().map(|c| pool.arg(c)).collect();
        let again: Vec<Arg> = constants().into_iter().map(|c| pool.arg(c)).collect();
        assert_eq!(first, again);
        assert_eq!(pool.into_entries().len(), first.len());
    }
}
