use super::*;
use crate::executable::build::{VM, VOID, branch, goto, int, reg, ret};
use crate::executable::{Constant, Instruction};
use crate::value::{DType, Device, Shape, Str};

#[derive(Default)]
struct Function {
    executable: Executable,
    code: Vec<Instruction>,
}

impl Function {
    fn call(&mut self, dst: i64, name: &str, args: &[Arg]) {
        let call = self.executable.call(dst, name, args);
        self.code.push(call);
    }

    fn ret(&mut self, value: i64) {
        self.code.push(ret(value));
    }

    fn constant(&mut self, constant: Constant) -> Arg {
        self.executable.constant(constant)
    }

    fn fold(&mut self, num_args: usize, register_count: usize, folding: Folding) -> Compact {
        self.executable.define("main", num_args, register_count, &self.code);
        crate::executable::verify::verify(&self.executable).unwrap();
        let info = self.executable.functions.iter().find(|function| function.name == "main").unwrap();
        compact(&self.executable, info, folding)
    }
}

/// Two kernels, each writing to memory of its own.
fn two_kernels(second_input: i64) -> Function {
    let mut f = Function::default();
    let size = f.constant(Constant::Shape(Shape::new(&[16])));
    let bytes = f.constant(Constant::DType(DType::UINT8));
    let float = f.constant(Constant::DType(DType::FLOAT32));
    let shape = f.constant(Constant::Shape(Shape::new(&[4])));
    let scope = f.constant(Constant::Str(Str::new("global")));
    for (storage, input, output) in [(1, 0, 2), (3, second_input, 4)] {
        f.call(storage, "vm.builtin.alloc_storage", &[VM, size, int(0), bytes, scope]);
        f.call(output, "vm.builtin.alloc_tensor", &[reg(storage), int(0), shape, float]);
        f.call(storage, "vm.builtin.null_value", &[]);
        f.call(VOID, "kernel", &[reg(input), reg(output)]);
    }
    f.call(2, "vm.builtin.null_value", &[]);
    f.ret(4);
    f
}

/// The registers that are known to hold a tensor of four aligned floats before a step.
fn planned(executable: &Executable, folded: &Compact, at: u32) -> Vec<Slot> {
    let content = |arg: &Arg| if let Arg::Immediate(value) = arg { Content::Int(*value) } else { Content::Unknown };
    let pool = folded.pool.iter().map(content).collect();
    let mut facts = Facts::new(executable, folded, pool, &[Device::CPU]);
    folded.ops[..at as usize].iter().for_each(|op| facts.step(op));
    let expected = TensorFacts {
        dtype: Some(DType::FLOAT32),
        dims: Some(vec![Some(4)]),
        device: Some(Device::CPU),
        is_dense: true,
        alignment: crate::memory::ALIGNMENT,
        is_writable: true,
    };
    (0..folded.registers as Slot).filter(|slot| facts.tensor(*slot) == Some(&expected)).collect()
}

#[test]
fn allocations_and_kills_fold_into_few_steps() {
    let mut f = two_kernels(2);
    let folded = f.fold(1, 5, Folding::Full);
    let args = |start| Slots { start, count: 2 };
    let kernel = |start| Op::CallVoid { callee: 3, args: args(start) };
    assert_eq!(
        folded.ops,
        [
            Op::Alloc { dst: 2, heap: 3, plan: 0 },
            kernel(0),
            Op::Alloc { dst: 1, heap: 3, plan: 0 },
            kernel(3),
            Op::Ret { value: 1 }
        ]
    );
    assert_eq!(folded.origins, [0, 3, 4, 7, 9]);
    assert_eq!(folded.slots, [0, 2, 0, 2, 1, 1, 2], "the second kernel clears slot 2");
    assert_eq!((folded.registers, folded.pool.len(), folded.allocs.len()), (4, 0, 1));
    let known: Vec<_> = (0..4).map(|at| planned(&f.executable, &folded, at)).collect();
    assert_eq!(known, [vec![], vec![2], vec![2], vec![1, 2]]);
}

#[test]
fn unfolded_functions_keep_every_call() {
    let plain = two_kernels(0).fold(1, 5, Folding::None);
    assert_eq!(plain.ops.len(), 10);
    assert!(plain.ops[..9].iter().all(|op| op.native_args().is_some()));
    assert_eq!(plain.registers, 6);
}

#[test]
fn shared_shapes_stay_separate_from_allocations() {
    let mut f = Function::default();
    let size = f.constant(Constant::Shape(Shape::new(&[16])));
    let float = f.constant(Constant::DType(DType::FLOAT32));
    let four = f.constant(Constant::Shape(Shape::new(&[4])));
    f.call(1, "vm.builtin.alloc_storage", &[VM, size, int(0), float]);
    f.call(2, "vm.builtin.alloc_tensor", &[reg(1), int(0), four, float]);
    f.call(3, "vm.builtin.alloc_tensor", &[reg(1), int(16), four, float]);
    f.call(VOID, "kernel", &[reg(2), reg(3)]);
    f.ret(3);
    let folded = f.fold(1, 4, Folding::Full);
    assert!(folded.allocs.is_empty());
    let Op::Suballoc { dst: aligned, .. } = folded.ops[1] else { panic!("{:?}", folded.ops) };
    assert_eq!(planned(&f.executable, &folded, 3), [aligned], "the other is not at a multiple of 64");
}

#[test]
fn facts_about_cleared_registers_are_dropped() {
    let mut f = two_kernels(2);
    f.code.truncate(8);
    f.call(4, "vm.builtin.null_value", &[]);
    f.call(VOID, "kernel", &[reg(4), reg(4)]);
    f.ret(2);
    let folded = f.fold(1, 5, Folding::Full);
    assert_eq!(planned(&f.executable, &folded, folded.ops.len() as u32 - 1), [2]);
}

#[test]
fn symbolic_allocations_read_the_heap() {
    let mut f = Function::default();
    let float = f.constant(Constant::DType(DType::FLOAT32));
    let bytes = f.constant(Constant::DType(DType::UINT8));
    f.call(1, "vm.builtin.alloc_shape_heap", &[VM, int(2)]);
    f.call(VOID, "vm.builtin.match_shape", &[reg(0), reg(1), int(1), int(1), int(0), int(0)]);
    f.call(2, "vm.builtin.make_shape", &[reg(1), int(1), int(1), int(1)]);
    f.call(3, "vm.builtin.alloc_storage", &[VM, reg(2), int(0), bytes]);
    f.call(4, "vm.builtin.make_shape", &[reg(1), int(2), int(1), int(0), int(0), int(7)]);
    f.call(5, "vm.builtin.alloc_tensor", &[reg(3), int(0), reg(4), float]);
    f.ret(5);
    let folded = f.fold(1, 6, Folding::Full);
    let [Op::Alloc { heap: none, .. }, Op::Check { heap: kept, .. }, Op::Alloc { heap, plan: 1, .. }, Op::Ret { .. }] =
        folded.ops[..]
    else {
        panic!("{:?}", folded.ops)
    };
    assert!(heap == kept && heap != none);
    assert_eq!(folded.allocs[1].shape, [Size::Heap(0), Size::Static(7)]);
    assert_eq!(folded.allocs[1].storage, [Size::Heap(1)]);
}

/// An allocation whose storage and tensor take the shape in register 2, which `read` reads once more.
fn one_shape_for_both(read: bool) -> Compact {
    let mut f = Function::default();
    let float = f.constant(Constant::DType(DType::FLOAT32));
    f.call(2, "vm.builtin.make_shape", &[reg(1), int(1), int(1), int(0)]);
    f.call(3, "vm.builtin.alloc_storage", &[VM, reg(2), int(0), float]);
    f.call(4, "vm.builtin.alloc_tensor", &[reg(3), int(0), reg(2), float]);
    f.ret(if read { 2 } else { 4 });
    f.fold(2, 5, Folding::Full)
}

#[test]
fn storage_and_tensor_may_take_one_shape() {
    let folded = one_shape_for_both(false);
    assert!(matches!(folded.ops[..], [Op::Alloc { heap: 1, plan: 0, .. }, Op::Ret { .. }]), "{:?}", folded.ops);
    assert_eq!(folded.allocs[0].storage, folded.allocs[0].shape);
    assert!(matches!(one_shape_for_both(true).ops[..], [Op::Call { .. }, ..]), "somebody else reads the shape");
}

/// A sequence of allocations; if `is_loop`, a loop follows.
fn row(length: usize, is_loop: bool) -> Compact {
    let mut f = Function::default();
    let size = f.constant(Constant::Shape(Shape::new(&[16])));
    let float = f.constant(Constant::DType(DType::FLOAT32));
    for _ in 0..length {
        f.call(2, "vm.builtin.alloc_storage", &[VM, size, int(0), float]);
        f.call(3, "vm.builtin.alloc_tensor", &[reg(2), int(0), size, float]);
        f.call(VOID, "kernel", &[reg(0), reg(3)]);
    }
    if is_loop {
        f.code.push(branch(1, 2));
        f.code.push(goto(-(f.code.len() as i64)));
    }
    f.ret(0);
    f.fold(2, 4, Folding::Full)
}

#[test]
fn machine_code_is_left_for_long_rows() {
    let left = |steps: &Compact| -> Vec<_> { steps.interpreted().iter().map(|left| (left.start, left.end)).collect() };
    assert_eq!(left(&row(100, false)), []);
    assert_eq!(left(&row(105, false)), [], "for a few steps it is not worth it");
    let long = row(200, false);
    assert_eq!((left(&long), long.entries()), (vec![(200, 400)], vec![0]));
    let in_loop = row(200, true);
    assert!(matches!(in_loop.ops[400..], [Op::If { .. }, Op::Loop { target: 0 }, Op::Ret { .. }]));
    assert_eq!((left(&in_loop), in_loop.entries()), (vec![(200, 400)], vec![0, 400]));
}

#[test]
fn conditions_and_last_copies_become_steps_of_their_own() {
    let mut f = Function::default();
    f.call(2, "vm.builtin.read_if_cond", &[reg(0)]);
    f.code.push(branch(2, 3));
    f.call(3, "vm.builtin.copy", &[int(7)]);
    f.code.push(goto(2));
    f.call(3, "vm.builtin.copy", &[reg(1)]);
    f.ret(3);
    let folded = f.fold(2, 4, Folding::Full);
    assert_eq!(
        folded.ops,
        [
            Op::Test { condition: 0, otherwise: 3 },
            Op::Copy { dst: 0, from: 4 },
            Op::Goto { target: 4 },
            Op::Move { dst: 0, from: 1 },
            Op::Ret { value: 0 }
        ]
    );
    assert_eq!(folded.pool, [int(7)]);
}

/// Two kernels whose tensors share one storage; `last` emits the use of the second kernel's output.
fn two_suballocs(last: &dyn Fn(&mut Function)) -> Compact {
    let mut f = Function::default();
    let size = f.constant(Constant::Shape(Shape::new(&[128])));
    let bytes = f.constant(Constant::DType(DType::UINT8));
    let float = f.constant(Constant::DType(DType::FLOAT32));
    let shape = f.constant(Constant::Shape(Shape::new(&[4])));
    f.call(1, "vm.builtin.alloc_storage", &[VM, size, int(0), bytes]);
    f.call(2, "vm.builtin.alloc_tensor", &[reg(1), int(0), shape, float]);
    f.call(VOID, "kernel", &[reg(0), reg(2)]);
    f.call(3, "vm.builtin.alloc_tensor", &[reg(1), int(64), shape, float]);
    f.call(1, "vm.builtin.null_value", &[]);
    f.call(VOID, "kernel", &[reg(2), reg(3)]);
    f.call(2, "vm.builtin.null_value", &[]);
    last(&mut f);
    f.fold(1, 6, Folding::Full)
}

#[test]
fn tensors_of_an_arena_are_like_constants() {
    let folded = two_suballocs(&|f| {
        f.call(VOID, "kernel", &[reg(3), reg(0)]);
        f.call(3, "vm.builtin.null_value", &[]);
        f.ret(0);
    });
    let (first, kernel) =
        (folded.registers as Slot, |start| Op::CallVoid { callee: 2, args: Slots { start, count: 2 } });
    assert_eq!(folded.ops, [Op::Arena { plan: 0 }, kernel(0), kernel(3), kernel(6), Op::Ret { value: 0 }]);
    assert_eq!(folded.slots, [0, first, 0, first, first + 1, 0, first + 1, 0, 0], "nothing is cleared");
    assert_eq!((folded.arenas[0].first, folded.pool.len(), folded.suballocs.len()), (first, 2, 0));
    assert_eq!(folded.arenas[0].tensors.iter().map(|plan| plan.offset).collect::<Vec<_>>(), [0, 64]);
}

/// A tensor moved out of an arena would be missing in the next call.
#[test]
fn tensors_of_an_arena_are_copied_and_not_moved() {
    let folded = two_suballocs(&|f| {
        f.call(4, "vm.builtin.copy", &[reg(3)]);
        f.ret(4);
    });
    let from = folded.registers as Slot + 1;
    assert!(matches!(folded.ops[..], [Op::Arena { .. }, _, _, Op::Copy { from: f, .. }, Op::Ret { .. }] if f == from));
}

#[test]
fn escaping_tensors_are_in_no_arena() {
    let suballocs = |last: &dyn Fn(&mut Function)| two_suballocs(last).suballocs.len();
    assert_eq!(suballocs(&|f| f.ret(3)), 2, "it is returned");
    let called = |f: &mut Function| {
        f.executable.define("other", 1, 1, &[ret(0)]);
        f.call(4, "other", &[reg(0)]);
        f.ret(4);
    };
    assert_eq!(suballocs(&called), 2, "bytecode runs in between");
    let again = |f: &mut Function| {
        f.code.push(goto(-3));
        f.ret(0);
    };
    assert_eq!(suballocs(&again), 2, "a loop would need two");
    let branch_only = |f: &mut Function| {
        f.call(4, "vm.builtin.read_if_cond", &[reg(3)]);
        f.code.push(branch(4, 2));
        f.call(VOID, "kernel", &[reg(3), reg(0)]);
        f.ret(0);
    };
    assert_eq!(suballocs(&branch_only), 0, "a branch does not matter");
}
