//! Tokens of the text, one by one, as logos finds them. What lines and indentation mean is for
//! [`layout`](crate::layout) to say.

use logos::{Lexer, Logos};

/// A token. Its text is found through its span.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(error = LexError)]
#[logos(skip r"[ \t\f]+")]
#[logos(skip(r"#[^\n\r]*", allow_greedy = true))]
#[logos(skip r"\\(\r\n|\n|\r)")]
pub(crate) enum Token {
    /// First token of a file; made by the layout.
    StartFile,
    /// First token of a text that is one expression; made by the layout.
    StartExpression,
    /// Deeper indentation; made by the layout.
    Indent,
    /// End of a deeper indentation; made by the layout.
    Dedent,
    /// What could not be read; the layout reports it.
    #[regex(r"[0-9][0-9a-zA-Z_]*", run_on_number, priority = 10)]
    #[regex(r"[0-9][0-9_]*\.[0-9_]*([eE][+-]?[0-9_]+)?[a-zA-Z_][0-9a-zA-Z_]*", run_on_number, priority = 11)]
    #[regex(r"[0-9][0-9_]*[eE][+-]?[0-9_]+[a-zA-Z_][0-9a-zA-Z_]*", run_on_number, priority = 12)]
    Bad,
    /// End of a line; from the layout, of a logical line.
    #[regex(r"\r\n|\n|\r")]
    Newline,

    #[regex(r"[_\p{XID_Start}]\p{XID_Continue}*")]
    Name,
    #[regex(r"[0-9](_?[0-9])*", priority = 20)]
    #[regex(r"0[xX](_?[0-9a-fA-F])+", priority = 20)]
    #[regex(r"0[oO](_?[0-7])+", priority = 20)]
    #[regex(r"0[bB](_?[01])+", priority = 20)]
    Int,
    #[regex(r"([0-9](_?[0-9])*)?\.[0-9](_?[0-9])*([eE][+-]?[0-9](_?[0-9])*)?", priority = 20)]
    #[regex(r"[0-9](_?[0-9])*\.([eE][+-]?[0-9](_?[0-9])*)?", priority = 20)]
    #[regex(r"[0-9](_?[0-9])*[eE][+-]?[0-9](_?[0-9])*", priority = 20)]
    Float,
    #[regex(r#"[rRbBuUfF]?[rRbBuUfF]?("""|'''|"|')"#, string)]
    Str,

    #[token("False")]
    False,
    #[token("None")]
    None,
    #[token("True")]
    True,
    #[token("and")]
    And,
    #[token("as")]
    As,
    #[token("assert")]
    Assert,
    #[token("async")]
    Async,
    #[token("await")]
    Await,
    #[token("break")]
    Break,
    #[token("class")]
    Class,
    #[token("continue")]
    Continue,
    #[token("def")]
    Def,
    #[token("del")]
    Del,
    #[token("elif")]
    Elif,
    #[token("else")]
    Else,
    #[token("except")]
    Except,
    #[token("finally")]
    Finally,
    #[token("for")]
    For,
    #[token("from")]
    From,
    #[token("global")]
    Global,
    #[token("if")]
    If,
    #[token("import")]
    Import,
    #[token("in")]
    In,
    #[token("is")]
    Is,
    #[token("lambda")]
    Lambda,
    #[token("nonlocal")]
    Nonlocal,
    #[token("not")]
    Not,
    #[token("or")]
    Or,
    #[token("pass")]
    Pass,
    #[token("raise")]
    Raise,
    #[token("return")]
    Return,
    #[token("try")]
    Try,
    #[token("while")]
    While,
    #[token("with")]
    With,
    #[token("yield")]
    Yield,

    #[token("(")]
    LeftParen,
    #[token(")")]
    RightParen,
    #[token("[")]
    LeftBracket,
    #[token("]")]
    RightBracket,
    #[token("{")]
    LeftBrace,
    #[token("}")]
    RightBrace,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token(":=")]
    Walrus,
    #[token(";")]
    Semicolon,
    #[token(".")]
    Dot,
    #[token("...")]
    Ellipsis,
    #[token("->")]
    Arrow,
    #[token("@")]
    At,
    #[token("=")]
    Assign,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("**")]
    DoubleStar,
    #[token("/")]
    Slash,
    #[token("//")]
    DoubleSlash,
    #[token("%")]
    Percent,
    #[token("<<")]
    LeftShift,
    #[token(">>")]
    RightShift,
    #[token("&")]
    Ampersand,
    #[token("|")]
    Pipe,
    #[token("^")]
    Caret,
    #[token("~")]
    Tilde,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEqual,
    #[token("==")]
    Equal,
    #[token("!=")]
    NotEqual,
    #[token("+=")]
    PlusAssign,
    #[token("-=")]
    MinusAssign,
    #[token("*=")]
    StarAssign,
    #[token("/=")]
    SlashAssign,
    #[token("//=")]
    DoubleSlashAssign,
    #[token("%=")]
    PercentAssign,
    #[token("@=")]
    AtAssign,
    #[token("**=")]
    DoubleStarAssign,
    #[token("<<=")]
    LeftShiftAssign,
    #[token(">>=")]
    RightShiftAssign,
    #[token("&=")]
    AmpersandAssign,
    #[token("|=")]
    PipeAssign,
    #[token("^=")]
    CaretAssign,
}

/// Why a piece of text is not a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LexError {
    /// A character that starts no token.
    #[default]
    Character,
    /// `1abc`, `0x`, `1j`
    Number,
    /// A string that does not end on its line.
    OpenString,
    /// A triple-quoted string that does not end.
    OpenTripleString,
}

/// A number that runs into letters.
fn run_on_number(_: &mut Lexer<Token>) -> Result<(), LexError> {
    Err(LexError::Number)
}

/// Reads to the end of the string whose prefix and opening quotes were matched.
fn string(lexer: &mut Lexer<Token>) -> Result<(), LexError> {
    let opening = lexer.slice().as_bytes();
    let quote = opening[opening.len() - 1];
    let triple = opening.ends_with(&[quote; 3]);
    let rest = lexer.remainder().as_bytes();
    let end = if triple { end_of_triple(rest, quote) } else { end_of_string(rest, quote) };
    match end {
        Ok(length) => lexer.bump(length),
        Err(length) => lexer.bump(length),
    }
    let open = if triple { LexError::OpenTripleString } else { LexError::OpenString };
    end.map(|_| ()).map_err(|_| open)
}

/// Length up to and with the closing quote, or up to the end of the line when there is none.
fn end_of_string(text: &[u8], quote: u8) -> Result<usize, usize> {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' => at += escape_length(&text[at..]),
            b'\n' | b'\r' => return Err(at),
            _ if byte == quote => return Ok(at + 1),
            _ => at += 1,
        }
    }
    Err(text.len())
}

fn end_of_triple(text: &[u8], quote: u8) -> Result<usize, usize> {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'\\' => at += escape_length(&text[at..]),
            _ if byte == quote && text[at..].starts_with(&[quote; 3]) => return Ok(at + 3),
            _ => at += 1,
        }
    }
    Err(text.len())
}

/// Bytes to pass over at a backslash, so that what follows it ends nothing. Never splits a character.
fn escape_length(text: &[u8]) -> usize {
    match text {
        [_, b'\r', b'\n', ..] => 3,
        [_, next, ..] if next.is_ascii() => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<(Result<Token, LexError>, &str)> {
        Token::lexer(text).spanned().map(|(token, range)| (token, &text[range])).collect()
    }

    #[test]
    fn numbers() {
        for text in ["0", "7", "1_000", "0xFF", "0o17", "0b1_0", "18446744073709551616"] {
            assert_eq!(tokens(text), [(Ok(Token::Int), text)]);
        }
        for text in ["1.", "1.5", ".5", "1e-05", "1.e5", "1E+3", "1_0.5e1_0"] {
            assert_eq!(tokens(text), [(Ok(Token::Float), text)]);
        }
        for text in ["1abc", "0x", "1_", "1__0", "3j", "1.5f", "1e5x"] {
            assert_eq!(tokens(text), [(Err(LexError::Number), text)]);
        }
        assert_eq!(tokens("1..2").len(), 2);
    }

    #[test]
    fn strings() {
        for text in [r#""""#, r#""a\"b""#, r"'\\'", r#"rb'x"'"#, "\"\"\"a\n\"b\"\" \\\"\"\"\"", "'a\\\r\nb'", "'\\é'"]
        {
            assert_eq!(tokens(text), [(Ok(Token::Str), text)]);
        }
        assert_eq!(tokens("'abc\nx")[0], (Err(LexError::OpenString), "'abc"));
        assert_eq!(tokens("'abc\\")[0], (Err(LexError::OpenString), "'abc\\"));
        assert_eq!(tokens("'''abc\nx")[0], (Err(LexError::OpenTripleString), "'''abc\nx"));
    }

    #[test]
    fn names_and_keywords() {
        assert_eq!(
            tokens("größe if_ _ if"),
            [(Ok(Token::Name), "größe"), (Ok(Token::Name), "if_"), (Ok(Token::Name), "_"), (Ok(Token::If), "if")]
        );
        assert_eq!(tokens("a$b")[1], (Err(LexError::Character), "$"));
        let long = "a".repeat(1_000_000);
        assert_eq!(tokens(&long).len(), 1);
    }
}
