//! Reads the tokens of a module: directives, variables and functions.
mod body;
mod function;
mod operand;
mod variable;

use super::{
    ParseError, Variable,
    lex::{Lexeme, Token, lex},
    syntax::{Function, SharedVariable, Symbol},
};
use std::collections::HashMap;

/// A module as the text has it.
#[derive(Default)]
pub(super) struct Syntax {
    pub version: (u32, u32),
    pub target: u32,
    pub arch_specific: bool,
    pub variables: Vec<Variable>,
    pub shared: Vec<SharedVariable>,
    pub functions: Vec<Function>,
}

/// Reads `text`.
pub(super) fn parse(text: &str) -> Result<Syntax, ParseError> {
    let mut parser = Parser { text, lexemes: lex(text)?, at: 0, syntax: Syntax::default(), symbols: HashMap::new() };
    parser.header()?;
    while parser.peek() != Token::End {
        parser.item()?;
    }
    Ok(parser.syntax)
}

struct Parser<'a> {
    text: &'a str,
    lexemes: Vec<Lexeme<'a>>,
    at: usize,
    syntax: Syntax,
    /// Variables of the module by name.
    symbols: HashMap<&'a str, Symbol>,
}

/// Bytes of a fundamental type in memory.
fn type_bytes(name: &str) -> Option<u32> {
    Some(match name {
        ".b8" | ".u8" | ".s8" => 1,
        ".b16" | ".u16" | ".s16" | ".f16" | ".bf16" => 2,
        ".b32" | ".u32" | ".s32" | ".f32" | ".f16x2" | ".bf16x2" => 4,
        ".b64" | ".u64" | ".s64" | ".f64" => 8,
        _ => return None,
    })
}

impl<'a> Parser<'a> {
    fn lexeme(&self) -> &Lexeme<'a> {
        // The last lexeme is `End`, and the parser never moves past it.
        &self.lexemes[self.at.min(self.lexemes.len() - 1)]
    }

    fn peek(&self) -> Token<'a> {
        self.lexeme().token
    }

    fn peek_second(&self) -> Token<'a> {
        self.lexemes.get(self.at + 1).map_or(Token::End, |lexeme| lexeme.token)
    }

    fn line(&self) -> u32 {
        self.lexeme().line
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// An error at the token that was read last.
    fn error<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        let last = &self.lexemes[self.at.saturating_sub(1).min(self.lexemes.len() - 1)];
        Err(ParseError { line: last.line, message: message.into() })
    }

    /// An error at the token to be read next.
    fn unexpected<T>(&self, wanted: &str) -> Result<T, ParseError> {
        Err(ParseError { line: self.line(), message: format!("expected {wanted}, not {}", self.peek()) })
    }

    fn is(&self, c: char) -> bool {
        self.peek() == Token::Punct(c)
    }

    fn accept(&mut self, c: char) -> bool {
        let found = self.is(c);
        self.at += usize::from(found);
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.peek() == Token::Word(word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, c: char) -> Result<(), ParseError> {
        if self.accept(c) { Ok(()) } else { self.unexpected(&format!("`{c}`")) }
    }

    fn word(&mut self, wanted: &str) -> Result<&'a str, ParseError> {
        let Token::Word(word) = self.peek() else { return self.unexpected(wanted) };
        self.at += 1;
        Ok(word)
    }

    fn number(&mut self) -> Result<u32, ParseError> {
        let Token::Int(value) = self.peek() else { return self.unexpected("a number") };
        let Ok(value) = u32::try_from(value) else { return self.unexpected("a number of 32 bits") };
        self.at += 1;
        Ok(value)
    }

    /// Reads an integer with its sign.
    fn signed(&mut self) -> Result<i64, ParseError> {
        let negative = self.accept('-');
        let Token::Int(value) = self.peek() else { return self.unexpected("an integer") };
        self.at += 1;
        Ok(if negative { (value as i64).wrapping_neg() } else { value as i64 })
    }

    fn header(&mut self) -> Result<(), ParseError> {
        if !self.accept_word(".version") {
            return self.unexpected("`.version`");
        }
        let span = &self.lexeme().span;
        let raw = &self.text[span.start as usize..span.end as usize];
        let parts = raw.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let Some(version) = parts else { return self.unexpected("a version `major.minor`") };
        if !((6, 0)..=(9, 0)).contains(&version) {
            return self.error(format!("unsupported: PTX ISA {raw}"));
        }
        self.syntax.version = version;
        self.at += 1;
        if !self.accept_word(".target") {
            return self.unexpected("`.target`");
        }
        let name = self.word("a target")?;
        let digits = name.strip_prefix("sm_").unwrap_or_default();
        let number = digits.trim_end_matches(['a', 'f']);
        let Ok(target) = number.parse() else { return self.error(format!("unsupported: target `{name}`")) };
        self.syntax.target = target;
        self.syntax.arch_specific = number.len() != digits.len();
        while self.accept(',') {
            let option = self.word("an option of the target")?;
            if option != "debug" {
                return self.error(format!("unsupported: target option `{option}`"));
            }
        }
        if self.accept_word(".address_size") && self.number()? != 64 {
            return self.error("unsupported: addresses that do not have 64 bits");
        }
        Ok(())
    }

    fn item(&mut self) -> Result<(), ParseError> {
        let line = self.line();
        match self.peek() {
            Token::Punct(';') => self.at += 1,
            Token::Word(".file" | ".loc") => self.skip_line(),
            Token::Word(".section") => self.skip_section()?,
            Token::Word(".pragma") => self.skip_pragma()?,
            _ => {
                let mut linkage = "";
                while let Token::Word(word @ (".visible" | ".extern" | ".weak" | ".common")) = self.peek() {
                    linkage = word;
                    self.at += 1;
                }
                match self.peek() {
                    Token::Word(".entry" | ".func") => self.function(linkage, line)?,
                    Token::Word(".global" | ".const" | ".shared") => self.module_variable(linkage)?,
                    _ => return self.unexpected("a directive for a module"),
                }
            }
        }
        Ok(())
    }

    /// Skips a directive that ends with its line.
    fn skip_line(&mut self) {
        let line = self.line();
        while self.line() == line && self.peek() != Token::End {
            self.at += 1;
        }
    }

    fn skip_section(&mut self) -> Result<(), ParseError> {
        self.at += 1;
        self.word("a section's name")?;
        self.expect('{')?;
        while !self.accept('}') {
            if self.next() == Token::End {
                return self.unexpected("`}`");
            }
        }
        Ok(())
    }

    /// Pragmas are hints: an assembler ignores those that it does not know.
    fn skip_pragma(&mut self) -> Result<(), ParseError> {
        self.at += 1;
        loop {
            let Token::Text(_) = self.next() else { return self.unexpected("a string") };
            if !self.accept(',') {
                return self.expect(';');
            }
        }
    }

    fn module_variable(&mut self, linkage: &str) -> Result<(), ParseError> {
        let space = self.word("a state space")?;
        for (name, symbol) in self.variables(space, linkage)? {
            if self.symbols.insert(name, symbol).is_some() && linkage != ".extern" {
                return self.error(format!("a second variable `{name}`"));
            }
        }
        Ok(())
    }
}
