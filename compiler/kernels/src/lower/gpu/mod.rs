//! Lowering for GPUs: a host function that launches device functions.
//!
//! Steps are those of CPUs, but stages become loops over blocks and threads ([`loops`]), each part of a kernel in a
//! *device region* of its own; launches of a kernel run in order. At the end, [`split`] makes a device function of each
//! region, and a launch takes its place in the host function.

mod axes;
mod host_code;
pub mod loops;
mod shared_memory;
mod split;
pub mod thread_loops;

use super::{Lowering, Options, error, name_of, verify_vars::verify_vars};
use crate::{FlatKernel, GpuKernel, KernelError, Reason};
use hammock_ir::{
    PrimExpr,
    tir::{AttrNode, PrimFunc, Stmt, StmtKind},
};
use hammock_target::Gpu;

/// Attribute around the statements of a device region.
const DEVICE_SCOPE: &str = "device_scope";

/// Lowers a function to a kernel for a GPU. `options` are those of its host code.
///
/// # Errors
/// When the function is not valid TIR, exceeds a limit of the GPU, or needs the host: it returns a value, or calls a
/// function.
pub fn lower_gpu(func: &PrimFunc, options: Options<'_>, gpu: &Gpu) -> Result<GpuKernel, KernelError> {
    gpu_kernel(func, Options { gpu: Some(gpu), ..options }, gpu).map_err(|reason| error(func, reason))
}

fn gpu_kernel(func: &PrimFunc, options: Options<'_>, gpu: &Gpu) -> Result<GpuKernel, Reason> {
    let lowered = Lowering::new(func, options).before(None)?;
    let accesses = lowered.accesses();
    let (func, signature) = lowered.into_func();
    verify_vars(&func)?;
    let name = name_of(&func);
    let whole = FlatKernel { said: name.clone(), name, func, signature, accesses };
    let output_args = whole.output_args();
    let (func, device) = split::split(&whole.func, gpu)?;
    for func in [&func].into_iter().chain(device.iter().map(|device| &device.func)) {
        verify_vars(func)?;
    }
    Ok(GpuKernel { host: FlatKernel { func, ..whole }, device, output_args })
}

/// Returns a device region of a body.
fn device_region(body: Stmt) -> Stmt {
    let (key, value, span) = (DEVICE_SCOPE.into(), PrimExpr::int32(1), body.span);
    Stmt::new(StmtKind::Attr { node: AttrNode::None, key, value, body: Box::new(body) }).at(span)
}

/// Returns the body of a device region.
fn region_body(stmt: &Stmt) -> Option<&Stmt> {
    match &stmt.kind {
        StmtKind::Attr { key, body, .. } if *key == *DEVICE_SCOPE => Some(body),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
