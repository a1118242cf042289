//! Builds executables by hand, with short constructors for arguments and instructions.
//!
//! ```
//! use hammock_runtime::executable::{Executable, build::{reg, ret}, verify};
//!
//! let mut executable = Executable::default();
//! let body = [executable.call(1, "add", &[reg(0), reg(0)]), ret(1)];
//! executable.define("twice", 1, 2, &body);
//! verify::verify(&executable)?;
//! # Ok::<(), hammock_runtime::executable::ExecutableError>(())
//! ```
use super::{Arg, Constant, Executable, FunctionInfo, FunctionKind, Instruction, Register};

/// Number of the register whose value is none.
pub const VOID: i64 = Register::VOID.0;
/// The argument that passes the virtual machine.
pub const VM: Arg = Arg::Register(Register::VM);

/// A register as an argument.
pub fn reg(number: i64) -> Arg {
    Arg::Register(Register(number))
}

/// An immediate as an argument.
pub fn int(value: i64) -> Arg {
    Arg::Immediate(value)
}

/// Returns the value of a register.
pub fn ret(value: i64) -> Instruction {
    Instruction::Ret { value: Register(value) }
}

/// Jumps by `offset` instructions.
pub fn goto(offset: i64) -> Instruction {
    Instruction::Goto { offset }
}

/// Falls through if a register's value is true, otherwise jumps by `false_offset` instructions.
pub fn branch(condition: i64, false_offset: i64) -> Instruction {
    Instruction::If { condition: Register(condition), false_offset }
}

impl Executable {
    /// Index of the function `name` in the table. A new name gets an entry that is resolved when the executable is
    /// loaded.
    pub fn declare(&mut self, name: &str) -> i64 {
        let known = self.functions.iter().position(|function| function.name == name);
        known.unwrap_or_else(|| {
            self.functions.push(FunctionInfo::packed(name));
            self.functions.len() - 1
        }) as i64
    }

    /// Adds a constant to the pool and returns the argument that refers to it.
    pub fn constant(&mut self, constant: Constant) -> Arg {
        self.constants.push(constant);
        Arg::Constant(self.constants.len() as i64 - 1)
    }

    /// A call of the function `name`, which may be defined later; the result goes to `dst`.
    pub fn call(&mut self, dst: i64, name: &str, args: &[Arg]) -> Instruction {
        Instruction::Call { dst: Register(dst), function: self.declare(name), args: args.to_vec() }
    }

    /// Adds a bytecode function with parameters `p0`, `p1`, ….
    pub fn define(
        &mut self,
        name: &str,
        num_args: usize,
        register_count: usize,
        body: &[Instruction],
    ) -> &mut FunctionInfo {
        let index = self.declare(name) as usize;
        let start = self.code.len();
        for instruction in body {
            self.code.push(instruction);
        }
        self.functions[index] = FunctionInfo {
            kind: FunctionKind::Bytecode,
            name: name.to_owned(),
            start,
            end: self.code.len(),
            num_args: num_args as i64,
            register_count,
            param_names: (0..num_args).map(|i| format!("p{i}")).collect(),
        };
        &mut self.functions[index]
    }
}
