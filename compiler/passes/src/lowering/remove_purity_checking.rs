//! RemovePurityChecking: removes purity annotations, which later passes do not need.
//!
//! Pure functions are marked `relax.force_pure`, so that the lowered calls in them need no proof of purity, and calls
//! that promised purity become plain ones: `call_pure_packed` becomes a packed call, and `invoke_pure_closure` becomes
//! `invoke_closure`.

use crate::{Context, Pass, rewrite};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module,
    relax::{Call, Callee, Operand, Value},
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "RemovePurityChecking",
    doc: "Marks functions as force_pure and turns pure-call wrappers into plain calls",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    rewrite::relax_functions(module, |_, _, function| {
        if function.lambda.pure {
            function.lambda.attrs.set("relax.force_pure", true);
        }
        rewrite::bindings(function, &mut |_, mut binding, out| {
            if let Value::Call(call) = &mut binding.value {
                make_plain(call);
            }
            out.push(binding);
            Ok(())
        })
    })
}

fn make_plain(call: &mut Call) {
    match call.callee {
        Callee::Op("call_pure_packed" | "call_inplace_packed") => {
            let callee = call.args.remove(0);
            call.attrs.remove("inplace_indices");
            call.callee = match callee {
                Operand::Extern(name) | Operand::Str(name) => Callee::Extern(name),
                Operand::Global(name) => Callee::Global(name),
                Operand::Var(v) => Callee::Var(v),
                other => {
                    call.args.insert(0, other);
                    return;
                }
            };
        }
        Callee::Op("invoke_pure_closure") => call.callee = Callee::Op("invoke_closure"),
        _ => {}
    }
}
