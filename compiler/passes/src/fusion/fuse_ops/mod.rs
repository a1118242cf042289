//! FuseOps: groups kernel calls into functions, each of which FuseTIR turns into one kernel.
//!
//! Works on `call_tir` in dataflow blocks, those of branches included, and on the classes of their TIR functions (see
//! [`OpPattern`](crate::analysis::op_pattern::OpPattern); AnnotateTIROpPattern must have run). A call joins its
//! post-dominator: element-wise and broadcast operations join their consumers, contractions their element-wise
//! epilogue, injective operations each other. With `widened_weights`, a contraction also fuses producers that
//! dequantize or upcast a weight for it alone, so that narrow weights are loaded as they are stored, or that gather
//! matrices for it, such as the weights of experts, which are read in place. No result is computed twice, and none that
//! is used outside its group is fused away. Calls are not fused across a write to memory that they read. Those on
//! different devices have a copy between them, which is not fused.

mod dominators;
mod graph;
mod partition;

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::attributes::PRIMITIVE,
    rewrite::{
        self,
        groups::{Group, Groups, outline_groups},
        shared_functions::SharedFunctions,
    },
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Attrs, Module,
    relax::{
        Body, Call, Function, Operand, Outlining, Value, Var,
        memory::{MemoryDependences, Writers},
    },
};
use hammock_ops::Table;
use rustc_hash::FxHashMap;

/// Maximum number of calls in a group.
const MAX_DEPTH: usize = 256;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "FuseOps",
    doc: "Groups kernel calls into functions that FuseTIR fuses",
    options: &[
        PassOption { name: "fuse_opt_level", kind: OptionKind::Integer, default: "-1", doc: "0 fuses nothing" },
        WIDENED_WEIGHTS,
    ],
    run,
};

/// Fuses dequantized or upcast weights into contractions. The default pipeline sets it.
pub const WIDENED_WEIGHTS: PassOption = PassOption {
    name: "widened_weights",
    kind: OptionKind::Bool,
    default: "false",
    doc: "Fuse kernels that dequantize or upcast a weight, or gather matrices, for one contraction into it",
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    if context.options.integer("fuse_opt_level") == 0 {
        return Ok(());
    }
    let widened = context.options.is_on(WIDENED_WEIGHTS.name);
    let mut shared = SharedFunctions::default();
    let writers = Writers::of(module, &Table);
    rewrite::relax_functions(module, |module, _, function| {
        let attrs = &function.lambda.attrs;
        if !attrs.is_true(PRIMITIVE) && attrs.get("Codegen").is_none() {
            let memory = MemoryDependences::of(function, &writers, &Table);
            let groups = groups(module, function, &memory, widened);
            let body = rewrite::take_body(function);
            let how = Outlining { lift_constants: true, ..Outlining::default() };
            function.lambda.body = outline_groups(module, function, body, &groups, (&writers, how), &mut shared)?;
        }
        Ok(())
    })
}

fn groups(module: &Module, function: &Function, memory: &MemoryDependences, widened: bool) -> Groups {
    let (nodes, vars) = graph::graph(module, function, memory, widened);
    let roots = partition::partition(&nodes, MAX_DEPTH);
    let mut sizes: FxHashMap<usize, usize> = FxHashMap::default();
    roots.iter().for_each(|root| *sizes.entry(*root).or_default() += 1);
    let mut groups = Groups::default();
    let mut numbers: FxHashMap<usize, usize> = FxHashMap::default();
    let calls = calls(&function.lambda.body);
    for (var, root) in vars.iter().zip(&roots).filter(|(_, root)| sizes[*root] > 1) {
        let number = *numbers.entry(*root).or_insert_with(|| {
            groups.all.push(Group { name: "fused".to_owned(), attrs: Attrs::new().with(PRIMITIVE, true) });
            groups.all.len() - 1
        });
        if let Some(name) = calls.get(var) {
            groups.all[number].name += &format!("_{name}");
        }
        groups.of.insert(*var, number);
    }
    groups
}

/// Returns the TIR functions that bindings call.
fn calls(body: &Body) -> FxHashMap<Var, hammock_ir::Name> {
    let mut called = FxHashMap::default();
    body.walk(&mut |binding| {
        if let Value::Call(Call { args, .. }) = &binding.value
            && let Some(Operand::Global(name)) = args.first()
        {
            called.insert(binding.var, name.clone());
        }
    });
    called
}
