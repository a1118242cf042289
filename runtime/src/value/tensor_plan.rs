//! Tensors that a program makes over and over: the holder of the only reference to one may reuse its memory.
use super::object::Ref;
use super::tensor::{DLTensor, Owner, byte_size_of, fill_dense_strides};
use super::{Any, DType, Device, Tensor, index};

impl Any {
    /// The tensor that the value is.
    #[inline]
    pub(crate) fn into_tensor(self) -> Option<Tensor> {
        if self.type_index() != index::TENSOR {
            return None;
        }
        // SAFETY: the tag says that the payload is a tensor object; the value's claim passes to the result.
        let header = unsafe { self.payload().object }?;
        std::mem::forget(self);
        // SAFETY: as above.
        Some(Tensor(unsafe { Ref::from_header(header) }))
    }
}

impl Tensor {
    /// A description without memory: for asking whether a tensor like this would do.
    pub(crate) fn phantom(dtype: DType, shape: &[i64], device: Device) -> Tensor {
        Tensor::assemble(std::ptr::null_mut(), device, dtype, shape, None, || Owner::Nobody)
    }

    /// The plan the tensor was made by, if this is the only reference to it.
    #[inline]
    pub(crate) fn sole_plan(&self) -> Option<u64> {
        if !self.0.is_unique() {
            return None;
        }
        match self.owner() {
            Some(Owner::Planned(_, plan)) => Some(*plan),
            _ => None,
        }
    }

    /// Is this the only reference to the tensor?
    pub(crate) fn is_sole(&self) -> bool {
        self.0.is_unique()
    }

    /// Bytes of the storage that a planned tensor has for itself.
    pub(crate) fn planned_bytes(&self) -> usize {
        match self.owner() {
            Some(Owner::Planned(storage, _)) => storage.block().size(),
            _ => 0,
        }
    }

    /// Gives a planned tensor that nobody else refers to other sizes, of the same number. False if its memory, from
    /// `offset` on, is too small for them, or so large that it would be a waste.
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
            // SAFETY: the tensor is one of ours, so it has `ndim` sizes and strides of its own behind it, and nobody
            // else refers to them.
            let (shape, strides) =
                unsafe { (std::slice::from_raw_parts_mut(shape, ndim), std::slice::from_raw_parts_mut(strides, ndim)) };
            (0..ndim).for_each(|axis| shape[axis] = size(axis));
            fill_dense_strides(shape, strides);
        }
        fits
    }
}
