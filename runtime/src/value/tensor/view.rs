//! Views: tensors over another tensor's memory.
use super::{Owner, Tensor, TensorError, byte_size, element_count};
use crate::value::{DType, Device, copy_bits_between};

impl Tensor {
    /// The same elements with another shape of as many elements. The tensor must be contiguous.
    pub fn reshape(&self, shape: &[i64]) -> Result<Tensor, TensorError> {
        byte_size(self.dtype(), shape)?;
        if element_count(shape) != Some(self.element_count()) {
            return Err(TensorError::Reshape { from: self.shape().to_vec(), to: shape.to_vec() });
        }
        self.view(self.dtype(), shape, 0)
    }

    /// A contiguous tensor over part of this one's memory, at `byte_offset`. The tensor must be contiguous.
    pub fn view(&self, dtype: DType, shape: &[i64], byte_offset: usize) -> Result<Tensor, TensorError> {
        if !self.is_contiguous() {
            return Err(TensorError::NotContiguous);
        }
        check_bounds(byte_offset, byte_size(dtype, shape)?, self.nbytes())?;
        let data = self.data_ptr().wrapping_add(byte_offset);
        Ok(Tensor::assemble(data, self.device(), dtype, shape, None, || self.share()))
    }

    /// A strided view of this tensor's memory (strides in elements, not negative) at `byte_offset`. The tensor must be
    /// contiguous, with elements of whole bytes.
    pub fn strided(&self, shape: &[i64], strides: &[i64], byte_offset: usize) -> Result<Tensor, TensorError> {
        let bad = || TensorError::BadShape(strides.to_vec());
        if !self.is_contiguous() {
            return Err(TensorError::NotContiguous);
        }
        if strides.len() != shape.len() || !self.dtype().is_byte_sized() {
            return Err(bad());
        }
        let elements = if byte_size(self.dtype(), shape)? == 0 { 0 } else { span(shape, strides).ok_or_else(bad)? };
        let bytes = self.dtype().storage_bytes(elements).ok_or_else(bad)?;
        check_bounds(byte_offset, bytes, self.nbytes())?;
        let data = self.data_ptr().wrapping_add(byte_offset);
        Ok(Tensor::assemble(data, self.device(), self.dtype(), shape, Some(strides), || self.share()))
    }

    /// The tensor, marked as read-only.
    pub(crate) fn constant(&self) -> Tensor {
        if self.is_read_only() {
            return self.clone();
        }
        let owner = match self.share() {
            Owner::Tensor(tensor) => tensor,
            _ => self.clone(),
        };
        let strides = (!self.strides().is_empty()).then_some(self.strides());
        Tensor::assemble(self.data_ptr(), self.device(), self.dtype(), self.shape(), strides, || Owner::Constant(owner))
    }

    /// Owner of a view's memory: the owner of the memory itself, not another view, to avoid long chains of views.
    fn share(&self) -> Owner {
        match self.owner() {
            Some(Owner::Tensor(owner)) => Owner::Tensor(owner.clone()),
            Some(Owner::Constant(owner)) => Owner::Constant(owner.clone()),
            Some(Owner::Shared(owner)) => Owner::Shared(owner.clone()),
            Some(Owner::Mapped(file)) => Owner::Mapped(file.clone()),
            Some(Owner::Storage(storage)) => Owner::Storage(storage.clone()),
            // Its memory is borrowed, or reused when the tensor is dropped, so the tensor itself must stay alive.
            _ => Owner::Tensor(self.clone()),
        }
    }

    /// This tensor if it is contiguous, otherwise a contiguous copy. Elements of less than a byte are always
    /// contiguous.
    pub fn to_contiguous(&self) -> Result<Tensor, TensorError> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        if !self.device().is_host() {
            return Err(TensorError::NotOnHost(self.device()));
        }
        let copy = Tensor::empty(self.dtype(), self.shape(), Device::CPU)?;
        let size = self.dtype().bytes();
        for (position, offset) in offsets(self.shape(), self.strides()).enumerate() {
            // SAFETY: both have the same number of elements of `size` bytes within their memory; the copy is new.
            unsafe {
                let from = self.data_ptr().offset(offset as isize * size as isize);
                copy.data_ptr().add(position * size).copy_from_nonoverlapping(from, size);
            }
        }
        Ok(copy)
    }

    /// The bytes of the element at an index, least significant bit first; `None` if there is no such element on the
    /// host.
    pub(crate) fn element(&self, index: &[i64]) -> Option<Vec<u8>> {
        let (dtype, shape, strides) = (self.dtype(), self.shape(), self.strides());
        let is_there = index.len() == shape.len() && index.iter().zip(shape).all(|(at, size)| (0..*size).contains(at));
        if !is_there || !self.device().is_host() || !dtype.is_storable() {
            return None;
        }
        let steps = index.iter().zip(shape).enumerate();
        let position = match self.is_contiguous() {
            true => steps.fold(0, |position, (_, (at, size))| position * size + at),
            false => steps.map(|(axis, (at, _))| at * strides[axis]).sum(),
        };
        let width = dtype.width();
        let (first, shift) = match dtype.is_byte_sized() {
            true => (position as isize * (width / 8) as isize, 0),
            // Only contiguous tensors have elements that begin within a byte.
            false => (position as isize * width as isize / 8, position as usize * width % 8),
        };
        let mut bytes = vec![0; dtype.bytes()];
        // SAFETY: the element is in the tensor's memory, which may be read while the tensor lives.
        unsafe { copy_bits_between(bytes.as_mut_ptr(), 0, self.data_ptr().offset(first), shift, width) };
        Some(bytes)
    }
}

/// Checks that a range is within `available` bytes.
#[inline]
pub(super) fn check_bounds(begin: usize, bytes: usize, available: usize) -> Result<(), TensorError> {
    let end = begin.saturating_add(bytes);
    if end <= available { Ok(()) } else { Err(TensorError::OutOfBounds { begin, end, available }) }
}

/// Number of elements from the first to the last, inclusive, for sizes that are not zero; `None` if a stride is
/// negative or the number overflows.
pub(super) fn span(shape: &[i64], strides: &[i64]) -> Option<usize> {
    let last = shape.iter().zip(strides).try_fold(0i64, |last, (size, stride)| {
        if *stride < 0 { None } else { last.checked_add(stride.checked_mul(size - 1)?) }
    })?;
    usize::try_from(last).ok()?.checked_add(1)
}

/// Offsets of the elements in row-major order.
fn offsets<'a>(shape: &'a [i64], strides: &'a [i64]) -> impl Iterator<Item = i64> + 'a {
    (0..shape.iter().product::<i64>()).map(move |mut position| {
        shape.iter().zip(strides).rev().fold(0, |offset, (size, stride)| {
            let index = position % size;
            position /= size;
            offset + index * stride
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Allocator, AllocatorKind};
    use crate::value::Storage;

    fn iota(shape: &[i64]) -> Tensor {
        let values: Vec<i32> = (0..shape.iter().product::<i64>() as i32).collect();
        Tensor::from_slice(shape, &values).unwrap()
    }

    #[test]
    fn views_share_memory_and_keep_it_alive() {
        let view = {
            let tensor = iota(&[4, 3]);
            tensor.view(DType::INT32, &[2, 3], 12).unwrap()
        };
        assert_eq!(view.as_slice::<i32>().unwrap(), [3, 4, 5, 6, 7, 8]);
        assert_eq!(view.reshape(&[6]).unwrap().shape(), [6]);
    }

    #[test]
    fn views_of_views_hold_the_memory_alone() {
        let rounds = if cfg!(miri) { 300 } else { 1_000_000 };
        let chain = |first: Tensor| (0..rounds).fold(first, |view, _| view.view(DType::INT32, &[2], 0).unwrap());
        let own = iota(&[2]);
        let last = chain(own.clone());
        // SAFETY: the tensor is alive.
        let count = unsafe { own.0.as_header().as_ref() }.strong_count();
        assert_eq!((count, last.as_slice::<i32>().unwrap()), (2, &[0, 1][..]));
        drop(last);
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Naive, 64).unwrap();
        let storage = Storage::new(allocator.alloc(8).unwrap());
        let last = chain(storage.tensor(DType::INT32, &[2], 0).unwrap());
        drop(storage);
        assert_eq!(allocator.stats().used, 64);
        drop(last);
        assert_eq!(allocator.stats().used, 0);
    }

    #[test]
    fn memory_of_planned_tensors_is_not_used_again_under_a_view() {
        let allocator = Allocator::new(Device::CPU, AllocatorKind::Naive, 64).unwrap();
        let planned = Storage::new(allocator.alloc(8).unwrap()).planned(DType::INT32, &[2], 0, 7).unwrap();
        let view = planned.reshape(&[1, 2]).unwrap().reshape(&[2]).unwrap();
        assert_eq!(planned.unique_plan(), None);
        drop(view);
        assert_eq!(planned.unique_plan(), Some(7));
    }

    #[test]
    fn constants_and_views_of_them_are_not_written() {
        let constant = iota(&[4]).constant();
        let view = constant.reshape(&[2, 2]).unwrap().view(DType::INT32, &[2], 4).unwrap();
        assert!(constant.is_read_only() && view.is_read_only() && view.constant().is_read_only());
        assert!(view.overwrite(&iota(&[2])).is_err());
        assert_eq!(view.as_slice::<i32>().unwrap(), [1, 2]);
    }

    #[test]
    fn strided_views_copy_out_in_row_major_order() {
        let transposed = iota(&[2, 3]).strided(&[3, 2], &[1, 3], 0).unwrap();
        assert!(!transposed.is_contiguous());
        assert_eq!(transposed.as_slice::<i32>(), Err(TensorError::NotContiguous));
        assert_eq!(transposed.to_contiguous().unwrap().as_slice::<i32>().unwrap(), [0, 3, 1, 4, 2, 5]);
        let broadcast = iota(&[2]).strided(&[3, 2], &[0, 1], 0).unwrap();
        assert_eq!(broadcast.to_contiguous().unwrap().as_slice::<i32>().unwrap(), [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn views_stay_within_bounds() {
        let tensor = iota(&[4]);
        assert!(matches!(tensor.view(DType::INT32, &[4], 4), Err(TensorError::OutOfBounds { end: 20, .. })));
        assert!(tensor.strided(&[2], &[4], 0).is_err());
        assert!(tensor.strided(&[2], &[-1], 4).is_err());
        assert!(tensor.strided(&[2, 2], &[i64::MAX, i64::MAX], 0).is_err());
        assert!(tensor.strided(&[0, 9], &[99, 99], 16).is_ok());
        assert!(tensor.reshape(&[5]).is_err());
        assert!(tensor.view(DType::INT32, &[-1], 0).is_err());
    }
}
