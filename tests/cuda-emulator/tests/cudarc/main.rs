//! Programs that use the driver through cudarc, each in a process of its own. Planted faults must be noticed.
mod contexts;
mod faults;
mod graphs;
mod memory;
mod streams;

use cudarc::driver::{result, sys};
use std::process::Command;

/// The variable that tells a process which program to run.
const PROGRAM: &str = "CUDA_EMULATOR_PROGRAM";

/// Runs a program on the emulator with variables of its configuration, and returns what it printed.
///
/// The test runs itself again with the emulator as `libcuda.so.1`; that process runs the program and ends.
fn emulated(test: &str, variables: &[(&str, &str)], program: fn()) -> String {
    if std::env::var(PROGRAM).is_ok_and(|name| name == test) {
        program();
        std::process::exit(0);
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(PROGRAM, test);
    command.env("LD_LIBRARY_PATH", hammock_cuda_emulator::library::folder().unwrap());
    for (name, value) in variables {
        command.env(format!("CUDA_EMULATOR_{name}"), value);
    }
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).join("\n");
    assert!(output.status.success(), "{test} on the emulator:\n{text}");
    text
}

/// A device's primary context, current in this thread.
struct Primary {
    device: i32,
    context: sys::CUcontext,
}

impl Primary {
    fn new(device: i32) -> Self {
        result::init().unwrap();
        let device = result::device::get(device).unwrap();
        // SAFETY: the device is valid, and the context remains until it is released.
        let context = unsafe { result::primary_ctx::retain(device) }.unwrap();
        // SAFETY: the context is valid.
        unsafe { result::ctx::set_current(context) }.unwrap();
        Self { device, context }
    }

    fn release(self) -> Result<(), result::DriverError> {
        // SAFETY: the context was retained.
        unsafe { result::primary_ctx::release(self.device) }
    }
}

fn stream() -> sys::CUstream {
    result::stream::create(result::stream::StreamKind::NonBlocking).unwrap()
}

fn blocking_stream() -> sys::CUstream {
    result::stream::create(result::stream::StreamKind::Default).unwrap()
}

fn event() -> sys::CUevent {
    result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).unwrap()
}

fn code<T: std::fmt::Debug>(result: Result<T, result::DriverError>) -> sys::CUresult {
    result.map_or_else(|error| error.0, |_| sys::CUresult::CUDA_SUCCESS)
}
