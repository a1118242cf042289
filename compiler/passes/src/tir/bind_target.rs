//! BindTarget: sets the target of kernels.
//!
//! Kernels that have a target keep it. Another attribute marks kernels that run on the host; it stays.

use super::each_kernel;
use crate::{Context, OptionKind, Pass, PassOption};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{AttrValue, Module, VDevice};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "tirx.BindTarget",
    doc: "Sets the attribute `target` of kernels",
    options: &[PassOption {
        name: "target",
        kind: OptionKind::Text,
        default: "\"llvm\"",
        doc: "Target: its kind, then `-option=value`",
    }],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let target = AttrValue::Target(VDevice::target_of_text(&context.options.text("target")));
    each_kernel(module, |_, kernel| {
        if kernel.attrs.get("target").is_none() {
            kernel.attrs.set("target", target.clone());
        }
        Ok(())
    })
}
