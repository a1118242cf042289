//! Error records in device memory, one for each thread that launches, with pinned host memory to read them.
use super::Cuda;
use crate::device::launch::ErrorRecord;
use crate::ffi::Error;
use cudarc::driver::sys;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// Number of records that are allocated at once.
const CHUNK: usize = 32;

/// Records that no thread uses.
#[derive(Default)]
pub(super) struct Records(Mutex<Vec<Slot>>);

/// A record and its copy on the host. Both are zero when no thread uses them.
#[derive(Clone, Copy)]
struct Slot {
    device: sys::CUdeviceptr,
    host: *mut ErrorRecord,
}

/// The record of a thread.
pub(super) struct Record {
    cuda: &'static Cuda,
    slot: Slot,
}

impl Record {
    /// Takes a record of the device, which is zero.
    pub(super) fn take(cuda: &'static Cuda) -> Result<Record, Error> {
        let mut free = cuda.records.0.lock().unwrap_or_else(PoisonError::into_inner);
        if free.is_empty() {
            allocate(cuda, &mut free)?;
        }
        let slot = free.pop().ok_or_else(|| Error::runtime("there are no error records"))?;
        Ok(Record { cuda, slot })
    }

    /// Its address on the device.
    pub(super) fn address(&self) -> sys::CUdeviceptr {
        self.slot.device
    }

    /// Queues a copy of the record to the host.
    pub(super) fn queue_read(&self) -> Result<(), Error> {
        let (to, from, stream) = (self.slot.host.cast(), self.slot.device, self.cuda.stream);
        // SAFETY: both have the size of a record and live as long as the process.
        let status = unsafe { sys::cuMemcpyDtoHAsync_v2(to, from, size_of::<ErrorRecord>(), stream) };
        self.cuda.check(status, || "read an error record".to_owned())
    }

    /// The copy on the host, after the stream was waited for. If there is an error in it, both become zero.
    pub(super) fn reported(&self) -> Result<Option<ErrorRecord>, Error> {
        // SAFETY: the host's copy is initialized, and only this thread uses it; the copy to it is done.
        let record = unsafe { self.slot.host.read() };
        if record.claimed == 0 {
            return Ok(None);
        }
        // SAFETY: as above.
        unsafe { self.slot.host.write(ErrorRecord::default()) };
        // SAFETY: the memory has the size of a record.
        let status = unsafe { sys::cuMemsetD8Async(self.slot.device, 0, size_of::<ErrorRecord>(), self.cuda.stream) };
        self.cuda.check(status, || "clear an error record".to_owned())?;
        Ok(Some(record))
    }

    /// Returns the record of a thread that waited for its work.
    pub(super) fn give_back(&self) {
        self.cuda.records.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.slot);
    }
}

/// Allocates records, which live as long as the process.
fn allocate(cuda: &Cuda, free: &mut Vec<Slot>) -> Result<(), Error> {
    let _entered = cuda.enter()?;
    let bytes = CHUNK * size_of::<ErrorRecord>();
    let (mut device, mut host) = (0, null_mut());
    let action = || "allocate error records".to_owned();
    // SAFETY: the context is current; the addresses are those of variables; both memories have as many bytes.
    unsafe {
        cuda.check(sys::cuMemAlloc_v2(&mut device, bytes), action)?;
        cuda.check(sys::cuMemsetD8Async(device, 0, bytes, cuda.stream), action)?;
        cuda.check(sys::cuMemAllocHost_v2(&mut host, bytes), action)?;
        host.write_bytes(0, bytes);
    }
    let slot = |i: usize| Slot {
        device: device + (i * size_of::<ErrorRecord>()) as sys::CUdeviceptr,
        host: host.cast::<ErrorRecord>().wrapping_add(i),
    };
    free.extend((0..CHUNK).map(slot));
    Ok(())
}
