//! From block TIR to scheduled and flat TIR; the reference interpreter.
//!
//! - [`interp`]: runs TIR of every stage, slowly and exactly; everything else is tested against it.
//! - [`lower()`]: turns a TIR function into a [`FlatKernel`] for a [`Target`].
//!
//! # Flat TIR
//! What code generation reads is a [`PrimFunc`] of this form:
//! - Parameters are plain variables: a pointer ([`PrimType::Pointer`](hammock_ir::prim::PrimType)) for every buffer
//!   and handle of the original, then an int64 for every symbolic size and stride, then its scalars, then a pointer to
//!   the result if it returns a value. [`Signature`] says where each comes from.
//! - Every buffer has one dimension and lies at its pointer variable without offset. `Decl` gives a pointer that has
//!   memory another element type; `Alloc` makes memory for the rest of its sequence, on the stack for scope `local`
//!   (always of small constant size), from the runtime's workspace for scope `global`.
//! - An index is a scalar of int64, or a vector: a `Ramp` (stride 1 for a plain vector access, any other scalar for a
//!   strided one) or any int64 vector (a gather or scatter). A mask is a bool vector of as many lanes; a lane whose
//!   mask is off does not touch memory, and loads zero.
//! - Operands of an operation have equal lanes (`Broadcast` makes vectors of scalars), but the condition of a select or
//!   `if_then_else` may be scalar over vectors. `if_then_else` has a scalar condition and evaluates one operand;
//!   `Select`, `and` and `or` may evaluate all.
//! - Arithmetic is on bool, integers of 8 to 64 bits, float32 and float64. Float16 appears only where the target converts
//!   it: in loads, stores and casts from and to float32. Integer `Div` and `Mod` are towards zero; `FloorDiv` and
//!   `FloorMod` are gone. Casts from floats to integers are towards zero; what does not fit becomes the nearest bound,
//!   NaN zero.
//! - Intrinsics left: `fma` (where the target has it), `sqrt`, `fabs`, `floor`, `ceil`, `trunc`, `nearbyint` (where the
//!   target rounds), `reinterpret`, `bitwise_and`, `_or`, `_xor`, `_not`, `shift_left`, `shift_right` (arithmetic for
//!   signed dtypes), `popcount`, `clz`, `if_then_else`, `vector_any` (a scalar: whether a lane of a mask is on),
//!   those of [`math::exp_table`] (where the target has masks), the checks of [`check`], of any lanes, and what concerns memory and calls: `address_of`, `tvm_access_ptr`, `handle_add_byte_offset`, `isnullptr`, `call_…`.
//!   `Let` binds values inside expressions.
//! - Dot products of [words](stage::dots): `word_at` is the word that lies in memory from an element on; `dot_…` adds the
//!   products of the parts of two words to a sum, that of bfloat16 (`dot_bf16`) only where the target has it.
//! - Loops are `Serial` or `Parallel` (any order, on the pool), over int64 variables. There are no blocks.
//! - A body returns status 0 by `Return(0)` or by reaching its end; a failed `Assert` ends the kernel with an error.
//! - A declaration holds to the end of its sequence; a sequence inside a sequence is a scope.
#![forbid(unsafe_code)]

pub mod check;
mod error;
mod index;
mod inline;
pub mod interp;
mod lower;
pub mod math;
pub mod plan;
pub mod rules;
#[cfg(test)]
mod samples;
mod signature;
pub mod stage;
mod target;
mod written;

pub use error::{KernelError, Reason};
pub use inline::inline_calls;
pub use lower::{
    Accesses, Candidate, Options, SearchSpace, before, flops, lower, lower_with, packings, plan_text, search_space,
    steps,
};
pub use signature::{ArgDesc, RawParam, Signature, TensorDesc, arguments};
pub use target::{Caches, FEATURES, Features, Target};

use hammock_ir::{
    Name,
    tir::{Buffer, ForKind, PrimFunc, Stmt, StmtKind},
};

/// A function ready for code generation.
#[derive(Clone, Debug)]
pub struct FlatKernel {
    /// The symbol it is known by.
    pub name: Name,
    /// What its messages call it.
    pub said: Name,
    /// Flat TIR.
    pub func: PrimFunc,
    /// What its parameters are, and how packed arguments become them.
    pub signature: Signature,
    /// How its accesses stay inside of their buffers.
    pub accesses: Accesses,
}

impl FlatKernel {
    /// The most bytes that a call takes from the runtime at once for temporary buffers, when a loop runs on so many
    /// threads. Buffers on the stack are left out, and those of symbolic size.
    pub fn temporary_bytes(&self, threads: usize) -> u64 {
        let Temporaries { caller, helper } = Temporaries::of(&self.func.body);
        helper.saturating_mul(threads.saturating_sub(1) as u64).saturating_add(caller)
    }
}

/// Bytes that are taken from the runtime at once by the thread that calls a kernel, and by each that helps it.
#[derive(Default)]
struct Temporaries {
    caller: u64,
    helper: u64,
}

impl Temporaries {
    fn of(stmt: &Stmt) -> Temporaries {
        // What a statement allocates lives to the end of its sequence.
        let (mut kept, mut most) = (0u64, Temporaries::default());
        stmt.each_child(&mut |child| {
            if let StmtKind::Alloc(buffer, _) = &child.kind {
                kept = kept.saturating_add(runtime_bytes(buffer));
            }
            let inner = Temporaries::of(child);
            most.caller = most.caller.max(kept.saturating_add(inner.caller));
            most.helper = most.helper.max(inner.helper);
        });
        let is_shared = matches!(&stmt.kind, StmtKind::For(l) if l.kind == ForKind::Parallel);
        if is_shared { Temporaries { helper: most.caller, ..most } } else { most }
    }
}

/// Bytes of an allocation that is not on the stack.
fn runtime_bytes(buffer: &Buffer) -> u64 {
    let count = buffer.shape.iter().try_fold(1u64, |n, dim| n.checked_mul(dim.as_int()?.try_into().ok()?));
    let bytes = count.unwrap_or(0).saturating_mul(buffer.dtype.bytes() as u64);
    if *buffer.scope == *"local" { 0 } else { bytes }
}
