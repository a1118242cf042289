//! The CUDA driver: a library of the system that is loaded at first use, and its errors.
use crate::ffi::{Error, kind};
use crate::fork::{self, ForkHandler, Stage};
use cudarc::driver::sys::{self, CUresult};
use std::ffi::{CStr, c_char};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Oldest version of CUDA that a driver must support, as the driver writes versions: 1000 times the major one plus 10
/// times the minor one. It is the first that knows compute capability 8.0.
const MIN_VERSION: i32 = 11_000;

/// The driver of this process.
pub(super) struct Driver {
    /// Number of devices.
    pub(super) device_count: i32,
    /// Newest version of CUDA that it supports.
    version: i32,
}

/// Set in forked children of the process that initialized the driver, which cannot use it.
struct Forked(AtomicBool);

static FORKED: Forked = Forked(AtomicBool::new(false));

impl ForkHandler for Forked {
    fn reset_in_child(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Driver {
    /// Loads and initializes the driver, once.
    ///
    /// # Errors
    /// If there is none, it is too old, or it finds no device; also in a process that was forked after it was loaded.
    pub(super) fn get() -> Result<&'static Driver, Error> {
        static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
        match DRIVER.get_or_init(load) {
            Ok(driver) if !is_forked() => Ok(driver),
            Ok(_) => Err(forked()),
            Err(message) => Err(Error::runtime(message.clone())),
        }
    }

    /// Returns true if graphs can be made: if it says what the sizes of parameters are.
    pub(super) fn has_graphs(&self) -> bool {
        self.version >= 12_040
    }

    /// Newest version of CUDA that it supports, as text.
    pub(super) fn version(&self) -> String {
        version_text(self.version)
    }
}

/// Returns true in a forked child of the process that initialized the driver.
pub(super) fn is_forked() -> bool {
    FORKED.0.load(Ordering::Relaxed)
}

/// The error in such a child.
pub(super) fn forked() -> Error {
    Error::runtime("CUDA cannot be used in a process that was forked after CUDA was initialized; start another process")
}

fn version_text(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

fn load() -> Result<Driver, String> {
    // SAFETY: loading the driver's library runs its initializers, which are made for any process.
    if !unsafe { sys::is_culib_present() } {
        return Err("there is no NVIDIA driver: the library libcuda.so.1 is missing".to_owned());
    }
    let mut version = 0;
    // SAFETY: the driver is present, and the address is that of a variable. It may be called before `cuInit`.
    expect(unsafe { sys::cuDriverGetVersion(&mut version) }, "read the version of the NVIDIA driver")?;
    if version < MIN_VERSION {
        let (supported, needed) = (version_text(version), version_text(MIN_VERSION));
        return Err(format!("the NVIDIA driver is too old: it supports CUDA {supported}, and {needed} is needed"));
    }
    // SAFETY: the driver is present.
    match unsafe { sys::cuInit(0) } {
        CUresult::CUDA_ERROR_NO_DEVICE => return Err("the NVIDIA driver finds no CUDA device".to_owned()),
        status => expect(status, "initialize the NVIDIA driver")?,
    }
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    fork::register(&REGISTERED, Stage::Tables, &FORKED);
    let mut device_count = 0;
    // SAFETY: the driver is initialized, and the address is that of a variable.
    expect(unsafe { sys::cuDeviceGetCount(&mut device_count) }, "count the CUDA devices")?;
    Ok(Driver { device_count, version })
}

fn expect(status: CUresult, action: &str) -> Result<(), String> {
    match status {
        CUresult::CUDA_SUCCESS => Ok(()),
        _ => Err(format!("cannot {action}: {}", describe(status))),
    }
}

/// The text of a C string that the driver wrote into a buffer.
pub(super) fn text(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|byte| *byte == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}

/// Name and text of a status, such as `CUDA_ERROR_OUT_OF_MEMORY (out of memory)`.
pub(super) fn describe(status: CUresult) -> String {
    let read = |get: unsafe fn(CUresult, *mut *const c_char) -> CUresult| {
        let mut text = std::ptr::null();
        // SAFETY: the driver is present, or there would be no status; it writes the address of a constant C string, or
        // null.
        unsafe {
            let _ = get(status, &mut text);
            (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    let name = read(sys::cuGetErrorName).unwrap_or_else(|| format!("error {}", status as u32));
    match read(sys::cuGetErrorString) {
        Some(text) => format!("{name} ({text})"),
        None => name,
    }
}

/// Kind of the error for a status.
pub(super) fn error_kind(status: CUresult) -> &'static str {
    if status == CUresult::CUDA_ERROR_OUT_OF_MEMORY { kind::MEMORY } else { kind::RUNTIME }
}

/// Returns true if the device's context cannot be used after the status.
pub(super) fn is_sticky(status: CUresult) -> bool {
    matches!(
        status,
        CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
            | CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
            | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
            | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | CUresult::CUDA_ERROR_ASSERT
            | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
            | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
            | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | CUresult::CUDA_ERROR_INVALID_PC
            | CUresult::CUDA_ERROR_LAUNCH_FAILED
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_written_as_cuda_writes_them() {
        assert_eq!([11_000, 12_090, 10_020].map(version_text), ["11.0", "12.9", "10.2"]);
    }
}
