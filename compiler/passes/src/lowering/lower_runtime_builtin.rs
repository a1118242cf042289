//! LowerRuntimeBuiltin: lowers memory, shapes, closures and device copies to functions of the runtime.
//!
//! Memory-level operators become those of the VM; the rest become calls of `vm.builtin.*`.

use crate::{Context, Pass, rewrite};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Attrs, Module, Type,
    relax::{Binding, Call, Callee, Function, Operand, Value},
};
use hammock_ops::is_absent;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "LowerRuntimeBuiltin",
    doc: "Lowers memory, shape, closure and device operators to runtime functions",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    rewrite::relax_functions(module, |_, _, function| {
        rewrite::bindings(function, &mut |function, mut binding, out| {
            if let Some(value) = lower(function, &binding) {
                binding.value = value;
            }
            out.push(binding);
            Ok(())
        })
    })
}

fn lower(function: &Function, binding: &Binding) -> Option<Value> {
    let Value::Call(call) = &binding.value else { return None };
    let Callee::Op(op) = call.callee else { return None };
    let ty = function.ty(binding.var).clone();
    let args = &call.args;
    let lowered = match (op, args.as_slice()) {
        ("memory.alloc_storage", [size, device, scope, dtype]) => {
            let args = vec![size.clone(), device.clone(), dtype.clone(), scope.clone()];
            Call::op("vm.alloc_storage", args, Attrs::new())
        }
        ("memory.alloc_tensor", [storage, offset, shape, dtype, device]) => {
            let args = [storage, offset, shape, dtype, device].map(Clone::clone).to_vec();
            Call::op("vm.alloc_tensor", args, Attrs::new())
        }
        ("memory.kill_storage" | "memory.kill_tensor", [object]) => {
            Call::op("vm.kill_object", vec![object.clone()], Attrs::new())
        }
        ("memory.ensure_zero_offset", _) => builtin("vm.builtin.ensure_zero_offset", args, ty),
        ("memory.view", [data, shape, _, offset]) => view([data, shape, offset], ty),
        ("reshape", _) => builtin("vm.builtin.reshape", args, ty),
        ("shape_of", _) => builtin("vm.builtin.shape_of", args, ty),
        ("tensor_to_shape", _) => builtin("vm.builtin.tensor_to_shape", args, ty),
        ("to_vdevice", [data]) => to_device(call, data, ty)?,
        ("hint_on_device", [data]) => hint_on_device(call, data, ty)?,
        ("make_closure", [func, Operand::Tuple(captured)]) => {
            let mut args = vec![func.clone()];
            args.extend(captured.iter().cloned());
            builtin("vm.builtin.make_closure", &args, ty)
        }
        ("invoke_closure", [closure, Operand::Tuple(inputs)]) => {
            let mut args = vec![closure.clone()];
            args.extend(inputs.iter().cloned());
            let args = vec![Operand::Extern("vm.builtin.invoke_closure".into()), Operand::Tuple(args)];
            Call { ty_args: vec![ty], ..Call::op("call_builtin_with_ctx", args, Attrs::new()) }
        }
        ("vm.call_tir_dyn", [func, Operand::Tuple(inputs)]) => {
            let mut args = vec![func.clone()];
            args.extend(inputs.iter().cloned());
            builtin("vm.builtin.call_tir_dyn", &args, ty)
        }
        _ => return None,
    };
    Some(Value::Call(lowered))
}

fn builtin(name: &str, args: &[Operand], ty: Type) -> Call {
    Call::packed(name, args.to_vec(), vec![ty])
}

/// Returns a call of `runtime.TVMTensorCreateView(data, shape, dtype, offset)`, with shape and dtype of the result if
/// it has them.
fn view([data, shape, offset]: [&Operand; 3], ty: Type) -> Call {
    let none = || Operand::Opaque(Box::new(AttrValue::None));
    let given = |operand: &Operand| if is_absent(operand) { None } else { Some(operand.clone()) };
    let tensor = ty.as_tensor();
    let known = tensor.and_then(|t| t.dims()).map(|dims| Operand::Shape(dims.to_vec()));
    let shape = known.or(given(shape)).unwrap_or_else(none);
    let dtype = tensor.and_then(|t| t.dtype).map_or_else(none, Operand::DType);
    let offset = given(offset).unwrap_or(Operand::int(0));
    builtin("runtime.TVMTensorCreateView", &[data.clone(), shape, dtype, offset], ty)
}

/// Returns a call of `vm.builtin.to_device(data, device type, device index, scope)`; device types are DLPack's.
fn to_device(call: &Call, data: &Operand, ty: Type) -> Option<Call> {
    let Some(AttrValue::VDevice(device)) = call.attrs.get("dst_vdevice") else { return None };
    let kind = Operand::int(device.device_type());
    let args = [data.clone(), kind, Operand::int(device.index), Operand::Str(device.scope.clone())];
    Some(builtin("vm.builtin.to_device", &args, ty))
}

/// Lowers a hint that RealizeVDevice has not rewritten: the tensor is copied if it is on another device.
fn hint_on_device(call: &Call, data: &Operand, ty: Type) -> Option<Call> {
    let int = |name| call.attrs.get(name).and_then(AttrValue::as_int).map(Operand::int);
    let scope = call.attrs.get("memory_scope").and_then(AttrValue::as_str).unwrap_or("global");
    let args = [data.clone(), int("device_type")?, int("index")?, Operand::Str(scope.into())];
    Some(builtin("vm.builtin.to_device", &args, ty))
}
