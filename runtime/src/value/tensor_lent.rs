//! Tensors over memory that other code describes: copied out of it, or borrowed.
use super::tensor::{Owner, byte_size, is_dense};
use super::{DLTensor, DType, Shape, Tensor, TensorError};

/// What keeps alive memory that other code lent; dropped when nobody needs it any more.
pub(crate) trait Lender: Send + Sync {
    /// Must the memory not be written?
    fn is_read_only(&self) -> bool;
}

/// The most dimensions that a tensor of other code may have; numpy has the same limit. What claims more is taken for a
/// damaged description, whose sizes nobody should follow.
pub const MAX_NDIM: usize = 64;

/// A tensor that other code describes, after a look at whether one can be like that.
pub(crate) struct Description<'a> {
    pub(crate) shape: &'a [i64],
    /// None for a dense tensor.
    pub(crate) strides: Option<&'a [i64]>,
    /// The first element.
    pub(crate) data: *mut u8,
}

impl DLTensor {
    /// Checks everything in the description that can be checked.
    /// Shape and strides must be there, unless they are null or say that they are more than [`MAX_NDIM`].
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

/// More than the part of the address space that processors give to programs; far less than where adding up addresses,
/// offsets and sizes goes wrong.
const ADDRESS_SPACE: usize = 1 << 57;

impl DLTensor {
    /// Can all elements lie in memory of the process, those that strides step back to and the last one?
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
    /// A dense copy, on the host, of a tensor that other code describes.
    ///
    /// # Safety
    /// The description is true.
    pub(super) unsafe fn copy_of(tensor: &DLTensor) -> Result<Tensor, TensorError> {
        let Description { shape, strides, data } = tensor.check()?;
        // The alias does not outlive this function.
        let alias = Tensor::assemble(data, tensor.device, tensor.dtype, shape, strides, || Owner::Nobody);
        let dense = alias.to_contiguous()?;
        Tensor::from_bytes(dense.dtype(), dense.shape(), dense.as_bytes()?)
    }

    /// A tensor over memory that other code describes and `lender` keeps alive.
    ///
    /// # Safety
    /// The description is true as long as the lender lives.
    pub(crate) unsafe fn borrow(
        tensor: &DLTensor,
        lender: impl FnOnce() -> Box<dyn Lender>,
    ) -> Result<Tensor, TensorError> {
        let Description { shape, strides, data } = tensor.check()?;
        Ok(Tensor::assemble(data, tensor.device, tensor.dtype, shape, strides, || Owner::Lent(lender())))
    }
}

fn bad(what: impl Into<String>) -> TensorError {
    TensorError::BadDescription(what.into())
}

/// Checks the fields that need no look at shape and strides.
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

/// Can the elements be stepped through? Those that are not whole bytes cannot.
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
