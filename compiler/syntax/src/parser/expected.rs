//! The terminals that the grammar would have taken, in a few plain words.

use crate::lexer::Token;

/// Which kinds of text could have stood at some place.
#[derive(Default)]
pub(super) struct Expected {
    operand: bool,
    name: bool,
    operator: bool,
    statement: bool,
    newline: bool,
    indent: bool,
    import: bool,
    /// Punctuation and keywords, as they are written.
    marks: Vec<&'static str>,
}

/// What is worth naming by itself, in the order in which it is named.
const MARKS: [&str; 14] = [")", "]", "}", ",", ":", "=", "(", "in", "else", "as", "->", "import", ".", "def"];

impl Expected {
    /// From the names of the grammar's terminals.
    pub(super) fn new(terminals: &[String]) -> Self {
        let has = |terminal: &str| terminals.iter().any(|name| name.trim_matches('"') == terminal);
        let statement = has("return");
        let operator = has("+") && has("==");
        let obvious = |mark: &str| match mark {
            "(" | "." => has("INT") || operator,
            "in" => operator,
            "def" => statement,
            _ => false,
        };
        let marks = MARKS.into_iter().filter(|mark| has(mark) && !obvious(mark));
        Expected {
            operand: has("INT"),
            name: has("NAME"),
            operator,
            statement,
            newline: has("NEWLINE"),
            indent: has("INDENT"),
            import: has("import"),
            marks: marks.collect(),
        }
    }

    /// Whether only an indented block could stand here.
    pub(super) fn block(&self) -> bool {
        self.indent && !self.statement
    }

    /// Whether a colon is missing at the end of a line that starts a block.
    pub(super) fn colon_ends_line(&self, line: &str) -> bool {
        let first = line.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        let opens = matches!(first, "if" | "elif" | "else" | "for" | "while" | "with" | "def" | "class");
        self.marks.contains(&":") && !self.operand && (opens || !self.newline)
    }

    /// Whether a name, and no other operand, could stand here.
    pub(super) fn name_only(&self) -> bool {
        self.name && !self.operand
    }

    /// Whether a comma could stand here.
    pub(super) fn comma(&self) -> bool {
        self.marks.contains(&",") && !self.operand
    }

    /// `expected a name, `)` or `,``
    pub(super) fn sentence(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        if self.statement {
            words.push("a statement".into());
        } else if self.operand {
            words.push("an expression".into());
        } else if self.name && !self.import {
            words.push("a name".into());
        }
        if !self.statement {
            words.extend(self.marks.iter().map(|mark| format!("`{mark}`")));
        }
        if self.operator {
            words.push("an operator".into());
        }
        if self.newline {
            words.push("the end of the line".into());
        }
        match words.as_slice() {
            [] => "this does not fit".into(),
            [only] => format!("expected {only}"),
            [rest @ .., last] => format!("expected {} or {last}", rest.join(", ")),
        }
    }
}

/// What was found, in words.
pub(super) fn describe(token: Token, text: &str) -> String {
    match token {
        Token::Newline | Token::Dedent => "the end of the line".into(),
        Token::Indent => "an indented line".into(),
        Token::Str => "a string".into(),
        _ if is_keyword(token) => format!("the keyword `{text}`"),
        _ => format!("`{text}`"),
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

/// The keyword that starts a statement and that a single word was likely meant to be.
pub(super) fn similar_keyword(word: &str) -> Option<&'static str> {
    let starters = ["assert", "class", "def", "elif", "else", "for", "from", "import", "return", "while", "with"];
    let is_word = (2..=8).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    starters.into_iter().filter(|_| is_word).find(|keyword| differ_by_one_slip(word.as_bytes(), keyword.as_bytes()))
}

/// Whether one word becomes the other by adding, dropping or changing a letter, or by reordering those after the first.
fn differ_by_one_slip(a: &[u8], b: &[u8]) -> bool {
    let sorted = |word: &[u8]| {
        let mut letters = word.to_vec();
        letters.sort_unstable();
        letters
    };
    let prefix = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    match (&a[prefix..], &b[prefix..]) {
        ([], []) => false,
        ([_, rest @ ..], other) if rest == other => true,
        (other, [_, rest @ ..]) if rest == other => true,
        ([_, a @ ..], [_, b @ ..]) if a == b => true,
        (a, b) => prefix > 0 && sorted(a) == sorted(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised() {
        for (word, keyword) in
            [("retrun", "return"), ("whit", "with"), ("dfe", "def"), ("fro", "for"), ("clas", "class")]
        {
            assert_eq!(similar_keyword(word), Some(keyword));
        }
        for word in ["x", "return", "lv", "tensor", "f(a)"] {
            assert_eq!(similar_keyword(word), None, "{word}");
        }
    }
}
