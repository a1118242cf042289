//! The binary interface between a kernel's host function, its device functions and the runtime.
//!
//! The object code of a kernel contains its device code as text and a [`DeviceKernel`] for each device function. The
//! host function passes a [`Launch`] to the runtime ([`crate::ffi::RuntimeTable::launch`]), which loads the code once
//! per device and queues the launch on the stream of the current device.
//!
//! A device function that can fail has messages ([`DeviceKernel::messages`]) and two more parameters, after all others:
//! the address of an [`ErrorRecord`] in device memory, and a token of 64 bits. The runtime appends both to the
//! arguments of the launch. The first thread that sets [`ErrorRecord::claimed`] from 0 to 1 writes the other fields; a
//! failing thread ends. The runtime reads the record when it waits for the device, and raises the message.
use crate::ffi::TraceEntry;
use std::ffi::{c_char, c_void};

/// A device function with its code. All pointers are valid as long as the library is loaded.
#[repr(C)]
pub struct DeviceKernel {
    /// Hash of the code. Functions with the same hash are in one module, which is loaded once per device.
    pub hash: [u64; 2],
    /// Text of the code, without a terminating zero.
    pub ptx: *const u8,
    /// Size of the text in bytes.
    pub ptx_bytes: u64,
    /// Name of the function in the code.
    pub name: *const c_char,
    /// Maximum number of threads per block, for which the function is compiled.
    pub max_threads: u32,
    /// Static shared memory per block in bytes.
    pub static_shared: u32,
    /// Messages of the errors that the function can report; null if there are none.
    pub messages: *const DeviceMessage,
    /// Number of messages. If it is not 0, the function takes an error record and a token.
    pub message_count: u32,
}

// SAFETY: a constant of a library, which nobody writes.
unsafe impl Sync for DeviceKernel {}

/// The message of an error that a device function can report: `texts[0]`, the first value, `texts[1]`, the second value
/// and `texts[2]`, up to the text after the last value.
#[repr(C)]
pub struct DeviceMessage {
    /// Kind of the error, such as `IndexError`.
    pub kind: *const c_char,
    /// Texts before, between and after the values; null after the last one.
    pub texts: [*const c_char; 3],
    /// Number of values, at most 2.
    pub values: u32,
}

// SAFETY: as for `DeviceKernel`.
unsafe impl Sync for DeviceMessage {}

/// A launch of a device function. The runtime checks the extents against the device's limits.
#[repr(C)]
pub struct Launch {
    /// The function.
    pub kernel: *const DeviceKernel,
    /// Number of blocks along x, y and z. If one is 0, nothing is launched.
    pub grid: [i64; 3],
    /// Number of threads of a block along x, y and z.
    pub block: [i64; 3],
    /// Dynamic shared memory per block in bytes.
    pub shared: i64,
    /// Addresses of the arguments' values, without the error record and the token.
    pub args: *const *const c_void,
    /// Number of arguments.
    pub arg_count: u32,
}

/// The first error that device functions reported, in device memory.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErrorRecord {
    /// 1 if a thread reported an error.
    pub claimed: u32,
    /// Index of the message in [`DeviceKernel::messages`].
    pub message: u32,
    /// The token that was passed to the function.
    pub kernel: u64,
    /// Values of the message.
    pub values: [i64; 2],
}

/// The call of a kernel in a program, for errors that show after it.
#[derive(Clone, Copy)]
pub struct CallSite {
    /// The program.
    pub program: u64,
    /// Index of the calling function.
    pub function: u32,
    /// Index of the calling instruction.
    pub instruction: u32,
    /// Returns the function and its source line, as long as the program lives.
    pub describe: fn(&CallSite) -> Option<TraceEntry>,
}
