//! RealizeVDevice: infers the device of each tensor, and turns hints into copies.
//!
//! Known devices (in types, and from `R.hint_on_device`) propagate between operands and results, which are on the
//! same device, except for those of `R.hint_on_device` and `R.to_vdevice`, of calls of the module's own functions, and
//! the fields of tuples. By default, the operand of a hint is on its result's device. A hint then becomes
//! `R.to_vdevice`, or its operand if that is on the device already.
//!
//! If the module is compiled for a GPU, results of kernels with the target `llvm` are on the host, and so must be their
//! operands. Afterwards all tensors of a call are on one device, unless it calls a function of the runtime: the pass
//! rejects calls that lack a copy.
//!
//! - [`inference`] propagates devices;
//! - [`check`] finds calls with tensors of different devices.

mod check;
mod inference;

use crate::{
    Context, Pass,
    analysis::types::value_ty,
    rewrite::{self, devices},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    AttrValue, GlobalInfo, Module, Span, Type, VDevice,
    prim::HOST_KINDS,
    relax::{Body, Call, CallTir, Function, Value},
};
use hammock_ops::lookup;
use inference::DeviceInference;
use std::sync::Arc;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "RealizeVDevice",
    doc: "Infers the device of each tensor, and turns hints into copies",
    options: &[],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let host = context.environment.gpu.and_then(|_| host_of_kernels(module));
    rewrite::relax_functions(module, |module, _, function| {
        let mut inference = DeviceInference::new(module, host.clone());
        inference.body(function, &function.lambda.body, None)?;
        inference.result(function);
        for (var, device) in inference.propagate() {
            if let Type::Tensor(tensor) = &mut function.vars[var].ty {
                tensor.vdevice = Some(device);
            }
        }
        let mut body = rewrite::take_body(function);
        let result = realize(module, function, &mut body);
        function.lambda.body = body;
        devices::set_result_device(module, function);
        result.and_then(|()| check::body(module, function, &function.lambda.body))
    })
}

/// Returns the device of kernels with a target that is the host, which is declared if it is not yet; `None` if there are no
/// such kernels.
fn host_of_kernels(module: &mut Module) -> Option<Arc<VDevice>> {
    module.tir_functions().find(|(_, kernel)| kernel.attrs.targets_host())?;
    if let Some(device) = module.vdevices().find(|device| device.is_host()) {
        return Some(device.clone());
    }
    let target = VDevice::target_of_text(HOST_KINDS[0]);
    let device = Arc::new(VDevice { target, index: 0, scope: "global".into() });
    module.global_infos.entry("vdevice".into()).or_default().push(GlobalInfo::VDevice(device.clone()));
    Some(device)
}

/// Returns the module's device that a hint names.
fn hinted_device(module: &Module, call: &Call, span: Span) -> Result<Arc<VDevice>, Diagnostic> {
    let int = |name| call.attrs.get(name).and_then(AttrValue::as_int).unwrap_or_default();
    let (kind, index) = (int("device_type"), int("index"));
    let scope = call.attrs.get("memory_scope").and_then(AttrValue::as_str).unwrap_or("global");
    let found = module.vdevices().find(|d| d.device_type() == kind && d.index == index && *d.scope == *scope);
    found.cloned().ok_or_else(|| {
        let message =
            format!("the module declares no device of type {kind} with index {index} and memory scope \"{scope}\"");
        let error = Diagnostic::error(codes::NOT_LOWERABLE, message).label(span, "");
        error.help("devices are declared by `I.module_global_infos({\"vdevice\": [I.vdevice(\"llvm\", 0)]})`")
    })
}

/// Replaces hints by copies or by the tensors themselves; types of tuples follow those of their members, and types that
/// calls state those of their results.
fn realize(module: &Module, function: &mut Function, body: &mut Body) -> Result<(), Diagnostic> {
    for binding in body.blocks.iter_mut().flat_map(|block| &mut block.bindings) {
        if let Value::Call(call) = &binding.value
            && call.is_op("hint_on_device")
        {
            let device = hinted_device(module, call, binding.span)?;
            let operand = call.args[0].clone();
            let ty = function.operand_ty(module, &operand);
            let own = ty.as_tensor().and_then(|t| t.vdevice.as_ref());
            binding.value = match lookup("to_vdevice").filter(|_| !own.is_some_and(|own| Arc::ptr_eq(own, &device))) {
                Some(op) => Value::Call(op.call(vec![operand], [("dst_vdevice", AttrValue::VDevice(device))])),
                None => Value::Operand(operand),
            };
        }
        if let Value::Call(call) = &mut binding.value
            && CallTir::of_any(call).is_some()
        {
            devices::set_device(&mut call.ty_args[0], function.ty(binding.var));
        }
        let mut result = Ok(());
        binding.value.each_body_mut(&mut |nested| {
            if result.is_ok() {
                result = realize(module, function, nested);
            }
        });
        result?;
        if function.ty(binding.var).as_tuple().is_some()
            && let Ok(found) = value_ty(module, function, &binding.value)
        {
            devices::set_device(&mut function.vars[binding.var].ty, &found);
        }
    }
    Ok(())
}
