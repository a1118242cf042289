//! AttachAttrLayoutFreeBuffers: marks the buffers of kernels whose layout is free.
//!
//! A constant, or a weight (a parameter after the first `num_input` of a function), can be packed before the model
//! runs. Each kernel gets the attribute `layout_free_buffers`, the indices of such arguments in its calls; a kernel
//! whose calls differ in that is cloned. Unused kernels and bindings are removed.

use crate::{
    Context, OptionKind, Pass, PassOption,
    analysis::functions,
    graph::dead_code_elimination,
    rewrite::{self, shared_functions::SharedFunctions},
};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    Function as Global, Module, Name,
    relax::{Body, Call, CallTir, Function, Operand, Value, Var},
};
use indexmap::IndexMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "AttachAttrLayoutFreeBuffers",
    doc: "Marks the buffers of kernels whose layout is free: constants and weights",
    options: &[CONSTANTS],
    run,
};

/// Excludes weights that are arguments: they would be packed at each call.
pub const CONSTANTS: PassOption = PassOption {
    name: "constants",
    kind: OptionKind::Bool,
    default: "false",
    doc: "Mark only constants, not weights that are arguments; kernels without constants get no attribute, the others \
          keep their names",
};

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let mut marked = MarkedKernels::default();
    let constants = context.options.is_on(CONSTANTS.name);
    rewrite::relax_functions(module, |module, _, function| {
        let mut body = rewrite::take_body(function);
        let weights = (!constants).then(|| weights(function));
        mark(module, weights.as_deref(), &mut marked, &mut body);
        function.lambda.body = body;
        Ok(())
    })?;
    context.then(&dead_code_elimination::PASS, module)?;
    if constants {
        marked.originals.iter().for_each(|(name, original)| restore_name(module, name, original));
    }
    Ok(())
}

/// Marked kernels.
#[derive(Default)]
struct MarkedKernels {
    shared: SharedFunctions,
    /// Original of each marked kernel, by name.
    originals: IndexMap<Name, Name>,
}

/// Gives a marked kernel the name of its original if that is gone: plans then use the same names for kernels with and
/// without constants.
fn restore_name(module: &mut Module, name: &Name, original: &Name) {
    if module.functions.contains_key(original) {
        return;
    }
    if let Some(kernel) = module.functions.shift_remove(name) {
        module.functions.insert(original.clone(), kernel);
        functions::rename_uses(module, name, original);
    }
}

/// Returns the parameters that are not inputs; none if the function does not state its number of inputs.
fn weights(function: &Function) -> Vec<Var> {
    let params = &function.lambda.params;
    function.lambda.num_input().and_then(|inputs| params.get(inputs..)).map(<[Var]>::to_vec).unwrap_or_default()
}

/// Marks kernels; without `weights`, for constants only.
fn mark(module: &mut Module, weights: Option<&[Var]>, marked: &mut MarkedKernels, body: &mut Body) {
    for binding in body.blocks.iter_mut().flat_map(|block| &mut block.bindings) {
        binding.value.each_body_mut(&mut |nested| mark(module, weights, marked, nested));
        if let Value::Call(call) = &mut binding.value
            && let Some(new) = marked_call(module, weights, marked, call)
        {
            *call = new;
        }
    }
}

/// Returns the call of the marked kernel.
fn marked_call(module: &mut Module, weights: Option<&[Var]>, marked: &mut MarkedKernels, call: &Call) -> Option<Call> {
    let call = CallTir::of(call)?;
    let (name, args) = (call.kernel()?, call.inputs()?);
    let kernel = module.tir(name)?;
    let is_free = |arg: &Operand| match arg {
        Operand::Const(_) => true,
        Operand::Var(v) => weights.is_some_and(|weights| weights.contains(v)),
        _ => false,
    };
    let free: Vec<i64> = (0..).zip(args).filter(|(_, arg)| is_free(arg)).map(|(i, _)| i).collect();
    if weights.is_none() && free.is_empty() {
        return None;
    }
    let mut kernel = kernel.clone();
    kernel.attrs.set("layout_free_buffers", free);
    // visible functions keep their names
    kernel.attrs.remove("global_symbol");
    let original = name.clone();
    let name = marked.shared.share(module, &original, Global::Tir(kernel));
    marked.originals.insert(name.clone(), original);
    Some(Call::tir(name, args.to_vec(), call.out_ty.clone()))
}
