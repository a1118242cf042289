//! Bodies of functions: registers, variables, labels, scopes and instructions.
use super::{
    super::syntax::{FrameSpace, FrameVariable, Function, Operand, RegisterType, Statement},
    ParseError, Parser, Symbol, Token, type_bytes,
};
use std::collections::HashMap;

/// Registers of one `.reg` in the form `%r<n>` at most: more is a mistake in the text.
const MAX_REGISTERS: u32 = 1 << 20;

/// What names mean within a pair of braces.
#[derive(Default)]
pub(super) struct Scope<'a> {
    pub names: HashMap<&'a str, Meaning>,
    /// Registers in the form `%r<n>`: the first's index and the count.
    pub ranges: HashMap<&'a str, (usize, u32)>,
    /// Index in the function's scopes.
    pub index: usize,
}

/// What a name means.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    Register(usize),
    Symbol(Symbol),
}

impl<'a> Parser<'a> {
    pub(super) fn define(&self, scope: &mut Scope<'a>, name: &'a str, symbol: Symbol) -> Result<(), ParseError> {
        self.define_meaning(scope, name, Meaning::Symbol(symbol))
    }

    fn define_meaning(&self, scope: &mut Scope<'a>, name: &'a str, meaning: Meaning) -> Result<(), ParseError> {
        match scope.names.insert(name, meaning) {
            Some(_) => self.error(format!("a second `{name}` in a scope")),
            None => Ok(()),
        }
    }

    pub(super) fn body(&mut self, function: &mut Function, params: Scope<'a>) -> Result<(), ParseError> {
        self.expect('{')?;
        function.scopes.push(0);
        let mut scopes = vec![params];
        loop {
            match self.peek() {
                Token::Punct('{') => {
                    self.at += 1;
                    let index = function.scopes.len();
                    function.scopes.push(scopes.last().map_or(0, |scope| scope.index));
                    scopes.push(Scope { index, ..Scope::default() });
                }
                Token::Punct('}') => {
                    self.at += 1;
                    scopes.pop();
                    if scopes.is_empty() {
                        return Ok(());
                    }
                }
                Token::Punct(';') => self.at += 1,
                Token::Word(".loc" | ".file") => self.skip_line(),
                Token::Word(".pragma") => self.skip_pragma()?,
                Token::Word(".reg") => self.registers(function, &mut scopes)?,
                Token::Word(space @ (".local" | ".param")) => self.frame_variables(space, function, &mut scopes)?,
                Token::Word(space @ (".shared" | ".global" | ".const")) => {
                    self.at += 1;
                    let entered = self.variables(space, "")?;
                    for (name, symbol) in entered {
                        self.define(innermost(&mut scopes), name, symbol)?;
                    }
                }
                Token::Word(_) if self.peek_second() == Token::Punct(':') => self.label(function, &scopes)?,
                Token::Word(_) | Token::Punct('@') => {
                    let statement = self.statement(&scopes)?;
                    function.statements.push(statement);
                }
                _ => return self.unexpected("an instruction, directive or label"),
            }
        }
    }

    fn registers(&mut self, function: &mut Function, scopes: &mut [Scope<'a>]) -> Result<(), ParseError> {
        self.at += 1;
        let name = self.word("a type")?;
        let bits = match type_bytes(name) {
            _ if name == ".pred" => 1,
            Some(bytes) if bytes > 1 => 8 * bytes,
            _ => return self.error(format!("unsupported type `{name}` of registers")),
        };
        loop {
            let name = self.word("a register's name")?;
            let first = function.registers.len();
            let mut count = 1;
            if self.accept('<') {
                count = self.number()?;
                self.expect('>')?;
                if count > MAX_REGISTERS {
                    return self.error(format!("more than {MAX_REGISTERS} registers"));
                }
                innermost(scopes).ranges.insert(name, (first, count));
            } else {
                self.define_meaning(innermost(scopes), name, Meaning::Register(first))?;
            }
            function.registers.resize(first + count as usize, RegisterType { bits });
            if !self.accept(',') {
                return self.expect(';');
            }
        }
    }

    fn frame_variables(
        &mut self,
        space: &str,
        function: &mut Function,
        scopes: &mut [Scope<'a>],
    ) -> Result<(), ParseError> {
        self.at += 1;
        let (align, element, vector, _) = self.variable_type()?;
        loop {
            let name = self.word("a variable's name")?;
            let count = self.dimensions()?.and_then(|n| u32::try_from(n).ok()?.checked_mul(element * vector));
            let Some(bytes) = count else { return self.error(format!("variable `{name}` has no size")) };
            let symbol = Symbol::Frame(function.variables.len());
            let space = if space == ".local" { FrameSpace::Local } else { FrameSpace::Param };
            function.variables.push(FrameVariable { bytes, align, space });
            self.define(innermost(scopes), name, symbol)?;
            if !self.accept(',') {
                return self.expect(';');
            }
        }
    }

    fn label(&mut self, function: &mut Function, scopes: &[Scope<'a>]) -> Result<(), ParseError> {
        let key = (scopes.last().map_or(0, |scope| scope.index), self.word("a label")?.to_string());
        self.expect(':')?;
        if function.labels.contains_key(&key) || function.tables.contains_key(&key) {
            return self.error(format!("a second label `{}`", key.1));
        }
        if !self.accept_word(".branchtargets") {
            if let Token::Word(word @ (".calltargets" | ".callprototype")) = self.peek() {
                return self.error(format!("unsupported directive `{word}`"));
            }
            function.labels.insert(key, function.statements.len());
            return Ok(());
        }
        let mut targets = Vec::new();
        loop {
            targets.push(self.word("a label")?.to_string());
            if !self.accept(',') {
                break;
            }
        }
        function.tables.insert(key, targets);
        self.expect(';')
    }

    fn statement(&mut self, scopes: &[Scope<'a>]) -> Result<Statement, ParseError> {
        let (line, start) = (self.line(), self.lexeme().span.start);
        let mut guard = None;
        if self.accept('@') {
            let negated = self.accept('!');
            let Operand::Register(index) = self.name(scopes)? else { return self.unexpected("a predicate") };
            guard = Some((index, negated));
        }
        let name = self.word("an instruction")?;
        let mut operands = Vec::new();
        while !self.is(';') {
            operands.push(self.operand(scopes)?);
            if !self.accept(',') && !self.is(';') {
                return self.unexpected("`,` or `;`");
            }
        }
        let span = start..self.lexeme().span.end;
        self.at += 1;
        let scope = scopes.last().map_or(0, |scope| scope.index);
        Ok(Statement { guard, name: name.to_string(), operands, scope, line, span })
    }
}

fn innermost<'s, 'a>(scopes: &'s mut [Scope<'a>]) -> &'s mut Scope<'a> {
    scopes.last_mut().expect("a body has a scope until its last brace")
}
