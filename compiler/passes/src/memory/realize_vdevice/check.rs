//! Calls with tensors of different devices.

use crate::rewrite::devices::{self, calls_runtime};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Module, Type,
    prim::HOST_KINDS,
    relax::{Binding, Body, Call, CallTir, Callee, Function, Operand, Value},
};

/// Checks that the tensors of each call are on one device, which is that of the kernel called.
pub(super) fn body(module: &Module, function: &Function, body: &Body) -> Result<(), Diagnostic> {
    for binding in body.bindings() {
        if let Value::Call(call) = &binding.value {
            check(module, function, binding, call)?;
        }
        let mut result = Ok(());
        binding.value.each_body(&mut |nested| {
            if result.is_ok() {
                result = self::body(module, function, nested);
            }
        });
        result?;
    }
    Ok(())
}

fn check(module: &Module, function: &Function, binding: &Binding, call: &Call) -> Result<(), Diagnostic> {
    let copies = ["to_vdevice", "hint_on_device"].iter().any(|op| call.is_op(op));
    let calls_function = match &call.callee {
        Callee::Global(name) => module.relax(name).is_some(),
        callee => matches!(callee, Callee::Var(_)),
    };
    if copies || calls_function || calls_runtime(&binding.value) {
        return Ok(());
    }
    let kernel = CallTir::of_any(call).and_then(|call| module.tir(call.kernel()?));
    let target = kernel.and_then(|kernel| kernel.attrs.target_kind());
    let mut expected = numbers(function.ty(binding.var)).first().copied();
    // Other operands of a kernel for the host are on the first device.
    let default = expected.filter(|number| *number < 0 && kernel.is_some_and(|kernel| kernel.attrs.targets_host()));
    let mut wrong = None;
    let mut operand = |operand: &Operand| {
        let ty = function.operand_ty(module, operand);
        let mut numbers = numbers(&ty);
        let is_placed = !matches!(ty, Type::Tensor(_)) || matches!(operand, Operand::Const(_));
        numbers.extend(default.filter(|_| !is_placed && numbers.is_empty()).map(|_| 0));
        for number in numbers {
            if *expected.get_or_insert(number) != number {
                wrong = wrong.take().or(Some((operand.clone(), number)));
            }
        }
    };
    call.args.iter().for_each(|arg| each_part(arg, &mut operand));
    let Some(expected) = expected else { return Ok(()) };
    let (own, callee) = (devices::numbered_name(module, expected), callee(call));
    let (message, help) = match (wrong, target) {
        (Some((operand, number)), _) => {
            let other = devices::numbered_name(module, number);
            let name = operand.as_var().map(|var| function.vars[var].name.clone());
            let what = name.as_ref().map_or("a constant".to_owned(), |name| format!("`{name}`"));
            let message = format!("{callee} is on `{own}`, and its operand {what} is on `{other}`");
            (message, format!("copy it: `R.to_vdevice({}, \"{own}\")`", name.as_deref().unwrap_or("…")))
        }
        (None, Some(kind)) if HOST_KINDS.contains(&kind) != (expected < 0) => {
            let message = format!("{callee} is for the target `{kind}`, and its tensors are on `{own}`");
            (message, format!("copy them: `R.to_vdevice(…, \"{kind}:0\")`"))
        }
        _ => return Ok(()),
    };
    Err(Diagnostic::error(codes::NOT_LOWERABLE, message).label(binding.span, "").help(help))
}

/// Calls `f` on an operand, or on the fields of a tuple literal.
fn each_part(operand: &Operand, f: &mut dyn FnMut(&Operand)) {
    match operand {
        Operand::Tuple(fields) => fields.iter().for_each(|field| each_part(field, f)),
        operand => f(operand),
    }
}

/// Numbers of the known devices of the tensors in a value.
fn numbers(ty: &Type) -> Vec<i64> {
    match ty {
        Type::Tensor(tensor) => tensor.vdevice.iter().map(|device| device.number()).collect(),
        Type::Tuple(fields) => fields.iter().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

/// Describes the callee of a call, for messages.
fn callee(call: &Call) -> String {
    match (&call.callee, CallTir::of_any(call).and_then(|call| call.kernel())) {
        (_, Some(kernel)) => format!("kernel `{kernel}`"),
        (Callee::Op(op), _) => format!("`R.{op}`"),
        (Callee::Global(name) | Callee::Extern(name), _) => format!("`{name}`"),
        (Callee::Var(_), _) => "this call".to_owned(),
    }
}
