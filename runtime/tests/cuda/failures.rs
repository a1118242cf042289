//! What the driver, the device and launches may refuse, and what they do not survive.
use super::emulated;
use super::kernels::{address, double, floats, guarded, launch, launch_shared, read, record, signature};
use hammock_runtime::memory::{Allocator, AllocatorKind};
use hammock_runtime::{Any, Device, Error, Function, Tensor, device};

const CUDA: Device = Device::cuda(0);

fn missing(id: i32) -> String {
    device::find(Device::cuda(id)).err().unwrap().to_string()
}

#[test]
fn missing_devices_say_which_are_there() {
    emulated("failures::missing_devices_say_which_are_there", &[], || {
        assert_eq!(missing(2), "ValueError: there is no device cuda:2: there are 2 CUDA devices, cuda:0 to cuda:1");
    });
}

#[test]
fn machines_without_devices_say_so() {
    emulated("failures::machines_without_devices_say_so", &[("NO_DEVICE", "1")], || {
        assert_eq!(missing(0), "RuntimeError: the NVIDIA driver finds no CUDA device");
    });
}

#[test]
fn old_drivers_are_refused() {
    emulated("failures::old_drivers_are_refused", &[("DRIVER_VERSION", "10020")], || {
        let text = "RuntimeError: the NVIDIA driver is too old: it supports CUDA 10.2, and 11.0 is needed";
        assert_eq!(missing(0), text);
    });
}

/// Without the emulator: tests have no driver.
#[test]
fn machines_without_a_driver_say_so() {
    if std::env::var_os("LD_LIBRARY_PATH").is_none() && !std::path::Path::new("/dev/nvidiactl").exists() {
        assert_eq!(missing(0), "RuntimeError: there is no NVIDIA driver: the library libcuda.so.1 is missing");
    }
}

#[test]
fn exhausted_devices_release_cached_memory() {
    emulated("failures::exhausted_devices_release_cached_memory", &[("MEMORY", "8388608")], || {
        let allocator = Allocator::new(CUDA, AllocatorKind::Pooled, usize::MAX).unwrap();
        drop(allocator.alloc(5 << 20).unwrap());
        let other = allocator.alloc(6 << 20).unwrap();
        let error = allocator.alloc(6 << 20).err().unwrap();
        assert_eq!(error.to_string(), "MemoryError: out of memory: cannot allocate 6291456 bytes on cuda:0");
        drop(other);
        assert!(allocator.alloc(6 << 20).is_ok());
    });
}

/// A kernel that launches `scale` in its own way, for one element.
fn launching(how: fn(&[*const std::ffi::c_void]) -> Result<(), Error>) -> Result<Any, Error> {
    let kernel = Function::new(move |args| {
        let (x, y) = (args[0].as_dl_tensor().unwrap().data, args[1].as_dl_tensor().unwrap().data);
        let (n, factor) = (1i64, 3f32);
        how(&[address(&x), address(&y), address(&n), address(&factor)]).map(|()| Any::NONE)
    });
    signature("scale").guard(kernel).call(&[floats(&[1.0], CUDA).into(), floats(&[0.0], CUDA).into()])
}

#[test]
fn launches_are_checked() {
    emulated("failures::launches_are_checked", &[], || {
        let refused = |how| launching(how).unwrap_err().to_string();
        assert!(launching(|args| launch(record("scale", None), 0, args)).is_ok());
        assert!(launching(|args| launch_shared(record("scale", None), 1, 100_000, args)).is_ok());
        let text = "ValueError: cuda:0: cannot launch `scale` with 2147483648 blocks along x, and the device allows 2147483647";
        assert_eq!(refused(|args| launch(record("scale", None), 1 << 31, args)), text);
        let text = refused(|args| launch_shared(record("scale", None), 1, 1 << 20, args));
        assert!(text.contains("cannot launch `scale` with 1048576 bytes of shared memory per block"), "{text}");
        let text = refused(|args| launch(record("nothing", None), 1, args));
        assert!(text.contains("cannot find the device function `nothing`: CUDA_ERROR_NOT_FOUND"), "{text}");
        let text = refused(|args| launch(record("scale", Some(".version 7.0\n.target sm_80\nnonsense")), 1, args));
        assert!(text.contains("cannot load the code of the device function `scale`: CUDA_ERROR_INVALID_PTX"), "{text}");
        let text = refused(|args| launch(record("scale", Some(".version 8.0\n.target sm_90\n")), 1, args));
        assert!(text.contains("`scale` is compiled for sm_90, and cuda:0 ("), "{text}");
        assert!(text.contains("is sm_80: compile it with `--target cuda:sm_80`"), "{text}");
        // The device is as good as before.
        assert!(launching(|args| launch(record("scale", None), 1, args)).is_ok());
    });
}

#[test]
fn refused_launches_are_errors() {
    emulated("failures::refused_launches_are_errors", &[("FAIL_LAUNCH", "2")], || {
        let call = || {
            let y = floats(&[0.0], CUDA);
            guarded("double").call(&[floats(&[4.0], CUDA).into(), y.clone().into()]).map(|_| read(&y))
        };
        assert_eq!(call().unwrap(), [8.0]);
        let error = call().unwrap_err().to_string();
        assert!(
            error.contains("cuda:0: cannot launch `scale` with (1, 1, 1) blocks of (128, 1, 1) threads"),
            "{error}"
        );
        assert_eq!(call().unwrap(), [8.0]);
    });
}

#[test]
fn faults_end_the_use_of_their_device() {
    emulated("failures::faults_end_the_use_of_their_device", &[("STICKY_AT", "2")], || {
        let call = |device| {
            let (x, y) = (floats(&[4.0], device), floats(&[0.0], device));
            guarded("double").call(&[x.into(), y.clone().into()]).map(|_| read(&y))
        };
        assert_eq!(call(CUDA).unwrap(), [8.0]);
        let error = call(CUDA).unwrap_err().to_string();
        assert!(error.starts_with("RuntimeError: cuda:0: device function `scale` failed with CUDA_ERROR_"), "{error}");
        let host = Tensor::from_slice(&[1], &[1f32]).unwrap();
        let error = host.to_device(CUDA).unwrap_err().to_string();
        let text = "RuntimeError: cuda:0 cannot be used any more: device function `scale` failed with CUDA_ERROR_";
        assert!(error.starts_with(text), "{error}");
        // The host and other devices are as good as before.
        assert_eq!(call(Device::cuda(1)).unwrap(), [8.0]);
    });
}

#[test]
fn children_of_a_process_with_a_device_say_so() {
    emulated("failures::children_of_a_process_with_a_device_say_so", &[], || {
        let there = floats(&[1.0], CUDA);
        // SAFETY: the child only reads a message and ends.
        match unsafe { libc::fork() } {
            0 => {
                let message = missing(0);
                drop(there);
                // SAFETY: ends the child without the parent's exit handlers.
                unsafe { libc::_exit(i32::from(!message.contains("forked after CUDA was initialized"))) }
            }
            child => {
                let mut status = -1;
                // SAFETY: the child is this process's.
                unsafe { libc::waitpid(child, &mut status, 0) };
                assert_eq!(status, 0);
                assert_eq!(read(&there), [1.0]);
            }
        }
    });
}

#[test]
fn kernels_need_a_device() {
    emulated("failures::kernels_need_a_device", &[], || {
        let args = [floats(&[1.0], CUDA), floats(&[1.0], CUDA)].map(Any::from);
        assert!(double(&args).unwrap_err().message().contains("without a device"));
    });
}
