//! The driver's functions through cudarc's bindings, as functions that return codes.
//!
//! Programs here are wrong on purpose. Handles and device addresses are no addresses of the process, so the emulator can
//! check them; memory of the process that a function is given stays allocated until the program ends.
use cudarc::driver::sys::{self, CUresult};
use std::{ffi::c_void, ptr::null_mut};

/// Result of functions.
pub type Result<T = ()> = std::result::Result<T, CUresult>;

fn checked(code: CUresult) -> Result {
    if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(code) }
}

/// Declares a function: name, arguments, the driver's function with its arguments.
macro_rules! calls {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) = $function:ident($($value:expr),*);)*) => {
        $(
            $(#[$doc])*
            pub fn $name($($argument: $type),*) -> Result {
                // SAFETY: see the module.
                checked(unsafe { sys::$function($($value),*) })
            }
        )*
    };
}

/// Declares a function that returns a value, which the driver's function stores through its first argument.
macro_rules! returns {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $function:ident($first:pat, $($value:expr),*);)*) => {
        $(
            pub fn $name($($argument: $type),*) -> Result<$result> {
                let mut value = std::mem::MaybeUninit::<$result>::zeroed();
                // SAFETY: see the module; zero is a value of all results here.
                unsafe {
                    checked(sys::$function(value.as_mut_ptr(), $($value),*))?;
                    Ok(value.assume_init())
                }
            }
        )*
    };
}

calls! {
    fn initialize() = cuInit(0);
    fn set_current(context: sys::CUcontext) = cuCtxSetCurrent(context);
    fn synchronize() = cuCtxSynchronize();
    fn release_primary(device: i32) = cuDevicePrimaryCtxRelease_v2(device);
    fn reset_primary(device: i32) = cuDevicePrimaryCtxReset_v2(device);
    fn enable_peer(context: sys::CUcontext) = cuCtxEnablePeerAccess(context, 0);
    fn free(address: u64) = cuMemFree_v2(address);
    fn free_async(address: u64, stream: sys::CUstream) = cuMemFreeAsync(address, stream);
    fn free_host(pointer: *mut c_void) = cuMemFreeHost(pointer);
    fn upload(to: u64, from: &[u8]) = cuMemcpyHtoD_v2(to, from.as_ptr().cast(), from.len());
    fn upload_async(to: u64, from: &[u8], stream: sys::CUstream) =
        cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), from.len(), stream);
    fn download(to: &mut [u8], from: u64) = cuMemcpyDtoH_v2(to.as_mut_ptr().cast(), from, to.len());
    fn download_async(to: &mut [u8], from: u64, stream: sys::CUstream) =
        cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, to.len(), stream);
    fn copy(to: u64, from: u64, bytes: usize) = cuMemcpyDtoD_v2(to, from, bytes);
    fn copy_async(to: u64, from: u64, bytes: usize, stream: sys::CUstream) =
        cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
    fn copy_peer(to: (u64, sys::CUcontext), from: (u64, sys::CUcontext), bytes: usize, stream: sys::CUstream) =
        cuMemcpyPeerAsync(to.0, to.1, from.0, from.1, bytes, stream);
    fn fill(to: u64, value: u8, count: usize) = cuMemsetD8_v2(to, value, count);
    fn fill_async(to: u64, value: u8, count: usize, stream: sys::CUstream) = cuMemsetD8Async(to, value, count, stream);
    fn fill_words(to: u64, value: u32, count: usize, stream: sys::CUstream) =
        cuMemsetD32Async(to, value, count, stream);
    fn destroy_stream(stream: sys::CUstream) = cuStreamDestroy_v2(stream);
    fn synchronize_stream(stream: sys::CUstream) = cuStreamSynchronize(stream);
    fn query_stream(stream: sys::CUstream) = cuStreamQuery(stream);
    fn wait(stream: sys::CUstream, event: sys::CUevent) = cuStreamWaitEvent(stream, event, 0);
    fn destroy_event(event: sys::CUevent) = cuEventDestroy_v2(event);
    fn record(event: sys::CUevent, stream: sys::CUstream) = cuEventRecord(event, stream);
    fn synchronize_event(event: sys::CUevent) = cuEventSynchronize(event);
    fn query_event(event: sys::CUevent) = cuEventQuery(event);
    fn host_function(stream: sys::CUstream, function: unsafe extern "C" fn(*mut c_void), data: *mut c_void) =
        cuLaunchHostFunc(stream, Some(function), data);
    fn begin_capture(stream: sys::CUstream, mode: sys::CUstreamCaptureMode) = cuStreamBeginCapture_v2(stream, mode);
    fn launch_graph(exec: sys::CUgraphExec, stream: sys::CUstream) = cuGraphLaunch(exec, stream);
    fn destroy_graph(graph: sys::CUgraph) = cuGraphDestroy(graph);
    fn destroy_exec(exec: sys::CUgraphExec) = cuGraphExecDestroy(exec);
    fn unload(module: sys::CUmodule) = cuModuleUnload(module);
    fn set_function_attribute(function: sys::CUfunction, attribute: sys::CUfunction_attribute, value: i32) =
        cuFuncSetAttribute(function, attribute, value);
}

returns! {
    fn driver_version() -> i32 = cuDriverGetVersion(_,);
    fn retain_primary(device: i32) -> sys::CUcontext = cuDevicePrimaryCtxRetain(_, device);
    fn create_context(device: i32) -> sys::CUcontext = cuCtxCreate_v4(_, null_mut(), 0, device);
    fn allocate(bytes: usize) -> u64 = cuMemAlloc_v2(_, bytes);
    fn allocate_async(bytes: usize, stream: sys::CUstream) -> u64 = cuMemAllocAsync(_, bytes, stream);
    fn allocate_host(bytes: usize) -> *mut c_void = cuMemHostAlloc(_, bytes, 0);
    fn stream(flags: u32) -> sys::CUstream = cuStreamCreate(_, flags);
    fn event() -> sys::CUevent = cuEventCreate(_, 0);
    fn elapsed(start: sys::CUevent, end: sys::CUevent) -> f32 = cuEventElapsedTime(_, start, end);
    fn instantiate(graph: sys::CUgraph) -> sys::CUgraphExec = cuGraphInstantiateWithFlags(_, graph, 0);
    fn load(image: &std::ffi::CStr) -> sys::CUmodule = cuModuleLoadData(_, image.as_ptr().cast());
    fn function(module: sys::CUmodule, name: &std::ffi::CStr) -> sys::CUfunction =
        cuModuleGetFunction(_, module, name.as_ptr());
    fn active_blocks(function: sys::CUfunction, threads: i32, shared: usize) -> i32 =
        cuOccupancyMaxActiveBlocksPerMultiprocessor(_, function, threads, shared);
}

/// Ends a capture.
pub fn end_capture(stream: sys::CUstream) -> Result<sys::CUgraph> {
    let mut graph = null_mut();
    // SAFETY: see the module.
    checked(unsafe { sys::cuStreamEndCapture(stream, &mut graph) })?;
    Ok(graph)
}

/// Retains the primary context of a device and makes it current.
pub fn primary(device: i32) -> sys::CUcontext {
    initialize().unwrap();
    let context = retain_primary(device).unwrap();
    set_current(context).unwrap();
    context
}

/// Returns a stream that does not wait for the legacy default stream.
pub fn non_blocking() -> sys::CUstream {
    stream(1).unwrap()
}

/// Returns pinned memory that is never freed, unless the program does.
pub fn pinned(bytes: usize) -> &'static mut [u8] {
    let pointer = allocate_host(bytes).unwrap();
    // SAFETY: the driver allocated that many bytes.
    unsafe { std::slice::from_raw_parts_mut(pointer.cast(), bytes) }
}

/// Returns the contents of memory, once earlier work of the context has run.
pub fn contents(address: u64, bytes: usize) -> Vec<u8> {
    synchronize().unwrap();
    let mut data = vec![0; bytes];
    download(&mut data, address).unwrap();
    data
}

/// Launches a kernel with its parameters as words.
pub fn launch(
    function: sys::CUfunction,
    grid: u32,
    block: u32,
    shared_bytes: u32,
    stream: sys::CUstream,
    params: &[u64],
) -> Result {
    let mut pointers: Vec<*mut c_void> = params.iter().map(|param| (&raw const *param).cast_mut().cast()).collect();
    let params = pointers.as_mut_ptr();
    // SAFETY: see the module; parameters are copied by the call.
    checked(unsafe { sys::cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared_bytes, stream, params, null_mut()) })
}
