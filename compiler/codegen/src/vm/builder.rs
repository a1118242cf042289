//! Writing executables: functions, constants, instructions, jumps.

use hammock_runtime::{
    DType, Shape, Str, Tensor,
    executable::{Arg, Constant, Executable, FunctionInfo, FunctionKind, Instruction, Register},
};
use std::collections::HashMap;

/// Builds an executable function by function.
#[derive(Default)]
pub struct ExecBuilder {
    executable: Executable,
    functions: HashMap<String, i64>,
    constants: HashMap<ConstantKey, i64>,
    /// The function being written, by index.
    open: Option<usize>,
}

/// What makes two constants one. Tensors are told apart by where their data lies: equal constants of a text are read
/// once each, and comparing weights byte by byte would cost more than it saves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConstantKey {
    /// Address, dtype and shape.
    Tensor(usize, DType, Vec<i64>),
    /// The bytes of a tensor of few of them, dtype and shape.
    Small(Vec<u8>, DType, Vec<i64>),
    /// Sizes.
    Shape(Vec<i64>),
    /// Text.
    Str(String),
    /// A number.
    Int(i64),
    /// A number's bits.
    Float(u64),
    /// A data type.
    DType(DType),
}

/// Tensors up to this size are compared by their bytes.
const SMALL_BYTES: usize = 64;

impl ConstantKey {
    fn of(constant: &Constant) -> ConstantKey {
        match constant {
            Constant::Tensor(t) => match t.as_bytes() {
                Ok(bytes) if bytes.len() <= SMALL_BYTES => {
                    ConstantKey::Small(bytes.to_vec(), t.dtype(), t.shape().to_vec())
                }
                _ => ConstantKey::Tensor(t.data_ptr() as usize, t.dtype(), t.shape().to_vec()),
            },
            Constant::Shape(s) => ConstantKey::Shape(s.as_slice().to_vec()),
            Constant::Str(s) => ConstantKey::Str(s.as_str().to_owned()),
            Constant::Int(v) => ConstantKey::Int(*v),
            Constant::Float(v) => ConstantKey::Float(v.to_bits()),
            Constant::DType(t) => ConstantKey::DType(*t),
        }
    }
}

impl ExecBuilder {
    /// An empty executable.
    pub fn new() -> Self {
        Self::default()
    }

    /// The index of a function found by name, or of a function of the executable.
    pub fn function(&mut self, name: &str, kind: FunctionKind) -> i64 {
        if let Some(index) = self.functions.get(name) {
            return *index;
        }
        let index = self.executable.functions.len() as i64;
        self.executable.functions.push(FunctionInfo { kind, ..FunctionInfo::packed(name) });
        self.functions.insert(name.to_owned(), index);
        index
    }

    /// Starts a function of the executable; instructions follow until [`ExecBuilder::end`].
    pub fn begin(&mut self, name: &str, param_names: Vec<String>) {
        let index = self.function(name, FunctionKind::Bytecode) as usize;
        let start = self.executable.code.len();
        let info = &mut self.executable.functions[index];
        info.start = start;
        info.num_args = param_names.len() as i64;
        info.param_names = param_names;
        self.open = Some(index);
    }

    /// Ends the function, whose frame has that many registers.
    pub fn end(&mut self, register_count: usize) {
        if let Some(index) = self.open.take() {
            let info = &mut self.executable.functions[index];
            info.end = self.executable.code.len();
            info.register_count = register_count;
        }
    }

    /// The argument for a constant: the same entry of the pool for equal ones.
    pub fn constant(&mut self, constant: Constant) -> Arg {
        let pool = &mut self.executable.constants;
        let index = *self.constants.entry(ConstantKey::of(&constant)).or_insert_with(|| {
            pool.push(constant);
            pool.len() as i64 - 1
        });
        Arg::Constant(index)
    }

    /// The argument for an integer: immediate when it fits.
    pub fn int(&mut self, value: i64) -> Arg {
        if Arg::IMMEDIATES.contains(&value) { Arg::Immediate(value) } else { self.constant(Constant::Int(value)) }
    }

    /// The argument for a float.
    pub fn float(&mut self, value: f64) -> Arg {
        self.constant(Constant::Float(value))
    }

    /// The argument for a string.
    pub fn str(&mut self, text: &str) -> Arg {
        self.constant(Constant::Str(Str::new(text)))
    }

    /// The argument for a data type.
    pub fn dtype(&mut self, dtype: DType) -> Arg {
        self.constant(Constant::DType(dtype))
    }

    /// The argument for a shape.
    pub fn shape(&mut self, sizes: &[i64]) -> Arg {
        self.constant(Constant::Shape(Shape::new(sizes)))
    }

    /// The argument for a tensor.
    pub fn tensor(&mut self, tensor: &Tensor) -> Arg {
        self.constant(Constant::Tensor(tensor.clone()))
    }

    /// The number of instructions so far: the index of the next one.
    pub fn position(&self) -> usize {
        self.executable.code.len()
    }

    /// `dst = function(args)`.
    pub fn emit_call(&mut self, function: i64, args: Vec<Arg>, dst: Register) {
        self.executable.code.push(&Instruction::Call { dst, function, args });
    }

    /// Calls a function found by name.
    pub fn emit_packed(&mut self, name: &str, args: Vec<Arg>, dst: Register) {
        let function = self.function(name, FunctionKind::Packed);
        self.emit_call(function, args, dst);
    }

    /// Returns a register.
    pub fn emit_ret(&mut self, value: Register) {
        self.executable.code.push(&Instruction::Ret { value });
    }

    /// A jump whose target is not known yet; [`ExecBuilder::land`] sets it.
    pub fn emit_goto(&mut self) -> usize {
        self.executable.code.push(&Instruction::Goto { offset: 0 })
    }

    /// A branch: goes on when the register is nonzero, else to a target that [`ExecBuilder::land`] sets.
    pub fn emit_if(&mut self, condition: Register) -> usize {
        self.executable.code.push(&Instruction::If { condition, false_offset: 0 })
    }

    /// Makes the next instruction the target of a jump or branch.
    pub fn land(&mut self, jump: usize) {
        let offset = (self.position() - jump) as i64;
        self.executable.code.set_jump(jump, offset);
    }

    /// The executable.
    pub fn finish(self) -> Executable {
        self.executable
    }
}
