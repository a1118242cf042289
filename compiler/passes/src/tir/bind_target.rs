//! BindTarget: kernels say what they are compiled for.
//!
//! A kernel that others may call gets the target; so does a private one that kernels on the processor call. Those that
//! compute sizes are functions of the host. One that says its target already keeps it.

use super::each_kernel;
use crate::{Context, OptionKind, Pass, PassOption};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    AttrValue, Function as Global, Module, Name, VDevice,
    tir::{EXACT, call::callees},
};
use rustc_hash::FxHashSet;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "tirx.BindTarget",
    doc: "Gives kernels the attribute `target`",
    options: &[PassOption {
        name: "target",
        kind: OptionKind::Text,
        default: "\"llvm\"",
        doc: "The target: its kind, then `-option=value`",
    }],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let target = AttrValue::Target(VDevice::target_of_text(&context.options.text("target")));
    let called: FxHashSet<Name> = module
        .functions
        .values()
        .filter_map(|function| match function {
            Global::Tir(kernel) if !kernel.is_private() => Some(callees(kernel)),
            _ => None,
        })
        .flatten()
        .cloned()
        .collect();
    each_kernel(module, |name, kernel| {
        let wanted = !kernel.is_private() || called.contains(name) || kernel.attrs.is_true(EXACT);
        if wanted && kernel.attrs.get("target").is_none() {
            kernel.attrs.set("target", target.clone());
        }
        Ok(())
    })
}
