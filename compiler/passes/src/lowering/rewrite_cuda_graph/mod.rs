//! RewriteCUDAGraph: outlines runs of kernels on memory at fixed addresses.
//!
//! A CUDA graph captures kernel launches once and replays them at little cost, if nothing about them changes. So,
//! after StaticPlanBlockMemory:
//! - storages of known size are allocated by one function, `cuda_graph_alloc`, whose result the runtime caches;
//!   functions share the storages, which assumes that they do not run concurrently. Storages of results are not
//!   moved;
//! - calls of kernels and packed functions whose arguments are only tensors in such storages (and parameters from
//!   `num_input` on, which are weights) become functions `NAME_cuda_graph_capture`, which the runtime captures or
//!   replays.
//!
//! With `updated`, which is for this runtime alone, graphs need no fixed addresses: the runtime decides at each call what
//! the launches are, and changes the graph where they differ. So calls of kernels become functions whatever memory
//! they use; allocations between them come before the graph, and storages stay those of the function. A graph is kept
//! for all sizes. A single call is left as it is. Graphs have only kernels on the first device.
//!
//! Sizes in the types of weights, and those named by `relax.rewrite_cuda_graph.capture_symbolic_vars`, may be used in
//! such functions: they are passed as a shape, and a graph is captured for each value of it.
//!
//! - [`regions`] finds the bindings to lift out of a function;
//! - [`lift`] moves them into functions and calls those.

mod lift;
mod regions;

use crate::{Context, OptionKind, Pass, PassOption, rewrite};
use hammock_diagnostics::{Diagnostic, Span, codes};
use hammock_ir::{Module, Name, relax::Function};
use regions::Regions;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "RewriteCUDAGraph",
    doc: "Outlines runs of kernels on memory at fixed addresses, for CUDA graphs",
    options: &[
        PassOption {
            name: "use_cuda_graph",
            kind: OptionKind::Bool,
            default: "true",
            doc: "Run the pass at all: the option relax.backend.use_cuda_graph of TVM's pass context",
        },
        UPDATED,
    ],
    run,
};

/// True if graphs change with the addresses and sizes of a call.
pub const UPDATED: PassOption = PassOption {
    name: "updated",
    kind: OptionKind::Bool,
    default: "false",
    doc: "Lift calls of kernels with memory at any address and of any size: the runtime updates graphs at each call",
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    if !context.options.is_on("use_cuda_graph") {
        return Ok(());
    }
    let names: Vec<Name> = module.relax_functions().map(|(name, _)| name.clone()).collect();
    let updated = context.options.is_on(UPDATED.name);
    let find = |(_, function)| regions::find(module, function, updated);
    let found: Vec<Regions> = module.relax_functions().map(find).collect();
    for (name, _) in names.iter().zip(&found).filter(|(_, regions)| !regions.is_empty()) {
        let lambda = module.relax(name).map(|function| &function.lambda);
        if let Some(lambda) = lambda.filter(|lambda| lambda.pure && !lambda.attrs.is_true("relax.force_pure")) {
            return Err(purity_is_checked(name, lambda.span));
        }
    }
    let allocation = lift::merge_allocations(module, &names, &found);
    let mut graphs = 0;
    for (name, regions) in names.iter().zip(&found) {
        let Some(hammock_ir::Function::Relax(function)) = module.functions.get_mut(name) else { continue };
        let signature = function.signature();
        let mut function: Function = std::mem::replace(function, signature);
        let body = rewrite::take_body(&mut function);
        let mut lifter = lift::Lifter::new(module, name, regions, &allocation, updated, &mut graphs);
        let body = lifter.body(&mut function, body);
        function.lambda.body = body;
        module.functions.insert(name.clone(), hammock_ir::Function::Relax(function));
    }
    Ok(())
}

fn purity_is_checked(name: &str, span: Span) -> Diagnostic {
    let message = format!("`{name}` is pure, and calls of CUDA graphs are not");
    Diagnostic::error(codes::NOT_LOWERABLE, message).label(span, "").help("run pass `RemovePurityChecking` first")
}
