//! Copies of tensors, within a device and between devices.
use super::view::{check_bounds, span};
use super::{Tensor, TensorError};
use crate::device;
use crate::ffi::Error;
use crate::memory::{Allocator, AllocatorKind};
use crate::value::{Device, Storage};

impl Tensor {
    /// This tensor if it is on `device`, otherwise a contiguous copy there. A copy of another device's data in host memory
    /// counts towards the limit of the program at work on this thread.
    pub fn to_device(&self, device: Device) -> Result<Tensor, Error> {
        if self.device() == device {
            return Ok(self.clone());
        }
        if device.is_host() && !self.device().is_host() {
            return self.download(device);
        }
        self.copy_into(&*Allocator::new(device, AllocatorKind::Naive, usize::MAX)?)
    }

    /// This tensor if the host can access its memory, otherwise a contiguous copy on the host.
    pub(crate) fn on_host(&self) -> Result<Tensor, Error> {
        if self.device().is_host() { Ok(self.clone()) } else { self.download(Device::CPU) }
    }

    /// This tensor if it is contiguous, on any device, otherwise a contiguous copy on the host.
    pub(crate) fn to_dense(&self) -> Result<Tensor, Error> {
        if self.is_contiguous() { Ok(self.clone()) } else { Ok(self.on_host()?.to_contiguous()?) }
    }

    /// A contiguous copy in memory of an allocator, on its device.
    pub fn copy_into(&self, allocator: &Allocator) -> Result<Tensor, Error> {
        let dense = self.to_dense()?;
        let (source, target) = (device::find(dense.device())?, device::find(allocator.device())?);
        let bytes = self.nbytes();
        let copy = Storage::new(allocator.alloc(bytes)?).tensor(self.dtype(), self.shape(), 0)?;
        // SAFETY: both have `bytes` bytes, and the copy is new.
        unsafe { device::copy((source, dense.data_ptr()), (target, copy.data_ptr()), bytes)? };
        Ok(copy)
    }

    /// A contiguous copy of another device's data on a host device.
    fn download(&self, host: Device) -> Result<Tensor, Error> {
        let (source, target) = (device::find(self.device())?, device::find(host)?);
        let fetch = |shape: &[i64]| {
            let copy = Tensor::empty(self.dtype(), shape, host)?;
            // SAFETY: both have as many bytes, and the copy is new.
            unsafe { device::copy((source, self.data_ptr()), (target, copy.data_ptr()), copy.nbytes())? };
            Ok::<_, Error>(copy)
        };
        if self.is_contiguous() {
            return fetch(self.shape());
        }
        // Everything from the first to the last element.
        let elements = span(self.shape(), self.strides()).ok_or(TensorError::NotContiguous)?;
        Ok(fetch(&[elements as i64])?.strided(self.shape(), self.strides(), 0)?.to_contiguous()?)
    }

    /// Copies the elements of a tensor of the same dtype and shape into this one, as kernels do with their outputs.
    /// Both must be contiguous. The caller ensures that nobody else reads this one during the call.
    pub(crate) fn overwrite(&self, contents: &Tensor) -> Result<(), Error> {
        if self.dtype() != contents.dtype() || self.shape() != contents.shape() {
            return Err(Error::type_error(format!("{contents:?} cannot be written into {self:?}")));
        }
        self.overwrite_bytes(0, contents, 0, contents.nbytes())
    }

    /// Copies `bytes` bytes of a contiguous tensor, from byte `from`, into this contiguous one, to byte `to`. The caller
    /// ensures that nobody else reads this one during the call.
    pub(crate) fn overwrite_bytes(&self, to: usize, contents: &Tensor, from: usize, bytes: usize) -> Result<(), Error> {
        if self.is_read_only() {
            return Err(Error::value("the tensor must not be written"));
        }
        if !self.is_contiguous() || !contents.is_contiguous() {
            return Err(TensorError::NotContiguous.into());
        }
        check_bounds(to, bytes, self.nbytes())?;
        check_bounds(from, bytes, contents.nbytes())?;
        let (to, from) = (self.data_ptr().wrapping_add(to), contents.data_ptr().wrapping_add(from));
        if self.device().is_host() && contents.device().is_host() {
            // SAFETY: both ranges are in the tensors' memory; they may overlap.
            unsafe { std::ptr::copy(from, to, bytes) };
            return Ok(());
        }
        let (source, target) = (device::find(contents.device())?, device::find(self.device())?);
        // SAFETY: as above.
        unsafe { device::copy((source, from), (target, to), bytes) }
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
