//! Pinned host memory through which data moves between host and device, in chunks: the driver copies one while the next
//! is prepared.
use super::{Cuda, pointer};
use crate::ffi::Error;
use cudarc::driver::sys::{self, CUevent_flags, CUresult};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Size of a chunk in bytes.
const CHUNK: usize = 1 << 20;
/// Number of chunks.
const CHUNKS: usize = 4;

/// The chunks of a device, which are allocated at first use.
#[derive(Default)]
pub(super) struct Staging(Mutex<Vec<Chunk>>);

/// A chunk, and the event after which it is free.
#[derive(Clone, Copy)]
struct Chunk {
    host: *mut u8,
    event: sys::CUevent,
}

impl Cuda {
    /// Copies from host memory, which is not used any more when this returns.
    ///
    /// # Safety
    /// Both have `bytes` bytes, and until the copy is done, the device's memory is alive and nobody else accesses it.
    pub(super) unsafe fn upload(&self, host: *const u8, data: *mut u8, bytes: usize) -> Result<(), Error> {
        let _entered = self.enter()?;
        self.stop_collecting()?;
        let chunks = self.chunks()?;
        for (number, begin) in (0..bytes).step_by(CHUNK).enumerate() {
            let (chunk, len) = (chunks[number % CHUNKS], CHUNK.min(bytes - begin));
            self.wait_for(chunk)?;
            let (from, to) = (host.wrapping_add(begin), pointer(data.wrapping_add(begin)));
            // SAFETY: as the caller promises; the chunk is free, and its event marks when it is again.
            let status = unsafe {
                chunk.host.copy_from_nonoverlapping(from, len);
                sys::cuMemcpyHtoDAsync_v2(to, chunk.host.cast(), len, self.stream)
            };
            self.copied(chunk, status, "to the device", bytes)?;
        }
        Ok(())
    }

    /// Copies to host memory, and waits for it.
    ///
    /// # Safety
    /// Both have `bytes` bytes and are alive, and nobody else accesses the host's memory.
    pub(super) unsafe fn download(&self, data: *const u8, host: *mut u8, bytes: usize) -> Result<(), Error> {
        let _entered = self.enter()?;
        let chunks = self.chunks()?;
        let fetch = |number: usize| {
            let (chunk, begin) = (chunks[number % CHUNKS], number * CHUNK);
            self.wait_for(chunk)?;
            let from = pointer(data.wrapping_add(begin));
            // SAFETY: as the caller promises; the chunk is free.
            let status =
                unsafe { sys::cuMemcpyDtoHAsync_v2(chunk.host.cast(), from, CHUNK.min(bytes - begin), self.stream) };
            self.copied(chunk, status, "to the host", bytes)
        };
        let count = bytes.div_ceil(CHUNK);
        (0..count.min(CHUNKS)).try_for_each(fetch)?;
        for number in 0..count {
            let (chunk, begin) = (chunks[number % CHUNKS], number * CHUNK);
            self.wait_for(chunk)?;
            // SAFETY: as the caller promises; the copy to the chunk is done.
            unsafe { host.wrapping_add(begin).copy_from_nonoverlapping(chunk.host, CHUNK.min(bytes - begin)) };
            if number + CHUNKS < count {
                fetch(number + CHUNKS)?;
            }
        }
        Ok(())
    }

    /// The chunks, for this thread alone.
    fn chunks(&self) -> Result<MutexGuard<'_, Vec<Chunk>>, Error> {
        let mut chunks = self.staging.0.lock().unwrap_or_else(PoisonError::into_inner);
        while chunks.len() < CHUNKS {
            let (mut host, mut event) = (null_mut(), null_mut());
            let action = || format!("allocate {CHUNK} bytes of pinned host memory");
            // SAFETY: the context is current, and the addresses are those of variables.
            self.check(unsafe { sys::cuMemAllocHost_v2(&mut host, CHUNK) }, action)?;
            // SAFETY: as above.
            let status = unsafe { sys::cuEventCreate(&mut event, CUevent_flags::CU_EVENT_DISABLE_TIMING as u32) };
            if status != CUresult::CUDA_SUCCESS {
                // SAFETY: the memory was just allocated.
                let _ = unsafe { sys::cuMemFreeHost(host) };
            }
            self.check(status, || "create an event".to_owned())?;
            chunks.push(Chunk { host: host.cast(), event });
        }
        Ok(chunks)
    }

    /// Waits until a chunk is free, or its copy is done.
    fn wait_for(&self, chunk: Chunk) -> Result<(), Error> {
        // SAFETY: the event lives as long as the process. One that was never recorded has occurred.
        self.check(unsafe { sys::cuEventSynchronize(chunk.event) }, || "wait for a copy".to_owned())
    }

    /// Marks a chunk as used until a copy is done, whose status this is.
    fn copied(&self, chunk: Chunk, status: CUresult, direction: &str, bytes: usize) -> Result<(), Error> {
        self.check(status, || format!("copy {bytes} bytes {direction}"))?;
        // SAFETY: event and stream are the device's.
        self.check(unsafe { sys::cuEventRecord(chunk.event, self.stream) }, || "record an event".to_owned())
    }
}
