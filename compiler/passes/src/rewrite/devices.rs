//! Devices in types, for passes that place tensors.

use hammock_ir::{
    Module, Type,
    relax::{Body, Callee, Function, Value},
};

/// Returns the name of the module's device with a number; the first one needs no declaration.
pub fn numbered_name(module: &Module, number: i64) -> String {
    let declared = module.vdevices().find(|device| device.number() == number);
    declared.map_or_else(|| format!("cuda:{number}"), |device| module.vdevice_name(device))
}

/// Number in the compiled program of the device of a tensor, or of a tuple's first tensor. Tensors without a device are on
/// the first one. `None` for other values.
pub fn number(ty: &Type) -> Option<i64> {
    match ty {
        Type::Tensor(tensor) => Some(tensor.vdevice.as_ref().map_or(0, |device| device.number())),
        Type::Tuple(fields) => fields.iter().find_map(number),
        _ => None,
    }
}

/// Returns true if a value is a call of a function of the runtime, which may take tensors of several devices.
pub fn calls_runtime(value: &Value) -> bool {
    let Value::Call(call) = value else { return false };
    matches!(call.callee, Callee::Extern(_)) || call.is_op("call_pure_packed") || call.is_op("call_builtin_with_ctx")
}

/// Calls `f` on every type in a function: of variables, results, casts and calls.
pub fn each_type_mut(function: &mut Function, f: &mut dyn FnMut(&mut Type)) {
    function.vars.values_mut().for_each(|info| f(&mut info.ty));
    f(&mut function.lambda.ret_ty);
    in_body(&mut function.lambda.body, f);
}

fn in_body(body: &mut Body, f: &mut dyn FnMut(&mut Type)) {
    for binding in body.blocks.iter_mut().flat_map(|block| &mut block.bindings) {
        match &mut binding.value {
            Value::Call(call) => call.ty_args.iter_mut().for_each(&mut *f),
            Value::MatchCast(_, ty) => f(ty),
            Value::Function(lambda) => f(&mut lambda.ret_ty),
            _ => {}
        }
        binding.value.each_body_mut(&mut |nested| in_body(nested, f));
    }
}

/// Sets the devices in the function's result type to those of the returned value.
pub fn set_result_device(module: &Module, function: &mut Function) {
    let found = function.operand_ty(module, &function.lambda.body.result);
    set_device(&mut function.lambda.ret_ty, &found);
}

/// Copies the devices of `found` into `ty`, a type of the same structure.
pub fn set_device(ty: &mut Type, found: &Type) {
    match (ty, found) {
        (Type::Tensor(own), Type::Tensor(found)) if found.vdevice.is_some() => own.vdevice = found.vdevice.clone(),
        (Type::Tuple(own), Type::Tuple(found)) => {
            own.iter_mut().zip(found).for_each(|(own, found)| set_device(own, found))
        }
        _ => {}
    }
}
