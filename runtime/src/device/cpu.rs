//! The host as a device.
use super::DeviceApi;
use crate::ffi::Error;
use crate::memory;
use crate::value::Device;
use std::ptr::NonNull;

/// The host.
pub(super) struct Cpu;

impl DeviceApi for Cpu {
    fn device(&self) -> Device {
        Device::CPU
    }

    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        memory::buffer::allocate(bytes)
    }

    unsafe fn free(&self, data: NonNull<u8>, bytes: usize) {
        // SAFETY: as the caller promises.
        unsafe { memory::buffer::free(data, bytes) }
    }

    unsafe fn copy_from_host(&self, host: *const u8, data: *mut u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: as the caller promises; `copy` allows the two to overlap.
        unsafe { host.copy_to(data, bytes) };
        Ok(())
    }

    unsafe fn copy_to_host(&self, data: *const u8, host: *mut u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: as the caller promises.
        unsafe { data.copy_to(host, bytes) };
        Ok(())
    }
}
