//! FuseTIR: fuses each group of kernels into one kernel.
//!
//! Groups are functions with the attribute `Primitive` that only call kernels, as FuseOps makes them. The bodies of
//! the kernels are concatenated; intermediates are buffers inside the fused kernel, which scheduling inlines where it
//! can. Calls of the function become `call_tir`, and unused kernels are removed. A function whose kernels do not
//! consist of blocks, or whose sizes cannot be matched, stays a function.

use crate::{
    Context, Pass,
    analysis::attributes::PRIMITIVE,
    rewrite::{
        self, Emitter, canonicalize, dead_code,
        fuse_kernels::{Fused, fuse},
    },
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Function as Global, Module, Name, Type,
    relax::{Binding, Call, CallTir, Callee, Function, Operand, Value},
    types::ShapeType,
};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass { name: "FuseTIR", doc: "Fuses each group of kernels into one kernel", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    let mut made: FxHashMap<Name, Fused> = FxHashMap::default();
    for (name, function) in module.relax_functions().filter(|(_, f)| f.lambda.attrs.is_true(PRIMITIVE)) {
        check(name, function)?;
        if let Some(fused) = fuse(module, function, !function.is_private()) {
            made.insert(name.clone(), fused);
        }
    }
    if made.is_empty() {
        return Ok(());
    }
    for (name, fused) in &made {
        module.functions.insert(name.clone(), Global::Tir(fused.func.clone()));
    }
    rewrite::relax_functions(module, |_, _, function| {
        let mut changed = false;
        rewrite::bindings(function, &mut |function, mut binding, out| {
            if let Value::Call(call) = &binding.value
                && let Callee::Global(name) = &call.callee
                && let Some(fused) = made.get(name)
            {
                let ty = function.ty(binding.var).clone();
                let call = kernel_call(function, name, fused, call, ty, &binding, out);
                binding.value = Value::Call(call);
                changed = true;
            }
            out.push(binding);
            Ok(())
        })?;
        if changed { canonicalize::canonicalize(function) } else { Ok(()) }
    })?;
    dead_code::eliminate(module, Vec::new())
}

/// Checks that a group calls kernels only.
fn check(name: &Name, function: &Function) -> Result<(), Diagnostic> {
    for binding in function.lambda.body.bindings() {
        if let Value::Call(call @ Call { callee: Callee::Op(op), .. }) = &binding.value
            && CallTir::of_kernel(call).is_none()
        {
            let message = format!("`{name}` is to become one kernel, but calls `R.{op}`");
            let error = Diagnostic::error(codes::NOT_LOWERABLE, message).label(binding.span, "");
            return Err(error.help("run LegalizeOps before FuseTIR: it makes kernels of operators"));
        }
    }
    Ok(())
}

fn kernel_call(
    function: &mut Function,
    name: &Name,
    fused: &Fused,
    call: &Call,
    ty: Type,
    binding: &Binding,
    out: &mut Emitter,
) -> Call {
    let mut args = Vec::new();
    for (at, field) in &fused.takes {
        match (&call.args[*at], field) {
            (Operand::Tuple(fields), Some(field)) => args.push(fields[*field].clone()),
            (tuple, Some(field)) => {
                let types = tuple.as_var().and_then(|v| function.ty(v).as_tuple());
                let ty = types.and_then(|types| types.get(*field)).cloned().unwrap_or(Type::Any);
                let value = Value::TupleGet(tuple.clone(), *field);
                args.push(out.bind(function, "lv", ty, value, binding.span).into());
            }
            (Operand::Shape(sizes), None) => args.extend(sizes.iter().cloned().map(Operand::Prim)),
            (Operand::Var(v), None) => match function.ty(*v) {
                Type::Shape(ShapeType::Known(sizes)) => args.extend(sizes.iter().cloned().map(Operand::Prim)),
                _ => args.push((*v).into()),
            },
            (arg, None) => args.push(arg.clone()),
        }
    }
    match fused.results.iter().any(Option::is_some) {
        true => Call::tir_inplace(name.clone(), args, ty, &fused.results),
        false => Call::tir(name.clone(), args, ty),
    }
}
