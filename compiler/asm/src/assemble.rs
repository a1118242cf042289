//! Assembles a listing in two phases: reads all lines, then resolves names to indices.

use crate::{
    constants,
    cursor::{Cursor, Parsed, error},
    instructions::{self, Name, Operand, Statement},
    lexer::Token,
};
use hammock_diagnostics::{Diagnostic, SourceFile, Span, codes};
use hammock_runtime::{
    Tensor,
    executable::{Arg, Constant, Executable, ExecutableError, FunctionInfo, FunctionKind, Instruction, verify},
};
use std::collections::HashMap;

/// Maximum number of reported errors.
const MAX_ERRORS: usize = 50;

/// Assembles a listing. Tensors that it does not contain are looked up by name.
///
/// # Errors
/// When a line cannot be read, a name is not defined, or the executable breaks a rule of [`verify`].
pub fn assemble(source: &SourceFile, tensors: &dyn Fn(&str) -> Option<Tensor>) -> Result<Executable, Vec<Diagnostic>> {
    let (mut cursor, errors) = Cursor::new(source);
    let mut assembler = Assembler { errors, ..Assembler::default() };
    while !cursor.is_at_end() {
        if let Err(error) = assembler.line(&mut cursor, tensors) {
            assembler.errors.push(error);
            cursor.skip_line();
        }
        if assembler.errors.len() >= MAX_ERRORS {
            break;
        }
    }
    assembler.link();
    if assembler.errors.is_empty()
        && let Err(error) = verify::verify(&assembler.executable)
    {
        assembler.errors.push(assembler.broken_rule(error));
    }
    if assembler.errors.is_empty() { Ok(assembler.executable) } else { Err(assembler.errors) }
}

/// State of reading.
#[derive(Default)]
struct Assembler {
    executable: Executable,
    functions: HashMap<String, usize>,
    /// Spans of the entries of the function table.
    function_spans: Vec<Span>,
    blocks: Vec<Block>,
    /// Spans of instructions.
    instruction_spans: Vec<Span>,
    errors: Vec<Diagnostic>,
}

/// Instructions of a function, or words outside of functions.
struct Block {
    function: Option<Name>,
    statements: Vec<(Statement, Span)>,
    /// Statements that labels refer to.
    labels: HashMap<String, usize>,
}

impl Assembler {
    fn line(&mut self, cursor: &mut Cursor<'_>, tensors: &dyn Fn(&str) -> Option<Tensor>) -> Parsed<()> {
        match (cursor.peek(), cursor.peek_second()) {
            (Token::Newline, _) => return cursor.expect(Token::Newline).map(drop),
            (Token::Name, Token::Equals) => self.constant(cursor, tensors)?,
            (Token::Name, Token::Colon) => self.label_or_unused(cursor)?,
            (Token::Name, _) if self.table(cursor)? => {}
            (Token::Int, Token::Colon) => {
                cursor.bump();
                cursor.bump();
                self.statement(cursor)?;
            }
            _ => self.statement(cursor)?,
        }
        cursor.expect(Token::Newline).map(drop)
    }

    fn constant(&mut self, cursor: &mut Cursor<'_>, tensors: &dyn Fn(&str) -> Option<Tensor>) -> Parsed<()> {
        let span = cursor.span();
        let next = self.executable.constants.len();
        if instructions::constant(cursor)? != next as i64 {
            return Err(error(span, format!("constants are written in order; the next is `c{next}`")));
        }
        cursor.expect(Token::Equals)?;
        let constant = constants::read(cursor, tensors);
        // An invalid constant still takes an index, so that the next one is right.
        self.executable.constants.push(constant.as_ref().map_or(Constant::Int(0), Clone::clone));
        constant.map(drop)
    }

    fn label_or_unused(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        let (name, span) = cursor.name("a label")?;
        cursor.expect(Token::Colon)?;
        match (name, self.blocks.last_mut()) {
            ("unused", _) => self.begin(None),
            (_, None) => return Err(outside(span)),
            (_, Some(block)) => {
                let next = block.statements.len();
                if block.labels.insert(name.to_owned(), next).is_some() {
                    return Err(error(span, format!("the label `{name}` stands here a second time")));
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, function: Option<Name>) {
        self.blocks.push(Block { function, statements: Vec::new(), labels: HashMap::new() });
    }

    /// Reads a line of the function table, a memory scope or the start of code; returns false for other lines.
    fn table(&mut self, cursor: &mut Cursor<'_>) -> Parsed<bool> {
        let kind = match cursor.text(cursor.span()) {
            "packed" => FunctionKind::Packed,
            "bytecode" => FunctionKind::Bytecode,
            "compiled" => FunctionKind::Compiled,
            "scope" => {
                cursor.bump();
                let index = instructions::constant(cursor)?;
                self.executable.memory_scopes.push((index, cursor.string()?));
                return Ok(true);
            }
            "code" => {
                cursor.bump();
                let function = cursor.global()?;
                cursor.expect(Token::Colon)?;
                self.begin(Some(function));
                return Ok(true);
            }
            _ => return Ok(false),
        };
        cursor.bump();
        let (name, span) = cursor.global()?;
        let known = self.functions.insert(name.clone(), self.executable.functions.len()).is_some();
        let mut info = FunctionInfo { kind, ..FunctionInfo::packed(name) };
        let read = attributes(cursor, &mut info);
        self.function_spans.push(span);
        if known {
            self.errors.push(error(span, format!("there are two functions `{}`", info.name)));
        }
        self.executable.functions.push(info);
        read?;
        Ok(true)
    }

    fn statement(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        let span = cursor.span();
        let statement = instructions::read(cursor)?;
        let block = self.blocks.last_mut().ok_or_else(|| outside(span))?;
        block.statements.push((statement, span));
        Ok(())
    }

    /// Emits all code, once every name is known.
    fn link(&mut self) {
        for block in std::mem::take(&mut self.blocks) {
            let start = self.executable.code.len();
            for (position, (statement, span)) in block.statements.iter().enumerate() {
                match self.resolve(statement, &block.labels, position) {
                    Ok(Some(instruction)) => _ = self.executable.code.push(&instruction),
                    Ok(None) => {}
                    Err(error) => self.errors.push(error),
                }
                self.instruction_spans.push(*span);
            }
            if let Some(function) = block.function {
                self.define_code(&function, start);
            }
        }
    }

    fn define_code(&mut self, function: &Name, start: usize) {
        let end = self.executable.code.len();
        match self.function(function) {
            Ok(index) => {
                let info = &mut self.executable.functions[index];
                match info.end {
                    0 => (info.start, info.end) = (start, end),
                    _ => self.errors.push(error(function.1, format!("`{}` has code already", function.0))),
                }
            }
            Err(error) => self.errors.push(error),
        }
    }

    fn function(&self, (name, span): &Name) -> Parsed<usize> {
        self.functions.get(name).copied().ok_or_else(|| {
            let help = format!("add it to the function table: `packed @{name}`");
            error(*span, format!("there is no function `{name}`")).help(help)
        })
    }

    /// Resolves a statement to an instruction; raw words are emitted directly.
    fn resolve(
        &mut self,
        statement: &Statement,
        labels: &HashMap<String, usize>,
        position: usize,
    ) -> Parsed<Option<Instruction>> {
        let offset = |(name, span): &Name| match labels.get(name) {
            Some(target) => Ok(*target as i64 - position as i64),
            None => Err(error(*span, format!("there is no label `{name}` in this function"))),
        };
        Ok(Some(match statement {
            Statement::Call { dst, callee, args } => {
                let function = self.function(callee)? as i64;
                let args = args.iter().map(|arg| match arg {
                    Operand::Arg(arg) => Ok(*arg),
                    Operand::Function(name) => self.function(name).map(|index| Arg::Function(index as i64)),
                });
                Instruction::Call { dst: *dst, function, args: args.collect::<Result<_, _>>()? }
            }
            Statement::Ret(value) => Instruction::Ret { value: *value },
            Statement::Goto(label) => Instruction::Goto { offset: offset(label)? },
            Statement::If { condition, label } => {
                Instruction::If { condition: *condition, false_offset: offset(label)? }
            }
            Statement::Words(words) => {
                self.executable.code.push_words(words);
                return Ok(None);
            }
        }))
    }

    /// Returns the diagnostic of a verification error, with its span.
    fn broken_rule(&self, error: ExecutableError) -> Diagnostic {
        let of_function = |name: &String| self.functions.get(name).copied();
        let (span, message) = match &error {
            ExecutableError::Function { function, rule } => {
                (of_function(function).map(|f| self.function_spans[f]), rule)
            }
            ExecutableError::Instruction { function, instruction, rule } => {
                let start = of_function(function).map(|f| self.executable.functions[f].start);
                let at = start.and_then(|start| self.instruction_spans.get(start + instruction));
                (at.copied(), rule)
            }
            _ => return Diagnostic::error(codes::BAD_LISTING, error.to_string()),
        };
        crate::cursor::error(span.unwrap_or(Span::NONE), message)
    }
}

/// Reads the attributes after a function's name.
fn attributes(cursor: &mut Cursor<'_>, info: &mut FunctionInfo) -> Parsed<()> {
    if cursor.peek() == Token::LeftParen {
        info.param_names = cursor.list(Token::LeftParen, Token::RightParen, parameter)?;
    }
    if info.kind != FunctionKind::Packed {
        info.num_args = info.param_names.len() as i64;
    }
    while cursor.peek() == Token::Name {
        let (attribute, span) = cursor.name("an attribute")?;
        match attribute {
            "args" => info.num_args = cursor.number("a number of arguments")?,
            "registers" => info.register_count = cursor.number("a number of registers")?,
            "range" => (info.start, info.end) = (cursor.number("an instruction")?, cursor.number("an instruction")?),
            other => {
                let help = "they have `args`, `registers` and `range`";
                return Err(error(span, format!("functions have no `{other}`")).help(help));
            }
        }
    }
    Ok(())
}

fn parameter(cursor: &mut Cursor<'_>) -> Parsed<String> {
    match cursor.peek() {
        Token::Str => cursor.string(),
        _ => cursor.name("a parameter's name").map(|(name, _)| name.to_owned()),
    }
}

fn outside(span: Span) -> Diagnostic {
    error(span, "this stands in no function's code").help("code begins with `code @name:`")
}
