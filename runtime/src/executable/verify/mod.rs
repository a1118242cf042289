//! The verifier: rules that every executable must satisfy before any of it runs.
//!
//! Functions:
//! - no two functions of the table have the same name;
//! - bytecode is in the range of instructions, is not empty, and functions do not overlap;
//! - parameters fit the frame, frames have at most [`MAX_REGISTERS`] registers, names match parameters;
//! - a compiled function's frame has a register for its result after its parameters.
//!
//! Instructions:
//! - its words are valid, and it ends where the next one begins;
//! - registers are in the frame; the destination of a result is a register or void, never `%vm`;
//! - indices of constants and functions are in range;
//! - a call of a function of the executable passes as many arguments as the function has parameters;
//! - jump targets are in the function, an If jumps over at least one instruction, and control never reaches the end;
//! - every register is assigned on all paths to a read of it.
//!
//! The executable: instructions are contiguous, and memory scopes belong to tensors of the constant pool.
use super::flow::{self, BitSet, Flow};
use super::{Arg, Constant, Executable, ExecutableError, FunctionInfo, FunctionKind, Instruction, Register};
use crate::sort::{sort, sort_by};

/// Maximum number of registers of a frame.
pub const MAX_REGISTERS: usize = 1 << 20;
/// Maximum size in bits of the states of one function's assignment analysis.
const MAX_STATE_BITS: usize = 1 << 29;

/// Checks every rule.
pub fn verify(executable: &Executable) -> Result<(), ExecutableError> {
    check_scopes(executable)?;
    if !executable.code.is_gapless() {
        return Err(ExecutableError::Malformed("its instructions are not contiguous".into()));
    }
    check_names(executable)?;
    let mut ranges = Vec::new();
    for function in &executable.functions {
        let checker = Checker { executable, function };
        checker.check_signature()?;
        let has_code = function.kind == FunctionKind::Compiled && function.start < function.end;
        if function.kind == FunctionKind::Bytecode || has_code {
            ranges.push((function.start, function.end, function));
            checker.check_body()?;
        }
    }
    sort_by(&mut ranges, |a, b| a.0 < b.0);
    for pair in ranges.windows(2) {
        let checker = Checker { executable, function: pair[1].2 };
        checker.require(pair[0].1 <= pair[1].0, || "it shares instructions with another".into())?;
    }
    Ok(())
}

fn check_names(executable: &Executable) -> Result<(), ExecutableError> {
    let mut functions: Vec<_> = executable.functions.iter().collect();
    sort_by(&mut functions, |a, b| a.name < b.name);
    functions.windows(2).try_for_each(|pair| {
        let checker = Checker { executable, function: pair[1] };
        checker.require(pair[0].name != pair[1].name, || "another function has the same name".into())
    })
}

fn check_scopes(executable: &Executable) -> Result<(), ExecutableError> {
    let is_tensor = |index: &i64| {
        let constant = usize::try_from(*index).ok().and_then(|index| executable.constants.get(index));
        matches!(constant, Some(Constant::Tensor(_)))
    };
    let mut indices: Vec<i64> = executable.memory_scopes.iter().map(|(index, _)| *index).collect();
    sort(&mut indices);
    if let Some(index) = indices.iter().find(|index| !is_tensor(index)) {
        return Err(ExecutableError::Malformed(format!(
            "a memory scope is for constant {index}, which is not a tensor"
        )));
    }
    match indices.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(ExecutableError::Malformed(format!("constant {} has two memory scopes", pair[0]))),
        None => Ok(()),
    }
}

struct Checker<'a> {
    executable: &'a Executable,
    function: &'a FunctionInfo,
}

type Checked<T = ()> = Result<T, ExecutableError>;

impl Checker<'_> {
    fn require(&self, holds: bool, rule: impl FnOnce() -> String) -> Checked {
        if holds {
            return Ok(());
        }
        Err(ExecutableError::Function { function: self.function.name.clone(), rule: rule() })
    }

    fn broken(&self, at: usize, rule: impl Into<String>) -> ExecutableError {
        let (function, instruction) = (self.function.name.clone(), at - self.function.start);
        ExecutableError::Instruction { function, instruction, rule: rule.into() }
    }

    fn check_signature(&self) -> Checked {
        let FunctionInfo { kind, start, end, num_args, register_count, ref param_names, .. } = *self.function;
        if kind == FunctionKind::Packed {
            return Ok(());
        }
        let params = usize::try_from(num_args).unwrap_or(usize::MAX);
        self.require(register_count <= MAX_REGISTERS, || format!("it has {register_count} registers"))?;
        // A function that only has machine code, from another compiler, returns its result in a register after the
        // parameters.
        let keeps_result = kind == FunctionKind::Compiled && start == end;
        let room = params.saturating_add(usize::from(keeps_result));
        self.require(room <= register_count, || {
            format!("{register_count} registers cannot hold {num_args} parameters")
        })?;
        let named = param_names.is_empty() || param_names.len() == params;
        self.require(named, || format!("it names {} of {num_args} parameters", param_names.len()))
    }

    fn check_body(&self) -> Checked {
        let FunctionInfo { start, end, .. } = *self.function;
        let within = start < end && end <= self.executable.code.len();
        self.require(within, || format!("it has no instructions {start}..{end}"))?;
        let instructions = (start..end).map(|at| self.check_instruction(at)).collect::<Checked<Vec<_>>>()?;
        self.check_assignments(&instructions)
    }

    fn check_instruction(&self, at: usize) -> Checked<Instruction> {
        let instruction = self.executable.code.get(at).ok_or_else(|| self.broken(at, "it does not decode"))?;
        match &instruction {
            Instruction::Call { dst, function, args } => self.check_call(at, *dst, *function, args)?,
            Instruction::Ret { value } => self.check_register(at, *value)?,
            Instruction::Goto { offset } => self.check_jump(at, *offset)?,
            Instruction::If { condition, false_offset } => {
                self.check_register(at, *condition)?;
                self.check_jump(at, *false_offset)?;
                if *false_offset < 2 {
                    return Err(self.broken(at, format!("an If cannot jump by {false_offset}")));
                }
            }
        }
        let falls_through = !matches!(instruction, Instruction::Ret { .. } | Instruction::Goto { .. });
        if falls_through && at + 1 == self.function.end {
            return Err(self.broken(at, "the function ends without returning"));
        }
        Ok(instruction)
    }

    fn check_call(&self, at: usize, dst: Register, callee: i64, args: &[Arg]) -> Checked {
        if dst != Register::VOID && dst.index().is_none() {
            return Err(self.broken(at, format!("a result cannot go to {dst}")));
        }
        self.check_register(at, dst)?;
        for arg in args {
            self.check_arg(at, *arg)?;
        }
        let callee = self.check_function(at, callee)?;
        let expected = callee.num_args;
        if callee.kind != FunctionKind::Packed && expected != args.len() as i64 {
            let rule = format!("`{}` takes {expected} arguments, not {}", callee.name, args.len());
            return Err(self.broken(at, rule));
        }
        Ok(())
    }

    fn check_arg(&self, at: usize, arg: Arg) -> Checked {
        match arg {
            Arg::Register(register) => self.check_register(at, register),
            Arg::Immediate(_) => Ok(()),
            Arg::Function(index) => self.check_function(at, index).map(|_| ()),
            Arg::Constant(index) => match usize::try_from(index) {
                Ok(found) if found < self.executable.constants.len() => Ok(()),
                _ => Err(self.broken(at, format!("there is no constant {index}"))),
            },
        }
    }

    fn check_function(&self, at: usize, index: i64) -> Checked<&FunctionInfo> {
        let function = usize::try_from(index).ok().and_then(|index| self.executable.functions.get(index));
        function.ok_or_else(|| self.broken(at, format!("there is no function {index}")))
    }

    fn check_register(&self, at: usize, register: Register) -> Checked {
        let exists = match register.index() {
            Some(index) => index < self.function.register_count,
            None => register == Register::VOID || register == Register::VM,
        };
        if exists { Ok(()) } else { Err(self.broken(at, format!("there is no register {register}"))) }
    }

    fn check_jump(&self, at: usize, offset: i64) -> Checked {
        match (at as i64).checked_add(offset) {
            Some(target) if (self.function.start as i64..self.function.end as i64).contains(&target) => Ok(()),
            _ => Err(self.broken(at, format!("a jump by {offset} leaves the function"))),
        }
    }

    /// Solves "assigned on every path" as a forward data-flow problem over basic blocks, then checks every read.
    fn check_assignments(&self, instructions: &[Instruction]) -> Checked {
        let flow = Flow::new(instructions);
        let bits = self.function.register_count.next_multiple_of(64);
        let small = flow.len().saturating_mul(bits) <= MAX_STATE_BITS;
        self.require(small, || "it has too many registers and branches".into())?;
        let mut entry = BitSet::new(self.function.register_count);
        (0..self.function.num_args as usize).for_each(|param| entry.insert(param));
        let mut states: Vec<Option<BitSet>> = vec![None; flow.len()];
        states[0] = Some(entry);
        let mut work = vec![0];
        while let Some(block) = work.pop() {
            let Some(mut state) = states[block].clone() else { continue };
            flow.block(block)
                .filter_map(|at| flow::writes(&instructions[at]))
                .for_each(|register| state.insert(register));
            for target in flow.successors(block) {
                let met = states[target].as_mut().map(|known| known.intersect(&state));
                if met != Some(false) {
                    states[target].get_or_insert_with(|| state.clone());
                    work.push(target);
                }
            }
        }
        let reached = states.into_iter().enumerate().filter_map(|(block, state)| Some((block, state?)));
        reached.into_iter().try_for_each(|(block, state)| self.check_reads(&flow, block, state))
    }

    fn check_reads(&self, flow: &Flow<'_>, block: usize, mut state: BitSet) -> Checked {
        for at in flow.block(block) {
            let instruction = &flow.code[at];
            if let Some(unset) = flow::reads(instruction).find(|register| !state.contains(*register)) {
                let rule = format!("register %{unset} is read before it is assigned");
                return Err(self.broken(self.function.start + at, rule));
            }
            flow::writes(instruction).into_iter().for_each(|register| state.insert(register));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
