//! Parser for instructions.

use crate::{
    cursor::{Cursor, Parsed, error},
    lexer::Token,
};
use hammock_diagnostics::Span;
use hammock_runtime::executable::{Arg, Register};

/// An instruction whose functions and jump targets are unresolved names.
pub(crate) enum Statement {
    Call {
        dst: Register,
        callee: Name,
        args: Vec<Operand>,
    },
    Ret(Register),
    If {
        condition: Register,
        label: Name,
    },
    Goto(Name),
    /// Words outside of functions.
    Words(Vec<i64>),
}

/// A name and its span.
pub(crate) type Name = (String, Span);

/// An argument of a call.
pub(crate) enum Operand {
    Arg(Arg),
    Function(Name),
}

/// Reads an instruction.
pub(crate) fn read(cursor: &mut Cursor<'_>) -> Parsed<Statement> {
    if cursor.peek() == Token::Register {
        let dst = register(cursor)?;
        cursor.expect(Token::Equals)?;
        return match cursor.name("`call`")? {
            ("call", _) => call(cursor, dst),
            (_, span) => Err(error(span, "only a call has a result")),
        };
    }
    let (name, span) = cursor.name("an instruction")?;
    match name {
        "call" => call(cursor, Register::VOID),
        "ret" => register(cursor).map(Statement::Ret),
        "goto" => label(cursor).map(Statement::Goto),
        "if" => {
            let condition = register(cursor)?;
            match cursor.name("`else`")? {
                ("else", _) => Ok(Statement::If { condition, label: label(cursor)? }),
                (_, span) => Err(error(span, "an `if` says where it goes otherwise: `if %0 else L1`")),
            }
        }
        "words" => {
            let mut words = Vec::new();
            while cursor.peek() == Token::Int {
                words.push(cursor.number("a word of 64 bits")?);
            }
            Ok(Statement::Words(words))
        }
        other => {
            let help = "the instructions are `call`, `ret`, `goto`, `if` and `words`";
            Err(error(span, format!("`{other}` is not an instruction")).help(help))
        }
    }
}

fn call(cursor: &mut Cursor<'_>, dst: Register) -> Parsed<Statement> {
    let callee = cursor.global()?;
    let args = cursor.list(Token::LeftParen, Token::RightParen, operand)?;
    Ok(Statement::Call { dst, callee, args })
}

fn label(cursor: &mut Cursor<'_>) -> Parsed<Name> {
    cursor.name("a label").map(|(name, span)| (name.to_owned(), span))
}

fn operand(cursor: &mut Cursor<'_>) -> Parsed<Operand> {
    match cursor.peek() {
        Token::Register => Ok(Operand::Arg(Arg::Register(register(cursor)?))),
        Token::Global | Token::QuotedGlobal => cursor.global().map(Operand::Function),
        Token::Name => constant(cursor).map(|index| Operand::Arg(Arg::Constant(index))),
        Token::Int => {
            let span = cursor.span();
            let value = cursor.number("an integer of 64 bits")?;
            match Arg::IMMEDIATES.contains(&value) {
                true => Ok(Operand::Arg(Arg::Immediate(value))),
                false => Err(error(span, format!("{value} does not fit into an instruction"))
                    .help("make it a constant: `c0 = int …`")),
            }
        }
        _ => Err(cursor.expected("a register, a constant, a function or an integer")),
    }
}

/// Reads `c3`.
pub(crate) fn constant(cursor: &mut Cursor<'_>) -> Parsed<i64> {
    let (text, span) = cursor.name("a constant (`c0`)")?;
    let index = text.strip_prefix('c').and_then(|digits| digits.parse().ok());
    index.filter(|index| fits(*index)).ok_or_else(|| error(span, format!("`{text}` is not a constant (`c0`)")))
}

/// Reads `%3`, `%void` or `%vm`.
fn register(cursor: &mut Cursor<'_>) -> Parsed<Register> {
    let span = cursor.expect(Token::Register)?;
    match &cursor.text(span)[1..] {
        "void" => Ok(Register::VOID),
        "vm" => Ok(Register::VM),
        digits => match digits.parse() {
            Ok(number) if fits(number) && number < Register::VOID.0 => Ok(Register(number)),
            _ => Err(error(span, format!("`{}` is not a register (`%0`, `%void`, `%vm`)", cursor.text(span)))),
        },
    }
}

/// Returns true if a number fits into an argument word.
fn fits(number: i64) -> bool {
    number >= 0 && Arg::IMMEDIATES.contains(&number)
}
