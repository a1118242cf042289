//! Names of errors, look-up of functions by name, functions that the emulator lacks, and functions for tests.
use super::{
    In, Out, abi, context, device, early, event, graph, initialized, launch, lock, memory, module, pool, stream,
};
use crate::driver::Code;
use std::ffi::c_char;

/// States of `cuGetProcAddress_v2`: found, not found.
const FOUND: u32 = 0;
const NOT_FOUND: u32 = 1;

/// Names and addresses of all functions.
fn all() -> Vec<(&'static str, usize)> {
    let lists: [fn() -> Vec<(&'static str, usize)>; 15] = [
        functions,
        errors,
        unsupported_functions,
        device::early_functions,
        device::functions,
        context::functions,
        context::profiler_functions,
        module::functions,
        memory::functions,
        memory::copies,
        pool::functions,
        stream::functions,
        event::functions,
        graph::functions,
        launch::functions,
    ];
    let extra: [(&str, extern "C" fn(Out<u8>, usize) -> usize); 2] =
        [("cudaEmulatorLastFault", cudaEmulatorLastFault), ("cudaEmulatorLiveObjects", cudaEmulatorLiveObjects)];
    let extra = extra.map(|(name, function)| (name, function as *const () as usize));
    lists.iter().flat_map(|list| list()).chain(extra).collect()
}

/// Returns a name without the suffix of its version, and the version.
fn split_version(name: &str) -> (&str, u32) {
    let split = name.rsplit_once("_v").and_then(|(base, version)| Some((base, version.parse().ok()?)));
    split.unwrap_or((name, 1))
}

/// Finds a function by its full name, or its newest version by the name without a version.
fn address_of(name: &str) -> Option<usize> {
    let all = all();
    let exact = all.iter().find(|(other, _)| *other == name);
    let versions = all.iter().filter(|(other, _)| split_version(other).0 == name);
    let newest = versions.max_by_key(|(other, _)| split_version(other).1);
    if split_version(name).1 > 1 { exact } else { newest }.map(|(_, address)| *address)
}

abi! {
    errors by early;

    fn cuGetErrorName(code: u32, text: Out<usize>) |_driver| {
        text.store(0);
        text.fill(|| Code(code).texts().map(|texts| texts.0.as_ptr() as usize).ok_or(Code::INVALID_VALUE))
    }
    fn cuGetErrorString(code: u32, text: Out<usize>) |_driver| {
        text.store(0);
        text.fill(|| Code(code).texts().map(|texts| texts.1.as_ptr() as usize).ok_or(Code::INVALID_VALUE))
    }
}

abi! {
    functions by early;

    fn cuGetProcAddress(symbol: In<c_char>, address: Out<usize>, _version: i32, _flags: u64) |_driver| {
        let found = address_of(&symbol.text()?);
        address.fill(|| Ok(found.unwrap_or_default()))?;
        found.map(|_| ()).ok_or(Code::NOT_FOUND)
    }
    fn cuGetProcAddress_v2(
        symbol: In<c_char>,
        address: Out<usize>,
        _version: i32,
        _flags: u64,
        status: Out<u32>,
    ) |_driver| {
        let found = address_of(&symbol.text()?);
        status.store(if found.is_some() { FOUND } else { NOT_FOUND });
        address.fill(|| Ok(found.unwrap_or_default()))?;
        found.map(|_| ()).ok_or(Code::NOT_FOUND)
    }
}

/// Exports functions that the emulator lacks. Each says so when it is called; its arguments do not matter.
macro_rules! unsupported {
    ($list:ident: $($name:ident)*) => {
        abi! {
            $list by initialized;

            $(fn $name() |driver| { Err(driver.unsupported(stringify!($name))) })*
        }
    };
}

unsupported! {
    unsupported_functions:
    cuCtxFromGreenCtx
    cuDestroyExternalMemory
    cuExternalMemoryGetMappedBuffer
    cuGraphClone
    cuGraphNodeGetDependencies
    cuImportExternalMemory
    cuLaunchCooperativeKernel
    cuLibraryLoadData
    cuLinkCreate_v2
    cuMemAdvise_v2
    cuMemAllocManaged
    cuMemAllocPitch_v2
    cuMemCreate
    cuMemHostGetDevicePointer_v2
    cuMemPoolSetAccess
    cuMemPrefetchAsync_v2
    cuMemcpy2DAsync_v2
    cuMemcpy2D_v2
    cuMemcpy3D_v2
    cuMemsetD2D8Async
    cuMemsetD2D8_v2
    cuOccupancyMaxActiveClusters
    cuOccupancyMaxPotentialClusterSize
    cuStreamAddCallback
    cuStreamAttachMemAsync
    cuTensorMapEncodeTiled
}

fn store(text: &str, buffer: Out<u8>, size: usize) -> usize {
    buffer.store_text(text, size);
    text.len()
}

/// Stores the text of the last fault, or an empty text, cut to `size` bytes. Returns its length.
#[unsafe(no_mangle)]
extern "C" fn cudaEmulatorLastFault(buffer: Out<u8>, size: usize) -> usize {
    store(lock().last_fault(), buffer, size)
}

/// Stores what the program has not destroyed yet, a line each, cut to `size` bytes. Returns the text's length.
#[unsafe(no_mangle)]
extern "C" fn cudaEmulatorLiveObjects(buffer: Out<u8>, size: usize) -> usize {
    store(&lock().live_objects().join("\n"), buffer, size)
}
