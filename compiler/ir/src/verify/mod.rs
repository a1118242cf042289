//! The verifier: invariants of every module, after every pass.
//!
//! The rules, by the code of the diagnostic for a violation. Rules about operators use an [`OpTable`].
//!
//! Modules
//! - `E0201` A function called or passed by name exists in the module.
//! - `E0262` The `global_symbol` of a graph is its name.
//!
//! Graphs and kernels
//! - `E0206` No dimension of a tensor or buffer is negative.
//!
//! Graphs
//! - `E0250` A variable is bound once.
//! - `E0251` A variable is visible where it is used: bound before, in the same or an enclosing body; one of a dataflow
//!   block only in that block.
//! - `E0252` A dataflow block has no branches, and only it binds variables that are confined to one.
//! - `E0253` A dataflow block has no side effects; nor does a pure function, unless it is marked `relax.force_pure`.
//! - `E0254`, `E0255`, `E0257` A call of a kernel or function has as many arguments as the callee has parameters, calls
//!   the right kind of function, and passes arguments whose kinds, dtypes and shapes fit.
//! - `E0214` A call obeys its operator's type rule; a tuple has the member that is read; a condition is a bool.
//! - `E0256` A declared type does not contradict its value's type: kinds, dtypes, ranks, dimensions.
//! - `E0258` A symbolic variable is defined before its use: as a dimension of a parameter, by a `match_cast`, or as a
//!   scalar variable.
//!
//! Kernels
//! - `E0250`, `E0251` Variables and buffers are defined where they are used, and not redefined within their scope.
//! - `E0259` Operands of an operation have one dtype, conditions are bools, indices integers; math functions take
//!   floats, bit functions integers; a stored value has its buffer's dtype, and a returned one the declared type.
//! - `E0260` Loads, stores and regions have one index for each dimension.
//! - `E0263` No index is certainly out of bounds, i.e. in some iteration of loops that run to their end.
//! - `E0264` Memory that the kernel allocates, or that `R.call_tir` passes for a new output, is not certainly read
//!   before it is written. A read that may precede a write gets a warning: ZeroInitialize zero-initializes the memory.
//! - `E0254`, `E0255`, `E0257` A kernel that another one calls is a `T.prim_func`, is not recursive (checked for
//!   whole modules), and gets as many arguments as it has parameters, with kinds, dtypes, sizes and memory that fit. C
//!   functions that are called by name take no addresses.
//! - `E0261` Blocks occur only in kernels of the dialect with blocks; their axes are integers bound to values of the
//!   same dtype; jumps are inside loops; loop variables, bounds and steps have one integer dtype. A block that accesses
//!   memory outside its regions gets a warning.
mod arguments;
mod bounds;
mod calls;
mod conflict;
mod expr;
mod graph;
mod intrinsics;
mod kernel;
mod scope;
#[cfg(test)]
mod tests;
mod uninitialized;
mod value;

pub use calls::recursive_calls;

use crate::{
    Module, Name,
    module::Function,
    relax::{self, OpTable},
};
use hammock_diagnostics::{Diagnostic, Span, codes};

/// Verifies a module, functions in order of insertion.
pub fn module(module: &Module, ops: &dyn OpTable) -> Vec<Diagnostic> {
    let functions = module.functions.keys().flat_map(|name| function(module, name, ops));
    functions.chain(recursive_calls(module)).collect()
}

/// The errors in a module, without warnings and the analyses that only these need.
pub fn errors(module: &Module, ops: &dyn OpTable) -> Vec<Diagnostic> {
    let functions = module.functions.keys().flat_map(|name| check(module, name, ops, false));
    functions.chain(recursive_calls(module)).filter(Diagnostic::is_error).collect()
}

/// Verifies one function of a module.
pub fn function(module: &Module, name: &Name, ops: &dyn OpTable) -> Vec<Diagnostic> {
    check(module, name, ops, true)
}

fn check(module: &Module, name: &Name, ops: &dyn OpTable, warns: bool) -> Vec<Diagnostic> {
    match module.functions.get(name) {
        Some(Function::Relax(f)) => {
            let mut found = graph::verify(module, name, f, ops, warns);
            found.extend(symbol(name, f));
            found
        }
        Some(Function::Tir(f)) => kernel::verify(module, name, f, warns),
        Some(Function::Extern(_)) | None => Vec::new(),
    }
}

/// Verifies the number of arguments of a kernel's call and its declared output types, whose errors cause others at
/// their uses. Other calls are accepted.
pub fn kernel_outputs(
    module: &Module,
    function: &relax::Function,
    call: &relax::Call,
    span: Span,
    ops: &dyn OpTable,
) -> Vec<Diagnostic> {
    graph::outputs(module, function, call, span, ops)
}

fn symbol(name: &Name, f: &crate::relax::Function) -> Option<Diagnostic> {
    let symbol = f.lambda.attrs.get("global_symbol")?.as_str()?;
    (symbol != &**name).then(|| {
        Diagnostic::error(codes::WRONG_SYMBOL, format!("function `{name}` has the symbol `{symbol}`"))
            .label(f.lambda.span, format!("called `{name}` here"))
            .help("name the function after its symbol, or drop `global_symbol`")
    })
}
