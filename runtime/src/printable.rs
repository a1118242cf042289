//! Text without control sequences, safe to print on a terminal.
use std::borrow::Cow;
use std::fmt::Write;

/// Escapes control characters as `\u001b`, which JSON and Python can read. Line breaks and tabs stay. Bidirectional
/// formatting characters are escaped too, so a name looks as it is spelled.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(commands) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if commands(c) {
            let _ = write!(out, "\\u{:04x}", c as u32);
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Returns true if a terminal interprets the character.
fn commands(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert!(matches!(printable("two\n\tlines, é, 行, 🦀"), Cow::Borrowed(_)));
        assert_eq!(printable("\x1b[31mred\r\x7f\u{9b}2J\u{202e}"), r"\u001b[31mred\u000d\u007f\u009b2J\u202e");
    }
}
