//! Branches, calls and returns.
use super::{
    super::{op::Op, syntax::Operand},
    Decoder,
};
use crate::arith::Type;

fn name<'a>(d: &Decoder<'a>, index: usize) -> Result<&'a str, String> {
    match d.operand(index)? {
        Operand::Name(name) => Ok(name),
        _ => d.wrong(index, "a name"),
    }
}

pub(super) fn bra(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(1..=1)?;
    let is_uniform = d.accept("uni");
    Ok(Op::Branch { target: d.label(name(d, 0)?)?, is_uniform })
}

pub(super) fn brx(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(2..=2)?;
    d.expect("idx")?;
    d.accept("uni");
    let (function, table) = (d.frame.function, name(d, 1)?);
    let targets = function.find(&function.tables, d.statement.scope, table);
    let targets = targets.ok_or_else(|| format!("unknown `.branchtargets` `{table}`"))?;
    let targets = targets.iter().map(|label| d.label(label)).collect::<Result<_, _>>()?;
    Ok(Op::BranchTable { index: d.src(0, Type::U32)?, targets })
}

/// `call (results), function, (arguments)`: arguments are copied to the function's parameters, results back.
pub(super) fn call(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.accept("uni");
    let operands = &d.statement.operands;
    let (results, rest) = match operands.split_first() {
        Some((Operand::List(results), rest)) => (&results[..], rest),
        _ => (&[][..], &operands[..]),
    };
    let (callee, arguments) = match rest {
        [Operand::Name(callee)] => (callee, &[][..]),
        [Operand::Name(callee), Operand::List(arguments)] => (callee, &arguments[..]),
        _ => return Err(format!("unsupported: indirect `{}`", d.statement.name)),
    };
    let Some(frame) = d.context.callees.iter().find(|frame| frame.function.name == *callee) else {
        return Err(format!("call of `{callee}`, which the module does not define"));
    };
    let function = frame.function;
    if function.params.len() != arguments.len() || function.results.len() != results.len() {
        return Err(format!("call of `{callee}` with a wrong number of arguments or results"));
    }
    let pair = |operand: &Operand, variable: usize| {
        let (offset, bytes) = d.frame_offset(operand, 0)?;
        if bytes != function.variables[variable].bytes {
            return Err(format!("call of `{callee}`: an argument or result of a wrong size"));
        }
        Ok((offset, frame.variables[variable], bytes))
    };
    let to =
        arguments.iter().zip(&function.params).map(|(operand, &v)| pair(operand, v)).collect::<Result<Vec<_>, _>>()?;
    let from =
        results.iter().zip(&function.results).map(|(operand, &v)| pair(operand, v)).collect::<Result<Vec<_>, _>>()?;
    d.before.extend(to.into_iter().map(|(from, to, bytes)| Op::CopyFrame { from, to, bytes }));
    d.behind.extend(from.into_iter().map(|(to, from, bytes)| Op::CopyFrame { from, to, bytes }));
    Ok(Op::Call { target: frame.first })
}

/// `ret` of a kernel ends the thread.
pub(super) fn ret(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(0..=0)?;
    d.accept("uni");
    Ok(if d.frame.is_entry { Op::Exit } else { Op::Return })
}

pub(super) fn nanosleep(d: &mut Decoder<'_>) -> Result<Op, String> {
    d.count(1..=1)?;
    d.expect("u32")?;
    d.src(0, Type::U32)?;
    Ok(Op::Nop)
}
