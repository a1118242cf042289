//! Translates flat TIR to LLVM's textual IR.
//!
//! Values. A TIR value of lanes N is an LLVM scalar (N = 1) or vector. Bools are `i1` in registers and a byte in
//! memory. `float16` is `half` and `bfloat16` its 16 bits; both are widened to `float` for each operation and rounded
//! after it, so that no processor feature changes a result. Signed and unsigned integers share a type; operations tell
//! them apart.
//!
//! No undefined behaviour: integers wrap, even the minimum divided by -1, and conversions of floats to integers
//! saturate (NaN gives zero). Divisors and shift counts are already checked. Values in inactive lanes never trap:
//! there, division by zero gives zero, and shifts by the width or more shift out all bits.
//!
//! Functions. Every generated function for CPUs returns a status: 0, or -1 after it has reported an error to the runtime. An
//! operation that can fail is followed by a test that frees workspaces and returns.

mod any;
mod arith;
mod check;
mod control;
mod convert;
mod device;
mod dot;
mod exp_table;
mod expr;
mod intrinsic;
mod kernel;
mod launch;
mod memory;
mod min_max;
mod nibble_table;
mod outline;
mod parallel;
mod platform;
mod runtime;
mod size_overflow;
mod split_vectors;
mod stmt;
mod strided_load;
mod tvm;

pub use device::emit_device;
pub use kernel::emit_kernel;

use super::{
    DeviceCode, Host, Unsupported,
    arch::{self, Arch, Builder},
    text::{Function, Label, Linkage, Module, Ty, Value},
};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
};
use hammock_target::Target;
use platform::{Cpu, Platform};
use rustc_hash::{FxHashMap, FxHashSet};

type Result<T> = std::result::Result<T, Unsupported>;

/// State shared by all functions of a kernel.
struct Kernel<'k> {
    module: &'k mut Module,
    platform: &'k dyn Platform,
    host: Host,
    /// Device code, if it is a host function.
    device: Option<&'k DeviceCode>,
    name: &'k str,
    /// Name in messages.
    said: &'k str,
    /// True if messages contain names: of the kernel, of its parameters, or source locations.
    names: bool,
    /// Number of parallel loops so far, for the names of their functions.
    parallel_loops: usize,
    /// Number of outlined functions so far.
    outlined: usize,
}

impl<'k> Kernel<'k> {
    fn new(module: &'k mut Module, platform: &'k dyn Platform, host: Host, name: &'k str, said: &'k str) -> Self {
        let (device, names, parallel_loops, outlined) = (None, false, 0, 0);
        Kernel { module, platform, host, device, name, said, names, parallel_loops, outlined }
    }

    /// Properties of the CPU's family, and the CPU.
    fn arch(&self) -> Result<(&'static dyn Arch, &'k Target)> {
        let target = self.platform.cpu().ok_or(Unsupported::Form("an instruction of CPUs in device code"))?;
        Ok((arch::of(target.family), target))
    }
}

/// One function under construction, and the values of its variables.
struct Emitter<'e, 'k> {
    kernel: &'e mut Kernel<'k>,
    f: Function,
    vars: FxHashMap<Var, Value>,
    /// Pointers that no other pointer of the function aliases.
    distinct: FxHashSet<Var>,
    /// Values of the shared nodes of the expression being evaluated, by node.
    memo: FxHashMap<usize, Value>,
    /// Temporary nodes, retained so that their addresses in `memo` are not reused.
    made: Vec<PrimExpr>,
    /// Mask of active lanes inside a vector select.
    active: Option<Value>,
    /// Workspaces to free on exit.
    workspaces: Vec<Value>,
    /// For each of them, the label that frees it and those before it after a failure, if used.
    unwinding: Vec<Option<Label>>,
    /// Number of bytes on the stack; undefined to LLVM until they are written.
    stack_bytes: i64,
    loops: Vec<LoopScope>,
    /// The exact expression being evaluated.
    exact: Option<Exact>,
    /// True if minima and maxima may lose NaN, because the caller then repeats the work, see [`min_max`].
    may_lose_nan: bool,
}

/// An expression whose integers must not wrap: its text, and the names and values of its variables, for errors.
#[derive(Clone)]
struct Exact {
    text: String,
    names: Vec<String>,
    values: Vec<Value>,
}

/// A loop around the current statement.
struct LoopScope {
    next: Label,
    exit: Label,
    /// Number of workspaces that were live outside of it.
    workspaces: usize,
}

impl<'e, 'k> Emitter<'e, 'k> {
    fn new(kernel: &'e mut Kernel<'k>, f: Function) -> Self {
        Emitter {
            kernel,
            f,
            vars: FxHashMap::default(),
            distinct: FxHashSet::default(),
            memo: FxHashMap::default(),
            made: Vec::new(),
            active: None,
            workspaces: Vec::new(),
            unwinding: Vec::new(),
            stack_bytes: 0,
            loops: Vec::new(),
            exact: None,
            may_lose_nan: false,
        }
    }

    /// The function, for operations of the processor family.
    fn builder<'b>(&'b mut self, target: &'b Target) -> Builder<'b> {
        Builder { target, module: self.kernel.module, f: &mut self.f }
    }

    /// Calls an LLVM intrinsic; its name ends in the overload `suffix`.
    fn intrinsic(&mut self, name: &str, suffix: Ty, ret: Ty, args: &[&Value]) -> Value {
        let params: Vec<Ty> = args.iter().map(|a| a.ty).collect();
        let callee = self.kernel.module.declare(&format!("llvm.{name}.{}", suffix.suffix()), ret, &params);
        self.f.call(&callee, ret, args)
    }

    /// Exits the function with a failure that has been reported.
    fn fail(&mut self) {
        for number in (0..self.workspaces.len()).rev() {
            if let Some(label) = self.unwinding[number] {
                return self.f.jump(label);
            }
            let label = self.f.label();
            self.unwinding[number] = Some(label);
            self.f.jump(label);
            self.f.start(label);
            let workspace = self.workspaces[number].clone();
            self.free_workspace(&workspace);
        }
        let platform = self.kernel.platform;
        platform.leave_failed(self);
    }

    /// Exits the function with success; workspaces have been freed.
    fn leave_function(&mut self) {
        let platform = self.kernel.platform;
        platform.leave(self);
    }

    /// Exits a function that returns a status.
    fn return_status(&mut self, status: i64) {
        self.f.ret(&Value::int(status, Ty::I32));
    }

    /// Freezes a value that control flow may depend on. Uninitialized memory is undef to LLVM, which may differ at each
    /// use and so invalidate checks.
    fn frozen(&mut self, e: &PrimExpr, value: Value) -> Value {
        let reads = || e.any(&mut |x| matches!(x.kind(), PrimKind::Load(..)));
        if self.stack_bytes > 0 && !e.dtype().is_floating() && !e.dtype().is_handle() && reads() {
            self.f.freeze(&value)
        } else {
            value
        }
    }

    /// Evaluates and freezes a condition.
    fn decide(&mut self, e: &PrimExpr) -> Result<Value> {
        let value = self.eval(e)?;
        Ok(self.frozen(e, value))
    }

    /// Continues if the condition holds, otherwise exits the function with an error.
    fn require(&mut self, condition: &Value, kind: &str, message: &str) {
        let (failed, next) = (self.f.label(), self.f.label());
        self.f.branch(condition, next, failed);
        self.f.start(failed);
        self.raise(kind, message);
        self.fail();
        self.f.start(next);
    }

    /// Exits the function if a call's status is not 0.
    fn check(&mut self, status: &Value) {
        let (failed, next) = (self.f.label(), self.f.label());
        let ok = self.f.compare("icmp eq", status, &Value::int(0, Ty::I32));
        self.f.branch(&ok, next, failed);
        self.f.start(failed);
        self.fail();
        self.f.start(next);
    }
}
