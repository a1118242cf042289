//! StaticPlanBlockMemory: tensors that are not needed at the same time share memory.
//!
//! `R.builtin.alloc_tensor` becomes `R.memory.alloc_storage`, where a storage is needed for the first time, and
//! `R.memory.alloc_tensor` in it. A tensor is planned if all that happens to its memory is known: kernels and packed
//! functions are called with it, it is reshaped, renamed, put into tuples. Results of functions, and what is given to
//! other functions, have memory of their own. (KillAfterLastUse then releases the storages.)
//!
//! - [`tensors`]: which tensors there are, what may be behind a variable, and when each is used;
//! - [`storages`]: a storage that nobody uses any more is used again, as TVM does it;
//! - [`arena`]: all tensors of known size in one storage, at offsets;
//! - [`bounds`]: how large a symbolic size can get, as the function's attributes tell;
//! - [`apply`]: the rewriting.
//!
//! As TVM plans, with the options left alone, a tensor is only planned if all of its uses are in the block that makes it.
//! With `scope="function"`, memory is shared across blocks and branches, whatever the dtype.

mod apply;
mod arena;
mod bounds;
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
    doc: "Lets tensors that are not needed at the same time share memory",
    options: &[
        PassOption {
            name: "scope",
            kind: OptionKind::Choice(&["block", "function"]),
            default: r#""block""#,
            doc: "Where memory is shared: inside of blocks, by tensors of one dtype; or in the whole function, by any",
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

/// The options that share most: memory is planned for whole functions, in an arena where there can be one.
pub fn in_whole_functions() -> Options {
    let given = [("scope", "function".into()), ("arena", true.into())];
    Options::of(&PASS).with(given)
}

/// How far memory is shared.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    /// Inside of each block.
    Block,
    /// In the whole function; with an arena or without.
    Function { arena: bool },
}

impl Scope {
    /// What storages of tensors are made of. The runtime allocates as many elements as a storage has bytes, so only bytes
    /// waste nothing; TVM writes the tensors' dtype.
    fn storage_dtype(self, tensor: DType) -> DType {
        if self == Scope::Block { tensor } else { DType::UINT8 }
    }
}

/// Storages, and where the tensors are in them.
#[derive(Default)]
struct Plan {
    storages: Vec<Storage>,
    places: FxHashMap<Var, Place>,
}

/// One storage.
struct Storage {
    bytes: PrimExpr,
    dtype: DType,
    device: Operand,
    scope: Name,
    /// The body that it is allocated at the beginning of; else where it is used for the first time.
    body: Option<usize>,
}

/// Where a tensor is.
#[derive(Clone, Copy)]
struct Place {
    storage: usize,
    /// In bytes.
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
