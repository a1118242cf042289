//! Kernels for GPUs: device functions to PTX, and host functions with that text to machine code.

use super::{
    Emit, Host, LlvmError, Object, OptLevel, add_with,
    backend::{compile_text, emit_assembly},
    device_code::{DeviceCode, DeviceEntry},
    device_ir::{device_ir_text, device_module},
    emit, module,
    text::Module,
    unsupported,
};
use hammock_kernels::GpuKernel;
use hammock_target::{Gpu, Target};
use rustc_hash::FxHashSet;
use std::hash::{DefaultHasher, Hasher};

/// Returns the device functions of kernels as one text of PTX.
///
/// # Errors
/// When a kernel uses an unsupported operation, or LLVM fails.
pub fn ptx(kernels: &[GpuKernel], gpu: &Gpu, level: OptLevel) -> Result<Vec<u8>, LlvmError> {
    emit_assembly(&device_ir_text(kernels, gpu)?, gpu, level)
}

/// Compiles kernels as one module of host functions, with their device code as data.
///
/// # Errors
/// As [`ptx`].
pub fn compile_gpu(
    kernels: &[GpuKernel],
    gpu: &Gpu,
    target: &Target,
    level: OptLevel,
    emit: Emit,
) -> Result<Vec<u8>, LlvmError> {
    let mut host = module(target);
    for kernel in kernels {
        add_host(&mut host, kernel, gpu, target, level)?;
    }
    compile_text(&host.finish(), target, level, emit)
}

/// Compiles one kernel to an object with its device code.
///
/// # Errors
/// As [`ptx`].
pub fn gpu_object(kernel: &GpuKernel, gpu: &Gpu, target: &Target, level: OptLevel) -> Result<Object, LlvmError> {
    let mut host = module(target);
    let device = add_host(&mut host, kernel, gpu, target, level)?;
    // The names of device functions contain that of the kernel.
    Ok(Object { bytes: compile_text(&host.finish(), target, level, Emit::Object)?, has_names: true, device })
}

/// Adds a host function with its device code; returns its device functions.
fn add_host(
    host: &mut Module,
    kernel: &GpuKernel,
    gpu: &Gpu,
    target: &Target,
    level: OptLevel,
) -> Result<Vec<DeviceEntry>, LlvmError> {
    let code = if kernel.device.is_empty() { None } else { Some(device_code(kernel, gpu, level)?) };
    add_with(host, &kernel.host, target, Host::Hammock, code.as_ref())?;
    Ok(code.map_or_else(Vec::new, |code| code.entries))
}

/// Compiles the device functions of a kernel.
fn device_code(kernel: &GpuKernel, gpu: &Gpu, level: OptLevel) -> Result<DeviceCode, LlvmError> {
    let mut module = device_module(gpu);
    let emitted = emit::emit_device(&mut module, kernel, gpu, &mut FxHashSet::default());
    let (entries, messages) = emitted.map_err(|what| unsupported(&kernel.host, what))?;
    let ptx = emit_assembly(&module.finish(), gpu, level)?;
    let hash = [0, 1].map(|seed| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(seed);
        hasher.write(&ptx);
        hasher.finish()
    });
    Ok(DeviceCode { ptx, hash, entries, messages })
}
