//! Device functions of kernels for GPUs, as one module.

use super::{LlvmError, arch::nvptx, emit, text::Module, unsupported};
use hammock_kernels::GpuKernel;
use hammock_target::Gpu;
use rustc_hash::FxHashSet;

/// Returns the device functions of kernels as one module of LLVM's textual IR, before optimization.
///
/// # Errors
/// When a kernel uses an unsupported operation.
pub fn device_ir_text(kernels: &[GpuKernel], gpu: &Gpu) -> Result<String, LlvmError> {
    let mut module = device_module(gpu);
    let mut symbols = FxHashSet::default();
    for kernel in kernels {
        emit::emit_device(&mut module, kernel, gpu, &mut symbols).map_err(|what| unsupported(&kernel.host, what))?;
    }
    Ok(module.finish())
}

/// Starts an empty module of device code.
pub fn device_module(gpu: &Gpu) -> Module {
    Module::new(nvptx::DATA_LAYOUT, Gpu::TRIPLE, nvptx::attributes(gpu))
}
