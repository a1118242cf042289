//! ConvertLayout: gives operators the desired layouts and propagates them through a dataflow block.
//!
//! `ConvertLayout{desired_layouts={"relax.nn.conv2d":["NHWC","OHWI"]}}` permutes the axes of every convolution's data
//! and kernel; a third layout is the result's, by default that of the data. The result is not converted back: each
//! later operator declares how it computes in another layout ([`hammock_ops::relayout`]), until one needs the
//! program's layout, or the value leaves the dataflow block. Only there are `permute_dims` inserted, or
//! `layout_transform` for blocked layouts (`NCHW4c`), which need sizes that are multiples of the block.
//!
//! Values visible outside a dataflow block keep their layouts. With `cheaper`, a block stays as it is if its
//! convolutions gain less than moving tensors costs; and convolutions that would lose stay as they are, if that is
//! cheaper.

mod block;
mod cost;
mod desired;
mod elide_input_permutes;

use crate::{Context, OptionKind, Options, Pass, PassOption, rewrite};
use block::LayoutRewriter;
use cost::Cost;
use desired::Desired;
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Module,
    relax::{
        Binding, Body, Function, Var,
        memory::{MemoryDependences, Writers},
    },
};
use hammock_ops::Table;
use rustc_hash::FxHashSet;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "ConvertLayout",
    doc: "Gives operators the desired layouts and propagates them through dataflow blocks",
    options: &[DESIRED, CHEAPER],
    run,
};

const DESIRED: PassOption = PassOption {
    name: "desired_layouts",
    kind: OptionKind::TextLists,
    default: "{}",
    doc: "Layouts of an operator's data, kernel and, if different, result",
};

const CHEAPER: PassOption = PassOption {
    name: "cheaper",
    kind: OptionKind::Bool,
    default: "false",
    doc: "Only in dataflow blocks whose convolutions gain more than moving tensors costs: those whose channels fill \
          vectors and whose rows do not",
};

/// Returns the options of the default pipeline: 2-D and 3-D convolutions whose rows do not fill vectors are
/// vectorized along channels instead. Compared with vectorizing along rows, ResNet-18 takes 0.34 of the time,
/// DenseNet-121 0.51, MobileNet v2 0.42; single 3-D convolutions take half to all of it.
pub fn profitable() -> Options {
    let (data, kernel) = ("NHWC", "HWIO");
    let layouts = serde_json::json!({
        "relax.nn.conv2d": [data, kernel],
        "relax.nn.conv2d_transpose": [data, kernel],
        "relax.nn.conv3d": ["NDHWC", "DHWIO"],
        "relax.nn.conv3d_transpose": ["NDHWC", "DHWIO"],
    });
    Options::of(&PASS).with([(DESIRED.name, layouts), (CHEAPER.name, true.into())])
}

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let desired = desired::read(context.options.text_lists(DESIRED.name))?;
    let cheaper = context.options.is_on(CHEAPER.name);
    let writers = Writers::of(module, &Table);
    rewrite::relax_functions(module, |module, _, function| {
        let memory = MemoryDependences::of(function, &writers, &Table);
        let mut body = rewrite::take_body(function);
        let result = Converter { module, desired: &desired, memory: &memory, cheaper }.blocks(function, &mut body);
        function.lambda.body = body;
        result
    })
}

struct Converter<'a> {
    module: &'a Module,
    desired: &'a Desired,
    memory: &'a MemoryDependences,
    cheaper: bool,
}

impl Converter<'_> {
    /// Converts each dataflow block of a body and its nested bodies.
    fn blocks(&self, function: &mut Function, body: &mut Body) -> Result<(), Diagnostic> {
        for block in &mut body.blocks {
            if block.dataflow {
                block.bindings = self.block(function, std::mem::take(&mut block.bindings))?;
            }
            for binding in &mut block.bindings {
                let mut result = Ok(());
                binding.value.each_body_mut(&mut |nested| {
                    if result.is_ok() {
                        result = self.blocks(function, nested);
                    }
                });
                result?;
            }
        }
        Ok(())
    }

    fn block(&self, function: &mut Function, bindings: Vec<Binding>) -> Result<Vec<Binding>, Diagnostic> {
        let (module, desired, memory) = (self.module, self.desired, self.memory);
        if !self.cheaper {
            return LayoutRewriter::new(module, function, desired, memory).block(bindings);
        }
        let before = cost::of(module, function, desired, &bindings);
        if before.wasted == 0 {
            return Ok(bindings);
        }
        let mut best = (before, bindings.clone());
        let all = self.converted(function, &bindings, FxHashSet::default())?;
        let worse = self.worse_calls(function, &bindings, &all);
        best = self.cheaper(function, best, all);
        if !worse.is_empty() {
            let others = self.converted(function, &bindings, worse)?;
            best = self.cheaper(function, best, others);
        }
        Ok(best.1)
    }

    /// Returns the bindings of a block with other layouts, except those of `unchanged`.
    fn converted(
        &self,
        function: &mut Function,
        bindings: &[Binding],
        unchanged: FxHashSet<Var>,
    ) -> Result<Vec<Binding>, Diagnostic> {
        let rewriter = LayoutRewriter::new(self.module, function, self.desired, self.memory);
        let converted = rewriter.with_unchanged(unchanged).block(bindings.to_vec())?;
        Ok(elide_input_permutes::elide_input_permutes(self.module, function, converted))
    }

    /// Returns the variables of calls that waste more work in other layouts.
    fn worse_calls(&self, function: &Function, bindings: &[Binding], converted: &[Binding]) -> FxHashSet<Var> {
        let wasted = |bindings| cost::wasted_by_call(self.module, function, self.desired, bindings);
        let pairs = wasted(bindings).into_iter().zip(wasted(converted));
        pairs.filter(|((_, before), (_, after))| before < after).map(|((var, _), _)| var).collect()
    }

    /// Returns the cheaper one of two forms of a block, the first if they cost the same.
    fn cheaper(&self, function: &Function, best: (Cost, Vec<Binding>), other: Vec<Binding>) -> (Cost, Vec<Binding>) {
        let cost = cost::of(self.module, function, self.desired, &other);
        if cost.total() < best.0.total() { (cost, other) } else { best }
    }
}
