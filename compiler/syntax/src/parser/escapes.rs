//! Escapes of string literals.

use std::ops::Range;

/// The text between quotes and its escape rules.
#[derive(Clone, Copy, Debug)]
pub(super) struct Body<'src> {
    pub(super) text: &'src str,
    /// Start in the literal.
    pub(super) offset: usize,
    /// True for a raw string: backslashes are literal.
    pub(super) raw: bool,
    /// True for bytes: `\u` and `\U` are literal.
    pub(super) is_bytes: bool,
}

/// An error in an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EscapeError {
    /// Unknown escape, which is literal.
    Unknown,
    /// Missing digits or character; with advice.
    Malformed(&'static str),
}

/// EscapeErrors and the bytes of the body they concern.
pub(super) type EscapeErrors = Vec<(Range<usize>, EscapeError)>;

/// The prefix letters and the text of a complete string literal.
pub(super) fn split(literal: &str) -> (&str, Body<'_>) {
    let letters = literal.find(['"', '\'']).unwrap_or(0);
    let (prefix, quoted) = literal.split_at(letters);
    let triple = quoted.len() >= 6 && (quoted.starts_with("\"\"\"") || quoted.starts_with("'''"));
    let quotes = if triple { 3 } else { 1 };
    let text = quoted.get(quotes..quoted.len() - quotes).unwrap_or("");
    (prefix, Body { text, offset: letters + quotes, raw: false, is_bytes: false })
}

impl Body<'_> {
    /// Returns true if the text has no escapes.
    pub(super) fn is_plain(&self) -> bool {
        !self.text.bytes().any(|byte| byte == b'\\' || byte == b'\r')
    }

    /// Appends the decoded text.
    pub(super) fn decode(&self, out: &mut Vec<u8>, problems: &mut EscapeErrors) {
        let mut done = 0;
        let bytes = self.text.as_bytes();
        out.reserve(bytes.len());
        while let Some(length) = bytes[done..].iter().position(|byte| matches!(byte, b'\\' | b'\r')) {
            let at = done + length;
            out.extend_from_slice(&bytes[done..at]);
            done = if bytes[at] == b'\r' {
                out.push(b'\n');
                at + if bytes.get(at + 1) == Some(&b'\n') { 2 } else { 1 }
            } else if self.raw {
                out.push(b'\\');
                at + 1
            } else {
                at + self.escape(at, out, problems)
            };
        }
        out.extend_from_slice(&bytes[done..]);
    }

    /// Decodes the escape at a backslash; returns its length.
    fn escape(&self, at: usize, out: &mut Vec<u8>, problems: &mut EscapeErrors) -> usize {
        let rest = &self.text[at + 1..];
        let Some(letter) = rest.chars().next() else {
            out.push(b'\\');
            return 1;
        };
        match letter {
            '\r' if rest.starts_with("\r\n") => return 3,
            '\n' | '\r' => {}
            '\\' | '\'' | '"' => out.push(letter as u8),
            'a' => out.push(7),
            'b' => out.push(8),
            't' => out.push(b'\t'),
            'n' => out.push(b'\n'),
            'v' => out.push(11),
            'f' => out.push(12),
            'r' => out.push(b'\r'),
            '0'..='7' => return self.octal(at, out, problems),
            'x' => return self.hex(at, 2, out, problems),
            'u' if !self.is_bytes => return self.hex(at, 4, out, problems),
            'U' if !self.is_bytes => return self.hex(at, 8, out, problems),
            'N' if !self.is_bytes => {
                problems
                    .push((at..at + 2, EscapeError::Malformed("write the character itself, or its number with `\\u`")));
            }
            _ => {
                problems.push((at..at + 1 + letter.len_utf8(), EscapeError::Unknown));
                out.push(b'\\');
                return 1;
            }
        }
        2
    }

    fn octal(&self, at: usize, out: &mut Vec<u8>, problems: &mut EscapeErrors) -> usize {
        let digits = self.text[at + 1..].bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
        match u8::from_str_radix(&self.text[at + 1..at + 1 + digits], 8) {
            Ok(byte) => out.push(byte),
            Err(_) => problems.push((at..at + 1 + digits, EscapeError::Malformed("octal escapes end at `\\377`"))),
        }
        1 + digits
    }

    /// `\xHH` is a byte, `\uHHHH` and `\UHHHHHHHH` are characters.
    fn hex(&self, at: usize, wanted: usize, out: &mut Vec<u8>, problems: &mut EscapeErrors) -> usize {
        let digits = self.text[at + 2..].bytes().take(wanted).take_while(u8::is_ascii_hexdigit).count();
        let value = u32::from_str_radix(&self.text[at + 2..at + 2 + digits], 16).unwrap_or(0);
        let help = match (digits == wanted, wanted, char::from_u32(value)) {
            (false, 2, _) => "`\\x` takes two hexadecimal digits",
            (false, 4, _) => "`\\u` takes four hexadecimal digits",
            (false, ..) => "`\\U` takes eight hexadecimal digits",
            (true, _, None) => "no character has this number",
            (true, 2, _) => {
                out.push(value as u8);
                return 4;
            }
            (true, _, Some(character)) => {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return 2 + wanted;
            }
        };
        problems.push((at..at + 2 + digits, EscapeError::Malformed(help)));
        2 + digits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(literal: &str) -> (Vec<u8>, EscapeErrors) {
        let (prefix, body) = split(literal);
        let (mut out, mut problems) = (Vec::new(), Vec::new());
        Body { raw: prefix == "r", is_bytes: prefix == "b", ..body }.decode(&mut out, &mut problems);
        (out, problems)
    }

    #[test]
    fn escapes_decode() {
        assert_eq!(decode(r#""a\"\\\n\t\r\0\101\x41""#).0, b"a\"\\\n\t\r\0AA");
        assert_eq!(decode(r#""\xC3\xA9é\u00e9\U0001F600""#).0, "ééé😀".as_bytes());
        assert_eq!(decode("'a\\\nb\\\r\nc\r\nd'").0, b"abc\nd");
        assert_eq!(decode(r#"r"\n\x""#).0, br"\n\x");
        assert_eq!(decode("''''a'b\\''''").0, b"'a'b'");
        assert_eq!(decode("''").0, b"");
        assert_eq!(decode("''''''").0, b"");
    }

    #[test]
    fn malformed_escapes_are_located() {
        assert_eq!(decode(r#""a\d""#), (br"a\d".to_vec(), vec![(1..3, EscapeError::Unknown)]));
        for (literal, at) in [(r#""\x4""#, 0..3), (r#""\u12é""#, 0..4), (r#""\ud800""#, 0..6), (r#""\777""#, 0..4)] {
            let (out, problems) = decode(literal);
            assert!(
                matches!(&problems[..], [(place, EscapeError::Malformed(_))] if *place == at),
                "{literal} {problems:?}"
            );
            assert!(out.is_empty() || literal.contains('é'));
        }
    }
}
