//! Tokens of listings.

use logos::Logos;

/// A token; its text is found through its span.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t]+")]
#[logos(skip(r"#[^\n\r]*", allow_greedy = true))]
pub(crate) enum Token {
    /// The end of a line.
    #[regex(r"\r\n|\n|\r")]
    Newline,
    /// A keyword, a dtype, a constant such as `c3`, a label, or the name of a parameter.
    #[regex(r"[A-Za-z_][A-Za-z0-9_.]*")]
    Name,
    /// A function.
    #[regex(r"@[A-Za-z_][A-Za-z0-9_.]*")]
    Global,
    /// A function whose name must be quoted.
    #[regex(r#"@"([^"\\\n\r]|\\[^\n\r])*""#)]
    QuotedGlobal,
    /// A register.
    #[regex(r"%[A-Za-z0-9_]+")]
    Register,
    /// An integer.
    #[regex(r"-?[0-9]+")]
    Int,
    /// A float.
    #[regex(r"-?[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?|-?[0-9]+[eE][+-]?[0-9]+")]
    Float,
    /// A string.
    #[regex(r#""([^"\\\n\r]|\\[^\n\r])*""#)]
    Str,
    /// Bytes.
    #[regex(r#"x"[0-9a-fA-F ]*""#, priority = 10)]
    Bytes,
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
    #[token("=")]
    Equals,
}

impl Token {
    /// Name in messages.
    pub fn describe(self) -> &'static str {
        match self {
            Token::Newline => "the end of the line",
            Token::Name => "a name",
            Token::Global | Token::QuotedGlobal => "a function (`@name`)",
            Token::Register => "a register (`%0`)",
            Token::Int => "an integer",
            Token::Float => "a float",
            Token::Str => "a string",
            Token::Bytes => "bytes (`x\"00ff\"`)",
            Token::LeftParen => "`(`",
            Token::RightParen => "`)`",
            Token::LeftBracket => "`[`",
            Token::RightBracket => "`]`",
            Token::LeftBrace => "`{`",
            Token::RightBrace => "`}`",
            Token::Comma => "`,`",
            Token::Colon => "`:`",
            Token::Equals => "`=`",
        }
    }
}
