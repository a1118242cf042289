//! Comparing a program with itself, compiled in another way.

use clap::Args;
use hammock_ir::{
    Module, Span, Type,
    relax::{Binding, Function, Operand, Value},
};
use hammock_tools::ExpectFlags;

/// Flags of `hammock run` that compare results.
#[derive(Args)]
#[command(next_help_heading = "Comparing")]
pub struct CompareFlags {
    #[command(flatten)]
    pub expect: ExpectFlags,
    /// Run the program again at level 0 (`=1`, `=2`, `=3`) or in another mode (`=reference`, `=bytecode`, `=compiled`), and find
    /// the first binding whose values differ
    #[arg(long, value_name = "WITH", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub compare_levels: Option<String>,
}

/// The bindings of a function, outer ones, whose values can be results.
pub fn comparable(function: &Function) -> Vec<usize> {
    let tensors =
        |binding: &Binding| is_tensors(function.ty(binding.var)) && !matches!(binding.value, Value::Function(_));
    let bindings = function.lambda.body.bindings().enumerate();
    bindings.filter(|(_, binding)| tensors(binding)).map(|(at, _)| at).collect()
}

fn is_tensors(ty: &Type) -> bool {
    match ty {
        Type::Tuple(fields) => !fields.is_empty() && fields.iter().all(is_tensors),
        Type::Tensor(_) => true,
        _ => false,
    }
}

/// The module with a function truncated after one of its bindings, which becomes the result; the binding's name and span.
pub fn up_to(module: &Module, func: &str, last: usize) -> Option<(Module, String, Span)> {
    let mut module = module.clone();
    let (_, function) = module.relax_functions_mut().find(|(name, _)| &***name == func)?;
    let mut left = last + 1;
    for block in &mut function.lambda.body.blocks {
        block.bindings.truncate(left);
        left -= block.bindings.len();
    }
    function.lambda.body.blocks.retain(|block| !block.bindings.is_empty());
    let binding = function.lambda.body.blocks.last()?.bindings.last()?;
    let (var, span) = (binding.var, binding.span);
    function.lambda.body.result = Operand::Var(var);
    function.lambda.ret_ty = function.ty(var).clone();
    function.vars[var].dataflow = false;
    let name = function.vars[var].name.to_string();
    Some((module, name, span))
}
