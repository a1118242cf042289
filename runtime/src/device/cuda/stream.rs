//! The stream of a device, and events.
use super::{Cuda, pointer};
use crate::device::{Event, Stream};
use crate::ffi::Error;
use cudarc::driver::sys::{self, CUevent_flags};
use std::any::Any;
use std::time::Duration;

/// The device's stream: all its users share it, so that all work of the device is in order.
pub(super) struct CudaStream(pub(super) &'static Cuda);

impl Stream for CudaStream {
    unsafe fn copy_from_host(&self, host: *const u8, data: *mut u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: as the caller promises.
        unsafe { self.0.upload(host, data, bytes) }
    }

    unsafe fn copy_to_host(&self, data: *const u8, host: *mut u8, bytes: usize) -> Result<(), Error> {
        // Errors of launches first: the copy's would not name them.
        self.0.finish()?;
        // SAFETY: as the caller promises.
        unsafe { self.0.download(data, host, bytes) }
    }

    unsafe fn copy_within(&self, from: *const u8, to: *mut u8, bytes: usize) -> Result<(), Error> {
        let _entered = self.0.enter()?;
        self.0.stop_collecting()?;
        // SAFETY: as the caller promises.
        let status = unsafe { sys::cuMemcpyDtoDAsync_v2(pointer(to), pointer(from), bytes, self.0.stream) };
        self.0.check(status, || format!("copy {bytes} bytes within the device"))
    }

    fn record(&self, event: &mut dyn Event) -> Result<(), Error> {
        let event: &mut dyn Any = event;
        let event = event.downcast_mut::<CudaEvent>().filter(|event| std::ptr::eq(event.cuda, self.0));
        let event = event.ok_or_else(|| Error::value("the event belongs to another device"))?;
        let _entered = self.0.enter()?;
        self.0.stop_collecting()?;
        // SAFETY: event and stream are the device's.
        self.0.check(unsafe { sys::cuEventRecord(event.event, self.0.stream) }, || "record an event".to_owned())?;
        event.is_recorded = true;
        Ok(())
    }

    fn wait(&self, event: &dyn Event) -> Result<(), Error> {
        let any: &dyn Any = event;
        let Some(event) = any.downcast_ref::<CudaEvent>() else { return event.synchronize() };
        event.check_recorded()?;
        let _entered = self.0.enter()?;
        self.0.stop_collecting()?;
        // SAFETY: the event lives; a stream may wait for events of other devices.
        let status = unsafe { sys::cuStreamWaitEvent(self.0.stream, event.event, 0) };
        self.0.check(status, || format!("wait for an event of {}", event.cuda.device))
    }

    fn synchronize(&self) -> Result<(), Error> {
        self.0.wait_for_work()
    }
}

/// An event of a device.
pub(super) struct CudaEvent {
    cuda: &'static Cuda,
    event: sys::CUevent,
    is_recorded: bool,
}

impl CudaEvent {
    pub(super) fn new(cuda: &'static Cuda) -> Result<CudaEvent, Error> {
        let _entered = cuda.enter()?;
        let mut event = std::ptr::null_mut();
        // SAFETY: the address is that of a variable.
        let status = unsafe { sys::cuEventCreate(&mut event, CUevent_flags::CU_EVENT_DEFAULT as u32) };
        cuda.check(status, || "create an event".to_owned())?;
        Ok(CudaEvent { cuda, event, is_recorded: false })
    }

    fn check_recorded(&self) -> Result<(), Error> {
        if self.is_recorded { Ok(()) } else { Err(Error::value("the event was not recorded")) }
    }
}

impl Event for CudaEvent {
    fn synchronize(&self) -> Result<(), Error> {
        self.check_recorded()?;
        let _entered = self.cuda.enter()?;
        // SAFETY: the event lives.
        self.cuda.check(unsafe { sys::cuEventSynchronize(self.event) }, || "wait for an event".to_owned())
    }

    fn elapsed_since(&self, earlier: &dyn Event) -> Result<Duration, Error> {
        let earlier: &dyn Any = earlier;
        let earlier = earlier.downcast_ref::<CudaEvent>().filter(|earlier| std::ptr::eq(earlier.cuda, self.cuda));
        let earlier = earlier.ok_or_else(|| Error::value("the event belongs to another device"))?;
        earlier.check_recorded()?;
        self.synchronize()?;
        let _entered = self.cuda.enter()?;
        let mut milliseconds = 0.0;
        // SAFETY: both events were recorded, and the address is that of a variable.
        let status = unsafe { sys::cuEventElapsedTime(&mut milliseconds, earlier.event, self.event) };
        self.cuda.check(status, || "read the time between events".to_owned())?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }
}

impl Drop for CudaEvent {
    fn drop(&mut self) {
        let Ok(_entered) = self.cuda.enter() else { return };
        // SAFETY: the event was created here and is not used again. The driver keeps it while work refers to it.
        let _ = unsafe { sys::cuEventDestroy_v2(self.event) };
    }
}
