//! Builder for executables: functions, constants, instructions, jumps.

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
    /// Index of the function under construction.
    open: Option<usize>,
}

impl ExecBuilder {
    /// Starts an empty executable.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the index of a function in the table; adds an entry of that kind if there is none.
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
    /// registers hold its arguments; parameter names are optional.
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

    /// Returns the argument for a register.
    pub fn r(&self, register: i64) -> Arg {
        Arg::Register(Register(register))
    }

    /// Returns the argument for an integer: an immediate if it fits, otherwise an entry of the constant pool.
    pub fn imm(&mut self, value: i64) -> Arg {
        // The smallest immediate goes to the pool, as in TVM.
        let fits = Arg::IMMEDIATES.contains(&value) && value != *Arg::IMMEDIATES.start();
        if fits { Arg::Immediate(value) } else { self.c(Constant::Int(value)) }
    }

    /// Returns the argument for a constant; equal constants share an entry of the pool.
    pub fn c(&mut self, constant: Constant) -> Arg {
        self.constants.arg(constant)
    }

    /// Returns the argument for a constant tensor, optionally in a memory scope, on the program's device of a number.
    pub fn tensor(&mut self, tensor: Tensor, scope: Option<&str>, device: i32) -> Arg {
        self.constants.tensor(tensor, scope, device)
    }

    /// Constants so far that are not on the first device, with the numbers of their devices.
    pub fn constant_devices(&self) -> &[(u32, i32)] {
        self.constants.devices()
    }

    /// Returns the argument for a function as a value. A function that is not in the table is resolved by name at load.
    pub fn f(&mut self, name: &str) -> Arg {
        Arg::Function(self.declare_function(name, FunctionKind::Packed))
    }

    /// Returns the void argument.
    pub fn void_arg(&self) -> Arg {
        Arg::Register(Register::VOID)
    }

    /// Returns the argument for the virtual machine itself.
    pub fn vm_state(&self) -> Arg {
        Arg::Register(Register::VM)
    }

    /// Number of instructions so far, which is the index of the next one.
    pub fn position(&self) -> usize {
        self.executable.code.len()
    }

    /// Emits `dst = function(args)`. A function that is not in the table is resolved by name at load.
    pub fn emit_call(&mut self, function: &str, args: Vec<Arg>, dst: Register) {
        let function = self.declare_function(function, FunctionKind::Packed);
        self.emit_call_index(function, args, dst);
    }

    /// Emits `dst = function(args)` for a function of the table by its index.
    pub fn emit_call_index(&mut self, function: i64, args: Vec<Arg>, dst: Register) {
        if let (Some(index), Some(open)) = (dst.index(), self.open) {
            let count = &mut self.executable.functions[open].register_count;
            *count = (*count).max(index + 1);
        }
        self.executable.code.push(&Instruction::Call { dst, function, args });
    }

    /// Emits a return of a register's value.
    pub fn emit_ret(&mut self, value: Register) {
        self.executable.code.push(&Instruction::Ret { value });
    }

    /// Emits a jump by `offset` instructions; returns the jump's index, for [`ExecBuilder::land`].
    pub fn emit_goto(&mut self, offset: i64) -> usize {
        self.executable.code.push(&Instruction::Goto { offset })
    }

    /// Emits a jump by `false_offset` instructions that is taken if the register is zero; returns its index, for
    /// [`ExecBuilder::land`].
    pub fn emit_if(&mut self, condition: Register, false_offset: i64) -> usize {
        self.executable.code.push(&Instruction::If { condition, false_offset })
    }

    /// Makes the next instruction the target of a jump.
    pub fn land(&mut self, jump: usize) {
        let offset = self.position() as i64 - jump as i64;
        self.executable.code.set_jump(jump, offset);
    }

    /// Returns the executable.
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
