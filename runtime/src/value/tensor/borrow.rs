//! Tensors from other code: copied, or borrowed.
use super::{DLTensor, Lender, Owner, Tensor, TensorError, byte_size, is_dense};
use crate::memory::{Allocator, AllocatorKind};
use crate::value::{DType, Shape};

/// Maximum rank of a tensor from other code; numpy has the same limit. A larger rank is treated as a damaged
/// descriptor, whose sizes must not be read.
pub const MAX_NDIM: usize = 64;

/// A validated tensor from other code.
pub(crate) struct Description<'a> {
    pub(crate) shape: &'a [i64],
    /// `None` for a contiguous tensor.
    pub(crate) strides: Option<&'a [i64]>,
    /// Address of the first element.
    pub(crate) data: *mut u8,
}

impl DLTensor {
    /// Validates everything in a `DLTensor` that can be checked. Shape and strides must point to `ndim` values, unless
    /// they are null or `ndim` exceeds [`MAX_NDIM`].
    pub(crate) fn check(&self) -> Result<Description<'_>, TensorError> {
        check_plain(self)?;
        let (shape, strides) = (self.sizes(), self.steps());
        let bytes = byte_size(self.dtype, shape)?;
        if bytes > 0 && self.data.is_null() {
            return Err(bad("a null address"));
        }
        if bytes > 0 && !is_dense(shape, strides) && !steps_fit(self.dtype, shape, strides) {
            let (shape, strides) = (Shape::new(shape), Shape::new(strides));
            return Err(bad(format!("strides {strides} for shape {shape} of {}", self.dtype)));
        }
        if bytes > 0 && !self.is_in_memory(shape, strides, bytes) {
            let (address, shape, offset) = (self.data.addr(), Shape::new(shape), self.byte_offset);
            let what = format!("shape {shape} of {}, {offset} bytes from address {address:#x}", self.dtype);
            return Err(bad(format!("{what}: no memory is there")));
        }
        let data = self.data.wrapping_add(self.byte_offset as usize);
        Ok(Description { shape, strides: (!strides.is_empty()).then_some(strides), data })
    }
}

/// More than the user address space, but far less than the values at which sums of addresses, offsets and sizes
/// overflow.
const ADDRESS_SPACE: usize = 1 << 57;

impl DLTensor {
    /// Returns true if all elements, from the lowest to the highest address, can be in the process's memory.
    fn is_in_memory(&self, shape: &[i64], strides: &[i64], bytes: usize) -> bool {
        let offset = usize::try_from(self.byte_offset).unwrap_or(usize::MAX);
        if !self.device.is_host() {
            return offset < ADDRESS_SPACE;
        }
        let first = self.data.addr().checked_add(offset);
        let (back, on) = match is_dense(shape, strides) {
            true => (Some(0), Some(bytes)),
            false => {
                let steps = |forward: bool| shape.iter().zip(strides).filter(move |(_, step)| (**step > 0) == forward);
                let distance = |forward: bool| {
                    let (sizes, steps): (Vec<i64>, Vec<i64>) = steps(forward).unzip();
                    reach(&sizes, &steps)?.checked_mul(self.dtype.bytes())
                };
                (distance(false).map(|bytes| bytes - self.dtype.bytes()), distance(true))
            }
        };
        let begins = first.zip(back).and_then(|(first, back)| first.checked_sub(back)).is_some_and(|first| first > 0);
        let ends = first.zip(on).and_then(|(first, on)| first.checked_add(on)).is_some_and(|end| end < ADDRESS_SPACE);
        offset < ADDRESS_SPACE && begins && ends
    }
}

impl Tensor {
    /// A contiguous copy, on the same device, of a tensor from other code.
    ///
    /// # Safety
    /// The `DLTensor` is valid.
    pub(in crate::value) unsafe fn copy_of(tensor: &DLTensor) -> Result<Tensor, TensorError> {
        let Description { shape, strides, data } = tensor.check()?;
        // The alias does not outlive this function.
        let alias = Tensor::assemble(data, tensor.device, tensor.dtype, shape, strides, || Owner::Nobody);
        if !tensor.device.is_host() {
            let allocator = Allocator::new(tensor.device, AllocatorKind::Naive, usize::MAX);
            let copy = allocator.and_then(|allocator| alias.copy_into(&allocator));
            return copy.map_err(|error| TensorError::NotCopied(error.message().to_owned()));
        }
        let dense = alias.to_contiguous()?;
        Tensor::from_bytes(dense.dtype(), dense.shape(), dense.as_bytes()?)
    }

    /// A tensor over memory that `lender` keeps alive. It is called if the `DLTensor` is valid.
    ///
    /// # Errors
    /// If it is not: see [`MAX_NDIM`] and [`TensorError::BadDescription`].
    ///
    /// # Safety
    /// Shape and strides can be read during this call, and the memory as long as the lender lives.
    pub unsafe fn borrow(tensor: &DLTensor, lender: impl FnOnce() -> Box<dyn Lender>) -> Result<Tensor, TensorError> {
        let Description { shape, strides, data } = tensor.check()?;
        Ok(Tensor::assemble(data, tensor.device, tensor.dtype, shape, strides, || Owner::Lent(lender())))
    }
}

fn bad(what: impl Into<String>) -> TensorError {
    TensorError::BadDescription(what.into())
}

/// Checks the fields other than shape and strides.
fn check_plain(tensor: &DLTensor) -> Result<(), TensorError> {
    if usize::try_from(tensor.ndim).is_ok_and(|ndim| ndim > MAX_NDIM) || tensor.ndim < 0 {
        return Err(bad(format!("{} dimensions", tensor.ndim)));
    }
    if !tensor.dtype.is_storable() {
        return Err(bad(format!("elements of {}", tensor.dtype)));
    }
    if tensor.shape.is_null() && tensor.ndim > 0 {
        return Err(bad(format!("no shape for {} dimensions", tensor.ndim)));
    }
    let first = usize::try_from(tensor.byte_offset).ok().and_then(|offset| tensor.data.addr().checked_add(offset));
    first.map(|_| ()).ok_or_else(|| bad(format!("an offset of {} bytes", tensor.byte_offset)))
}

/// Returns true if elements of the dtype can have these strides; those of less than a byte must be contiguous.
fn steps_fit(dtype: DType, shape: &[i64], strides: &[i64]) -> bool {
    let reach = reach(shape, strides).and_then(|reach| reach.checked_mul(dtype.bytes()));
    dtype.is_byte_sized() && reach.is_some_and(|reach| isize::try_from(reach).is_ok())
}

/// An upper bound of the distance, in elements, between any two elements; `None` if it overflows.
fn reach(shape: &[i64], strides: &[i64]) -> Option<usize> {
    shape.iter().zip(strides).try_fold(1usize, |reach, (size, stride)| {
        let last = usize::try_from(size - 1).ok()?;
        reach.checked_add(usize::try_from(stride.unsigned_abs()).ok()?.checked_mul(last)?)
    })
}
