//! Devices in types, for passes that place tensors.

use hammock_ir::{
    Module, Type,
    relax::{Body, Function, Value},
};

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
