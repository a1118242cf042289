//! Kernels of a module for a GPU: those of tensors run on the device, unless their target is the host, size functions on
//! the host.

use crate::Options;
use hammock_ir::tir::{EXACT, PrimFunc};
use hammock_kernels::{FlatKernel, GpuKernel, KernelError, lower_gpu, lower_with};
use hammock_target::Gpu;

/// Returns true if a function runs on the host whatever the target of the module: its own target is the host, it computes
/// sizes, or takes no tensors.
pub fn runs_on_host(func: &PrimFunc) -> bool {
    let takes_memory = func.params.iter().any(|param| param.buffer.is_some() || param.var.dtype().is_handle());
    func.attrs.targets_host() || func.attrs.is_true(EXACT) || !takes_memory
}

/// Returns the GPU that a function is compiled for; `None` if it runs on the host.
pub fn gpu_of<'a>(func: &PrimFunc, options: &'a Options) -> Option<&'a Gpu> {
    options.gpu.as_ref().filter(|_| !runs_on_host(func))
}

/// Lowers a function for the GPU of the options; without one, to a host function without device functions.
pub fn lower_for(name: &str, func: &PrimFunc, options: hammock_kernels::Options<'_>) -> Result<GpuKernel, KernelError> {
    let named = |host| FlatKernel { name: name.into(), said: name.into(), ..host };
    match options.gpu {
        Some(gpu) => lower_gpu(func, options, gpu).map(|kernel| GpuKernel { host: named(kernel.host), ..kernel }),
        None => {
            let host = named(lower_with(func, options)?);
            Ok(GpuKernel { output_args: host.output_args(), device: Vec::new(), host })
        }
    }
}
