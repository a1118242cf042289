//! ConvertToDataflow: moves pure bindings into dataflow blocks.
//!
//! A run of at least `min_size` bindings that are neither conditionals nor calls with side effects becomes a block,
//! and existing blocks absorb such neighbours. Bindings are canonicalized afterwards: values that are unused outside
//! their block become local to it.

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::purity::is_pure,
    graph::canonicalize_bindings,
    rewrite::{merge_blocks, relax_functions, take_body},
};
use hammock_diagnostics::{Diagnostic, codes};
use hammock_ir::{
    Module,
    relax::{Binding, Block, Body, Function, Value},
};

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "ConvertToDataflow",
    doc: "Moves pure bindings into dataflow blocks",
    options: &[PassOption {
        name: "min_size",
        kind: OptionKind::Integer,
        default: "2",
        doc: "Minimum number of bindings in a new block",
    }],
    run,
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let min_size = context.options.integer("min_size");
    let min_size = usize::try_from(min_size).ok().filter(|size| *size > 0).ok_or_else(|| {
        let message = format!("option `min_size` of pass `ConvertToDataflow` cannot be {min_size}");
        Diagnostic::error(codes::BAD_PASS_OPTIONS, message).help("a block has at least 1 binding")
    })?;
    relax_functions(module, |module, _, function| {
        let mut body = take_body(function);
        form_blocks(module, function, min_size, &mut body);
        function.lambda.body = body;
        Ok(())
    })?;
    context.then(&canonicalize_bindings::PASS, module)
}

/// Forms the blocks of a body and of its nested bodies.
fn form_blocks(module: &Module, function: &Function, min_size: usize, body: &mut Body) {
    let mut runs = BlockBuilder { min_size, ..BlockBuilder::default() };
    for mut block in std::mem::take(&mut body.blocks) {
        for binding in &mut block.bindings {
            binding.value.each_body_mut(&mut |nested| form_blocks(module, function, min_size, nested));
        }
        if block.dataflow {
            runs.dataflow.extend(block.bindings);
            runs.has_dataflow = true;
            continue;
        }
        for binding in block.bindings {
            if may_be_in_dataflow(module, function, &binding.value) {
                runs.dataflow.push(binding);
            } else {
                runs.end();
                runs.others.push(binding);
            }
        }
    }
    runs.end();
    body.blocks = runs.blocks;
    body.blocks.push(Block { dataflow: false, bindings: runs.others });
    merge_blocks(body);
}

fn may_be_in_dataflow(module: &Module, function: &Function, value: &Value) -> bool {
    match value {
        Value::If { .. } => false,
        Value::Call(_) => is_pure(module, function, value),
        _ => true,
    }
}

/// Bindings so far.
#[derive(Default)]
struct BlockBuilder {
    min_size: usize,
    /// Finished blocks.
    blocks: Vec<Block>,
    /// Pending bindings outside dataflow blocks.
    others: Vec<Binding>,
    /// Pending bindings after these that may be in a dataflow block.
    dataflow: Vec<Binding>,
    /// True if some of them are in a dataflow block already.
    has_dataflow: bool,
}

impl BlockBuilder {
    /// Ends a run: it becomes a block if it is long enough.
    fn end(&mut self) {
        let run = std::mem::take(&mut self.dataflow);
        let has_dataflow = std::mem::take(&mut self.has_dataflow);
        if run.len() < self.min_size && !has_dataflow {
            self.others.extend(run);
        } else if !run.is_empty() {
            let others = std::mem::take(&mut self.others);
            self.blocks.push(Block { dataflow: false, bindings: others });
            self.blocks.push(Block { dataflow: true, bindings: run });
        }
    }
}
