//! Constructs of Python and C that modules do not support, with advice.

use crate::lexer::Token;

/// An unsupported construct of Python, recognised at the token of the syntax error; with advice.
pub(super) fn construct(token: Token, before: &str, text: &str) -> Option<(String, &'static str)> {
    let help = match token {
        Token::Try | Token::Except | Token::Finally | Token::Raise => {
            "errors are not handled inside a module; to check something, write `assert condition, message` or \
             `R.assert_op`"
        }
        Token::Del => "values end with their last use; drop this line",
        Token::Global | Token::Nonlocal => "names are bound once, where they are defined; drop this line",
        Token::Yield | Token::Async | Token::Await => "functions run to their end and return one value: use `return`",
        Token::Walrus => "assign in a line of its own first",
        _ => return soft_keyword(before, text),
    };
    Some((format!("`{text}`"), help))
}

/// `match x:` and `type X = …` start with words that are ordinary names.
fn soft_keyword(before: &str, text: &str) -> Option<(String, &'static str)> {
    let word = before.trim();
    let help = match word {
        "match" => "write `if` and `elif`",
        "type" => "write the type where it is used",
        "print" | "exec" => "call it with parentheses: `R.print(…)`",
        _ => return None,
    };
    let starts_operand = text.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '\''));
    starts_operand.then(|| (format!("the statement `{word}`"), help))
}

/// Advice for an operator of another language.
pub(super) fn operator(before: &str, text: &str, after: &str) -> Option<&'static str> {
    let pairs = [
        ("&", "&", "write `and`"),
        ("|", "|", "write `or`"),
        ("=", ">", "a dict is written `{key: value}`, a function `lambda x: …`"),
        ("<", ">", "write `!=`"),
        ("=", "=", "write `==` for equality"),
    ];
    let pair = pairs.iter().find(|(first, second, _)| before.ends_with(first) && text == *second);
    match pair {
        Some((.., help)) => Some(help),
        None if text == "{" && before.ends_with(|c: char| c == ')' || c.is_alphanumeric()) => {
            Some("a block starts with `:` and is marked by its indentation, not by braces")
        }
        None if before.ends_with("++") || before.ends_with("--") => Some("write `x += 1` or `x -= 1`"),
        None if text == ":" && after.starts_with(':') => Some("a slice with a step is written `start:end:step`"),
        None => None,
    }
}
