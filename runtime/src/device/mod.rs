//! Devices: the interface that a kind of processor implements, so that tensors and code can be on it.
//!
//! | part | user |
//! |---|---|
//! | memory | allocators |
//! | [`Stream`]: work in order | copies of tensors, timing |
//! | [`Event`]: a point in a stream's work | timing, copies between devices |
//! | [`launch`]: launches of device functions | host functions of kernels |
//! | [`matmul`]: matmuls of the vendor's library | programs that ask for it |
//! | [`Graph`]: launches that are queued by one call of the driver | parts of programs that are called often |
//!
//! A kernel is a function in the packed convention ([`crate::ffi::SafeCall`]) that is called by its address. A kernel of
//! the CPU involves nothing here. One of another device is a host function, which launches functions on the device.
//!
//! Launches and copies of a device are done in the order in which they are queued, whichever thread queues them, so
//! memory that a tensor leaves can be reused at once.
mod copy;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
pub(crate) mod graph_state;
pub mod launch;
pub mod matmul;

pub(crate) use copy::copy;

use crate::ffi::Error;
use crate::value::{Device, device_kind};
use launch::{CallSite, Launch};
use matmul::Matmul;
use std::any::Any;
use std::ptr::NonNull;
use std::time::Duration;

/// A device.
pub trait DeviceApi: Send + Sync {
    /// The device.
    fn device(&self) -> Device;

    /// Model and properties of a device other than the host, for people.
    fn description(&self) -> String {
        self.device().to_string()
    }

    /// Memory limit of programs on the device, in bytes, unless they set one.
    fn default_memory_limit(&self) -> usize;

    /// Allocates `bytes` initialized bytes, aligned to 64; `None` if the device is out of memory.
    ///
    /// # Errors
    /// If the device fails.
    fn allocate(&self, bytes: usize) -> Result<Option<NonNull<u8>>, Error>;

    /// Frees memory.
    ///
    /// # Safety
    /// `data` came from `allocate(bytes)` of this device and nobody refers to it any more.
    unsafe fn free(&self, data: NonNull<u8>, bytes: usize);

    /// Creates a stream. Its work begins after all work that kernels queued before.
    fn create_stream(&self) -> Result<Box<dyn Stream>, Error>;

    /// Creates an event, which is not recorded yet.
    fn create_event(&self) -> Result<Box<dyn Event>, Error>;

    /// Queues a copy from another device of the same kind, behind the work of both devices and before their later work;
    /// `None` if there is no direct way.
    ///
    /// # Safety
    /// `from` and `to` are memory of the devices with as many bytes, and until the copy is done, nobody else accesses `to`.
    unsafe fn copy_from_peer(
        &self,
        _source: &dyn DeviceApi,
        _from: *const u8,
        _to: *mut u8,
        _bytes: usize,
    ) -> Option<Result<(), Error>> {
        None
    }

    /// Queues a launch of a device function by a kernel that was called at `site`.
    ///
    /// # Safety
    /// The launch and what it points to are as their types document, and the arguments are those of the function.
    ///
    /// # Errors
    /// If the function cannot be loaded, or the launch exceeds a limit of the device.
    unsafe fn launch(&self, _launch: &Launch, _site: Option<CallSite>) -> Result<(), Error> {
        Err(Error::runtime(format!("{} runs no device functions", self.device())))
    }

    /// Queues a batch of matmuls by the library of the device's vendor.
    ///
    /// # Safety
    /// The matrices are memory of this device, as [`Matmul`] documents, and until the work is done, they are alive and
    /// nobody else accesses the result.
    ///
    /// # Errors
    /// If the library is missing, or cannot compute them.
    unsafe fn matmul(&self, _matmul: &Matmul) -> Result<(), Error> {
        Err(Error::runtime(format!("cuBLASLt multiplies matrices of CUDA devices, and not of {}", self.device())))
    }

    /// Collects the launches that this thread makes from now on, instead of queueing them. Returns false if the device
    /// cannot, or the thread collects launches already.
    fn begin_graph(&self) -> Result<bool, Error> {
        Ok(false)
    }

    /// Queues the launches that were collected since [`DeviceApi::begin_graph`] succeeded, if other work on the device did
    /// not queue them: by `graph`, from the second time on that it gets a sequence of functions, otherwise one by one.
    fn end_graph(&self, _graph: &mut Graph) -> Result<(), Error> {
        Ok(())
    }

    /// Waits until the work that this thread queued is done.
    ///
    /// # Errors
    /// The first error of that work which was not returned before, such as a failed check of a device function.
    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// Launches in order that a device queues at once; its default has none. What the launches are is decided at each call,
/// so a graph cannot be out of date: it is changed where functions have other arguments or extents, and made anew for
/// other functions.
#[derive(Default)]
pub struct Graph(
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "only CUDA devices make graphs"))]
    Option<Box<dyn Any + Send>>,
);

/// A queue of work on a device, which is done in order. Methods may return before their work is done.
pub trait Stream {
    /// Copies from host memory to the device. The host's memory is not used any more when this returns.
    ///
    /// # Safety
    /// Both have `bytes` bytes, and until the copy is done, the device's are alive and nobody else accesses them.
    unsafe fn copy_from_host(&self, host: *const u8, data: *mut u8, bytes: usize) -> Result<(), Error>;

    /// Copies from the device to host memory, and waits for that. Returns errors of earlier work of this thread.
    ///
    /// # Safety
    /// Both have `bytes` bytes and are alive, and nobody else accesses the host's.
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
    /// Waits for the event.
    fn synchronize(&self) -> Result<(), Error>;

    /// Waits for the event; returns the time since an earlier one of the same device.
    fn elapsed_since(&self, earlier: &dyn Event) -> Result<Duration, Error>;
}

/// Returns the interface to `device`, if it is present.
///
/// # Errors
/// If there is no such device, or no driver for it.
pub fn find(device: Device) -> Result<&'static dyn DeviceApi, Error> {
    match device.kind {
        device_kind::CPU => cpu::find(device.id).map(|cpu| cpu as &dyn DeviceApi).ok_or_else(|| missing(device)),
        device_kind::CUDA => cuda_device(device),
        _ => Err(missing(device)),
    }
}

fn missing(device: Device) -> Error {
    Error::value(format!("there is no device {device}"))
}

#[cfg(feature = "cuda")]
fn cuda_device(device: Device) -> Result<&'static dyn DeviceApi, Error> {
    Ok(cuda::Cuda::find(device.id)?)
}

#[cfg(not(feature = "cuda"))]
fn cuda_device(device: Device) -> Result<&'static dyn DeviceApi, Error> {
    Err(Error::value(format!("there is no device {device}: the runtime was built without the feature `cuda`")))
}
