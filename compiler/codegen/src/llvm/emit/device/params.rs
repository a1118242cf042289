//! Parameters of device functions: their address spaces, alignment and aliasing.
//!
//! Memory that a function only reads, and that no other parameter of it aliases, is loaded through the read-only cache.

use super::{Result, Ty, nvptx, register_type};
use crate::llvm::signature::DEVICE_ALIGNMENT;
use hammock_ir::{
    PrimExpr,
    prim::{PrimCall, PrimCallee, PrimKind, Var, intrinsics},
    tir::{PrimFunc, Stmt, StmtKind},
};
use hammock_kernels::{DeviceFunc, GpuKernel};
use rustc_hash::FxHashSet;

/// Returns the types and attributes of a device function's parameters.
pub fn declare(kernel: &GpuKernel, device: &DeviceFunc) -> Result<Vec<(Ty, String)>> {
    let is_distinct = device.func.attrs.is_true("tirx.noalias");
    let written = written(&device.func);
    let aligned = aligned(&kernel.host.func, &device.name, device.func.params.len());
    let declare = |(param, is_aligned): (&hammock_ir::tir::Param, bool)| {
        let ty = register_type(param.var.dtype())?;
        if !ty.is_pointer() {
            return Ok((ty, String::new()));
        }
        let mut attributes = Vec::new();
        attributes.extend(is_distinct.then(|| "noalias".to_owned()));
        attributes.extend((!written.contains(&param.var)).then(|| "readonly".to_owned()));
        attributes.extend(is_aligned.then(|| format!("align {DEVICE_ALIGNMENT}")));
        Ok((Ty::pointer_to(nvptx::GLOBAL), attributes.join(" ")))
    };
    device.func.params.iter().zip(aligned).map(declare).collect()
}

/// Returns the pointers through which a function may write.
fn written(func: &PrimFunc) -> FxHashSet<Var> {
    let mut written = FxHashSet::default();
    func.body.walk(&mut |stmt| {
        if let StmtKind::Store { buffer, .. } = &stmt.kind {
            written.insert(buffer.data.clone());
        }
        stmt.each_expr(&mut |e| each_address(e, &mut |var| _ = written.insert(var.clone())));
    });
    written
}

/// Calls `f` on pointers whose address is computed or passed on, so that accesses through it are unknown.
fn each_address(e: &PrimExpr, f: &mut dyn FnMut(&Var)) {
    e.walk(&mut |e| match e.kind() {
        PrimKind::Call(call) => call.args.iter().for_each(|arg| match arg.kind() {
            PrimKind::Load(buffer, ..) if exposes_address(call) => f(&buffer.data),
            PrimKind::Var(var) if var.dtype().is_handle() => f(var),
            _ => {}
        }),
        PrimKind::Let(_, value, _) => {
            value.as_var().into_iter().filter(|var| var.dtype().is_handle()).for_each(&mut *f)
        }
        PrimKind::Select(_, a, b) => {
            [a, b].iter().filter_map(|e| e.as_var()).filter(|var| var.dtype().is_handle()).for_each(&mut *f);
        }
        _ => {}
    });
}

fn exposes_address(call: &PrimCall) -> bool {
    matches!(&call.callee, PrimCallee::Intrin(name) if intrinsics::effect(name) == intrinsics::Effect::Address)
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
    let is_tensor = |var: &&Var| matches!(var.ty(), hammock_ir::prim::PrimType::Pointer(Some(_), _));
    let mut bases: FxHashSet<Var> = host.params.iter().map(|param| &param.var).filter(is_tensor).cloned().collect();
    host.body.walk(&mut |stmt| {
        if let StmtKind::Alloc(buffer, _) = &stmt.kind {
            bases.insert(buffer.data.clone());
        }
    });
    bases
}
