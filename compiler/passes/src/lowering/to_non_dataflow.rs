//! ToNonDataflow: turns dataflow blocks into plain blocks.
//!
//! After this, side effects are allowed anywhere: allocations, and calls that store into their arguments.

use crate::{Context, Pass, rewrite};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{Module, relax::Body};

/// See the module's documentation.
pub static PASS: Pass =
    Pass { name: "ToNonDataflow", doc: "Turns dataflow blocks into plain blocks", options: &[], run };

fn run(module: &mut Module, _: &Context) -> Result<(), Diagnostic> {
    for (_, function) in module.relax_functions_mut() {
        function.vars.values_mut().for_each(|v| v.dataflow = false);
        plain(&mut function.lambda.body);
        rewrite::merge_blocks(&mut function.lambda.body);
    }
    Ok(())
}

fn plain(body: &mut Body) {
    for block in &mut body.blocks {
        block.dataflow = false;
        for binding in &mut block.bindings {
            binding.value.each_body_mut(&mut plain);
        }
    }
}
