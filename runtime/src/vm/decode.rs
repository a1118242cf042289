//! Functions as the machine runs them: folded ([`crate::executable::compact`]), with addresses in place of callees.
use super::native::{MachineCode, NativeBody};
use super::program::{Native, Plans};
use crate::executable::compact::{self, CheckPlan, Compact, Content, Facts, Folding, PlacePlan, Slot};
use crate::executable::{Arg, Executable, Register};
use crate::image::{ArgumentCheck, Fit, KernelSignature};
use crate::value::{Any, Device};

pub(super) use super::native::NativeFunction as Callee;

/// A step.
pub(super) type Op = compact::Op<Callee>;

/// A call of a kernel, and how its arguments are looked at.
pub(super) struct CheckedKernel {
    pub(super) check: ArgumentCheck,
    pub(super) signature: u32,
    /// The call that follows.
    pub(super) call: Op,
}

/// A function of bytecode.
pub(super) struct Body {
    /// Its number in the function table.
    pub(super) function: u32,
    pub(super) ops: Vec<Op>,
    /// The instruction of the executable that each step begins with.
    pub(super) origins: Vec<u32>,
    /// Slots of all calls' arguments.
    pub(super) slots: Vec<Slot>,
    pub(super) num_args: usize,
    pub(super) registers: usize,
    /// What the frame's pool is filled with.
    pub(super) pool: Vec<Any>,
    /// Slots of the whole frame.
    pub(super) frame_size: usize,
    /// Plans of allocations, by number in the program.
    pub(super) allocs: Vec<u32>,
    pub(super) places: Vec<PlacePlan>,
    /// Plans of arenas, by number in the program.
    pub(super) arenas: Vec<u32>,
    pub(super) checks: Vec<CheckPlan>,
    pub(super) kernels: Vec<CheckedKernel>,
    /// Its machine code, if it has any and nobody looks on.
    pub(super) native: Option<NativeBody>,
}

/// What instructions refer to.
pub(super) struct Tables<'a> {
    pub(super) executable: &'a Executable,
    pub(super) signatures: &'a [KernelSignature],
    /// The function table; none for bytecode.
    pub(super) natives: &'a [Option<Native>],
    /// Its functions as values.
    pub(super) values: &'a [Any],
    pub(super) constants: &'a [Any],
    /// By index of the function table.
    pub(super) machine_code: &'a [Option<MachineCode>],
    /// The program's devices; the last is the host.
    pub(super) devices: &'a [Device],
}

/// The steps of a verified function.
pub(super) fn decode(tables: &Tables<'_>, function: usize, folding: Folding, plans: &mut Plans) -> Body {
    let info = &tables.executable.functions[function];
    let compact = compact::compact(tables.executable, info, folding);
    let pool: Vec<_> = compact.pool.iter().map(|arg| value(tables.values, tables.constants, *arg)).collect();
    let facts = Facts::new(tables.executable, &compact, pool.iter().map(Content::of).collect(), tables.devices);
    let mut linker = Linker { tables, compact: &compact, folding, facts, kernels: Vec::new() };
    let (mut ops, kernels) = (linker.ops(), linker.kernels);
    let machine_code = tables.machine_code[function].clone().filter(|_| folding == Folding::Full);
    let native = machine_code.map(|code| NativeBody::attach(code, &mut ops, &compact.entries()));
    Body {
        function: function as u32,
        ops,
        origins: compact.origins.iter().map(|origin| info.start as u32 + origin).collect(),
        num_args: compact.num_args,
        registers: compact.registers,
        frame_size: compact.registers + pool.len() + compact.most_args,
        pool,
        allocs: compact.allocs.iter().map(|plan| plans.number(plan)).collect(),
        slots: compact.slots,
        places: compact.places,
        arenas: compact.arenas.into_iter().map(|plan| plans.arena(plan)).collect(),
        checks: compact.checks,
        kernels,
        native,
    }
}

/// An argument that is not a register of the frame, as a value.
pub(super) fn value(functions: &[Any], constants: &[Any], arg: Arg) -> Any {
    match arg {
        Arg::Immediate(value) => value.into(),
        Arg::Constant(index) => constants[index as usize].clone(),
        Arg::Function(index) => functions[index as usize].clone(),
        // Builtins find the machine by the thread they run on; the argument only says that they want it.
        Arg::Register(Register::VM) => Any::opaque(std::ptr::null_mut()),
        Arg::Register(_) => Any::NONE,
    }
}

/// Puts addresses in place of callees, and checks before calls of kernels whose arguments may not fit.
struct Linker<'a> {
    tables: &'a Tables<'a>,
    compact: &'a Compact,
    folding: Folding,
    facts: Facts<'a>,
    kernels: Vec<CheckedKernel>,
}

impl Linker<'_> {
    fn ops(&mut self) -> Vec<Op> {
        let (compact, joins) = (self.compact, self.compact.targets());
        let op = |(at, op)| {
            // Whoever looks on may skip calls, and with them what they check.
            if self.folding == Folding::None || joins.contains(at) {
                self.facts.forget();
            }
            self.op(op)
        };
        compact.ops.iter().enumerate().map(op).collect()
    }

    fn op(&mut self, op: &compact::Op<u32>) -> Op {
        let call = op.map_callee(|function| match &self.tables.natives[function as usize] {
            Some(native) => native.callee,
            None => unreachable!("folding calls bytecode by Invoke"),
        });
        let linked = self.checked(op, call).unwrap_or(call);
        self.facts.step(op);
        linked
    }

    /// The call with a look at its arguments before, if it is that of a kernel and they may not fit.
    fn checked(&mut self, op: &compact::Op<u32>, call: Op) -> Option<Op> {
        let (args, native) = (op.native_args()?, self.tables.natives[op.native_callee()? as usize].as_ref()?);
        let number = native.signature?;
        let (signature, slots) = (&self.tables.signatures[number as usize], &self.compact.slots[args.range()]);
        if signature.fit(&self.facts, slots) == Fit::Surely {
            return None;
        }
        let is_writable = |arg: usize| {
            slots.get(arg).and_then(|slot| self.facts.tensor(*slot)).is_some_and(|tensor| tensor.is_writable)
        };
        let check = ArgumentCheck::new(signature, is_writable);
        signature.learn(&mut self.facts, slots);
        self.kernels.push(CheckedKernel { check, signature: number, call });
        Some(Op::CheckedCall { kernel: self.kernels.len() as u32 - 1, args })
    }
}
