//! Parameters of device functions: their address spaces, alignment and aliasing.
//!
//! Memory that a function only reads, and that no other parameter of it aliases, is loaded through the read-only cache.

use super::{Result, Ty, nvptx, register_type};
use crate::llvm::signature::DEVICE_ALIGNMENT;
use hammock_ir::{
    prim::{PrimType, Var, intrinsics},
    tir::{Param, PrimFunc, Stmt, StmtKind},
};
use hammock_kernels::{DeviceFunc, GpuKernel};
use rustc_hash::FxHashSet;

/// Returns the types and attributes of a device function's parameters, and those that are aligned pointers.
pub fn declare(kernel: &GpuKernel, device: &DeviceFunc) -> Result<(Vec<(Ty, String)>, FxHashSet<Var>)> {
    let is_distinct = device.func.attrs.is_true("tirx.noalias");
    let aligned = aligned(&kernel.host.func, &device.name, device.func.params.len());
    let pointers = device.func.params.iter().zip(&aligned).filter(|(_, is_aligned)| **is_aligned);
    let pointers = pointers.map(|(param, _)| param.var.clone()).filter(|var| var.dtype().is_handle()).collect();
    let params = device.func.params.iter().zip(device.written_params()).zip(aligned);
    let declare = |((param, is_written), is_aligned): ((&Param, bool), bool)| {
        let ty = register_type(param.var.dtype())?;
        if !ty.is_pointer() {
            return Ok((ty, String::new()));
        }
        let mut attributes = Vec::new();
        attributes.extend(is_distinct.then(|| "noalias".to_owned()));
        attributes.extend((!is_written).then(|| "readonly".to_owned()));
        attributes.extend(is_aligned.then(|| format!("align {DEVICE_ALIGNMENT}")));
        Ok((Ty::pointer_to(nvptx::GLOBAL), attributes.join(" ")))
    };
    Ok((params.map(declare).collect::<Result<_>>()?, pointers))
}

/// Returns, for each parameter of a device function, true if every launch passes the address of a tensor or workspace,
/// whose alignment is known, and not one inside of it.
fn aligned(host: &PrimFunc, device: &str, count: usize) -> Vec<bool> {
    let mut aligned = vec![true; count];
    let bases = bases(host);
    host.body.walk(&mut |stmt: &Stmt| {
        stmt.each_expr(&mut |e| {
            e.walk(&mut |e| {
                if let Some(call) = e.as_intrin(intrinsics::LAUNCH_KERNEL)
                    && call.args.first().and_then(|name| name.as_str()) == Some(device)
                {
                    let args = call.args.iter().skip(intrinsics::LAUNCH_ARGS);
                    for (is_aligned, arg) in aligned.iter_mut().zip(args) {
                        *is_aligned &= arg.as_var().is_some_and(|var| bases.contains(var));
                    }
                }
            });
        });
    });
    aligned
}

/// Returns the pointers to tensors and workspaces of a host function.
fn bases(host: &PrimFunc) -> FxHashSet<Var> {
    let is_tensor = |var: &&Var| matches!(var.ty(), PrimType::Pointer(Some(_), _));
    let mut bases: FxHashSet<Var> = host.params.iter().map(|param| &param.var).filter(is_tensor).cloned().collect();
    host.body.walk(&mut |stmt| {
        if let StmtKind::Alloc(buffer, _) = &stmt.kind {
            bases.insert(buffer.data.clone());
        }
    });
    bases
}
