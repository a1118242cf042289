//! CallTIRRewrite: turns `call_tir` into an allocation and a destination-passing call.
//!
//! `y = R.call_tir(cls.f, (x,), out_ty=T)` becomes an allocation of a tensor of type `T` and the call `cls.f(x, y)`.
//! `call_dps_packed` is treated the same way; `call_tir_inplace` passes the arguments that it may overwrite. Devices have
//! their numbers in the program: their indices, or in a module for a GPU, -1 for the host.

use crate::{
    Context, Pass,
    rewrite::{self, Emitter},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Attrs, DType, Module, Span, TensorShape, Type, VDevice,
    relax::{Binding, Call, CallTir, Callee, Function, Operand, Value, Var},
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "CallTIRRewrite",
    doc: "Turns call_tir into an explicit allocation and a call that writes into it",
    options: &[],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    // Otherwise, all devices are CPUs, by their indices.
    let number = if context.environment.gpu.is_some() { VDevice::number } else { |device: &VDevice| device.index };
    rewrite::relax_functions(module, |module, _, function| {
        rewrite::bindings(function, &mut |function, binding, out| {
            rewrite_binding(module, function, binding, number, out)
        })
    })
}

fn rewrite_binding(
    module: &Module,
    function: &mut Function,
    binding: Binding,
    number: fn(&VDevice) -> i64,
    out: &mut Emitter,
) -> Result<(), Diagnostic> {
    let call = match &binding.value {
        Value::Call(call) => CallTir::of_any(call),
        _ => None,
    };
    let Some(call) = call else {
        out.push(binding);
        return Ok(());
    };
    let callee = match call.function {
        Operand::Global(name) => Callee::Global(name.clone()),
        Operand::Extern(name) | Operand::Str(name) => Callee::Extern(name.clone()),
        Operand::Var(v) => Callee::Var(*v),
        _ => return Err(not_lowerable(binding.span, "its callee is not a function")),
    };
    let mut args = inputs(module, function, call, binding.span, out);
    let single = !matches!(call.out_ty, Type::Tuple(_));
    let mut results = Vec::with_capacity(call.outputs().len());
    for (ty, overwritten) in call.outputs().iter().zip(call.in_place()) {
        let result = match overwritten.and_then(|i| args.get(i)) {
            Some(arg) => arg.clone(),
            None => {
                let tensor = Operand::Var(allocate(function, out, ty, number, binding.span)?);
                args.push(tensor.clone());
                tensor
            }
        };
        results.push(result);
    }
    let ty_args = if matches!(callee, Callee::Extern(_)) { vec![Type::void()] } else { Vec::new() };
    out.effect(function, Value::Call(Call { callee, args, attrs: Attrs::new(), ty_args }), binding.span);
    let result = if single { results.remove(0) } else { Operand::Tuple(results) };
    out.push(Binding { value: Value::Operand(result), ..binding });
    Ok(())
}

/// Returns the arguments of a call.
fn inputs(module: &Module, function: &mut Function, call: CallTir, span: Span, out: &mut Emitter) -> Vec<Operand> {
    if let Some(inputs) = call.inputs() {
        return inputs.to_vec();
    }
    let tuple = call.args;
    let Type::Tuple(types) = function.operand_ty(module, tuple) else { return vec![tuple.clone()] };
    let get = |(i, ty)| out.bind(function, "lv", ty, Value::TupleGet(tuple.clone(), i), span).into();
    types.into_iter().enumerate().map(get).collect()
}

/// Emits `R.builtin.alloc_tensor(shape, dtype, device, scope)`.
fn allocate(
    function: &mut Function,
    out: &mut Emitter,
    ty: &Type,
    number: fn(&VDevice) -> i64,
    span: Span,
) -> Result<Var, Diagnostic> {
    let Type::Tensor(tensor) = ty else {
        return Err(not_lowerable(span, "its result is not a tensor"));
    };
    let shape = match &tensor.shape {
        TensorShape::Known(dims) => Operand::Shape(dims.to_vec()),
        TensorShape::Var(v, _) => Operand::Var(*v),
        _ => return Err(not_lowerable(span, "the shape of its result is not given")),
    };
    let dtype = tensor.dtype.unwrap_or(DType::FLOAT32);
    let (device, scope) = tensor.vdevice.as_ref().map_or((0, "global".into()), |d| (number(d), d.scope.clone()));
    let args = vec![shape, Operand::DType(dtype), Operand::int(device), Operand::Str(scope)];
    let mut call = Call::op("builtin.alloc_tensor", args, Attrs::new());
    call.ty_args = vec![ty.clone()];
    Ok(out.bind(function, "alloc", ty.clone(), Value::Call(call), span))
}

fn not_lowerable(span: Span, why: &str) -> Diagnostic {
    Diagnostic::error(codes::NOT_LOWERABLE, format!("this call cannot be lowered: {why}")).label(span, "")
}
