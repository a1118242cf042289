//! AttachGlobalSymbol: gives every function without a symbol its name as the symbol.

use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{Attrs, Function, Module};

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "AttachGlobalSymbol", doc: "Gives every function a global symbol", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    for (name, function) in &mut module.functions {
        let attrs: &mut Attrs = match function {
            Function::Relax(f) => &mut f.lambda.attrs,
            Function::Tir(f) => &mut f.attrs,
            Function::Extern(_) => continue,
        };
        if attrs.get("global_symbol").is_none() {
            attrs.set("global_symbol", name.clone());
        }
    }
    Ok(())
}
