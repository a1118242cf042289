//! The tokens of a text by kind, comments included, for programs that show or complete text.

use crate::lexer::Token;
use hammock_diagnostics::Span;
use logos::Logos;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A name that is no keyword.
    Name,
    /// A keyword, `True`, `False` and `None` included.
    Keyword,
    /// An integer or a float.
    Number,
    /// A string literal with its prefix and quotes.
    Str,
    /// A comment, from `#` to the end of its line.
    Comment,
    /// An arithmetic, bitwise, comparison or assignment operator.
    Operator,
    /// A bracket, comma, colon, dot or similar.
    Punctuation,
    /// Text that is no token, such as a string without its end.
    Unreadable,
}

/// The tokens of a text in order, without line breaks.
pub fn tokens(text: &str) -> Vec<(TokenKind, Span)> {
    let unmarked = text.strip_prefix('\u{feff}').unwrap_or(text);
    let base = text.len() - unmarked.len();
    let (mut tokens, mut end) = (Vec::new(), 0);
    for (token, range) in Token::lexer(unmarked).spanned() {
        tokens.extend(comment(unmarked, base, end, range.start));
        end = range.end;
        if let Some(kind) = token.map_or(Some(TokenKind::Unreadable), kind) {
            tokens.push((kind, span(base, range.start, range.end)));
        }
    }
    tokens.extend(comment(unmarked, base, end, unmarked.len()));
    tokens
}

fn span(base: usize, start: usize, end: usize) -> Span {
    Span::new((base + start) as u32, (base + end) as u32)
}

/// The comment between two tokens.
fn comment(text: &str, base: usize, start: usize, end: usize) -> Option<(TokenKind, Span)> {
    let at = text[start..end].find('#')?;
    Some((TokenKind::Comment, span(base, start + at, end)))
}

/// Kind of the lexer's token; `None` for line breaks and tokens without text.
fn kind(token: Token) -> Option<TokenKind> {
    use Token::*;
    match token {
        StartFile | StartExpression | Indent | Dedent | Newline => Option::None,
        Bad => Some(TokenKind::Unreadable),
        Name => Some(TokenKind::Name),
        Int | Float => Some(TokenKind::Number),
        Str => Some(TokenKind::Str),
        False | None | True | And | As | Assert | Async | Await | Break | Class | Continue | Def | Del | Elif
        | Else | Except | Finally | For | From | Global | If | Import | In | Is | Lambda | Nonlocal | Not | Or
        | Pass | Raise | Return | Try | While | With | Yield => Some(TokenKind::Keyword),
        LeftParen | RightParen | LeftBracket | RightBracket | LeftBrace | RightBrace | Comma | Colon | Semicolon
        | Dot | Ellipsis | Arrow | At => Some(TokenKind::Punctuation),
        Walrus | Assign | Plus | Minus | Star | DoubleStar | Slash | DoubleSlash | Percent | LeftShift | RightShift
        | Ampersand | Pipe | Caret | Tilde | Less | LessEqual | Greater | GreaterEqual | Equal | NotEqual
        | PlusAssign | MinusAssign | StarAssign | SlashAssign | DoubleSlashAssign | PercentAssign | AtAssign
        | DoubleStarAssign | LeftShiftAssign | RightShiftAssign | AmpersandAssign | PipeAssign | CaretAssign => {
            Some(TokenKind::Operator)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_kinds() {
        let text = "\u{feff}x = R.f(1, \"a\") # b\n# c\nif é: $ 'open";
        let found: Vec<_> = tokens(text).into_iter().map(|(kind, span)| (kind, &text[span.range()])).collect();
        use TokenKind::*;
        let expected = [
            (Name, "x"),
            (Operator, "="),
            (Name, "R"),
            (Punctuation, "."),
            (Name, "f"),
            (Punctuation, "("),
            (Number, "1"),
            (Punctuation, ","),
            (Str, "\"a\""),
            (Punctuation, ")"),
            (Comment, "# b"),
            (Comment, "# c"),
            (Keyword, "if"),
            (Name, "é"),
            (Punctuation, ":"),
            (Unreadable, "$"),
            (Unreadable, "'open"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn comments_follow_line_continuations() {
        let text = "a = \\\n  b # c\\\nd";
        let comments: Vec<_> = tokens(text).into_iter().filter(|(kind, _)| *kind == TokenKind::Comment).collect();
        assert_eq!(comments.len(), 1);
        assert_eq!(&text[comments[0].1.range()], "# c\\");
    }
}
