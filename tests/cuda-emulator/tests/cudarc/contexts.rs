//! Devices, contexts, initialization, leaks.
use crate::{driver::*, emulated};
use cudarc::driver::{
    result,
    sys::{self, CUdevice_attribute as Attribute, CUresult},
};
use std::ptr::null_mut;

fn attribute(attribute: Attribute) -> i32 {
    // SAFETY: the device is valid.
    unsafe { result::device::get_attribute(0, attribute) }.unwrap()
}

#[test]
fn devices_have_properties() {
    emulated("contexts::devices_have_properties", &[("CAPABILITY", "9.0"), ("MEMORY", "1000000")], || {
        assert_eq!(allocate(4).unwrap_err(), CUresult::CUDA_ERROR_NOT_INITIALIZED);
        primary(1);
        assert_eq!(driver_version(), Ok(12090));
        assert_eq!(result::device::get_count().unwrap(), 2);
        assert_eq!(result::device::get(2).unwrap_err().0, CUresult::CUDA_ERROR_INVALID_DEVICE);
        assert_eq!(result::device::get_name(1).unwrap(), "CUDA emulator 1 (sm_90)");
        assert_ne!(result::device::get_uuid(0).unwrap().bytes, result::device::get_uuid(1).unwrap().bytes);
        assert_eq!(attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 9);
        assert_eq!(attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN), 227 << 10);
        assert_eq!(attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED), 1);
        let address = allocate(1000).unwrap();
        assert_eq!(result::mem_get_info().unwrap(), (999_000, 1_000_000));
        assert_eq!(allocate(999_001), Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        free(address).unwrap();
    });
}

#[test]
fn old_devices() {
    emulated("contexts::old_devices", &[("CAPABILITY", "7.5"), ("DEVICES", "1")], || {
        primary(0);
        assert_eq!(result::device::get_count().unwrap(), 1);
        assert_eq!(attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), 5);
        assert_eq!(attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR), 1024);
    });
}

#[test]
fn no_device() {
    emulated("contexts::no_device", &[("NO_DEVICE", "1")], || {
        assert_eq!(initialize(), Err(CUresult::CUDA_ERROR_NO_DEVICE));
        assert_eq!(retain_primary(0).unwrap_err(), CUresult::CUDA_ERROR_NOT_INITIALIZED);
    });
}

#[test]
fn an_old_driver_says_so() {
    emulated("contexts::an_old_driver_says_so", &[("DRIVER_VERSION", "11020")], || {
        assert_eq!(driver_version(), Ok(11020));
    });
}

#[test]
fn contexts_are_current_by_thread() {
    emulated("contexts::contexts_are_current_by_thread", &[], || {
        let first = primary(0);
        assert_eq!(result::ctx::get_current().unwrap(), Some(first));
        std::thread::spawn(|| assert_eq!(allocate(4), Err(CUresult::CUDA_ERROR_INVALID_CONTEXT))).join().unwrap();
        let second = create_context(1).unwrap();
        assert_eq!(result::ctx::get_current().unwrap(), Some(second));
        let address = allocate(4).unwrap();
        free(address).unwrap();
        // SAFETY: the context is valid; what is popped goes nowhere.
        unsafe { sys::cuCtxDestroy_v2(second) }.result().unwrap();
        assert_eq!(result::ctx::get_current().unwrap(), Some(first));
        release_primary(0).unwrap();
        assert_eq!(allocate(4), Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED));
        assert_eq!(release_primary(0), Err(CUresult::CUDA_ERROR_INVALID_CONTEXT));
    });
}

#[test]
fn null_and_unknown_handles_are_errors() {
    emulated("contexts::null_and_unknown_handles_are_errors", &[], || {
        primary(0);
        // SAFETY: the driver checks for null.
        assert_eq!(unsafe { sys::cuMemAlloc_v2(null_mut(), 4) }, CUresult::CUDA_ERROR_INVALID_VALUE);
        let (stream, event) = (non_blocking(), event().unwrap());
        destroy_stream(stream).unwrap();
        destroy_event(event).unwrap();
        assert_eq!(synchronize_stream(stream), Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
        assert_eq!(destroy_stream(stream), Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
        assert_eq!(record(event, null_mut()), Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
        assert_eq!(launch_graph(null_mut(), null_mut()), Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
        assert_eq!(destroy_stream(null_mut()), Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
        assert_eq!(launch(null_mut(), 1, 1, 0, null_mut(), &[]), Err(CUresult::CUDA_ERROR_INVALID_HANDLE));
    });
}

/// The sources that export the functions.
const SOURCES: [&str; 10] = [
    include_str!("../../src/driver/abi/context.rs"),
    include_str!("../../src/driver/abi/device.rs"),
    include_str!("../../src/driver/abi/entry.rs"),
    include_str!("../../src/driver/abi/event.rs"),
    include_str!("../../src/driver/abi/graph.rs"),
    include_str!("../../src/driver/abi/launch.rs"),
    include_str!("../../src/driver/abi/memory.rs"),
    include_str!("../../src/driver/abi/module.rs"),
    include_str!("../../src/driver/abi/pool.rs"),
    include_str!("../../src/driver/abi/stream.rs"),
];

/// A function whose arguments are all words.
type Words = extern "C" fn(usize, usize, usize, usize, usize, usize, usize, usize, usize, usize, usize) -> u32;

#[test]
fn every_function_survives_null() {
    emulated("contexts::every_function_survives_null", &[], || {
        let lines = SOURCES.iter().flat_map(|source| source.lines());
        let names = lines.filter_map(|line| line.strip_prefix("    fn ")?.split_once('(')).map(|(name, _)| name);
        let names: Vec<&str> = names.filter(|name| name.starts_with("cu")).collect();
        assert!(names.len() > 120, "{}", names.len());
        for name in names {
            primary(0);
            let symbol = std::ffi::CString::new(name).unwrap();
            let mut address = null_mut();
            // SAFETY: all arguments are valid, except for the status, which may be null.
            let code = unsafe { sys::cuGetProcAddress_v2(symbol.as_ptr(), &mut address, 12090, 0, null_mut()) };
            assert_eq!(code, CUresult::CUDA_SUCCESS, "{name}");
            // SAFETY: all functions take words by the C calling convention, at most as many.
            let function: Words = unsafe { std::mem::transmute(address) };
            let code = function(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
            println!("{name}: {code}");
            primary(0);
            assert_eq!(allocate(16).map(free), Ok(Ok(())), "{name}");
        }
    });
}

#[test]
fn leaks_are_reported() {
    let output = emulated("contexts::leaks_are_reported", &[], || {
        primary(0);
        let stream = non_blocking();
        allocate(16).unwrap();
        let freed = allocate_async(8, stream).unwrap();
        free_async(freed, stream).unwrap();
        event().unwrap();
        release_primary(0).unwrap();
    });
    assert!(output.contains("cuda emulator: leaks of the context: allocation of 16 bytes at 0x1"), "{output}");
    assert!(output.contains(", 1 stream, 1 event\n"), "{output}");
    assert!(!output.contains("8 bytes"), "{output}");
}

#[test]
fn leaks_can_be_errors() {
    emulated("contexts::leaks_can_be_errors", &[("LEAKS", "error")], || {
        primary(0);
        let address = allocate(16).unwrap();
        free(address).unwrap();
        release_primary(0).unwrap();
        primary(0);
        allocate(16).unwrap();
        assert_eq!(release_primary(0), Err(CUresult::CUDA_ERROR_ILLEGAL_STATE));
    });
}

#[test]
fn errors_have_names() {
    emulated("contexts::errors_have_names", &[], || {
        let error = result::DriverError(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_eq!(error.error_name().unwrap(), c"CUDA_ERROR_ILLEGAL_ADDRESS");
        assert_eq!(error.error_string().unwrap(), c"an illegal memory access was encountered");
    });
}

#[test]
fn functions_are_found_by_name() {
    emulated("contexts::functions_are_found_by_name", &[], || {
        let find = |name: &std::ffi::CStr| {
            let (mut address, mut status) =
                (null_mut(), sys::CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS);
            // SAFETY: all arguments are valid.
            let code = unsafe { sys::cuGetProcAddress_v2(name.as_ptr(), &mut address, 12090, 0, &mut status) };
            (code, address.is_null(), status as u32)
        };
        assert_eq!(find(c"cuMemAlloc"), (CUresult::CUDA_SUCCESS, false, 0));
        assert_eq!(find(c"cuCtxCreate"), (CUresult::CUDA_SUCCESS, false, 0));
        assert_eq!(find(c"cuMemAlloc_v9"), (CUresult::CUDA_ERROR_NOT_FOUND, true, 1));
    });
}
