//! TIR: loops over buffers.
//!
//! Three stages share these types. *Block TIR* has [`Block`]s with axes and regions, as legalization makes it;
//! *scheduled TIR* has the same with loops split, bound and vectorized; *flat TIR* has no blocks and one-dimensional
//! buffers. A declaration ([`StmtKind::Bind`], [`StmtKind::Alloc`], [`StmtKind::Decl`]) is visible to the statements
//! after it in its sequence.

pub mod call;
mod data;
pub mod empty_reductions;
pub mod fresh;
mod func;
pub mod initialization;
pub mod regions;
mod stmt;
mod visit;

pub use crate::prim::{Buffer, BufferNode, DEFAULT_ALIGN, DEFAULT_LAYOUT, Region};
pub use func::{EXACT, Param, PrimFunc};
pub use stmt::{AttrNode, Block, BlockAxis, ForKind, Loop, MatchBuffer, SUM_PARTS, Stmt, StmtKind};
