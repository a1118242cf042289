//! ConvertLayout: operators get the layouts that the user asks for, and the rest of a dataflow block follows.
//!
//! `ConvertLayout{desired_layouts={"relax.nn.conv2d":["NHWC","OHWI"]}}` moves the axes of every convolution's data and
//! kernel; a third layout is that of the result, else it is the data's. The result is not moved back: each operator
//! after it says in its declaration how it looks with its axes moved ([`hammock_ops::relayout`]), until one needs the
//! axes as the program has them, or the value leaves the dataflow block. Only there are `permute_dims` inserted, and
//! `layout_transform` where axes are cut into blocks (`NCHW4c`), which takes sizes that are whole numbers of blocks.
//!
//! Afterwards every value that is visible outside of a dataflow block is what it was.

mod block;
mod desired;

use crate::{Context, OptionKind, Pass, PassOption, rewrite};
use block::Mover;
use desired::Desired;
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module,
    relax::{Body, Function},
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "ConvertLayout",
    doc: "Gives convolutions and their like other layouts, and moves the axes of what is between them",
    options: &[PassOption {
        name: "desired_layouts",
        kind: OptionKind::TextLists,
        default: "{}",
        doc: "For each operator the layouts of its data, its kernel and, if it is another, its result",
    }],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let desired = desired::read(context.options.text_lists("desired_layouts"))?;
    rewrite::relax_functions(module, |module, _, function| {
        let mut body = rewrite::take_body(function);
        blocks(module, function, &desired, &mut body)?;
        function.lambda.body = body;
        Ok(())
    })
}

/// Converts each dataflow block of a body, and of the bodies nested in it.
fn blocks(module: &Module, function: &mut Function, desired: &Desired, body: &mut Body) -> Result<(), Diagnostic> {
    for block in &mut body.blocks {
        if block.dataflow {
            block.bindings = Mover::new(module, function, desired).block(std::mem::take(&mut block.bindings))?;
        }
        for binding in &mut block.bindings {
            let mut result = Ok(());
            binding.value.each_body_mut(&mut |nested| {
                if result.is_ok() {
                    result = blocks(module, function, desired, nested);
                }
            });
            result?;
        }
    }
    Ok(())
}
