//! CUDA devices, through the driver's API.
//!
//! | file | contents |
//! |---|---|
//! | [`driver`] | the driver: loading, versions, errors |
//! | [`limits`] | limits of a device, and checks of launches |
//! | [`stream`] | the device's stream and events |
//! | [`functions`] | device functions, loaded once per device |
//! | [`queue`] | launches of a thread, and the errors that they report |
//! | [`graph`] | graphs of launches |
//! | [`record`] | error records in device memory |
//! | [`cublas`] | matmuls by cuBLASLt |
//! | [`staging`] | pinned memory for copies between host and device |
//!
//! A device is opened at first use and never closed: its primary context, which other frameworks of the process share,
//! is retained. All work of a device is in one stream, so its memory can be reused by whoever queues work next.
mod cublas;
mod driver;
mod functions;
mod graph;
mod limits;
mod queue;
mod record;
mod staging;
mod stream;

use super::launch::{CallSite, Launch};
use super::matmul::Matmul;
use super::{DeviceApi, Event, Graph, Stream};
use crate::ffi::Error;
use crate::value::Device;
use cublas::Cublas;
use cudarc::driver::sys::{self, CUresult, CUstream_flags};
use driver::Driver;
use functions::Functions;
use limits::Limits;
use record::Records;
use staging::Staging;
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};
use std::sync::{Mutex, OnceLock, PoisonError};
use stream::{CudaEvent, CudaStream};

/// Maximum number of devices of a process.
const MAX_DEVICES: usize = 64;

/// The open devices.
static OPEN: [OnceLock<Cuda>; MAX_DEVICES] = [const { OnceLock::new() }; MAX_DEVICES];

/// An open device.
pub(super) struct Cuda {
    device: Device,
    /// The name of its model.
    name: String,
    limits: Limits,
    context: sys::CUcontext,
    stream: sys::CUstream,
    functions: Functions,
    records: Records,
    staging: Staging,
    /// cuBLASLt, or why it cannot be used.
    cublas: OnceLock<Result<Cublas, String>>,
    /// The error after which nothing can be done with the device.
    failure: OnceLock<String>,
}

// SAFETY: any thread may use the driver's objects; what is mutable is behind locks.
unsafe impl Send for Cuda {}
// SAFETY: as above.
unsafe impl Sync for Cuda {}

impl Cuda {
    /// Returns device number `id`, which is opened at first use.
    pub(super) fn find(id: i32) -> Result<&'static Cuda, Error> {
        static OPENING: Mutex<()> = Mutex::new(());
        let driver = Driver::get()?;
        let slot = usize::try_from(id).ok().filter(|_| id < driver.device_count).and_then(|id| OPEN.get(id));
        let slot = slot.ok_or_else(|| missing(id, driver.device_count))?;
        if let Some(open) = slot.get() {
            return Ok(open);
        }
        let _opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        match slot.get() {
            Some(open) => Ok(open),
            None => {
                let cuda = Cuda::open(id)?;
                Ok(slot.get_or_init(|| cuda))
            }
        }
    }

    fn open(id: i32) -> Result<Cuda, Error> {
        let device = Device::cuda(id);
        let check = |status| check_status(status, device, || "open the device".to_owned());
        let mut number = 0;
        // SAFETY: the driver is initialized, and the address is that of a variable.
        check(unsafe { sys::cuDeviceGet(&mut number, id) })?;
        let limits = Limits::read(number, check)?;
        let (mut context, mut stream) = (null_mut(), null_mut());
        // SAFETY: as above.
        check(unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, number) })?;
        let name = model_name(number);
        let entered = Entered::new(context, device)?;
        // Work of the default stream, where other frameworks queue theirs, comes before or after that of this one.
        // SAFETY: the context is current, and the address is that of a variable.
        check(unsafe { sys::cuStreamCreate(&mut stream, CUstream_flags::CU_STREAM_DEFAULT as u32) })?;
        drop(entered);
        let (functions, records, staging, cublas, failure) = Default::default();
        Ok(Cuda { device, name, limits, context, stream, functions, records, staging, cublas, failure })
    }

    /// Makes the device's context current on this thread until the result is dropped.
    ///
    /// # Errors
    /// If the device failed before, or the process was forked.
    fn enter(&self) -> Result<Entered<'_>, Error> {
        match self.failure.get() {
            Some(failure) => Err(Error::runtime(format!("{} cannot be used any more: {failure}", self.device))),
            None if driver::is_forked() => Err(driver::forked()),
            None => Entered::new(self.context, self.device),
        }
    }

    /// The error for a status of the driver.
    fn check(&self, status: CUresult, action: impl FnOnce() -> String) -> Result<(), Error> {
        if driver::is_sticky(status) {
            self.failure.get_or_init(|| format!("work on it failed with {}", driver::describe(status)));
        }
        check_status(status, self.device, action)
    }

    /// The device's name and model, such as `cuda:0 (NVIDIA A100)`.
    fn named(&self) -> String {
        format!("{} ({})", self.device, self.name)
    }
}

fn check_status(status: CUresult, device: Device, action: impl FnOnce() -> String) -> Result<(), Error> {
    match status {
        CUresult::CUDA_SUCCESS => Ok(()),
        _ => {
            let message = format!("{device}: cannot {}: {}", action(), driver::describe(status));
            Err(Error::new(driver::error_kind(status), message))
        }
    }
}

fn missing(id: i32, count: i32) -> Error {
    let devices = match count {
        1 => "there is one CUDA device, cuda:0".to_owned(),
        count => format!("there are {count} CUDA devices, cuda:0 to cuda:{}", count - 1),
    };
    Error::value(format!("there is no device cuda:{id}: {devices}"))
}

fn model_name(number: sys::CUdevice) -> String {
    let mut name = [0u8; 256];
    // SAFETY: the driver writes a C string of at most that length.
    let status = unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as i32, number) };
    match status {
        CUresult::CUDA_SUCCESS => driver::text(&name),
        _ => "unknown".to_owned(),
    }
}

/// An address as the driver takes it.
fn pointer(address: *const u8) -> sys::CUdeviceptr {
    address.addr() as sys::CUdeviceptr
}

/// A context that is current on this thread; the thread's previous one is restored on drop.
struct Entered<'a> {
    is_pushed: bool,
    _context: PhantomData<&'a Cuda>,
}

impl Entered<'_> {
    fn new<'a>(context: sys::CUcontext, device: Device) -> Result<Entered<'a>, Error> {
        let mut current = null_mut();
        let action = || "make its context current".to_owned();
        // SAFETY: the driver is initialized, and the address is that of a variable.
        check_status(unsafe { sys::cuCtxGetCurrent(&mut current) }, device, action)?;
        let is_pushed = current != context && !current.is_null();
        let status = match is_pushed {
            _ if current == context => CUresult::CUDA_SUCCESS,
            // SAFETY: the context is retained.
            true => unsafe { sys::cuCtxPushCurrent_v2(context) },
            // SAFETY: as above.
            false => unsafe { sys::cuCtxSetCurrent(context) },
        };
        check_status(status, device, action)?;
        Ok(Entered { is_pushed, _context: PhantomData })
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if self.is_pushed {
            let mut own = null_mut();
            // SAFETY: `new` pushed the context, and everything after that restored it.
            let _ = unsafe { sys::cuCtxPopCurrent_v2(&mut own) };
        }
    }
}

impl DeviceApi for Cuda {
    fn device(&self) -> Device {
        self.device
    }

    fn description(&self) -> String {
        let (named, Limits { capability, memory, .. }) = (self.named(), &self.limits);
        let memory = *memory as f64 / f64::from(1 << 30);
        let version = Driver::get().map(Driver::version).unwrap_or_default();
        let (major, minor) = (capability / 10, capability % 10);
        format!("{named}: compute capability {major}.{minor}, {memory:.1} GiB of memory, driver for CUDA {version}")
    }

    fn default_memory_limit(&self) -> usize {
        self.limits.memory
    }

    fn allocate(&self, bytes: usize) -> Result<Option<NonNull<u8>>, Error> {
        let _entered = self.enter()?;
        let mut data = 0;
        // SAFETY: the context is current, and the address is that of a variable.
        match unsafe { sys::cuMemAlloc_v2(&mut data, bytes) } {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => return Ok(None),
            status => self.check(status, || format!("allocate {bytes} bytes"))?,
        }
        // SAFETY: the memory is new and has as many bytes.
        let status = unsafe { sys::cuMemsetD8Async(data, 0, bytes, self.stream) };
        self.check(status, || format!("clear {bytes} bytes"))?;
        Ok(NonNull::new(std::ptr::with_exposed_provenance_mut(data as usize)))
    }

    unsafe fn free(&self, data: NonNull<u8>, _: usize) {
        // A forked child, and a process whose device failed, leave it to the driver.
        let Ok(_entered) = self.enter() else { return };
        if self.stop_collecting().is_err() {
            return;
        }
        // SAFETY: work that uses the memory may be queued, so the stream is waited for; errors show again at the next
        // call. The caller promises that nobody refers to the memory any more.
        unsafe {
            let _ = sys::cuStreamSynchronize(self.stream);
            let _ = sys::cuMemFree_v2(pointer(data.as_ptr()));
        }
    }

    fn create_stream(&self) -> Result<Box<dyn Stream>, Error> {
        Ok(Box::new(CudaStream(self.shared()?)))
    }

    fn create_event(&self) -> Result<Box<dyn Event>, Error> {
        Ok(Box::new(CudaEvent::new(self.shared()?)?))
    }

    unsafe fn copy_from_peer(
        &self,
        source: &dyn DeviceApi,
        from: *const u8,
        to: *mut u8,
        bytes: usize,
    ) -> Option<Result<(), Error>> {
        let source = Cuda::find(source.device().id).ok().filter(|own| own.device == source.device())?;
        // SAFETY: as the caller promises.
        Some(self.shared().and_then(|target| unsafe { copy_between((source, from), (target, to), bytes) }))
    }

    unsafe fn launch(&self, launch: &Launch, site: Option<CallSite>) -> Result<(), Error> {
        // SAFETY: as the caller promises.
        unsafe { self.shared()?.queue_launch(launch, site) }
    }

    unsafe fn matmul(&self, matmul: &Matmul) -> Result<(), Error> {
        // SAFETY: as the caller promises.
        unsafe { self.shared()?.queue_matmul(matmul) }
    }

    fn begin_graph(&self) -> Result<bool, Error> {
        self.shared()?.collect_launches()
    }

    fn end_graph(&self, graph: &mut Graph) -> Result<(), Error> {
        self.shared()?.queue_collected(graph)
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.shared()?.finish()
    }
}

impl Cuda {
    /// The device as the process shares it.
    fn shared(&self) -> Result<&'static Cuda, Error> {
        let open = OPEN.get(self.device.id as usize).and_then(OnceLock::get);
        open.ok_or_else(|| missing(self.device.id, 0))
    }
}

/// Queues a copy between two devices, behind the work of both and before their later work.
///
/// # Safety
/// `from` and `to` are memory of the devices with as many bytes, and until the copy is done, nobody else accesses `to`.
unsafe fn copy_between(
    (source, from): (&'static Cuda, *const u8),
    (target, to): (&'static Cuda, *mut u8),
    bytes: usize,
) -> Result<(), Error> {
    let mut ready = CudaEvent::new(source)?;
    CudaStream(source).record(&mut ready)?;
    CudaStream(target).wait(&ready)?;
    let entered = target.enter()?;
    // SAFETY: as the caller promises; the contexts are retained.
    let status = unsafe {
        sys::cuMemcpyPeerAsync(pointer(to), target.context, pointer(from), source.context, bytes, target.stream)
    };
    target.check(status, || format!("copy {bytes} bytes from {}", source.device))?;
    drop(entered);
    let mut done = CudaEvent::new(target)?;
    CudaStream(target).record(&mut done)?;
    CudaStream(source).wait(&done)
}
