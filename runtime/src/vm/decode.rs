//! Functions in executable form: folded ([`crate::executable::compact`]), with addresses as callees.
use super::instrument::CalleeKind;
use super::native::MachineCode;
use crate::executable::compact::{
    self, AllocPlan, ArenaPlan, CheckPlan, Compact, Content, Facts, Folding, Slot, SuballocPlan,
};
use crate::executable::{Arg, Executable, Register};
use crate::image::{ArgumentCheck, Fit, KernelSignature};
use crate::value::{Any, Device, Function};
use std::collections::HashMap;

pub(super) use super::native::NativeFunction as Callee;

/// A step.
pub(super) type Op = compact::Op<Callee>;

/// A kernel call with a check of its arguments.
pub(super) struct CheckedKernel {
    pub(super) check: ArgumentCheck,
    pub(super) signature: u32,
    /// The call.
    pub(super) call: Op,
}

/// The machine code of a body, and the steps that its entries replaced.
pub(super) struct NativeBody {
    pub(super) code: MachineCode,
    pub(super) replaced: Vec<Op>,
}

impl NativeBody {
    /// Replaces the steps at the entries with steps that enter machine code.
    fn attach(code: MachineCode, ops: &mut [Op], entries: &[u32]) -> NativeBody {
        let enter =
            |(entry, at): (usize, &u32)| std::mem::replace(&mut ops[*at as usize], Op::Native { entry: entry as u32 });
        let replaced = entries.iter().enumerate().map(enter).collect();
        NativeBody { code, replaced }
    }
}

/// A function of bytecode.
pub(super) struct Body {
    /// Its index in the function table.
    pub(super) function: u32,
    pub(super) ops: Vec<Op>,
    /// For each step, its first instruction in the executable.
    pub(super) origins: Vec<u32>,
    /// Slots of all calls' arguments.
    pub(super) slots: Vec<Slot>,
    pub(super) num_args: usize,
    pub(super) registers: usize,
    /// Initial contents of the frame's pool.
    pub(super) pool: Vec<Any>,
    /// Number of slots of the frame.
    pub(super) frame_size: usize,
    /// Indices of allocation plans in the program.
    pub(super) allocs: Vec<u32>,
    pub(super) suballocs: Vec<SuballocPlan>,
    /// Indices of arena plans in the program.
    pub(super) arenas: Vec<u32>,
    pub(super) checks: Vec<CheckPlan>,
    pub(super) kernels: Vec<CheckedKernel>,
    /// Its machine code, if it has any and no instrument is set.
    pub(super) native: Option<NativeBody>,
}

/// A function that is not bytecode, with the owner of its code.
pub(super) struct Native {
    pub(super) callee: Callee,
    pub(super) kind: CalleeKind,
    /// Index of the signature for the check of its arguments.
    pub(super) signature: Option<u32>,
    pub(super) value: Function,
}

/// An allocation.
pub(super) struct Plan {
    pub(super) alloc: AllocPlan,
    /// True if all sizes are constants.
    pub(super) is_static: bool,
}

/// Allocation plans of the program, without duplicates.
#[derive(Default)]
pub(super) struct Plans {
    pub(super) list: Vec<Plan>,
    numbers: HashMap<AllocPlan, u32>,
    pub(super) arenas: Vec<ArenaPlan>,
}

impl Plans {
    /// The index of a plan.
    pub(super) fn number(&mut self, plan: &AllocPlan) -> u32 {
        *self.numbers.entry(plan.clone()).or_insert_with(|| {
            self.list.push(Plan { alloc: plan.clone(), is_static: !plan.reads_heap() });
            self.list.len() as u32 - 1
        })
    }

    /// The index of an arena, which belongs to one function.
    pub(super) fn arena(&mut self, plan: ArenaPlan) -> u32 {
        self.arenas.push(plan);
        self.arenas.len() as u32 - 1
    }
}

/// Tables that instructions refer to.
pub(super) struct Tables<'a> {
    pub(super) executable: &'a Executable,
    pub(super) signatures: &'a [KernelSignature],
    /// By index of the function table; `None` for bytecode.
    pub(super) natives: &'a [Option<Native>],
    /// Functions as values.
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
        frame_size: compact.registers + pool.len() + compact.max_args,
        pool,
        allocs: compact.allocs.iter().map(|plan| plans.number(plan)).collect(),
        slots: compact.slots,
        suballocs: compact.suballocs,
        arenas: compact.arenas.into_iter().map(|plan| plans.arena(plan)).collect(),
        checks: compact.checks,
        kernels,
        native,
    }
}

/// The value of an argument that is not a register of the frame.
pub(super) fn value(functions: &[Any], constants: &[Any], arg: Arg) -> Any {
    match arg {
        Arg::Immediate(value) => value.into(),
        Arg::Constant(index) => constants[index as usize].clone(),
        Arg::Function(index) => functions[index as usize].clone(),
        // Builtins find the virtual machine through the current thread; the argument only requests it.
        Arg::Register(Register::VM) => Any::opaque(std::ptr::null_mut()),
        Arg::Register(_) => Any::NONE,
    }
}

/// Resolves callees to addresses, and inserts checks before kernel calls whose arguments may not fit.
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
            // An instrument may skip calls, and with them the checks they contain.
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

    /// The call with a check of its arguments, if it is a kernel call whose arguments may not fit.
    fn checked(&mut self, op: &compact::Op<u32>, call: Op) -> Option<Op> {
        let (args, native) = (op.native_args()?, self.tables.natives[op.native_callee()? as usize].as_ref()?);
        let number = native.signature?;
        let (signature, slots) = (&self.tables.signatures[number as usize], &self.compact.slots[args.range()]);
        if signature.fit(&self.facts, slots) == Fit::Always {
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
