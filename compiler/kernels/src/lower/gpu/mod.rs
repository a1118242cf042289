//! Lowering for GPUs: a host function that launches device functions.

use super::{Options, error};
use crate::{GpuKernel, KernelError, Reason};
use hammock_ir::tir::PrimFunc;
use hammock_target::Gpu;

/// Lowers a function to a kernel for a GPU. `options` are those of its host code.
///
/// # Errors
/// When the function is not valid TIR, or needs the host: it returns a value, or calls a function.
pub fn lower_gpu(func: &PrimFunc, _options: Options<'_>, _gpu: &Gpu) -> Result<GpuKernel, KernelError> {
    let what = "this function".to_owned();
    Err(error(func, Reason::HostOnly { what, help: "compile it for a CPU" }))
}
