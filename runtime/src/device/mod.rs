//! Devices: what a kind of processor must offer for tensors to live on it.
mod cpu;

use crate::ffi::Error;
use crate::value::{Device, device_kind};
use std::ptr::NonNull;

/// One device's memory.
pub trait DeviceApi: Send + Sync {
    /// Which device.
    fn device(&self) -> Device;

    /// `bytes` bytes, initialized, aligned to 64; `None` if there are none left.
    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>>;

    /// Gives memory back.
    ///
    /// # Safety
    /// `data` came from `allocate(bytes)` of this device and nobody refers to it any more.
    unsafe fn free(&self, data: NonNull<u8>, bytes: usize);

    /// Copies from the host's memory to the device's, and waits for it.
    ///
    /// # Safety
    /// Both hold `bytes` bytes, and nobody else touches the device's meanwhile.
    unsafe fn copy_from_host(&self, host: *const u8, data: *mut u8, bytes: usize) -> Result<(), Error>;

    /// Copies from the device's memory to the host's, once everything queued before is done, and waits for it.
    ///
    /// # Safety
    /// Both hold `bytes` bytes, and nobody else touches the host's meanwhile.
    unsafe fn copy_to_host(&self, data: *const u8, host: *mut u8, bytes: usize) -> Result<(), Error>;
}

/// The interface to `device`, if it is there.
pub fn find(device: Device) -> Result<&'static dyn DeviceApi, Error> {
    let found = match device.kind {
        device_kind::CPU => cpu::find(device.id).map(|cpu| cpu as &dyn DeviceApi),
        _ => None,
    };
    found.ok_or_else(|| Error::value(format!("there is no device {device}")))
}
