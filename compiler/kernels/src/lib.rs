//! Schedules block TIR and lowers it to flat TIR: [`lower()`] makes a [`FlatKernel`] of a TIR function for a
//! [`Target`](hammock_target::Target).
//!
//! # Flat TIR
//! Code generation reads a [`PrimFunc`] of this form:
//! - Parameters are plain variables: a pointer ([`PrimType::Pointer`](hammock_ir::prim::PrimType)) for every buffer and
//!   handle of the original, then an int64 for every symbolic size and stride, then its scalars, then a pointer to the
//!   result if it returns a value. [`Signature`] describes where each comes from.
//! - Every buffer has one dimension and starts at its pointer variable. `Decl` reinterprets a pointer with another
//!   element type; `Alloc` allocates memory for the rest of its sequence, on the stack for scope `local` (always of
//!   small constant size), from the runtime's workspace for scope `global`.
//! - An index is a scalar of int64, or a vector: a `Ramp` (stride 1 for a contiguous access, any other scalar for a
//!   strided one) or any int64 vector (a gather or scatter). A mask is a bool vector with as many lanes; inactive lanes
//!   do not access memory, and load zero.
//! - Operands of an operation have equal lanes (`Broadcast` makes vectors of scalars), but the condition of a select or
//!   `if_then_else` may be scalar over vectors. `if_then_else` has a scalar condition and evaluates one operand;
//!   `Select`, `and` and `or` may evaluate all.
//! - Arithmetic is on bool, integers of 8 to 64 bits, float32 and float64. Float16 appears only where the target
//!   converts it: in loads, stores and casts from and to float32. Integer `Div` and `Mod` truncate; there is no
//!   `FloorDiv` or `FloorMod`. Casts from floats to integers truncate and saturate; NaN becomes zero.
//! - Remaining intrinsics: `fma` (if the target has it), `sqrt`, `fabs`, `floor`, `ceil`, `trunc`, `nearbyint` (if the
//!   target rounds), `reinterpret`, `bitwise_and`, `_or`, `_xor`, `_not`, `shift_left`, `shift_right` (arithmetic for
//!   signed dtypes), `popcount`, `clz`, `if_then_else`, `vector_any` (a scalar: true if a lane of a mask is active),
//!   those of [`prim::flat`](hammock_ir::prim::flat) (exponentials only if the target has masks), the checks of [`prim::check`](hammock_ir::prim::check), with any number of lanes, and memory
//!   accesses and calls: `address_of`, `tvm_access_ptr`, `handle_add_byte_offset`, `isnullptr`, `call_…`. `Let` binds
//!   values inside expressions.
//! - [Dot instructions](hammock_ir::prim::flat::Dot): `load_packed` loads the packed group at the address of an element; `dot_…`
//!   multiplies two packed groups and accumulates, for bfloat16 (`dot_bf16`) only if the target has it.
//! - Loops are `Serial` or `Parallel` (in any order, on the thread pool), over int64 variables. There are no blocks.
//! - A body returns status 0 by `Return(0)` or by reaching its end; a failed `Assert` ends the kernel with an error.
//! - A declaration is in scope up to the end of its sequence; a nested sequence is a scope.
#![forbid(unsafe_code)]

mod error;
mod gpu_kernel;
mod inline;
mod lower;
pub mod math;
mod output_args;
pub mod schedule;
mod signature;

pub use error::{KernelError, Reason};
pub use gpu_kernel::{DeviceFunc, GpuKernel};
pub use inline::inline_calls;
pub use lower::{
    Accesses, Candidate, Options, SearchSpace, before, flops, lower, lower_gpu, lower_with, packed_params, plan_text,
    search_space, stages, steps,
};
pub use signature::{ArgDesc, RawParam, Signature, TensorDesc, arguments};

use hammock_ir::{
    Name,
    tir::{Buffer, ForKind, PrimFunc, Stmt, StmtKind},
};

/// A function ready for code generation.
#[derive(Clone, Debug)]
pub struct FlatKernel {
    /// Its symbol.
    pub name: Name,
    /// Its name in messages.
    pub said: Name,
    /// Flat TIR.
    pub func: PrimFunc,
    /// Its parameters, and how packed arguments become them.
    pub signature: Signature,
    /// How its accesses stay in bounds.
    pub accesses: Accesses,
}

impl FlatKernel {
    /// Returns the peak bytes of temporary buffers that a call allocates from the runtime, with a number of threads.
    /// Excludes buffers on the stack, and those of symbolic size.
    pub fn temporary_bytes(&self, threads: usize) -> u64 {
        let Temporaries { caller, helper } = Temporaries::of(&self.func.body);
        helper.saturating_mul(threads.saturating_sub(1) as u64).saturating_add(caller)
    }
}

/// Peak bytes of workspace of the thread that calls a kernel, and of each worker thread.
#[derive(Default)]
struct Temporaries {
    caller: u64,
    helper: u64,
}

impl Temporaries {
    fn of(stmt: &Stmt) -> Temporaries {
        // Allocations live to the end of their sequence.
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

/// Returns the bytes of an allocation, or 0 if it is on the stack.
fn runtime_bytes(buffer: &Buffer) -> u64 {
    let count = buffer.shape.iter().try_fold(1u64, |n, dim| n.checked_mul(dim.as_int()?.try_into().ok()?));
    let bytes = count.unwrap_or(0).saturating_mul(buffer.dtype.bytes() as u64);
    if *buffer.scope == *"local" { 0 } else { bytes }
}
