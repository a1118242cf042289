//! Mutations of an executable's contents that preserve the format.

use hammock_runtime::{
    DType, Executable, Shape, Str, Tensor, builtins,
    executable::{Arg, Code, Constant, FunctionInfo, FunctionKind, Instruction, Register},
};

/// Random numbers derived from a seed.
pub struct Random(pub fastrand::Rng);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0.u64(..)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        self.0.usize(..limit.max(1))
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    /// A number that is probably an edge case.
    fn number(&mut self) -> i64 {
        match self.below(4) {
            0 => self.below(8) as i64,
            1 => -(self.below(4) as i64),
            2 => self.pick(&[64, 255, 256, 1 << 20, 1 << 31, 1 << 40, (1 << 55) - 1, -(1 << 55), i64::MAX, i64::MIN]),
            _ => self.next() as i64 >> self.below(64),
        }
    }
}

/// An executable with mutable instructions.
pub struct Mutant {
    pub executable: Executable,
    code: Vec<Instruction>,
}

/// Builtins that write to standard output.
const PRINTERS: &[&str] = &["vm.builtin.debug_print", "relax.run.print"];

impl Mutant {
    /// Wraps an executable; its table gets every builtin, so that any may be called.
    pub fn new(executable: &Executable) -> Mutant {
        let code = (0..executable.code.len()).filter_map(|at| executable.code.get(at)).collect();
        let mut executable = executable.clone();
        for builtin in builtins().filter(|b| !PRINTERS.contains(&b.name)) {
            if !executable.functions.iter().any(|f| f.name == builtin.name) {
                executable.functions.push(FunctionInfo::packed(builtin.name));
            }
        }
        Mutant { executable, code }
    }

    /// The executable with some mutations.
    pub fn changed(&self, random: &mut Random) -> Executable {
        let (mut executable, mut code) = (self.executable.clone(), self.code.clone());
        for _ in 0..1 + random.below(3) {
            match random.below(10) {
                0 => change_function(&mut executable, random),
                1 => change_constant(&mut executable, random),
                _ => {
                    let at = random.below(code.len());
                    let size = (executable.functions.len(), executable.constants.len());
                    change_instruction(&mut code, at, size, random);
                }
            }
        }
        executable.code = Code::default();
        for instruction in &code {
            executable.code.push(instruction);
        }
        executable
    }
}

fn change_function(executable: &mut Executable, random: &mut Random) {
    let count = executable.functions.len();
    let own = executable.functions.iter().filter(|f| f.kind == FunctionKind::Bytecode).count();
    let at = if random.below(2) == 0 { random.below(count) } else { random.below(own.max(1)) };
    let other = random.below(count);
    let function = &mut executable.functions[at];
    match random.below(7) {
        0 => function.num_args = random.number(),
        1 => function.register_count = random.below(20),
        2 => function.start = random.below(40),
        3 => function.end = random.below(40),
        4 => function.kind = random.pick(&[FunctionKind::Packed, FunctionKind::Bytecode, FunctionKind::Compiled]),
        5 => executable.functions.swap(at, other),
        _ => function.param_names = vec!["x".into(); random.below(4)],
    }
}

fn change_constant(executable: &mut Executable, random: &mut Random) {
    if executable.constants.is_empty() {
        return;
    }
    let at = random.below(executable.constants.len());
    executable.constants[at] = constant(random);
    if random.below(8) == 0 {
        executable.memory_scopes.push((random.number(), "global.texture".into()));
    }
}

fn constant(random: &mut Random) -> Constant {
    let sizes = |random: &mut Random| (0..random.below(4)).map(|_| random.number()).collect::<Vec<_>>();
    match random.below(7) {
        0 => Constant::Shape(Shape::new(&sizes(random))),
        1 => Constant::Str(Str::new(random.pick(&["", "global", "é", "\0", "float32", "{} {0} {x"]))),
        2 => Constant::Int(random.number()),
        3 => Constant::Float(random.pick(&[0.0, -1.5, 1e300, f64::NAN, f64::INFINITY])),
        4 => Constant::DType(DType::new(random.next() as u8, random.next() as u8, random.next() as u16)),
        5 => Constant::DType(random.pick(&[DType::BOOL, DType::FLOAT16, DType::INT64, DType::HANDLE, DType::VOID])),
        _ => {
            let values: Vec<i64> = (0..random.below(5)).map(|_| random.number()).collect();
            Tensor::from_slice(&[values.len() as i64], &values).map_or(Constant::Int(0), Constant::Tensor)
        }
    }
}

fn change_instruction(code: &mut [Instruction], at: usize, size: (usize, usize), random: &mut Random) {
    let (functions, constants) = size;
    match &mut code[at] {
        Instruction::Call { dst, function, args } => match random.below(6) {
            0 => *dst = register(random),
            1 => *function = index(functions, random),
            2 if !args.is_empty() => drop(args.remove(random.below(args.len()))),
            3 => args.insert(random.below(args.len() + 1), argument(functions, constants, random)),
            4 if !args.is_empty() => {
                let at = random.below(args.len());
                args[at] = argument(functions, constants, random);
            }
            _ => {
                // Another function, whatever its number of parameters.
                *function = index(functions, random);
                *args = (0..random.below(7)).map(|_| argument(functions, constants, random)).collect();
            }
        },
        Instruction::Ret { value } => *value = register(random),
        Instruction::Goto { offset } => *offset = random.below(20) as i64 - 10,
        Instruction::If { condition, false_offset } => match random.below(2) {
            0 => *condition = register(random),
            _ => *false_offset = random.below(20) as i64 - 5,
        },
    }
    if random.below(12) == 0 {
        code[at] = match random.below(3) {
            0 => Instruction::Ret { value: register(random) },
            1 => Instruction::Goto { offset: random.below(20) as i64 - 10 },
            _ => Instruction::If { condition: register(random), false_offset: 2 + random.below(9) as i64 },
        };
    }
}

fn register(random: &mut Random) -> Register {
    match random.below(12) {
        0 => Register::VOID,
        1 => Register::VM,
        2 => Register(random.number()),
        _ => Register(random.below(8) as i64),
    }
}

fn index(limit: usize, random: &mut Random) -> i64 {
    if random.below(16) == 0 { random.number() } else { random.below(limit) as i64 }
}

fn argument(functions: usize, constants: usize, random: &mut Random) -> Arg {
    match random.below(8) {
        0 => Arg::Function(index(functions, random)),
        1 | 2 => Arg::Constant(index(constants, random)),
        3 | 4 => Arg::Immediate(random.number().clamp(*Arg::IMMEDIATES.start(), *Arg::IMMEDIATES.end())),
        _ => Arg::Register(register(random)),
    }
}
