//! Operands of instructions.
use super::{
    super::{special::Special, syntax::Operand},
    ParseError, Parser, Token,
    body::{Meaning, Scope},
};

impl<'a> Parser<'a> {
    pub(super) fn operand(&mut self, scopes: &[Scope<'a>]) -> Result<Operand, ParseError> {
        let operand = match self.peek() {
            Token::Punct('(') => Operand::List(self.list(')', scopes)?),
            Token::Punct('{') => Operand::Vector(self.list('}', scopes)?),
            Token::Punct('[') => self.memory(scopes)?,
            Token::Punct('!') => {
                self.at += 1;
                Operand::Not(Box::new(self.name(scopes)?))
            }
            _ => self.scalar(scopes)?,
        };
        if self.accept('|') {
            return Ok(Operand::Pair(Box::new(operand), Box::new(self.scalar(scopes)?)));
        }
        Ok(operand)
    }

    fn list(&mut self, end: char, scopes: &[Scope<'a>]) -> Result<Vec<Operand>, ParseError> {
        self.at += 1;
        let mut operands = Vec::new();
        while !self.accept(end) {
            operands.push(self.scalar(scopes)?);
            if !self.accept(',') && !self.is(end) {
                return self.unexpected(&format!("`,` or `{end}`"));
            }
        }
        Ok(operands)
    }

    fn memory(&mut self, scopes: &[Scope<'a>]) -> Result<Operand, ParseError> {
        self.at += 1;
        let base = self.scalar(scopes)?;
        let offset = match self.peek() {
            Token::Punct('+') => {
                self.at += 1;
                self.signed()?
            }
            Token::Punct('-') => self.signed()?,
            _ => 0,
        };
        self.expect(']')?;
        Ok(Operand::Memory(Box::new(base), offset))
    }

    fn scalar(&mut self, scopes: &[Scope<'a>]) -> Result<Operand, ParseError> {
        let operand = match self.peek() {
            Token::Float32(bits) => Operand::Float32(bits),
            Token::Float64(bits) => Operand::Float64(bits),
            Token::Punct('-') if matches!(self.peek_second(), Token::Float64(_)) => {
                self.at += 1;
                let Token::Float64(bits) = self.peek() else { return self.unexpected("a number") };
                Operand::Float64(bits ^ 1 << 63)
            }
            Token::Int(_) | Token::Punct('-') => return self.signed().map(Operand::Int),
            Token::Word(_) => return self.name(scopes),
            _ => return self.unexpected("an operand"),
        };
        self.at += 1;
        Ok(operand)
    }

    /// Reads a name and finds what it means.
    pub(super) fn name(&mut self, scopes: &[Scope<'a>]) -> Result<Operand, ParseError> {
        let name = self.word("a name")?;
        match name {
            "_" => return Ok(Operand::Sink),
            "WARP_SZ" => return Ok(Operand::Int(32)),
            _ => {}
        }
        let symbol = match scopes.iter().rev().find_map(|scope| lookup(scope, name)) {
            Some(Meaning::Register(index)) => return Ok(Operand::Register(index)),
            Some(Meaning::Symbol(symbol)) => Some(symbol),
            None => self.symbols.get(name).copied(),
        };
        if let Some(symbol) = symbol {
            let offset = match self.peek() {
                Token::Punct('+') => {
                    self.at += 1;
                    self.signed()?
                }
                Token::Punct('-') => self.signed()?,
                _ => 0,
            };
            return Ok(Operand::Address(symbol, offset));
        }
        if let Some(special) = Special::by_name(name) {
            return Ok(Operand::Special(special));
        }
        if name.starts_with('%') {
            return self.error(format!("unknown register `{name}`"));
        }
        Ok(Operand::Name(name.to_string()))
    }
}

fn lookup(scope: &Scope<'_>, name: &str) -> Option<Meaning> {
    if let Some(&meaning) = scope.names.get(name) {
        return Some(meaning);
    }
    let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (stem, digits) = name.split_at(digits);
    // `%r01` is no register of `%r<2>`. A stem may itself end in digits: `%f16_<3>` does not, `%x1<3>` does.
    (stem.len()..name.len()).find_map(|at| {
        let (&(first, count), number) = (scope.ranges.get(&name[..at])?, &name[at..]);
        let index: u32 = number.parse().ok().filter(|_| number == "0" || !number.starts_with('0'))?;
        (index < count && !digits.is_empty()).then_some(Meaning::Register(first + index as usize))
    })
}
