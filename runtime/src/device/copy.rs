//! Copies between the memories of any two devices.
use super::DeviceApi;
use crate::ffi::{Error, kind};
use crate::memory::Buffer;
use crate::value::Device;

/// Copies `bytes` bytes from a device to a device. Copies to the host are waited for; others are queued, and the host's
/// memory is not used any more. Copies between two devices other than the host pass through host memory if the devices
/// have no direct way.
///
/// # Safety
/// `from` and `to` are memory of the devices with as many bytes, and nobody else accesses `to` during the copy.
pub(crate) unsafe fn copy(
    (source, from): (&dyn DeviceApi, *const u8),
    (target, to): (&dyn DeviceApi, *mut u8),
    bytes: usize,
) -> Result<(), Error> {
    if bytes == 0 {
        return Ok(());
    }
    // SAFETY: as the caller promises.
    unsafe {
        match (source.device().is_host(), target.device().is_host()) {
            (_, true) => {
                let stream = source.create_stream()?;
                stream.copy_to_host(from, to, bytes)?;
                stream.synchronize()
            }
            (true, _) => target.create_stream()?.copy_from_host(from, to, bytes),
            _ if source.device() == target.device() => target.create_stream()?.copy_within(from, to, bytes),
            _ => {
                let direct = target.copy_from_peer(source, from, to, bytes);
                direct.unwrap_or_else(|| copy_through_host((source, from), (target, to), bytes))
            }
        }
    }
}

/// Like [`copy`], through a buffer in host memory.
///
/// # Safety
/// As for [`copy`].
unsafe fn copy_through_host(
    (source, from): (&dyn DeviceApi, *const u8),
    (target, to): (&dyn DeviceApi, *mut u8),
    bytes: usize,
) -> Result<(), Error> {
    let message = || format!("out of memory: cannot allocate {bytes} bytes on {}", Device::CPU);
    let staging = Buffer::new(bytes).ok_or_else(|| Error::new(kind::MEMORY, message()))?;
    let host = super::find(Device::CPU)?;
    // SAFETY: as the caller promises; the buffer is new and has as many bytes.
    unsafe {
        copy((source, from), (host, staging.as_ptr()), bytes)?;
        copy((host, staging.as_ptr()), (target, to), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{Event, Stream, find};
    use std::ptr::NonNull;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    /// A device with its log. It does its work in host memory.
    #[derive(Clone)]
    struct Logged(Device, Arc<Mutex<Vec<String>>>);

    impl Logged {
        fn log(&self, action: &str) -> Result<(), Error> {
            self.1.lock().unwrap().push(format!("{}: {action}", self.0));
            Ok(())
        }
    }

    impl DeviceApi for Logged {
        fn device(&self) -> Device {
            self.0
        }

        fn default_memory_limit(&self) -> usize {
            usize::MAX
        }

        fn allocate(&self, _: usize) -> Result<Option<NonNull<u8>>, Error> {
            unreachable!("copies allocate no device memory")
        }

        unsafe fn free(&self, _: NonNull<u8>, _: usize) {}

        fn create_stream(&self) -> Result<Box<dyn Stream>, Error> {
            Ok(Box::new(self.clone()))
        }

        fn create_event(&self) -> Result<Box<dyn Event>, Error> {
            Ok(Box::new(self.clone()))
        }
    }

    impl Stream for Logged {
        unsafe fn copy_from_host(&self, host: *const u8, data: *mut u8, bytes: usize) -> Result<(), Error> {
            // SAFETY: as the caller promises.
            unsafe { host.copy_to(data, bytes) };
            self.log("copy_from_host")
        }

        unsafe fn copy_to_host(&self, data: *const u8, host: *mut u8, bytes: usize) -> Result<(), Error> {
            // SAFETY: as the caller promises.
            unsafe { data.copy_to(host, bytes) };
            self.log("copy_to_host")
        }

        unsafe fn copy_within(&self, from: *const u8, to: *mut u8, bytes: usize) -> Result<(), Error> {
            // SAFETY: as the caller promises.
            unsafe { from.copy_to(to, bytes) };
            self.log("copy_within")
        }

        fn record(&self, _: &mut dyn Event) -> Result<(), Error> {
            self.log("record")
        }

        fn wait(&self, _: &dyn Event) -> Result<(), Error> {
            self.log("wait")
        }

        fn synchronize(&self) -> Result<(), Error> {
            self.log("synchronize")
        }
    }

    impl Event for Logged {
        fn synchronize(&self) -> Result<(), Error> {
            unreachable!("copies wait for streams")
        }

        fn elapsed_since(&self, _: &dyn Event) -> Result<Duration, Error> {
            unreachable!("copies measure no time")
        }
    }

    #[test]
    fn copies_use_streams_of_the_devices_that_have_the_memory() {
        let log = Arc::new(Mutex::new(Vec::new()));
        let [first, second] = [0, 1].map(|id| Logged(Device::cuda(id), log.clone()));
        let host = find(Device::CPU).unwrap();
        let cases: [(&dyn DeviceApi, &dyn DeviceApi, &str); 5] = [
            (host, host, ""),
            (host, &first, "cuda:0: copy_from_host"),
            (&first, host, "cuda:0: copy_to_host, cuda:0: synchronize"),
            (&first, &first, "cuda:0: copy_within"),
            (&first, &second, "cuda:0: copy_to_host, cuda:0: synchronize, cuda:1: copy_from_host"),
        ];
        for (source, target, expected) in cases {
            let (from, mut to) = ([1u8, 2, 3], [0u8; 3]);
            // SAFETY: both are three bytes of the test's own.
            unsafe { copy((source, from.as_ptr()), (target, to.as_mut_ptr()), 3) }.unwrap();
            assert_eq!((to, log.lock().unwrap().drain(..).collect::<Vec<_>>().join(", ")), (from, expected.to_owned()));
        }
    }
}
