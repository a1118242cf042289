//! From flat TIR to LLVM's textual IR.
//!
//! Values. A TIR value of lanes N is an LLVM scalar (N = 1) or vector. Bools are `i1` in registers and a byte in memory.
//! `float16` is `half` and `bfloat16` its 16 bits; both are widened to `float` for each operation and rounded after it,
//! so that no processor feature changes a result. Signed and unsigned integers share a type; operations tell them apart.
//!
//! Nothing that TIR defines is undefined here: integers wrap, even the smallest number divided by -1, and conversions of
//! floats to integers saturate (NaN gives zero). Divisors and shift counts that could be wrong arrive already checked.
//! Values that lowering computes in unused lanes never trap: there, division by zero gives zero, and shifts by the width
//! or more push all bits out.
//!
//! Functions. Every generated function returns a status: 0, or -1 after it has left the error with the runtime. An
//! operation that can fail is followed by a test that releases workspaces and returns.

mod any;
mod arith;
mod check;
mod control;
mod convert;
mod dot;
mod exp_table;
mod expr;
mod intrinsic;
mod kernel;
mod memory;
mod min_max;
mod outline;
mod parallel;
mod runtime;
mod size_overflow;
mod split_vectors;
mod stmt;
mod strided_load;
mod tvm;

pub use kernel::emit_kernel;

use super::{
    Host, Unsupported,
    text::{Function, Label, Linkage, Module, Ty, Value},
};
use hammock_ir::{
    PrimExpr,
    prim::{PrimKind, Var},
};
use hammock_kernels::Target;
use rustc_hash::{FxHashMap, FxHashSet};

type Result<T> = std::result::Result<T, Unsupported>;

/// What all functions of one kernel share.
struct Kernel<'k> {
    module: &'k mut Module,
    target: &'k Target,
    host: Host,
    name: &'k str,
    /// What messages call it.
    said: &'k str,
    /// True if there are messages with names in them: the kernel's, those of its parameters, places in a text.
    names: bool,
    /// Parallel loops so far: numbers for their functions' names.
    parallel_loops: usize,
    /// Outlined functions so far.
    outlined: usize,
}

/// One function under construction, and what its names mean.
struct Emitter<'e, 'k> {
    kernel: &'e mut Kernel<'k>,
    f: Function,
    vars: FxHashMap<Var, Value>,
    /// Pointers that reach memory no other pointer of the function reaches.
    distinct: FxHashSet<Var>,
    /// Values of the shared nodes of the expression being evaluated, by node.
    memo: FxHashMap<usize, Value>,
    /// Nodes made on the way, kept so that no other takes their place in `memo`.
    made: Vec<PrimExpr>,
    /// Which lanes of a vector are wanted, inside a choice between vectors.
    wanted: Option<Value>,
    /// Workspaces to give back on the way out.
    workspaces: Vec<Value>,
    /// For each of them where a failure gives it back and those before it, once there was one.
    unwinding: Vec<Option<Label>>,
    /// Bytes of memory on the stack, which LLVM takes for anything until something is written there.
    stack_bytes: i64,
    loops: Vec<LoopScope>,
    /// The exact expression being evaluated.
    exact: Option<Exact>,
    /// True if minima and maxima may lose NaN, because the caller repeats the work then, see [`min_max`].
    may_lose_nan: bool,
}

/// An expression whose integers must not wrap: how errors call it, and the names and values of its variables.
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
    /// Workspaces that were live outside of it.
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
            wanted: None,
            workspaces: Vec::new(),
            unwinding: Vec::new(),
            stack_bytes: 0,
            loops: Vec::new(),
            exact: None,
            may_lose_nan: false,
        }
    }

    /// Calls an LLVM intrinsic; its name ends in the overload `suffix`.
    fn intrinsic(&mut self, name: &str, suffix: Ty, ret: Ty, args: &[&Value]) -> Value {
        let params: Vec<Ty> = args.iter().map(|a| a.ty).collect();
        let callee = self.kernel.module.declare(&format!("llvm.{name}.{}", suffix.suffix()), ret, &params);
        self.f.call(&callee, ret, args)
    }

    /// Leaves the function with a failure that has been reported.
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
        self.f.ret(&Value::int(-1, Ty::I32));
    }

    /// A value that decides what is done next, or has a name and so may. One read from memory that was never written may
    /// be another each time that LLVM looks at it, and then nothing holds that was checked: it is made to be one.
    fn settled(&mut self, e: &PrimExpr, value: Value) -> Value {
        let reads = || e.any(&mut |x| matches!(x.kind(), PrimKind::Load(..)));
        if self.stack_bytes > 0 && !e.dtype().is_floating() && !e.dtype().is_handle() && reads() {
            self.f.freeze(&value)
        } else {
            value
        }
    }

    /// The value of an expression that decides.
    fn decide(&mut self, e: &PrimExpr) -> Result<Value> {
        let value = self.eval(e)?;
        Ok(self.settled(e, value))
    }

    /// Goes on where the condition holds; elsewhere leaves the function with an error.
    fn require(&mut self, condition: &Value, kind: &str, message: &str) {
        let (failed, next) = (self.f.label(), self.f.label());
        self.f.branch(condition, next, failed);
        self.f.start(failed);
        self.raise(kind, message);
        self.fail();
        self.f.start(next);
    }

    /// Leaves the function when a call's status is not 0.
    fn check(&mut self, status: &Value) {
        let (failed, next) = (self.f.label(), self.f.label());
        let ok = self.f.compare("icmp eq", status, &Value::int(0, Ty::I32));
        self.f.branch(&ok, next, failed);
        self.f.start(failed);
        self.fail();
        self.f.start(next);
    }
}
