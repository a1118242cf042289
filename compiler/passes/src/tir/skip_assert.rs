//! SkipAssert: removes assertions from kernels.

use super::{each_kernel, map, take};
use crate::{Context, Pass};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module,
    tir::{Stmt, StmtKind},
};

/// See the module's documentation.
pub static PASS: Pass = Pass { name: "tirx.SkipAssert", doc: "Removes assertions from kernels", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    each_kernel(module, |_, kernel| {
        kernel.body = map(take(&mut kernel.body), &mut |stmt| match stmt.kind {
            StmtKind::Assert(..) => Stmt::nop(),
            StmtKind::Seq(stmts) => Stmt::seq(stmts).at(stmt.span),
            _ => stmt,
        });
        Ok(())
    })
}
