//! Folding preserves results: random programs give the same results folded and step by step, as instruments run them.
use super::*;
use crate::executable::{Instruction, Register};
use crate::value::DType;
use proptest::prelude::*;

/// Registers of a random function; the first two are its parameters.
const REGISTERS: i64 = 7;

/// An instrument that does nothing.
struct Idle;

impl Instrument for Idle {}

/// A random instruction. Register and instruction numbers are taken modulo their count.
#[derive(Debug, Clone)]
enum Draw {
    Copy(i64, i64),
    Number(i64, i64),
    Null(i64),
    Call(usize, i64, i64, i64),
    Tuple(i64, i64, i64),
    Field(i64, i64, i64),
    Alloc(i64, i64),
    Kernel(i64, i64),
    If(i64, i64),
    Test(i64, i64, i64),
    Goto(i64),
    Ret(i64),
}

fn draw() -> impl Strategy<Value = Draw> {
    let r = || 0..REGISTERS;
    prop_oneof![
        3 => (r(), r()).prop_map(|(a, b)| Draw::Copy(a, b)),
        2 => (r(), 0..3i64).prop_map(|(a, b)| Draw::Number(a, b)),
        3 => r().prop_map(Draw::Null),
        4 => (0..5usize, r(), r(), r()).prop_map(|(f, a, b, c)| Draw::Call(f, a, b, c)),
        2 => (r(), r(), r()).prop_map(|(a, b, c)| Draw::Tuple(a, b, c)),
        1 => (r(), r(), 0..2i64).prop_map(|(a, b, c)| Draw::Field(a, b, c)),
        3 => (r(), r()).prop_map(|(a, b)| Draw::Alloc(a, b)),
        3 => (r(), r()).prop_map(|(a, b)| Draw::Kernel(a, b)),
        2 => (r(), 2..6i64).prop_map(|(a, b)| Draw::If(a, b)),
        1 => (r(), r(), 2..6i64).prop_map(|(a, b, c)| Draw::Test(a, b, c)),
        1 => (1..5i64).prop_map(Draw::Goto),
        1 => r().prop_map(Draw::Ret),
    ]
}

/// Constants that random functions use.
struct Constants {
    size: Arg,
    shape: Arg,
    float: Arg,
    bytes: Arg,
}

/// The instructions of a random instruction.
fn instructions(a: &mut Assembler, constants: &Constants, draw: &Draw) -> Vec<Instruction> {
    let &Constants { size, shape, float, bytes } = constants;
    let vm = Arg::Register(Register::VM);
    match *draw {
        Draw::Copy(dst, from) => vec![a.call(dst, "vm.builtin.copy", &[reg(from)])],
        Draw::Number(dst, value) => vec![a.call(dst, "vm.builtin.copy", &[int(value)])],
        Draw::Null(dst) => vec![a.call(dst, "vm.builtin.null_value", &[])],
        Draw::Call(f, dst, x, y) => {
            let name = ["add", "sub", "mul", "first", "second"][f];
            vec![a.call(dst, name, &[reg(x), reg(y)])]
        }
        Draw::Tuple(dst, x, y) => vec![a.call(dst, "vm.builtin.make_tuple", &[reg(x), reg(y)])],
        Draw::Field(dst, x, i) => vec![a.call(dst, "vm.builtin.tuple_getitem", &[reg(x), int(i)])],
        Draw::Alloc(storage, dst) => vec![
            a.call(storage, "vm.builtin.alloc_storage", &[vm, size, int(0), bytes]),
            a.call(dst, "vm.builtin.alloc_tensor", &[reg(storage), int(0), shape, float]),
            a.call(VOID, "fill", &[reg(dst)]),
        ],
        Draw::Kernel(x, y) => vec![a.call(VOID, "add_to", &[reg(x), reg(y)])],
        Draw::If(c, offset) => vec![branch(c, offset)],
        Draw::Test(dst, c, offset) => vec![a.call(dst, "vm.builtin.read_if_cond", &[reg(c)]), branch(dst, offset)],
        Draw::Goto(offset) => vec![goto(offset)],
        Draw::Ret(value) => vec![ret(value)],
    }
}

/// A function with two parameters: every register gets a value, followed by the random instructions. Jumps beyond the
/// end go to the last instruction.
fn function(a: &mut Assembler, constants: &Constants, name: &str, draws: &[Draw]) {
    let mut body: Vec<_> = (2..REGISTERS).map(|r| a.call(r, "vm.builtin.copy", &[reg(r % 2)])).collect();
    body.extend(draws.iter().flat_map(|draw| instructions(a, constants, draw)).collect::<Vec<_>>());
    body.extend([ret(2), ret(3)]);
    let last = body.len() as i64 - 1;
    for (at, instruction) in body.iter_mut().enumerate() {
        let most = last - at as i64;
        match instruction {
            Instruction::If { false_offset, .. } => *false_offset = (*false_offset).min(most),
            Instruction::Goto { offset } => *offset = (*offset).min(most),
            _ => (),
        }
        if matches!(instruction, Instruction::If { false_offset: ..2, .. }) {
            *instruction = ret(0);
        }
    }
    a.define(name, 2, REGISTERS as usize, &body);
}

/// `fill(t)` writes ones; `add_to(x, y)` adds x to y in place. Both reject other arguments.
fn kernel(name: &str) -> Option<Function> {
    fn data(value: &Any) -> Result<*mut [f32; 4], Error> {
        let tensor = value.get::<&Tensor>().filter(|tensor| tensor.shape() == [4]);
        let tensor = tensor.ok_or_else(|| Error::type_error(format!("{value} is not a vector")))?;
        Ok(tensor.data_ptr().cast())
    }
    match name {
        "fill" => Some(Function::new(|args| {
            // SAFETY: four floats that the program owns, which runs on this thread only.
            unsafe { data(&args[0])?.write([1.0; 4]) };
            Ok(Any::NONE)
        })),
        "add_to" => Some(Function::new(|args| {
            let (x, y) = (data(&args[0])?, data(&args[1])?);
            // SAFETY: as above.
            unsafe { y.write(std::array::from_fn(|i| (*x)[i] + (*y)[i])) };
            Ok(Any::NONE)
        })),
        other => arithmetic(other),
    }
}

fn outcome(vm: &Vm, args: &[Any]) -> Result<String, String> {
    vm.call("main", args).map(|value| value.to_string()).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 800 }))]

    #[test]
    fn folded_programs_do_the_same(
        first in prop::collection::vec(draw(), 0..10),
        second in prop::collection::vec(draw(), 0..10),
        main in prop::collection::vec(draw(), 0..30),
        x in 0..3i64,
    ) {
        let mut a = Assembler::default();
        let constants = Constants {
            size: a.constant(Constant::Shape(Shape::new(&[16]))),
            shape: a.constant(Constant::Shape(Shape::new(&[4]))),
            float: a.constant(Constant::DType(DType::FLOAT32)),
            bytes: a.constant(Constant::DType(DType::UINT8)),
        };
        // Functions must not be mutually recursive.
        let calm = |draws: &[Draw], most: usize| -> Vec<Draw> {
            draws.iter().filter(|draw| !matches!(draw, Draw::Call(f, ..) if *f >= most)).cloned().collect()
        };
        function(&mut a, &constants, "first", &calm(&first, 3));
        function(&mut a, &constants, "second", &calm(&second, 4));
        function(&mut a, &constants, "main", &main);
        let vm = Vm::new(a.image(), Options::default(), |name| Ok(kernel(name))).unwrap();
        let tensor = Tensor::from_slice(&[4], &[1f32, 2.0, 3.0, 4.0]).unwrap();
        let args = || [Any::from(x), Any::from(Tensor::from_slice(&[4], tensor.as_slice::<f32>().unwrap()).unwrap())];
        vm.set_instrument(Some(Arc::new(Idle)));
        let plain = outcome(&vm, &args());
        vm.set_instrument(None);
        // Twice, because the second run reuses tensors.
        prop_assert_eq!(&outcome(&vm, &args()), &plain);
        prop_assert_eq!(&outcome(&vm, &args()), &plain);
        prop_assert_eq!(vm.memory().used, 0, "nothing is lost");
    }
}
