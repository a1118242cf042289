//! AnnotateIrregularLoop: marks loops with `break` or `continue`, for passes that transform loops.

use super::{each_kernel, misplaced};
use crate::{Context, Pass};
use hammock_diagnostics::{Diagnostic, Span};
use hammock_ir::{
    Module,
    tir::{ForKind, Loop, Stmt, StmtKind},
};

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "s_tir.AnnotateIrregularLoop", doc: "Marks loops with early exits", options: &[], run };

/// Annotations that are invalid for such a loop.
const INVALID: [&str; 4] =
    ["pragma_auto_unroll_max_step", "pragma_unroll_explicit", "pragma_loop_partition_hint", "software_pipeline_stage"];

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |name, kernel| {
        annotate(&mut kernel.body).map_err(|(why, span)| {
            misplaced(&PASS, name, &why, "write the loop without `break` and `continue`, or as a plain `range`", span)
        })
    })
}

fn annotate(stmt: &mut Stmt) -> Result<(), (String, Span)> {
    if let StmtKind::For(l) = &mut stmt.kind
        && l.body.jumps()
    {
        if let Some(why) = reason_against_exit(l) {
            return Err((why, stmt.span));
        }
        l.annotations.set("irregular_loop_mark", 1i64);
    }
    let mut result = Ok(());
    stmt.each_child_mut(&mut |child| {
        if result.is_ok() {
            result = annotate(child);
        }
    });
    result
}

/// Returns the reason why a loop cannot have an early exit.
fn reason_against_exit(l: &Loop) -> Option<String> {
    if l.kind != ForKind::Serial {
        return Some("a loop that is left early is not a serial one".into());
    }
    let found = INVALID.iter().find(|name| l.annotations.get(name).is_some())?;
    Some(format!("a loop that is left early has the annotation `{found}`"))
}
