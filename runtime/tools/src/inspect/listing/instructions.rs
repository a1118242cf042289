//! Instructions as text.

use super::quote::global;
use hammock_runtime::executable::{Arg, Executable, Instruction, Register};

/// Formats an instruction; jumps go to the label that `target` returns for their offset.
pub(super) fn write(instruction: &Instruction, executable: &Executable, target: impl Fn(i64) -> String) -> String {
    match instruction {
        Instruction::Call { dst, function, args } => {
            let dst = if *dst == Register::VOID { String::new() } else { format!("{dst} = ") };
            let args: Vec<String> = args.iter().map(|arg| write_arg(*arg, executable)).collect();
            format!("{dst}call {}({})", function_name(*function, executable), args.join(", "))
        }
        Instruction::Ret { value } => format!("ret {value}"),
        Instruction::Goto { offset } => format!("goto {}", target(*offset)),
        Instruction::If { condition, false_offset } => format!("if {condition} else {}", target(*false_offset)),
    }
}

fn write_arg(arg: Arg, executable: &Executable) -> String {
    match arg {
        Arg::Register(register) => register.to_string(),
        Arg::Immediate(value) => value.to_string(),
        Arg::Constant(index) => format!("c{index}"),
        Arg::Function(index) => function_name(index, executable),
    }
}

fn function_name(index: i64, executable: &Executable) -> String {
    let function = usize::try_from(index).ok().and_then(|index| executable.functions.get(index));
    function.map_or_else(|| format!("@{index}"), |f| global(&f.name))
}
