//! Devices: the interface that a kind of processor implements so that tensors can be allocated on it.
mod cpu;

use crate::ffi::Error;
use crate::value::{Device, device_kind};
use std::ptr::NonNull;

/// The memory of one device.
pub trait DeviceApi: Send + Sync {
    /// The device.
    fn device(&self) -> Device;

    /// Allocates `bytes` initialized bytes, aligned to 64; `None` if the device is out of memory.
    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>>;

    /// Frees memory.
    ///
    /// # Safety
    /// `data` came from `allocate(bytes)` of this device and nobody refers to it any more.
    unsafe fn free(&self, data: NonNull<u8>, bytes: usize);

    /// Copies from host memory to the device, synchronously.
    ///
    /// # Safety
    /// Both have `bytes` bytes, and nobody else accesses the device's during the copy.
    unsafe fn copy_from_host(&self, host: *const u8, data: *mut u8, bytes: usize) -> Result<(), Error>;

    /// Copies from the device to host memory, synchronously, after all work queued before.
    ///
    /// # Safety
    /// Both have `bytes` bytes, and nobody else accesses the host's during the copy.
    unsafe fn copy_to_host(&self, data: *const u8, host: *mut u8, bytes: usize) -> Result<(), Error>;
}

/// Returns the interface to `device`, if it is present.
pub fn find(device: Device) -> Result<&'static dyn DeviceApi, Error> {
    let found = match device.kind {
        device_kind::CPU => cpu::find(device.id).map(|cpu| cpu as &dyn DeviceApi),
        _ => None,
    };
    found.ok_or_else(|| Error::value(format!("there is no device {device}")))
}
