//! RewriteUnsafeSelect: turns `T.Select` into `T.if_then_else` if a side must not be evaluated speculatively.
//!
//! That is a side that loads from memory or has side effects. An `if_then_else` inside such a side guards itself.

use super::{each_kernel, has_effects};
use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{DType, Module, PrimExpr, prim::PrimKind};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "s_tir.RewriteUnsafeSelect",
    doc: "Evaluates only the chosen side of `T.Select` if sides load from memory",
    options: &[],
    run,
};

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |_, kernel| {
        kernel.body.map_exprs(&mut rewritten);
        Ok(())
    })
}

fn rewritten(e: &PrimExpr) -> PrimExpr {
    let e = e.map_children(&mut rewritten);
    match e.kind() {
        PrimKind::Select(condition, a, b) if condition.dtype() == DType::BOOL && (is_unsafe(a) || is_unsafe(b)) => {
            condition.clone().if_then_else(a.clone(), b.clone())
        }
        _ => e,
    }
}

fn is_unsafe(e: &PrimExpr) -> bool {
    match e.kind() {
        PrimKind::Select(condition, ..) => is_unsafe(condition),
        PrimKind::Load(..) => true,
        PrimKind::Call(call) => match e.as_intrin("if_then_else") {
            Some(_) => call.args.first().is_some_and(is_unsafe),
            None => has_effects(e) || call.args.iter().any(is_unsafe),
        },
        _ => {
            let mut found = false;
            e.each_child(&mut |child| found = found || is_unsafe(child));
            found
        }
    }
}
