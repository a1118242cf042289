//! Constant pool: equal constants share an entry. Tensors are equal only in the same memory scope on the same device.

use hammock_runtime::{
    Tensor,
    executable::{Arg, Constant},
};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Constants, and a hash table of them.
#[derive(Default)]
pub struct ConstantPool {
    entries: Vec<Constant>,
    /// Memory scopes of the tensors that have one, in order.
    scopes: Vec<(i64, String)>,
    /// Numbers of the devices of tensors that are not on the first one, in order.
    devices: Vec<(u32, i32)>,
    /// Entries by hash.
    by_hash: FxHashMap<u64, Vec<usize>>,
}

impl ConstantPool {
    /// Returns the argument for a constant.
    pub fn arg(&mut self, constant: Constant) -> Arg {
        self.placed(constant, None, 0)
    }

    /// Returns the argument for a tensor, optionally in a memory scope, on the device of a number.
    pub fn tensor(&mut self, tensor: Tensor, scope: Option<&str>, device: i32) -> Arg {
        self.placed(Constant::Tensor(tensor), scope, device)
    }

    fn placed(&mut self, constant: Constant, scope: Option<&str>, device: i32) -> Arg {
        let candidates = self.by_hash.entry(hash(&constant)).or_default();
        let scope_of = |at: usize| {
            let found = self.scopes.binary_search_by_key(&(at as i64), |(index, _)| *index);
            found.ok().map(|found| self.scopes[found].1.as_str())
        };
        let device_of = |at: usize| {
            let found = self.devices.binary_search_by_key(&(at as u32), |(index, _)| *index);
            found.map_or(0, |found| self.devices[found].1)
        };
        let is_same =
            |at: &usize| are_equal(&self.entries[*at], &constant) && scope_of(*at) == scope && device_of(*at) == device;
        let found = candidates.iter().copied().find(is_same);
        let index = found.unwrap_or_else(|| {
            let index = self.entries.len();
            candidates.push(index);
            self.entries.push(constant);
            self.scopes.extend(scope.map(|scope| (index as i64, scope.to_owned())));
            self.devices.extend((device != 0).then_some((index as u32, device)));
            index
        });
        Arg::Constant(index as i64)
    }

    /// Constants that are not on the first device, with the numbers of their devices, in order.
    pub fn devices(&self) -> &[(u32, i32)] {
        &self.devices
    }

    /// Returns the entries in order, and the memory scopes of those that have one.
    pub fn into_parts(self) -> (Vec<Constant>, Vec<(i64, String)>) {
        (self.entries, self.scopes)
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

/// Compares constants; floats bitwise, so that zeros of different sign and NaNs are distinct.
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
        assert_eq!(pool.into_parts().0.len(), first.len());
    }

    #[test]
    fn tensors_in_different_scopes_are_two_entries() {
        let mut pool = ConstantPool::default();
        let tensor = || Tensor::from_slice(&[2], &[1.0f32, 2.0]).unwrap();
        let anywhere = pool.arg(Constant::Tensor(tensor()));
        let texture = pool.tensor(tensor(), Some("global.texture"), 0);
        assert_eq!(
            (anywhere, texture),
            (pool.tensor(tensor(), None, 0), pool.tensor(tensor(), Some("global.texture"), 0))
        );
        assert_eq!((anywhere, texture), (Arg::Constant(0), Arg::Constant(1)));
        assert_eq!(pool.into_parts().1, [(1, "global.texture".to_owned())]);
    }

    #[test]
    fn tensors_on_different_devices_are_two_entries() {
        let mut pool = ConstantPool::default();
        let tensor = || Tensor::from_slice(&[2], &[1.0f32, 2.0]).unwrap();
        let entries = [0, -1, 1, 0, -1].map(|device| pool.tensor(tensor(), None, device));
        assert_eq!(entries, [0, 1, 2, 0, 1].map(Arg::Constant));
        assert_eq!(pool.devices(), [(1, -1), (2, 1)]);
    }
}
