//! Splits PTX text into tokens.
use super::ParseError;
use std::ops::Range;

/// A token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    /// A name, directive or instruction with its modifiers: `%tid.x`, `.reg`, `add.rn.f32`.
    Word(&'a str),
    /// An integer without its sign.
    Int(u64),
    /// `0f3F800000`.
    Float32(u32),
    /// `0d3FF0000000000000`, or a decimal with a point.
    Float64(u64),
    /// A string, without quotes.
    Text(&'a str),
    /// One character of punctuation.
    Punct(char),
    /// The end of the text.
    End,
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Word(word) => write!(f, "`{word}`"),
            Token::Int(value) => write!(f, "`{value}`"),
            Token::Float32(bits) => write!(f, "`0f{bits:08X}`"),
            Token::Float64(bits) => write!(f, "`0d{bits:016X}`"),
            Token::Text(text) => write!(f, "{text:?}"),
            Token::Punct(c) => write!(f, "`{c}`"),
            Token::End => write!(f, "the end of the text"),
        }
    }
}

/// A token with where it is.
#[derive(Debug, Clone)]
pub(super) struct Lexeme<'a> {
    pub token: Token<'a>,
    pub line: u32,
    pub span: Range<u32>,
}

/// Splits `text` into tokens, the last of which is [`Token::End`].
pub(super) fn lex(text: &str) -> Result<Vec<Lexeme<'_>>, ParseError> {
    if u32::try_from(text.len()).is_err() {
        return Err(ParseError { line: 1, message: "text of more than 4 GiB".into() });
    }
    let mut lexer = Lexer { text, bytes: text.as_bytes(), at: 0, line: 1 };
    let mut lexemes = Vec::with_capacity(text.len() / 4);
    loop {
        lexer.skip_blank()?;
        let (start, line) = (lexer.at, lexer.line);
        let token = lexer.next()?;
        lexemes.push(Lexeme { token, line, span: start as u32..lexer.at as u32 });
        if token == Token::End {
            return Ok(lexemes);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | b'%')
}

impl<'a> Lexer<'a> {
    fn error<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError { line: self.line, message: message.into() })
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) -> Result<(), ParseError> {
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => self.line += 1,
                (b' ' | b'\t' | b'\r', _) => {}
                (b'/', b'/') => {
                    self.at +=
                        self.bytes[self.at..].iter().position(|&b| b == b'\n').unwrap_or(self.bytes.len() - self.at);
                    continue;
                }
                (b'/', b'*') => {
                    let Some(length) = self.text[self.at + 2..].find("*/") else {
                        return self.error("a comment without end");
                    };
                    self.line +=
                        self.bytes[self.at..self.at + 2 + length].iter().filter(|&&b| b == b'\n').count() as u32;
                    self.at += length + 4;
                    continue;
                }
                // The zero byte that ends texts given to the driver.
                (0, _) if self.at + 1 == self.bytes.len() => {}
                _ => return Ok(()),
            }
            self.at += 1;
        }
        Ok(())
    }

    fn next(&mut self) -> Result<Token<'a>, ParseError> {
        let Some(&first) = self.bytes.get(self.at) else { return Ok(Token::End) };
        if first.is_ascii_digit() {
            return self.number();
        }
        if is_word(first) {
            return Ok(Token::Word(self.word()));
        }
        if first == b'"' {
            let rest = &self.text[self.at + 1..];
            let Some(length) = rest.find(['"', '\n']).filter(|&at| rest.as_bytes()[at] == b'"') else {
                return self.error("a string without end");
            };
            self.at += length + 2;
            return Ok(Token::Text(&rest[..length]));
        }
        if b"{}[](),;:<>=+-!@|".contains(&first) {
            self.at += 1;
            return Ok(Token::Punct(first as char));
        }
        let c = self.text[self.at..].chars().next().unwrap_or('\u{fffd}');
        self.error(format!("unexpected character {c:?}"))
    }

    fn word(&mut self) -> &'a str {
        let start = self.at;
        loop {
            if is_word(self.peek(0)) {
                self.at += 1;
            } else if self.peek(0) == b':' && self.peek(1) == b':' {
                self.at += 2;
            } else {
                return &self.text[start..self.at];
            }
        }
    }

    fn number(&mut self) -> Result<Token<'a>, ParseError> {
        let start = self.at;
        while self.peek(0).is_ascii_alphanumeric() || self.peek(0) == b'.' && self.peek(1).is_ascii_digit() {
            self.at += 1;
        }
        let raw = &self.text[start..self.at];
        let digits = raw.strip_suffix('U').unwrap_or(raw);
        let token = match raw.get(..2) {
            Some("0f" | "0F") => {
                u32::from_str_radix(&raw[2..], 16).ok().filter(|_| raw.len() == 10).map(Token::Float32)
            }
            Some("0d" | "0D") => {
                u64::from_str_radix(&raw[2..], 16).ok().filter(|_| raw.len() == 18).map(Token::Float64)
            }
            Some("0x" | "0X") => u64::from_str_radix(&digits[2..], 16).ok().map(Token::Int),
            Some("0b" | "0B") => u64::from_str_radix(&digits[2..], 2).ok().map(Token::Int),
            _ if raw.contains('.') => raw.parse::<f64>().ok().map(|value| Token::Float64(value.to_bits())),
            _ if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8).ok().map(Token::Int),
            _ => digits.parse().ok().map(Token::Int),
        };
        token.map_or_else(|| self.error(format!("`{raw}` is no number")), Ok)
    }
}
