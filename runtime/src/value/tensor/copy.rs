//! Copies of tensors, within a device and between devices.
use super::Tensor;
use crate::device;
use crate::ffi::Error;
use crate::memory::{Allocator, AllocatorKind};
use crate::value::{Device, Storage};

impl Tensor {
    /// This tensor if it is on `device`, otherwise a contiguous copy there.
    pub fn to_device(&self, device: Device) -> Result<Tensor, Error> {
        if self.device() == device {
            return Ok(self.clone());
        }
        self.copy_into(&*Allocator::new(device, AllocatorKind::Naive, usize::MAX)?)
    }

    /// A contiguous copy in memory of an allocator, on its device.
    pub fn copy_into(&self, allocator: &Allocator) -> Result<Tensor, Error> {
        let (source, target) = (device::find(self.device())?, device::find(allocator.device())?);
        let (dense, bytes) = (self.to_contiguous()?, self.nbytes());
        let copy = Storage::new(allocator.alloc(bytes)?).tensor(self.dtype(), self.shape(), 0)?;
        // SAFETY: both have `bytes` bytes, and the copy is new.
        unsafe { device::copy((source, dense.data_ptr()), (target, copy.data_ptr()), bytes)? };
        Ok(copy)
    }

    /// Copies the elements of a tensor of the same dtype and shape into this one, as kernels do with their outputs.
    /// Both must be contiguous and on the host. The caller ensures that nobody else reads this one during the call.
    pub(crate) fn overwrite(&self, contents: &Tensor) -> Result<(), Error> {
        if self.dtype() != contents.dtype() || self.shape() != contents.shape() {
            return Err(Error::type_error(format!("{contents:?} cannot be written into {self:?}")));
        }
        if self.is_read_only() {
            return Err(Error::value("the tensor must not be written"));
        }
        let (len, source) = (self.as_bytes()?.len(), contents.as_bytes()?);
        if len > 0 {
            // SAFETY: both are contiguous on the host and `len` bytes long, and are disjoint or identical.
            unsafe { std::ptr::copy(source.as_ptr(), self.data_ptr(), len) };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_come_from_the_allocator() {
        let allocator = Allocator::new(Device { id: 1, ..Device::CPU }, AllocatorKind::Naive, 64).unwrap();
        let two_by_two = Tensor::from_slice(&[2, 2], &[0i32, 1, 2, 3]).unwrap();
        let copy = two_by_two.strided(&[2, 2], &[1, 2], 0).unwrap().copy_into(&allocator).unwrap();
        assert_eq!((copy.as_slice::<i32>().unwrap(), copy.device().id), (&[0, 2, 1, 3][..], 1));
        assert_eq!(allocator.stats().used, 64);
        assert_eq!(two_by_two.copy_into(&allocator).unwrap_err().kind(), "MemoryError");
    }
}
