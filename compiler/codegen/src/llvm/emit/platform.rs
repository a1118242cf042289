//! Processors that kernels are compiled for. The emitter writes arithmetic, control flow and memory accesses itself; a
//! [`Platform`] emits allocations, error reports, parallel loops and thread axes: [`Cpu`] as calls of the runtime,
//! [`Device`](super::device::Device) for a thread of a block.

use super::{Emitter, Result, Unsupported, Value};
use hammock_ir::{
    DType, PrimExpr,
    prim::{IterVar, Var},
    tir::{Buffer, Loop, Stmt},
};
use hammock_target::Target;

/// A processor that runs kernels.
pub(super) trait Platform {
    /// The CPU, for instructions of its family.
    fn cpu(&self) -> Option<&Target>;

    /// True if masked vector accesses are free, and floats are scaled by powers of two in one instruction.
    fn has_masks(&self) -> bool;

    /// True if it converts float16 from and to float32.
    fn has_float16(&self) -> bool;

    /// Bytes of the widest register or access.
    fn vector_bytes(&self) -> u32;

    /// Bytes that the memory behind a pointer is known to be aligned to; 1 if LLVM finds the alignment of accesses.
    fn base_alignment(&self, data: &Var) -> u64;

    /// Reports an error whose message has 64-bit values between texts, which are one more than the values.
    fn report(&self, e: &mut Emitter<'_, '_>, kind: &str, texts: &[&str], values: &[&Value]);

    /// Leaves the function after success.
    fn leave(&self, e: &mut Emitter<'_, '_>);

    /// Leaves the function after a failure that has been reported.
    fn leave_failed(&self, e: &mut Emitter<'_, '_>);

    /// Allocates a buffer of that many bytes, which is valid until the end of its sequence; returns its address.
    fn allocate(&self, e: &mut Emitter<'_, '_>, buffer: &Buffer, bytes: &Value) -> Result<Value>;

    /// Emits statements in order.
    fn sequence(&self, e: &mut Emitter<'_, '_>, stmts: &[Stmt]) -> Result<()>;

    /// Emits a parallel loop.
    fn parallel_loop(&self, e: &mut Emitter<'_, '_>, l: &Loop) -> Result<()>;

    /// Emits statements that each thread of an axis runs, with its index.
    fn thread_axis(&self, e: &mut Emitter<'_, '_>, axis: &IterVar, extent: &PrimExpr, body: &Stmt) -> Result<()>;

    /// Evaluates an intrinsic that only this platform has; `None` for all others.
    fn call(&self, e: &mut Emitter<'_, '_>, name: &str, args: &[PrimExpr], to: DType) -> Result<Option<Value>>;

    /// Calls a math function for each lane; `None` if there is none.
    fn math(&self, e: &mut Emitter<'_, '_>, name: &str, args: &[Value]) -> Option<Value>;

    /// Remainder of a truncating division of floats.
    fn remainder(&self, e: &mut Emitter<'_, '_>, a: &Value, b: &Value) -> Result<Value>;
}

/// A CPU with the runtime.
pub(super) struct Cpu<'k>(pub &'k Target);

/// Maximum size in bytes of a buffer on the stack.
const MAX_STACK_BYTES: i64 = 16 << 10;

/// Maximum total size in bytes of the buffers of a function on the stack, which may be small in threads.
const MAX_FRAME_BYTES: i64 = 512 << 10;

impl Platform for Cpu<'_> {
    fn cpu(&self) -> Option<&Target> {
        Some(self.0)
    }

    fn has_masks(&self) -> bool {
        self.0.masks
    }

    fn has_float16(&self) -> bool {
        self.0.float16
    }

    fn vector_bytes(&self) -> u32 {
        self.0.vector_bytes
    }

    fn base_alignment(&self, _: &Var) -> u64 {
        1
    }

    fn report(&self, e: &mut Emitter<'_, '_>, kind: &str, texts: &[&str], values: &[&Value]) {
        e.report(kind, texts, values);
    }

    fn leave(&self, e: &mut Emitter<'_, '_>) {
        e.return_status(0);
    }

    fn leave_failed(&self, e: &mut Emitter<'_, '_>) {
        e.return_status(-1);
    }

    /// Buffers of small constant size are on the stack; those of a host function are for its device functions.
    fn allocate(&self, e: &mut Emitter<'_, '_>, _: &Buffer, bytes: &Value) -> Result<Value> {
        let is_small = |size: i64| size <= MAX_STACK_BYTES && e.stack_bytes + size <= MAX_FRAME_BYTES;
        Ok(match bytes.as_int() {
            Some(size) if e.kernel.device.is_none() && is_small(size) => e.stack_slot(size, 64),
            _ => e.workspace(bytes),
        })
    }

    fn sequence(&self, e: &mut Emitter<'_, '_>, stmts: &[Stmt]) -> Result<()> {
        e.outlined_sequence(stmts)
    }

    fn parallel_loop(&self, e: &mut Emitter<'_, '_>, l: &Loop) -> Result<()> {
        e.parallel_loop(l)
    }

    fn thread_axis(&self, _: &mut Emitter<'_, '_>, _: &IterVar, _: &PrimExpr, _: &Stmt) -> Result<()> {
        Err(Unsupported::Form("a GPU thread axis in CPU code"))
    }

    fn call(&self, e: &mut Emitter<'_, '_>, name: &str, args: &[PrimExpr], to: DType) -> Result<Option<Value>> {
        e.host_call(name, args, to)
    }

    fn math(&self, e: &mut Emitter<'_, '_>, name: &str, args: &[Value]) -> Option<Value> {
        e.libm(name, args)
    }

    fn remainder(&self, e: &mut Emitter<'_, '_>, a: &Value, b: &Value) -> Result<Value> {
        Ok(e.f.binary("frem", a, b))
    }
}
