//! Tensors that a caller lends for one call only, as kernels do with buffers on their stack.
//!
//! A callback might keep the array that it gets. So it gets a copy of such a tensor, and what it has written is copied
//! back when it returns.
use hammock_runtime::{Any, Tensor, value::DLTensor};
use std::slice;

/// A tensor of the caller, with the copy that the callback gets.
pub struct Borrowed<'a> {
    original: &'a DLTensor,
    copy: Tensor,
    before: Vec<u8>,
}

impl<'a> Borrowed<'a> {
    /// Returns the tensor in an argument whose owned value is `value`, if the caller only lends it.
    pub fn new(arg: &'a Any, value: &Any) -> Option<Borrowed<'a>> {
        let copy = value.get::<Tensor>().filter(|_| arg.is_borrowed())?;
        let before = copy.as_bytes().ok()?.to_vec();
        Some(Borrowed { original: arg.as_dl_tensor()?, copy, before })
    }

    /// Copies the elements that have changed, and no others: kernels on other threads may write those, and inputs may
    /// be in memory that must not be written.
    pub fn write_back(&self) {
        let (Ok(after), width) = (self.copy.as_bytes(), self.copy.dtype().bytes()) else { return };
        if after == self.before {
            return;
        }
        let data = self.original.data.wrapping_add(self.original.byte_offset as usize);
        let shape = self.copy.shape();
        let strides = (!self.original.strides.is_null()).then(|| {
            // SAFETY: the caller's tensor has as many strides as dimensions; `Any::owned` has checked it.
            unsafe { slice::from_raw_parts(self.original.strides, shape.len()) }
        });
        for (index, (new, old)) in after.chunks(width).zip(self.before.chunks(width)).enumerate() {
            if new != old {
                let element = strides.map_or(index as isize, |strides| element_offset(index, shape, strides) as isize);
                let to = data.wrapping_offset(element * width as isize);
                // SAFETY: the element is one of the caller's tensor, whose memory is lent for the call.
                unsafe { to.copy_from_nonoverlapping(new.as_ptr(), new.len()) };
            }
        }
    }
}

/// The offset, in elements, of the element with a row-major index.
fn element_offset(mut index: usize, shape: &[i64], strides: &[i64]) -> i64 {
    shape.iter().zip(strides).rev().fold(0, |offset, (size, stride)| {
        let coordinate = index % *size as usize;
        index /= *size as usize;
        offset + coordinate as i64 * stride
    })
}
