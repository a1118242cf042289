//! Comparison of a text with the formatted one.

use crate::layout::{Brackets, Content, Layout};
use crate::lexer::Token;

/// Offset in `before` of the first token that `after` does not have: texts may differ in white space, and in trailing
/// commas in brackets where they mean nothing. Zero if only comments differ.
pub(super) fn first_difference(before: &str, after: &str) -> Option<u32> {
    let (expected, actual) = (significant(before), significant(after));
    let same = |(left, right): &(&Piece, &Piece)| left.token == right.token && left.text == right.text;
    let common = expected.iter().zip(&actual).take_while(same).count();
    if common == expected.len() && common == actual.len() {
        return (visible(before) != visible(after)).then_some(0);
    }
    Some(expected.get(common).map_or(before.len(), |piece| piece.start as usize) as u32)
}

/// Number of characters of tokens and comments, without commas.
fn visible(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace() && !matches!(c, ',' | '\\' | '\u{feff}')).count()
}

struct Piece<'s> {
    token: Token,
    text: &'s str,
    start: u32,
}

/// An open bracket.
struct Bracket {
    /// Whether a trailing comma means nothing even after a single element.
    is_list: bool,
    /// Number of commas that separate its elements.
    commas: usize,
    /// Number of lambdas whose parameters are being read.
    lambdas: usize,
    is_comprehension: bool,
}

/// The tokens of a text without meaningless trailing commas.
fn significant(text: &str) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut open: Vec<Bracket> = Vec::new();
    for (start, token, end) in Layout::new(text, 0, Content::File, Brackets::Trusted) {
        match token {
            Token::LeftParen | Token::LeftBracket | Token::LeftBrace => {
                let is_list = accepts_comma(token, pieces.last().map(|piece| piece.token));
                open.push(Bracket { is_list, commas: 0, lambdas: 0, is_comprehension: false });
            }
            Token::RightParen | Token::RightBracket | Token::RightBrace => {
                let bracket = open.pop();
                let drops = bracket.is_some_and(|b| !b.is_comprehension && (b.is_list || b.commas > 1));
                if drops && pieces.last().is_some_and(|piece| piece.token == Token::Comma) {
                    pieces.pop();
                }
            }
            _ => {}
        }
        if let Some(bracket) = open.last_mut() {
            match token {
                Token::Lambda => bracket.lambdas += 1,
                Token::Colon => bracket.lambdas = bracket.lambdas.saturating_sub(1),
                Token::Comma if bracket.lambdas == 0 => bracket.commas += 1,
                Token::For => bracket.is_comprehension = true,
                _ => {}
            }
        }
        let text = match token {
            Token::Indent => "",
            _ => &text[start as usize..end as usize],
        };
        pieces.push(Piece { token, text, start });
    }
    pieces
}

/// Returns true if a comma may be added after the only element in a bracket: in calls and displays, not in tuples and
/// subscripts.
fn accepts_comma(open: Token, before: Option<Token>) -> bool {
    let after_operand = matches!(before, Some(Token::Name | Token::RightParen | Token::RightBracket));
    match open {
        Token::LeftParen => after_operand,
        Token::LeftBracket => !before.is_some_and(Token::ends_operand),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn meaningless_commas_are_ignored() {
        for (before, after) in [
            ("f(a)\n", "f(\n    a,\n)\n"),
            ("x = [a]\n", "x = [a,]\n"),
            ("x = (a, b)\n", "x = (a, b,)\n"),
            ("x = {a: b}\n", "x = {a: b,}\n"),
            ("def f(a):\n  pass\n", "def f(a,):\n    pass\n"),
        ] {
            assert_eq!(first_difference(before, after), None, "{before}");
        }
    }

    #[test]
    fn changes_are_found() {
        for (before, after, at) in [
            ("x = (a)\n", "x = (a,)\n", 6),
            ("x[a]\n", "x[a,]\n", 3),
            ("x = (lambda a, b: a)\n", "x = (lambda a, b: a,)\n", 19),
            ("x = (a for a, b in c)\n", "x = (a for a, b in c,)\n", 20),
            ("a\nb\n", "a b\n", 1),
            ("if a:\n  b\nc\n", "if a:\n    b\n    c\n", 9),
            ("a = 1\n", "a = 1.0\n", 4),
        ] {
            assert_eq!(first_difference(before, after), Some(at), "{before}");
        }
    }
}
