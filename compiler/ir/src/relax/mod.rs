//! Relax: functions over tensors in A-normal form.

mod call_tir;
mod dims;
mod extract;
mod function;
mod graph;
pub mod memory;
mod operand_ty;
mod outline;
pub mod pattern;
mod replace;
mod table;
mod visit;

pub use call_tir::CallTir;
pub use extract::Renumbering;
pub use function::{
    Binding, Block, Body, Call, Callee, Constant, Function, Lambda, Operand, Origin, Source, Value, VarInfo,
};
pub use graph::{Def, Definitions, Graph, Position};
pub use outline::{Argument, Outlined, Outlining};
pub use replace::Replacements;
pub use table::{InferError, OpTable, OperandWrites, ResultMemory};

use cranelift_entity::entity_impl;

/// A Relax variable: an index into its function's table, meaningless in any other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Var(u32);
entity_impl!(Var, "v");
