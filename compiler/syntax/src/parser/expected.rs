//! Descriptions of the terminals that the grammar expected.

use crate::layout::shorten;
use crate::lexer::Token;

/// The kinds of text that the grammar accepts at some position.
#[derive(Default)]
pub(super) struct Expected {
    operand: bool,
    name: bool,
    operator: bool,
    statement: bool,
    line_end: bool,
    definition: bool,
    /// Punctuation and keywords.
    marks: Vec<&'static str>,
}

/// Terminals that messages name individually, in this order.
const NAMED_TERMINALS: [&str; 13] = [")", "]", "}", ",", ":", "=", "(", "in", "else", "as", "->", "import", "."];

impl Expected {
    /// From the names of the grammar's terminals.
    pub(super) fn new(terminals: &[String]) -> Self {
        let has = |terminal: &str| terminals.iter().any(|name| name.trim_matches('"') == terminal);
        let operator = has("+") && has("==");
        // An expression that may be the target of an assignment.
        let whole_line = operator && has("=") && has("NEWLINE");
        let obvious = |mark: &str| match mark {
            "(" | "." => has("INT") || operator,
            "in" => operator,
            "," | ":" | "=" => whole_line,
            _ => false,
        };
        Expected {
            operand: has("INT"),
            name: has("NAME"),
            operator,
            statement: has("return"),
            line_end: has("NEWLINE") && (whole_line || !has(":")),
            definition: has("def") && !has("return"),
            marks: NAMED_TERMINALS.into_iter().filter(|mark| has(mark) && !obvious(mark)).collect(),
        }
    }

    /// Returns true if a definition must follow.
    pub(super) fn definition(&self) -> bool {
        self.definition
    }

    /// Returns true if a name, and no other operand, is accepted.
    pub(super) fn name_only(&self) -> bool {
        self.name && !self.operand
    }

    /// Returns true if a comma is accepted.
    pub(super) fn comma(&self) -> bool {
        self.marks.contains(&",") && !self.operand
    }

    /// `expected a name, `)` or `,``
    pub(super) fn sentence(&self) -> String {
        if self.statement {
            return "expected a statement".into();
        }
        let mut words: Vec<String> = Vec::new();
        if self.operand {
            words.push("an expression".into());
        } else if self.name {
            words.push("a name".into());
        }
        words.extend(self.marks.iter().map(|mark| format!("`{mark}`")));
        if self.operator {
            words.push("an operator".into());
        }
        if self.line_end {
            words.push("the end of the line".into());
        }
        match words.as_slice() {
            [] => "this does not fit".into(),
            [only] => format!("expected {only}"),
            [rest @ .., last] => format!("expected {} or {last}", rest.join(", ")),
        }
    }
}

/// Description of the token found.
pub(super) fn describe(token: Token, text: &str) -> String {
    match token {
        Token::Newline | Token::Dedent => "the end of the line".into(),
        Token::Indent => "an indented line".into(),
        Token::Str => "a string".into(),
        _ if is_keyword(token) => format!("the keyword `{text}`"),
        _ => format!("`{}`", shorten(text)),
    }
}

/// Keywords with the tokens they are.
const KEYWORDS: [(&str, Token); 24] = [
    ("False", Token::False),
    ("None", Token::None),
    ("True", Token::True),
    ("and", Token::And),
    ("as", Token::As),
    ("assert", Token::Assert),
    ("break", Token::Break),
    ("class", Token::Class),
    ("continue", Token::Continue),
    ("def", Token::Def),
    ("elif", Token::Elif),
    ("else", Token::Else),
    ("for", Token::For),
    ("from", Token::From),
    ("if", Token::If),
    ("import", Token::Import),
    ("in", Token::In),
    ("is", Token::Is),
    ("lambda", Token::Lambda),
    ("not", Token::Not),
    ("or", Token::Or),
    ("pass", Token::Pass),
    ("return", Token::Return),
    ("while", Token::While),
];

pub(super) fn is_keyword(token: Token) -> bool {
    token == Token::With || KEYWORDS.iter().any(|(_, keyword)| *keyword == token)
}

/// Returns true if a word is a keyword.
pub(super) fn is_keyword_text(word: &str) -> bool {
    word == "with" || KEYWORDS.iter().any(|(keyword, _)| *keyword == word)
}

/// Keywords that start statements; the longer of two similar ones comes first.
const STARTERS: [&str; 11] =
    ["from", "for", "assert", "class", "def", "elif", "else", "import", "return", "while", "with"];

/// The statement keyword that a word was likely meant to be: transposed letters, or one inserted, deleted or replaced.
pub(super) fn similar_keyword(word: &str) -> Option<&'static str> {
    let is_word = (2..=8).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    if !is_word || STARTERS.contains(&word) {
        return None;
    }
    let reordered = STARTERS.into_iter().find(|keyword| has_same_letters(word, keyword));
    reordered.or_else(|| STARTERS.into_iter().find(|keyword| differs_by_a_letter(word.as_bytes(), keyword.as_bytes())))
}

fn has_same_letters(a: &str, b: &str) -> bool {
    let sorted = |word: &str| {
        let mut letters = word.as_bytes().to_vec();
        letters.sort_unstable();
        letters
    };
    a[..1] == b[..1] && sorted(a) == sorted(b)
}

fn differs_by_a_letter(a: &[u8], b: &[u8]) -> bool {
    let prefix = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[prefix..], &b[prefix..]);
    let (a_rest, b_rest) = (a.get(1..).unwrap_or(a), b.get(1..).unwrap_or(b));
    a_rest == b || a == b_rest || a_rest == b_rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised() {
        for (word, keyword) in [
            ("retrun", "return"),
            ("whit", "with"),
            ("dfe", "def"),
            ("form", "from"),
            ("clas", "class"),
            ("wile", "while"),
        ] {
            assert_eq!(similar_keyword(word), Some(keyword));
        }
        for word in ["x", "return", "lv", "tensor", "f(a)"] {
            assert_eq!(similar_keyword(word), None, "{word}");
        }
    }
}
