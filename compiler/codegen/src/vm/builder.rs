//! Building executables: functions, constants, instructions, jumps.

use super::constants::ConstantPool;
use hammock_runtime::Tensor;
use hammock_runtime::executable::{
    Arg, Constant, Executable, ExecutableError, FunctionInfo, FunctionKind, Instruction, Register, verify,
};
use rustc_hash::FxHashMap;

/// Builds an executable, function by function.
///
/// ```
/// use hammock_codegen::vm::ExecBuilder;
/// use hammock_runtime::executable::Register;
///
/// let mut b = ExecBuilder::new();
/// b.begin_function("main", 1, vec!["x".into()]);
/// let args = vec![b.r(0), b.imm(2)];
/// b.emit_call("test.scale", args, Register(1));
/// b.emit_ret(Register(1));
/// b.end_function();
/// let executable = b.get().unwrap();
/// assert_eq!(executable.code.len(), 2);
/// ```
#[derive(Default)]
pub struct ExecBuilder {
    executable: Executable,
    functions: FxHashMap<String, i64>,
    constants: ConstantPool,
    /// The function being written, by index.
    open: Option<usize>,
}

impl ExecBuilder {
    /// An empty executable.
    pub fn new() -> Self {
        Self::default()
    }

    /// The index of a function in the table; it gets an entry of that kind if it has none.
    pub fn declare_function(&mut self, name: &str, kind: FunctionKind) -> i64 {
        if let Some(index) = self.functions.get(name) {
            return *index;
        }
        let index = self.executable.functions.len() as i64;
        self.executable.functions.push(FunctionInfo { kind, ..FunctionInfo::packed(name) });
        self.functions.insert(name.to_owned(), index);
        index
    }

    /// Starts a function of the executable; instructions follow until [`ExecBuilder::end_function`]. Its first
    /// registers hold its arguments; names of parameters may be left out.
    pub fn begin_function(&mut self, name: &str, num_inputs: usize, param_names: Vec<String>) {
        let index = self.declare_function(name, FunctionKind::Bytecode) as usize;
        let start = self.executable.code.len();
        let info = &mut self.executable.functions[index];
        info.kind = FunctionKind::Bytecode;
        info.start = start;
        info.num_args = num_inputs as i64;
        info.register_count = num_inputs;
        info.param_names = param_names;
        self.open = Some(index);
    }

    /// Ends the function.
    pub fn end_function(&mut self) {
        if let Some(index) = self.open.take() {
            self.executable.functions[index].end = self.executable.code.len();
        }
    }

    /// The argument for a register.
    pub fn r(&self, register: i64) -> Arg {
        Arg::Register(Register(register))
    }

    /// The argument for an integer: in the instruction when it fits there, else from the constant pool.
    pub fn imm(&mut self, value: i64) -> Arg {
        // The smallest of the immediates is left to the pool, as TVM leaves it.
        let fits = Arg::IMMEDIATES.contains(&value) && value != *Arg::IMMEDIATES.start();
        if fits { Arg::Immediate(value) } else { self.c(Constant::Int(value)) }
    }

    /// The argument for a constant: the same entry of the pool for equal ones.
    pub fn c(&mut self, constant: Constant) -> Arg {
        self.constants.arg(constant)
    }

    /// The argument for a constant tensor, perhaps in a memory scope.
    pub fn tensor(&mut self, tensor: Tensor, scope: Option<&str>) -> Arg {
        self.constants.tensor(tensor, scope)
    }

    /// The argument for a function as a value. One that is not in the table is found by name when it is loaded.
    pub fn f(&mut self, name: &str) -> Arg {
        Arg::Function(self.declare_function(name, FunctionKind::Packed))
    }

    /// The argument that is not a value.
    pub fn void_arg(&self) -> Arg {
        Arg::Register(Register::VOID)
    }

    /// The argument that is the machine itself.
    pub fn vm_state(&self) -> Arg {
        Arg::Register(Register::VM)
    }

    /// The number of instructions so far: the index of the next one.
    pub fn position(&self) -> usize {
        self.executable.code.len()
    }

    /// `dst = function(args)`. A function that is not in the table is found by name when it is loaded.
    pub fn emit_call(&mut self, function: &str, args: Vec<Arg>, dst: Register) {
        let function = self.declare_function(function, FunctionKind::Packed);
        self.emit_call_index(function, args, dst);
    }

    /// `dst = function(args)` for a function of the table by its index.
    pub fn emit_call_index(&mut self, function: i64, args: Vec<Arg>, dst: Register) {
        if let (Some(index), Some(open)) = (dst.index(), self.open) {
            let count = &mut self.executable.functions[open].register_count;
            *count = (*count).max(index + 1);
        }
        self.executable.code.push(&Instruction::Call { dst, function, args });
    }

    /// Returns a register's value.
    pub fn emit_ret(&mut self, value: Register) {
        self.executable.code.push(&Instruction::Ret { value });
    }

    /// Jumps by so many instructions; gives the jump's own index, for [`ExecBuilder::land`].
    pub fn emit_goto(&mut self, offset: i64) -> usize {
        self.executable.code.push(&Instruction::Goto { offset })
    }

    /// Goes on when the register is nonzero, else jumps by so many instructions; gives the instruction's own index, for
    /// [`ExecBuilder::land`].
    pub fn emit_if(&mut self, condition: Register, false_offset: i64) -> usize {
        self.executable.code.push(&Instruction::If { condition, false_offset })
    }

    /// Makes the next instruction the target of a jump written before.
    pub fn land(&mut self, jump: usize) {
        let offset = self.position() as i64 - jump as i64;
        self.executable.code.set_jump(jump, offset);
    }

    /// The executable.
    ///
    /// # Errors
    /// When it breaks a rule of [`verify`]: a register read before it is written, a jump out of its function, ….
    pub fn get(mut self) -> Result<Executable, ExecutableError> {
        self.end_function();
        (self.executable.constants, self.executable.memory_scopes) = self.constants.into_parts();
        verify::verify(&self.executable)?;
        Ok(self.executable)
    }
}
