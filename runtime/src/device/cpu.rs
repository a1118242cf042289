//! The host as devices `cpu:0`, `cpu:1`, and so on.
//!
//! All share the host's memory. Otherwise they are separate devices, each with its own tensors and allocators, so
//! programs for several devices can be tried on a machine with only one.
use super::DeviceApi;
use crate::ffi::Error;
use crate::memory;
use crate::value::{Device, device_kind};
use std::ptr::NonNull;

/// A host device with its number.
pub(super) struct Cpu(i32);

static CPUS: [Cpu; 4] = [Cpu(0), Cpu(1), Cpu(2), Cpu(3)];

/// Returns host device number `id`.
pub(super) fn find(id: i32) -> Option<&'static Cpu> {
    CPUS.get(usize::try_from(id).ok()?)
}

impl DeviceApi for Cpu {
    fn device(&self) -> Device {
        Device { kind: device_kind::CPU, id: self.0 }
    }

    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        memory::buffer::allocate(bytes)
    }

    unsafe fn free(&self, data: NonNull<u8>, bytes: usize) {
        // SAFETY: as the caller promises.
        unsafe { memory::buffer::free(data, bytes) }
    }

    unsafe fn copy_from_host(&self, host: *const u8, data: *mut u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: as the caller promises; `copy_to` allows the ranges to overlap.
        unsafe { host.copy_to(data, bytes) };
        Ok(())
    }

    unsafe fn copy_to_host(&self, data: *const u8, host: *mut u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: as the caller promises.
        unsafe { data.copy_to(host, bytes) };
        Ok(())
    }
}
