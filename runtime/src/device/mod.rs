//! Devices: the interface that a kind of processor implements, so that tensors and code can be on it.
//!
//! | part | user |
//! |---|---|
//! | memory | allocators |
//! | [`Stream`]: work in order | copies of tensors, timing |
//! | [`Event`]: a point in a stream's work | timing, copies between devices |
//! | [`DeviceModule`]: loaded code | libraries, which look up kernels |
//! | [`launch`]: launches of device functions | host functions of kernels |
//!
//! A kernel is a function in the packed convention ([`crate::ffi::SafeCall`]). Those of the CPU are called by their
//! address, and nothing here is involved.
mod copy;
mod cpu;
pub mod launch;
pub(crate) mod shared_library;

pub(crate) use copy::copy;

use crate::ffi::Error;
use crate::value::{Device, device_kind};
use std::any::Any;
use std::ffi::c_void;
use std::ops::Range;
use std::ptr::NonNull;
use std::time::Duration;

/// A device.
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

    /// Creates a stream. Its work begins after all work that kernels queued before.
    fn create_stream(&self) -> Result<Box<dyn Stream>, Error>;

    /// Creates an event, which is not recorded yet.
    fn create_event(&self) -> Result<Box<dyn Event>, Error>;

    /// Loads code. `unused` is a range of it that is never read, such as a model's constants.
    ///
    /// # Safety
    /// A linker made the code for the device, and loading it runs nothing.
    unsafe fn load_module(&self, code: &[u8], unused: &Range<usize>) -> Result<Box<dyn DeviceModule>, Error>;
}

/// A queue of work on a device, which is done in order. Methods may return before their work is done.
pub trait Stream {
    /// Copies from host memory to the device.
    ///
    /// # Safety
    /// Both have `bytes` bytes, and until the copy is done, they are alive and nobody else accesses the device's.
    unsafe fn copy_from_host(&self, host: *const u8, data: *mut u8, bytes: usize) -> Result<(), Error>;

    /// Copies from the device to host memory.
    ///
    /// # Safety
    /// Both have `bytes` bytes, and until the copy is done, they are alive and nobody else accesses the host's.
    unsafe fn copy_to_host(&self, data: *const u8, host: *mut u8, bytes: usize) -> Result<(), Error>;

    /// Copies within the device's memory.
    ///
    /// # Safety
    /// Both have `bytes` bytes, and until the copy is done, they are alive and nobody else accesses the destination.
    unsafe fn copy_within(&self, from: *const u8, to: *mut u8, bytes: usize) -> Result<(), Error>;

    /// Records an event of this device, to occur after the work queued so far.
    fn record(&self, event: &mut dyn Event) -> Result<(), Error>;

    /// Orders the work queued from now on after an event, which may be another device's.
    fn wait(&self, event: &dyn Event) -> Result<(), Error>;

    /// Waits until all work is done; returns its error.
    fn synchronize(&self) -> Result<(), Error>;
}

/// A point in a stream's work, with its time.
pub trait Event: Any {
    /// Waits for the event; returns the time since an earlier one of the same device.
    fn elapsed_since(&self, earlier: &dyn Event) -> Result<Duration, Error>;
}

/// Code that was loaded on a device, as long as this lives.
pub trait DeviceModule: Send + Sync {
    /// The address of a function or variable.
    fn symbol(&self, name: &str) -> Option<NonNull<c_void>>;
}

/// Returns the interface to `device`, if it is present.
pub fn find(device: Device) -> Result<&'static dyn DeviceApi, Error> {
    let found = match device.kind {
        device_kind::CPU => cpu::find(device.id).map(|cpu| cpu as &dyn DeviceApi),
        _ => None,
    };
    found.ok_or_else(|| Error::value(format!("there is no device {device}")))
}
