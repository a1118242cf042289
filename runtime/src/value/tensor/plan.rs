//! Planned tensors, which a program creates repeatedly: the holder of the only reference may reuse the memory.
use super::{DLTensor, Owner, Tensor, byte_size_of, fill_dense_strides};
use crate::value::object::Ref;
use crate::value::{Any, DType, Device, index};

impl Any {
    /// The tensor in the value, if it is one.
    #[inline]
    pub(crate) fn into_tensor(self) -> Option<Tensor> {
        if self.type_index() != index::TENSOR {
            return None;
        }
        // SAFETY: the tag says that the payload is a tensor object; the value's reference moves to the result.
        let header = unsafe { self.payload().object }?;
        std::mem::forget(self);
        // SAFETY: as above.
        Some(Tensor(unsafe { Ref::from_header(header) }))
    }
}

impl Tensor {
    /// A tensor without memory, to check whether one like it would fit.
    pub(crate) fn without_memory(dtype: DType, shape: &[i64], device: Device) -> Tensor {
        Tensor::assemble(std::ptr::null_mut(), device, dtype, shape, None, || Owner::Nobody)
    }

    /// The plan of the tensor's allocation, if this is the only reference to it.
    #[inline]
    pub(crate) fn unique_plan(&self) -> Option<u64> {
        if !self.0.is_unique() {
            return None;
        }
        match self.owner() {
            Some(Owner::Planned(_, plan)) => Some(*plan),
            _ => None,
        }
    }

    /// Returns true if this is the only reference to the tensor.
    pub(crate) fn is_unique(&self) -> bool {
        self.0.is_unique()
    }

    /// Size of a planned tensor's own storage in bytes.
    pub(crate) fn planned_bytes(&self) -> usize {
        match self.owner() {
            Some(Owner::Planned(storage, _)) => storage.block().size(),
            _ => 0,
        }
    }

    /// Changes the sizes of a planned tensor with a single reference, preserving the rank. Returns false if its memory
    /// after `offset` is too small, or wastefully large.
    pub(crate) fn refit(&mut self, offset: usize, size: impl Fn(usize) -> i64) -> bool {
        let same = self.shape().iter().enumerate().all(|(axis, current)| *current == size(axis));
        if same {
            return true;
        }
        let Some(Owner::Planned(storage, _)) = self.owner().filter(|_| self.0.is_unique()) else { return false };
        let available = storage.block().size();
        let DLTensor { shape, strides, ndim, dtype, .. } = *self.0;
        let ndim = ndim as usize;
        let end = byte_size_of(dtype, (0..ndim).map(&size)).and_then(|bytes| bytes.checked_add(offset));
        let fits = end.is_some_and(|end| end <= available && available / 4 <= end.max(64));
        if fits {
            // SAFETY: we created the tensor, so `ndim` sizes and strides of its own follow it, and nobody else refers
            // to them.
            let (shape, strides) =
                unsafe { (std::slice::from_raw_parts_mut(shape, ndim), std::slice::from_raw_parts_mut(strides, ndim)) };
            (0..ndim).for_each(|axis| shape[axis] = size(axis));
            fill_dense_strides(shape, strides);
        }
        fits
    }
}
