//! PlaceKernels: gives kernels the target of the device that their tensors are on.
//!
//! RealizeVDevice must have run, and nothing may fuse kernels afterwards. Tensors without a device are on the program's
//! first one. A kernel whose tensors are on the host gets the target `llvm`; one that is called on other devices too
//! becomes two kernels. Constants are placed where the kernels that take them are. Copies to the device that a tensor is
//! on already are removed, and results of runtime functions, which make tensors where their operands or the first
//! device are, are copied to the device in their type. Functions must be called with tensors on the devices of their
//! parameters.

use crate::{
    Context, Pass,
    analysis::functions::each_call,
    rewrite::{self, Emitter, devices},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    AttrValue, Function as Global, Module, Name, Span, Type, VDevice,
    prim::HOST_KINDS,
    relax::{Binding, Call, CallTir, Callee, Function, Operand, Value},
};
use hammock_ops::lookup;
use indexmap::IndexSet;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "PlaceKernels",
    doc: "Gives kernels the target of the device that their tensors are on",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    if module.vdevices().next().is_none() {
        return Ok(());
    }
    let on_host = place_on_host(module);
    rewrite::relax_functions(module, |module, _, function| {
        rewrite::bindings(function, &mut |function, mut binding, out| {
            match &mut binding.value {
                Value::Call(call) if call.is_op("to_vdevice") => {
                    binding.value = copy(module, function, call);
                }
                Value::Call(call) if CallTir::of_any(call).is_some() => {
                    place(module, function, call, &on_host, binding.span)?;
                }
                Value::Call(call) => {
                    check_function(module, function, call, binding.span)?;
                    runtime_call(function, binding, out);
                    return Ok(());
                }
                _ => {}
            }
            out.push(binding);
            Ok(())
        })
    })
}

/// Number of the device of a kernel's call.
fn device_of_call(call: &CallTir) -> i64 {
    call.outputs().iter().find_map(devices::number).unwrap_or(0)
}

/// Gives kernels that are called on the host its target; returns the names of copies of those that are called on other
/// devices too.
fn place_on_host(module: &mut Module) -> FxHashMap<Name, Name> {
    let [mut on_host, mut elsewhere]: [IndexSet<Name>; 2] = Default::default();
    for (_, function) in module.relax_functions() {
        each_call(&function.lambda.body, &mut |call| match CallTir::of_kernel(call) {
            Some(kernel) => {
                let names = if device_of_call(&kernel) < 0 { &mut on_host } else { &mut elsewhere };
                names.extend(kernel.kernel().cloned());
            }
            None => call.each_global(&mut |name| _ = elsewhere.insert(name.clone())),
        });
    }
    let mut copies = FxHashMap::default();
    for name in on_host {
        let Some(Global::Tir(kernel)) = module.functions.get(&name) else { continue };
        if kernel.attrs.targets_host() {
            continue;
        }
        let mut kernel = kernel.clone();
        kernel.attrs.set("target", AttrValue::Target(VDevice::target_of_text(HOST_KINDS[0])));
        if elsewhere.contains(&name) {
            kernel.attrs.remove("global_symbol");
            let copy = module.add_unique(&format!("{name}_host"), Global::Tir(kernel));
            copies.insert(name, copy);
        } else {
            module.functions.insert(name, Global::Tir(kernel));
        }
    }
    copies
}

/// Places a call of a kernel on the device of its results, with its constants.
fn place(
    module: &Module,
    function: &Function,
    call: &mut Call,
    on_host: &FxHashMap<Name, Name>,
    span: Span,
) -> Result<(), Diagnostic> {
    let Some(kernel) = CallTir::of_any(call) else { return Ok(()) };
    let number = device_of_call(&kernel);
    let device = kernel.outputs().iter().find_map(device).cloned();
    let copy = kernel.kernel().filter(|_| number < 0).and_then(|name| on_host.get(name)).cloned();
    if let Operand::Tuple(inputs) = &mut call.args[1] {
        for input in inputs {
            match input {
                Operand::Const(constant) if constant.vdevice.is_none() => constant.vdevice = device.clone(),
                input => check(module, &function.operand_ty(module, input), number, "its results", span)?,
            }
        }
    }
    if let Some(copy) = copy {
        call.args[0] = Operand::Global(copy);
    }
    Ok(())
}

/// Checks that a value is on a device.
fn check(module: &Module, ty: &Type, expected: i64, of: &str, span: Span) -> Result<(), Diagnostic> {
    let Some(number) = devices::number(ty).filter(|number| *number != expected) else { return Ok(()) };
    let [own, expected] = [number, expected].map(|number| devices::numbered_name(module, number));
    let message = format!("a tensor of this call is on `{own}`, and {of} on `{expected}`");
    let error = Diagnostic::error(codes::NOT_LOWERABLE, message).label(span, "");
    Err(error.help(format!("copy it: `R.to_vdevice(…, \"{expected}\")`")))
}

/// Checks that a function of the module is called with tensors on the devices of its parameters.
fn check_function(module: &Module, function: &Function, call: &Call, span: Span) -> Result<(), Diagnostic> {
    let Callee::Global(name) = &call.callee else { return Ok(()) };
    let Some(callee) = module.relax(name) else { return Ok(()) };
    for (arg, param) in call.args.iter().zip(&callee.lambda.params) {
        let Some(expected) = devices::number(callee.ty(*param)) else { continue };
        let of = format!("parameter `{}` of `{name}` is", callee.vars[*param].name);
        check(module, &function.operand_ty(module, arg), expected, &of, span)?;
    }
    Ok(())
}

fn device(ty: &Type) -> Option<&Arc<VDevice>> {
    match ty {
        Type::Tensor(tensor) => tensor.vdevice.as_ref(),
        Type::Tuple(fields) => fields.iter().find_map(device),
        _ => None,
    }
}

/// Returns a copy to a device, or its operand if that is there already. Constants are placed there.
fn copy(module: &Module, function: &Function, call: &Call) -> Value {
    let (operand, target) = (&call.args[0], call.attrs.get("dst_vdevice"));
    let Some(AttrValue::VDevice(target)) = target else { return Value::Call(call.clone()) };
    match operand {
        Operand::Const(constant) if constant.vdevice.is_none() => {
            let mut constant = constant.clone();
            constant.vdevice = Some(target.clone());
            Value::Operand(Operand::Const(constant))
        }
        operand if devices::number(&function.operand_ty(module, operand)) == Some(target.number()) => {
            Value::Operand(operand.clone())
        }
        _ => Value::Call(call.clone()),
    }
}

/// Copies the result of a runtime function to the device in its type, unless that is the first one.
fn runtime_call(function: &mut Function, binding: Binding, out: &mut Emitter) {
    let ty = function.ty(binding.var).clone();
    let target = ty.as_tensor().and_then(|tensor| tensor.vdevice.clone()).filter(|target| target.number() != 0);
    let (Some(target), Some(op), true) = (target, lookup("to_vdevice"), devices::calls_runtime(&binding.value)) else {
        out.push(binding);
        return;
    };
    let made = out.bind(function, "lv", ty, binding.value, binding.span);
    let value = Value::Call(op.call(vec![made.into()], [("dst_vdevice", AttrValue::VDevice(target))]));
    out.push(Binding { value, ..binding });
}
