//! A kernel's code: the functions that it calls, then itself, with their registers and variables side by side.
//!
//! Each function has registers and local memory of its own, for there is no recursion.
use super::{Context, Decoder, Frame};
use crate::ptx::{
    Kernel, ParseError,
    op::{Code, Guard, Instruction, Op},
    parse::Syntax,
    syntax::{FrameSpace, Function, Operand, Statement, Symbol},
};
use std::collections::HashSet;

/// Decodes an entry.
pub(crate) fn decode_kernel(syntax: &Syntax, entry: &Function) -> Result<(Kernel, Code), ParseError> {
    let mut order = Vec::new();
    visit(syntax, entry, &mut Vec::new(), &mut order)?;
    let mut code = Code::default();
    let shared = place_shared(syntax, &order, &mut code)?;
    let mut frames: Vec<Frame<'_>> = Vec::new();
    for &function in &order {
        let mut frame = place_frame(function, &mut code)?;
        frame.is_entry = std::ptr::eq(function, entry);
        frame.first = code.instructions.len() as u32;
        let Syntax { target, version, .. } = *syntax;
        decode_function(&frame, &Context { target, version, shared: &shared, callees: &frames }, &mut code)?;
        frames.push(frame);
    }
    code.has_read_only_loads = code.instructions.iter().any(|instruction| match &instruction.op {
        Op::Load { access, .. } => access.is_read_only,
        _ => false,
    });
    code.entry = frames.last().map_or(0, |frame| frame.first as usize);
    let kernel = Kernel {
        name: entry.name.clone(),
        params: entry.kernel_params.clone(),
        param_bytes: entry.param_bytes,
        max_block: entry.max_block,
        required_block: entry.required_block,
        min_blocks: entry.min_blocks,
        shared_bytes: code.shared_bytes,
        local_bytes: code.local_bytes,
        registers: order.iter().map(|function| function.registers.len() as u32).sum(),
        code: std::sync::Arc::default(),
    };
    Ok((kernel, code))
}

fn error<T>(line: u32, message: impl Into<String>) -> Result<T, ParseError> {
    Err(ParseError { line, message: message.into() })
}

/// Functions that `function` calls, those called first, then itself.
fn visit<'a>(
    syntax: &'a Syntax,
    function: &'a Function,
    path: &mut Vec<&'a str>,
    order: &mut Vec<&'a Function>,
) -> Result<(), ParseError> {
    if path.contains(&function.name.as_str()) {
        return error(function.line, format!("unsupported: recursion of `{}`", function.name));
    }
    if order.iter().any(|done| done.name == function.name) {
        return Ok(());
    }
    path.push(&function.name);
    for statement in function.statements.iter().filter(|statement| statement.name.starts_with("call")) {
        let names = statement.operands.iter().filter_map(|operand| match operand {
            Operand::Name(name) => Some(name),
            _ => None,
        });
        for name in names {
            let callee = syntax.functions.iter().find(|other| other.has_body && !other.is_entry && other.name == *name);
            let Some(callee) = callee else {
                return error(statement.line, format!("call of `{name}`, which the module does not define"));
            };
            visit(syntax, callee, path, order)?;
        }
    }
    path.pop();
    order.push(function);
    Ok(())
}

/// Gives offsets to the shared variables that the functions use, dynamic ones behind all others.
fn place_shared(syntax: &Syntax, order: &[&Function], code: &mut Code) -> Result<Vec<u32>, ParseError> {
    let mut used = HashSet::new();
    for statement in order.iter().flat_map(|function| &function.statements) {
        for operand in &statement.operands {
            find_shared(operand, &mut used);
        }
    }
    let mut offsets = vec![0; syntax.shared.len()];
    let mut dynamic_align = 16;
    for (index, variable) in syntax.shared.iter().enumerate().filter(|(index, _)| used.contains(index)) {
        let Some(bytes) = variable.bytes else {
            dynamic_align = dynamic_align.max(variable.align);
            continue;
        };
        let end = code.shared_bytes.checked_next_multiple_of(variable.align);
        let Some((offset, end)) = end.and_then(|offset| Some((offset, offset.checked_add(bytes)?))) else {
            return error(order[order.len() - 1].line, "more than 4 GiB of shared memory");
        };
        offsets[index] = offset;
        code.shared_bytes = end;
    }
    code.dynamic_offset = code.shared_bytes.next_multiple_of(dynamic_align);
    for (index, variable) in syntax.shared.iter().enumerate() {
        if variable.bytes.is_none() {
            offsets[index] = code.dynamic_offset;
        }
    }
    Ok(offsets)
}

fn find_shared(operand: &Operand, used: &mut HashSet<usize>) {
    match operand {
        Operand::Address(Symbol::Shared(index), _) => {
            used.insert(*index);
        }
        Operand::Memory(base, _) => find_shared(base, used),
        _ => {}
    }
}

/// Gives numbers to a function's registers and offsets to its variables.
fn place_frame<'a>(function: &'a Function, code: &mut Code) -> Result<Frame<'a>, ParseError> {
    let registers = function.registers.iter().map(|ty| {
        let count = if ty.bits == 1 { &mut code.predicates } else { &mut code.registers };
        *count += 1;
        *count as u32 - 1
    });
    let registers = registers.collect();
    let mut variables = Vec::new();
    for variable in &function.variables {
        if let FrameSpace::EntryParam(offset) = variable.space {
            variables.push(offset);
            continue;
        }
        let offset = code.local_bytes.checked_next_multiple_of(variable.align);
        let Some((offset, end)) = offset.and_then(|offset| Some((offset, offset.checked_add(variable.bytes)?))) else {
            return error(function.line, "more than 4 GiB of local memory");
        };
        variables.push(offset);
        code.local_bytes = end;
    }
    Ok(Frame { function, registers, variables, first: 0, is_entry: false })
}

fn decode_function(frame: &Frame<'_>, context: &Context<'_>, code: &mut Code) -> Result<(), ParseError> {
    let first = code.instructions.len();
    // Index of the instruction of each statement: some become several.
    let mut starts = Vec::new();
    for statement in &frame.function.statements {
        starts.push(code.instructions.len() as u32);
        let mut decoder = Decoder::new(statement, frame, context);
        let decoded = decoder.decode();
        let op = match decoded {
            Ok(op) => op,
            Err(message) => return error(statement.line, message),
        };
        let ops = decoder.before.into_iter().chain([op]).chain(decoder.behind);
        for op in ops {
            code.instructions.push(instruction(op, statement, frame)?);
        }
    }
    starts.push(code.instructions.len() as u32);
    let line = frame.function.statements.last().map_or(frame.function.line, |statement| statement.line);
    // A function's end returns.
    let op = if frame.is_entry { Op::Exit } else { Op::Return };
    code.instructions.push(Instruction { op, guard: None, line, span: 0..0 });
    for instruction in &mut code.instructions[first..] {
        match &mut instruction.op {
            Op::Branch { target, .. } => *target = starts[*target as usize],
            Op::BranchTable { targets, .. } => targets.iter_mut().for_each(|target| *target = starts[*target as usize]),
            _ => {}
        }
    }
    Ok(())
}

fn instruction(op: Op, statement: &Statement, frame: &Frame<'_>) -> Result<Instruction, ParseError> {
    let guard = match statement.guard {
        Some((register, _)) if frame.function.registers[register].bits != 1 => {
            return error(statement.line, "a guard that is no predicate");
        }
        Some((register, is_negated)) => Some(Guard { predicate: frame.registers[register], is_negated }),
        None => None,
    };
    Ok(Instruction { op, guard, line: statement.line, span: statement.span.clone() })
}
