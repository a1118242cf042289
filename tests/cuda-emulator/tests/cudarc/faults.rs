//! Faults of kernels, modules that cannot be loaded, faults on request.
use crate::{
    driver::*,
    emulated,
    kernels::{kernel, module},
};
use cudarc::driver::sys::{self, CUresult};
use std::{
    ffi::{CStr, CString, c_void},
    ptr::null_mut,
};

#[test]
fn a_fault_ends_the_context() {
    let output = emulated("faults::a_fault_ends_the_context", &[], || {
        primary(0);
        let (add, stream) = (kernel(c"add"), non_blocking());
        let address = allocate(16).unwrap();
        fill_words(address, 0, 4, stream).unwrap();
        launch(add, 1, 5, 0, stream, &[address, 1, 5]).unwrap();
        let illegal = Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        assert_eq!(synchronize_stream(stream), illegal);
        assert_eq!(synchronize(), illegal);
        assert_eq!(allocate(4).map(|_| ()), illegal);
        assert_eq!(launch(add, 1, 1, 0, stream, &[address, 1, 1]), illegal);
        assert_eq!(free(address), illegal);
        assert_eq!(retain_primary(0).map(|_| ()), Ok(()));
        primary(1);
        allocate(4).unwrap();
        reset_primary(0).unwrap();
        primary(0);
        allocate(4).unwrap();
        println!("last fault: {}", text(c"cudaEmulatorLastFault"));
        assert!(text(c"cudaEmulatorLiveObjects").starts_with("allocation of 4 bytes"));
    });
    let fault = "access of 4 bytes at offset 16 of an allocation of 16 bytes; kernel `add`, line 30 of its PTX: \
                 `ld.global.u32 %r7, [%rd3];`; block [0, 0, 0], thread [4, 0, 0]\n";
    assert_eq!(output.matches("cuda emulator: ").count(), 1, "{output}");
    for prefix in ["cuda emulator: ", "last fault: "] {
        assert!(output.contains(&format!("{prefix}{fault}")), "{output}");
    }
}

/// Returns what one of the emulator's functions for tests says.
fn text(name: &CStr) -> String {
    let mut address = null_mut();
    let mut status = sys::CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS;
    let mut buffer = vec![0; 1000];
    // SAFETY: all arguments are valid, and the functions for tests have this type.
    let length = unsafe {
        sys::cuGetProcAddress_v2(name.as_ptr(), &mut address, 12090, 0, &mut status).result().unwrap();
        let function: extern "C" fn(*mut u8, usize) -> usize = std::mem::transmute(address);
        function(buffer.as_mut_ptr(), buffer.len())
    };
    String::from_utf8(buffer[..length].to_vec()).unwrap()
}

#[test]
fn a_kernel_traps() {
    let output = emulated("faults::a_kernel_traps", &[], || {
        primary(0);
        launch(kernel(c"stop"), 1, 1, 0, null_mut(), &[]).unwrap();
        assert_eq!(synchronize(), Err(CUresult::CUDA_ERROR_LAUNCH_FAILED));
    });
    assert!(output.contains("cuda emulator: trap"), "{output}");
}

#[test]
fn a_fault_is_seen_even_if_nobody_waits() {
    let output = emulated("faults::a_fault_is_seen_even_if_nobody_waits", &[("LEAKS", "error")], || {
        primary(0);
        let module = module();
        let stop = function(module, c"stop").unwrap();
        launch(stop, 1, 1, 0, null_mut(), &[]).unwrap();
        assert_eq!(release_primary(0), Err(CUresult::CUDA_ERROR_ILLEGAL_STATE));
    });
    assert!(output.contains("cuda emulator: trap"), "{output}");
}

#[test]
fn a_launch_fails_on_request() {
    emulated("faults::a_launch_fails_on_request", &[("FAIL_LAUNCH", "2")], || {
        primary(0);
        let (add, address) = (kernel(c"add"), allocate(4).unwrap());
        fill_words(address, 0, 1, null_mut()).unwrap();
        let codes = [(); 3].map(|()| launch(add, 1, 1, 0, null_mut(), &[address, 1, 1]));
        assert_eq!(codes, [Ok(()), Err(CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES), Ok(())]);
        assert_eq!(contents(address, 4), [2, 0, 0, 0]);
    });
}

#[test]
fn a_sticky_error_on_request() {
    let output = emulated("faults::a_sticky_error_on_request", &[("STICKY_AT", "2")], || {
        primary(0);
        let (add, address) = (kernel(c"add"), allocate(4).unwrap());
        fill_words(address, 0, 1, null_mut()).unwrap();
        for _ in 0..3 {
            launch(add, 1, 1, 0, null_mut(), &[address, 1, 1]).unwrap();
        }
        assert_eq!(synchronize(), Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
        assert_eq!(allocate(4), Err(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
    });
    assert!(output.contains("cuda emulator: launch 2 fails on request; kernel `add`"), "{output}");
}

fn load_text(text: &str) -> Result {
    load(&CString::new(text).unwrap()).map(|_| ())
}

#[test]
fn modules_that_cannot_be_loaded() {
    let output = emulated("faults::modules_that_cannot_be_loaded", &[("DRIVER_VERSION", "11020")], || {
        primary(0);
        let header = |version: &str, target: &str| {
            format!(".version {version}\n.target {target}\n.address_size 64\n.visible .entry f() {{ ret; }}\n")
        };
        load_text(&header("7.2", "sm_80")).unwrap();
        assert_eq!(load_text(&header("7.3", "sm_80")), Err(CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION));
        assert_eq!(load_text(&header("7.2", "sm_86")), Err(CUresult::CUDA_ERROR_INVALID_PTX));
        assert_eq!(load_text("no PTX"), Err(CUresult::CUDA_ERROR_INVALID_PTX));
        assert_eq!(
            load_text(&header("7.2", "sm_80").replace("ret", "made.up.f32")),
            Err(CUresult::CUDA_ERROR_INVALID_PTX)
        );
        assert_eq!(load_text("\x7fELF"), Err(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU));
        allocate(4).unwrap();
    });
    assert!(output.contains("Unsupported .version 7.3; current version is '7.2'"), "{output}");
    assert!(output.contains("sm_86 for sm_80"), "{output}");
    assert!(output.contains("made.up.f32"), "{output}");
}

#[test]
fn the_compiler_has_a_log() {
    emulated("faults::the_compiler_has_a_log", &[], || {
        primary(0);
        let mut log = [0u8; 100];
        let mut options =
            [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
        let mut module = null_mut();
        // SAFETY: options and their values are valid.
        let code = unsafe {
            let values = values.as_mut_ptr();
            sys::cuModuleLoadDataEx(&mut module, c".version 99.0".as_ptr().cast(), 2, options.as_mut_ptr(), values)
        };
        assert_ne!(code, CUresult::CUDA_SUCCESS);
        let text = std::ffi::CStr::from_bytes_until_nul(&log).unwrap().to_str().unwrap();
        assert!(!text.is_empty());
        assert_eq!(values[1] as usize, text.len() + 1);
    });
}

#[test]
fn functions_that_the_emulator_lacks_say_so() {
    let output = emulated("faults::functions_that_the_emulator_lacks_say_so", &[], || {
        primary(0);
        let mut address = 0;
        // SAFETY: the emulator lacks this function and reads no arguments.
        let code = unsafe { sys::cuMemAllocManaged(&mut address, 4, 1) };
        assert_eq!(code, CUresult::CUDA_ERROR_NOT_SUPPORTED);
    });
    assert!(output.contains("cuda emulator: unsupported: cuMemAllocManaged"), "{output}");
}
