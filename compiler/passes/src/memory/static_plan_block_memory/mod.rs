//! StaticPlanBlockMemory: plans memory, so that tensors with disjoint lifetimes share it.
//!
//! `R.builtin.alloc_tensor` becomes `R.memory.alloc_storage`, at the storage's first use, and `R.memory.alloc_tensor`
//! in it. A tensor is planned if all uses of its memory are known: it is passed to kernels and packed functions,
//! reshaped, renamed, put into tuples. Results of functions, and arguments of other functions, have their own memory.
//! (KillAfterLastUse then releases the storages.)
//!
//! - [`tensors`]: the tensors, the aliases of variables, and lifetimes;
//! - [`storages`]: reuse of free storages, as in TVM;
//! - [`arena`]: all tensors of known size in one storage, at offsets;
//! - [`bounds`]: upper bounds of symbolic sizes, from the function's attributes;
//! - [`samples`]: values of symbolic sizes, which refute most relations between them;
//! - [`apply`]: the rewriting.
//!
//! By default, as in TVM, a tensor is only planned if all of its uses are in the block that allocates it. With
//! `scope="function"`, memory is shared across blocks and branches, whatever the dtype.

mod apply;
mod arena;
mod bounds;
mod samples;
mod storages;
mod tensors;

use crate::{Context, OptionKind, Options, Pass, PassOption, rewrite};
use hammock_diagnostics::Diagnostic;
use hammock_ir::{
    DType, Module, Name, PrimExpr,
    relax::{Function, Operand, Var},
};
use rustc_hash::FxHashMap;

/// See the module's documentation.
pub static PASS: Pass = Pass {
    name: "StaticPlanBlockMemory",
    doc: "Plans memory: tensors with disjoint lifetimes share it",
    options: &[
        PassOption {
            name: "scope",
            kind: OptionKind::Choice(&["block", "function"]),
            default: r#""block""#,
            doc: "Scope of sharing: within blocks, by tensors of the same dtype; or in the whole function, by all \
                  tensors",
        },
        PassOption {
            name: "arena",
            kind: OptionKind::Bool,
            default: "false",
            doc: "One storage for all tensors of known size, at offsets; needs scope=\"function\"",
        },
    ],
    run,
};

/// Returns the options that share most: whole functions, with an arena where possible.
pub fn for_whole_functions() -> Options {
    let given = [("scope", "function".into()), ("arena", true.into())];
    Options::of(&PASS).with(given)
}

/// Scope of sharing.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    /// Within each block.
    Block,
    /// In the whole function, with an arena or without.
    Function { arena: bool },
}

impl Scope {
    /// Returns the dtype of storages. The runtime allocates as many elements as a storage has bytes, so only byte
    /// storages waste nothing; TVM uses the tensors' dtype.
    fn storage_dtype(self, tensor: DType) -> DType {
        if self == Scope::Block { tensor } else { DType::UINT8 }
    }
}

/// Memory plan: storages, and the tensors' locations in them.
#[derive(Default)]
struct Plan {
    storages: Vec<Storage>,
    locations: FxHashMap<Var, Location>,
}

/// A storage.
struct Storage {
    bytes: PrimExpr,
    dtype: DType,
    device: Operand,
    scope: Name,
    /// Body at whose beginning it is allocated; `None` to allocate it at its first use.
    body: Option<usize>,
}

/// Location of a tensor.
#[derive(Clone, Copy)]
struct Location {
    storage: usize,
    /// Offset in bytes.
    offset: i64,
}

fn run(module: &mut Module, context: &Context) -> Result<(), Diagnostic> {
    let arena = context.options.is_on("arena");
    let scope = match context.options.text("scope").as_str() {
        "function" => Scope::Function { arena },
        _ if arena => return Err(bounds::wrong_options()),
        _ => Scope::Block,
    };
    rewrite::relax_functions(module, |module, _, function| plan_function(module, function, scope))
}

fn plan_function(module: &Module, function: &mut Function, scope: Scope) -> Result<(), Diagnostic> {
    let bounds = bounds::Bounds::of(function, scope)?;
    let tensors = tensors::find(module, function, scope, &bounds);
    let mut plan = Plan::default();
    let rest = match scope {
        Scope::Function { arena: true } => arena::plan(&tensors, &mut plan),
        _ => tensors.planned(),
    };
    storages::plan(&tensors, &rest, scope, &bounds, &mut plan);
    apply::apply(function, &plan, &bounds);
    Ok(())
}
