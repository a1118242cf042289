//! Human-readable views, exactly in TVM's formats: text, Python, statistics.
use super::{Arg, Constant, Executable, FunctionInfo, FunctionKind, Instruction, Register};
use std::fmt::Write;

impl Executable {
    /// Formats the instructions, one per line.
    pub fn as_text(&self) -> String {
        let mut out = String::new();
        for function in &self.functions {
            let name = &function.name;
            let _ = match function.kind {
                FunctionKind::Packed => write!(out, "@{name} packed_func;\n\n"),
                FunctionKind::Compiled => {
                    let lines = self.lines(function);
                    write!(out, "@{name} num_inputs={} vm_tir_func;\n{lines}\n", function.num_args)
                }
                FunctionKind::Bytecode => write!(out, "@{name}:\n{}\n", self.lines(function)),
            };
        }
        out
    }

    /// Formats the instructions as calls of an `ExecBuilder` in Python.
    pub fn as_python(&self) -> String {
        let mut out = String::from("ib = rx.Builder()\n");
        for function in self.functions.iter().filter(|function| function.kind == FunctionKind::Bytecode) {
            let _ = writeln!(out, "with ib.function(\"{}\", num_inputs={}):", function.name, function.num_args);
            for instruction in self.instructions(function) {
                let _ = writeln!(out, "    {}", self.python_line(&instruction));
            }
        }
        out
    }

    /// Formats the contents of the constant pool and the function table.
    pub fn stats(&self) -> String {
        let constants: Vec<_> = self.constants.iter().map(describe).collect();
        let constants = constants.join(", ");
        let names: Vec<_> = self.functions.iter().map(|function| function.name.as_str()).collect();
        let (pool_size, table_size) = (self.constants.len(), self.functions.len());
        format!(
            "Relax VM executable statistics:\n  Constant pool (# {pool_size}): [{constants}]\n  Globals (#{table_size}): [{}]\n",
            names.join(", ")
        )
    }

    fn instructions(&self, function: &FunctionInfo) -> impl Iterator<Item = Instruction> {
        (function.start..function.end).filter_map(|at| self.code.get(at))
    }

    fn lines(&self, function: &FunctionInfo) -> String {
        self.instructions(function).map(|instruction| format!("  {}\n", self.line(&instruction))).collect()
    }

    fn function_name(&self, index: i64) -> Option<&str> {
        Some(&self.functions.get(usize::try_from(index).ok()?)?.name)
    }

    fn line(&self, instruction: &Instruction) -> String {
        match instruction {
            Instruction::Call { dst, function, args } => {
                let args: Vec<_> = args.iter().map(|arg| self.arg(*arg)).collect();
                format!("call  {:<16} in: {:<12} dst: {dst}", self.name_or_unknown(*function), args.join(", "))
            }
            Instruction::Ret { value } => format!("ret   {value}"),
            Instruction::Goto { offset } => format!("goto  {offset}"),
            Instruction::If { condition, false_offset } => format!("If    {condition}, {false_offset}"),
        }
    }

    fn name_or_unknown(&self, index: i64) -> String {
        self.function_name(index).map_or_else(|| format!("unknown_func_index({index})"), str::to_owned)
    }

    fn arg(&self, arg: Arg) -> String {
        match arg {
            Arg::Register(register) => register.to_string(),
            Arg::Immediate(value) => format!("i{value}"),
            Arg::Constant(index) => format!("c[{index}]"),
            Arg::Function(index) => format!("f[{}]", self.name_or_unknown(index)),
        }
    }

    fn python_line(&self, instruction: &Instruction) -> String {
        match instruction {
            Instruction::Call { dst, function, args } => {
                let args: Vec<_> = args.iter().map(|arg| self.python_arg(*arg)).collect();
                let dst = if *dst == Register::VOID { String::new() } else { format!(", dst=ib.r({})", dst.0) };
                format!("ib.emit_call({}, args=[{}]{dst})", self.python_name(*function), args.join(", "))
            }
            Instruction::Ret { value } => format!("ib.emit_ret(ib.r({}))", value.0),
            Instruction::Goto { offset } => format!("ib.emit_goto({offset})"),
            Instruction::If { condition, false_offset } => format!("ib.emit_if(ib.r({}), {false_offset})", condition.0),
        }
    }

    fn python_name(&self, index: i64) -> String {
        self.function_name(index)
            .map_or_else(|| format!("ib.unknown_func_index({index})"), |name| format!("\"{name}\""))
    }

    fn python_arg(&self, arg: Arg) -> String {
        match arg {
            Arg::Register(Register::VM) => "ib.r(vm)".into(),
            Arg::Register(register) => format!("ib.r({})", register.0),
            Arg::Immediate(value) => format!("ib.imm({value})"),
            Arg::Constant(index) => format!("ib.c({index})"),
            Arg::Function(index) => format!("ib.f({})", self.python_name(index)),
        }
    }
}

fn describe(constant: &Constant) -> String {
    match constant {
        Constant::Tensor(tensor) if tensor.shape().is_empty() => "scalar".into(),
        Constant::Tensor(tensor) => format!("[{}]", join(tensor.shape())),
        // TVM truncates the sizes of an empty shape by two characters.
        Constant::Shape(shape) if shape.is_empty() => "shapetupl]".into(),
        Constant::Shape(shape) => format!("shapetuple[{}]", join(shape)),
        Constant::Str(text) => format!("\"{text}\""),
        Constant::Int(value) => value.to_string(),
        Constant::Float(value) => value.to_string(),
        Constant::DType(dtype) => dtype.to_string(),
    }
}

fn join(sizes: &[i64]) -> String {
    sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}
