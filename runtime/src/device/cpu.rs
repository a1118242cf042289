//! The host as devices `cpu:0`, `cpu:1`, and so on.
//!
//! All share the host's memory. Otherwise they are separate devices, each with its own tensors and allocators, so
//! programs for several devices can be tried on a machine with only one. Their work is done at once, on the thread that
//! queues it.
use super::{DeviceApi, Event, Stream};
use crate::ffi::Error;
use crate::memory;
use crate::value::{Device, device_kind};
use std::any::Any;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

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

    fn default_memory_limit(&self) -> usize {
        memory::default_limit()
    }

    fn allocate(&self, bytes: usize) -> Result<Option<NonNull<u8>>, Error> {
        Ok(memory::buffer::allocate(bytes))
    }

    unsafe fn free(&self, data: NonNull<u8>, bytes: usize) {
        // SAFETY: as the caller promises.
        unsafe { memory::buffer::free(data, bytes) }
    }

    fn create_stream(&self) -> Result<Box<dyn Stream>, Error> {
        Ok(Box::new(CpuStream))
    }

    fn create_event(&self) -> Result<Box<dyn Event>, Error> {
        Ok(Box::new(CpuEvent(None)))
    }
}

/// Work that is done as it is queued.
struct CpuStream;

impl Stream for CpuStream {
    unsafe fn copy_from_host(&self, host: *const u8, data: *mut u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: as the caller promises.
        unsafe { self.copy_within(host, data, bytes) }
    }

    unsafe fn copy_to_host(&self, data: *const u8, host: *mut u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: as the caller promises.
        unsafe { self.copy_within(data, host, bytes) }
    }

    unsafe fn copy_within(&self, from: *const u8, to: *mut u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: as the caller promises; `copy_to` allows the ranges to overlap.
        unsafe { from.copy_to(to, bytes) };
        Ok(())
    }

    fn record(&self, event: &mut dyn Event) -> Result<(), Error> {
        let event: &mut dyn Any = event;
        event.downcast_mut::<CpuEvent>().ok_or_else(wrong_device)?.0 = Some(Instant::now());
        Ok(())
    }

    fn wait(&self, event: &dyn Event) -> Result<(), Error> {
        event.synchronize()
    }

    fn synchronize(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// The time at which it was recorded.
struct CpuEvent(Option<Instant>);

impl Event for CpuEvent {
    /// Whatever a CPU's event comes after is done.
    fn synchronize(&self) -> Result<(), Error> {
        time_of(self).map(drop)
    }

    fn elapsed_since(&self, earlier: &dyn Event) -> Result<Duration, Error> {
        Ok(time_of(self)?.duration_since(time_of(earlier)?))
    }
}

fn time_of(event: &dyn Event) -> Result<Instant, Error> {
    let event: &dyn Any = event;
    let event = event.downcast_ref::<CpuEvent>().ok_or_else(wrong_device)?;
    event.0.ok_or_else(|| Error::value("the event was not recorded"))
}

fn wrong_device() -> Error {
    Error::value("the event belongs to another kind of device")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_the_time_between_them() {
        let (stream, [mut begin, mut end]) = (CpuStream, [CpuEvent(None), CpuEvent(None)]);
        assert!(stream.wait(&begin).unwrap_err().message().contains("not recorded"));
        stream.record(&mut begin).unwrap();
        std::thread::sleep(Duration::from_millis(2));
        assert!(end.elapsed_since(&begin).is_err());
        stream.record(&mut end).unwrap();
        stream.wait(&end).unwrap();
        assert!(end.elapsed_since(&begin).unwrap() >= Duration::from_millis(2));
    }
}
