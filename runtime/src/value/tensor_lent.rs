//! Tensors over memory that other code describes: copied out of it, or borrowed.
use super::tensor::{Owner, byte_size, counted, is_dense};
use super::{DLTensor, DType, Shape, Tensor, TensorError};

/// What keeps alive memory that other code lent; dropped when nobody needs it any more.
pub(crate) trait Lender: Send + Sync {
    /// Must the memory not be written?
    fn is_read_only(&self) -> bool;
}

impl Tensor {
    /// A dense copy, on the host, of a tensor that other code describes.
    ///
    /// # Safety
    /// The description is true.
    pub(super) unsafe fn copy_of(tensor: &DLTensor) -> Result<Tensor, TensorError> {
        // SAFETY: the caller promises as many sizes and strides as dimensions.
        let (shape, strides) = unsafe { (counted(tensor.shape, tensor.ndim), counted(tensor.strides, tensor.ndim)) };
        byte_size(tensor.dtype, shape)?;
        let strides = (!tensor.strides.is_null()).then_some(strides);
        let data = tensor.data.wrapping_add(tensor.byte_offset as usize);
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
        check_plain(tensor)?;
        // SAFETY: the caller promises as many sizes and strides as dimensions.
        let (shape, strides) = unsafe { (counted(tensor.shape, tensor.ndim), counted(tensor.strides, tensor.ndim)) };
        let bytes = byte_size(tensor.dtype, shape)?;
        if bytes > 0 && tensor.data.is_null() {
            return Err(bad("a null address"));
        }
        if bytes > 0 && !is_dense(shape, strides) && !steps_fit(tensor.dtype, shape, strides) {
            let (shape, strides) = (Shape::new(shape), Shape::new(strides));
            return Err(bad(format!("strides {strides} for shape {shape} of {}", tensor.dtype)));
        }
        let strides = (!strides.is_empty()).then_some(strides);
        let data = tensor.data.wrapping_add(tensor.byte_offset as usize);
        Ok(Tensor::assemble(data, tensor.device, tensor.dtype, shape, strides, || Owner::Lent(lender())))
    }
}

fn bad(what: impl Into<String>) -> TensorError {
    TensorError::BadDescription(what.into())
}

/// Checks the fields that need no look at shape and strides.
fn check_plain(tensor: &DLTensor) -> Result<(), TensorError> {
    if tensor.ndim < 0 {
        return Err(bad(format!("{} dimensions", tensor.ndim)));
    }
    if tensor.dtype.bits == 0 || tensor.dtype.lanes == 0 {
        return Err(bad(format!("elements of {}", tensor.dtype)));
    }
    if tensor.shape.is_null() && tensor.ndim > 0 {
        return Err(bad(format!("no shape for {} dimensions", tensor.ndim)));
    }
    let first = usize::try_from(tensor.byte_offset).ok().and_then(|offset| tensor.data.addr().checked_add(offset));
    first.map(|_| ()).ok_or_else(|| bad(format!("an offset of {} bytes", tensor.byte_offset)))
}

/// Can the elements be stepped through? Those below a byte cannot.
fn steps_fit(dtype: DType, shape: &[i64], strides: &[i64]) -> bool {
    let reach = reach(shape, strides).and_then(|reach| reach.checked_mul(dtype.bytes()));
    dtype.bits >= 8 && reach.is_some_and(|reach| isize::try_from(reach).is_ok())
}

/// An upper bound of the distance, in elements, between any two elements; `None` if it overflows.
fn reach(shape: &[i64], strides: &[i64]) -> Option<usize> {
    shape.iter().zip(strides).try_fold(1usize, |reach, (size, stride)| {
        let last = usize::try_from(size - 1).ok()?;
        reach.checked_add(usize::try_from(stride.unsigned_abs()).ok()?.checked_mul(last)?)
    })
}
