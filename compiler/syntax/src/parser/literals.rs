//! Values of literals.

use super::builder::Builder;
use super::escapes::{self, Body, EscapeError};
use crate::ast::{Expr, ExprKind};
use hammock_diagnostics::{Diagnostic, Span, codes};

/// Maximum length in bytes of interned strings: names of element types and operators occur often.
const MAX_INTERNED_LEN: usize = 64;

impl Builder<'_> {
    pub(super) fn int(&mut self, start: u32, end: u32) -> Expr {
        let text = self.slice(start, end);
        let kind = match text.parse() {
            Ok(value) if value == 0 || !text.starts_with('0') => ExprKind::Int(value),
            _ => self.unusual_int(text, Span::new(start, end)),
        };
        self.expr(kind, start, end)
    }

    fn unusual_int(&mut self, text: &str, span: Span) -> ExprKind {
        let digits = text.replace('_', "");
        let (radix, value) = match digits.get(..2) {
            Some("0x" | "0X") => (16, &digits[2..]),
            Some("0o" | "0O") => (8, &digits[2..]),
            Some("0b" | "0B") => (2, &digits[2..]),
            _ => (10, &digits[..]),
        };
        if radix == 10 && value.starts_with('0') && value.bytes().any(|digit| digit != b'0') {
            let message = "a decimal integer does not start with a zero";
            let diagnostic = Diagnostic::error(codes::BAD_NUMBER, message).label(span, "drop the zeros");
            self.report(diagnostic.help("octal integers are written `0o17`"));
        }
        match u64::from_str_radix(value, radix) {
            Ok(value) => ExprKind::Int(value),
            Err(_) => ExprKind::BigInt(digits.into()),
        }
    }

    pub(super) fn float(&mut self, start: u32, end: u32) -> Expr {
        let text = self.slice(start, end);
        let value = if text.contains('_') { text.replace('_', "").parse() } else { text.parse() };
        self.expr(ExprKind::Float(value.unwrap_or(f64::NAN)), start, end)
    }

    /// A single string literal, the common case.
    pub(super) fn string(&mut self, start: u32, end: u32) -> Expr {
        let (prefix, body) = escapes::split(self.slice(start, end));
        let kind = if prefix.is_empty() && body.is_plain() && body.text.len() <= MAX_INTERNED_LEN {
            ExprKind::Str(self.intern(body.text))
        } else {
            self.strings(&[Span::new(start, end)])
        };
        self.expr(kind, start, end)
    }

    /// Adjacent string literals are one string: their bytes are decoded together.
    pub(super) fn strings(&mut self, literals: &[Span]) -> ExprKind {
        let whole = literals.iter().fold(Span::NONE, |whole, span| whole.join(*span));
        let mut bytes = Vec::new();
        let mut kinds = [false; 2];
        for &span in literals {
            let is_bytes = self.literal(span, &mut bytes);
            kinds[usize::from(is_bytes)] = true;
        }
        match kinds {
            [true, true] => self.bad_string(whole, "text and bytes cannot be joined", "some have the prefix `b`"),
            [_, true] => return ExprKind::Bytes(bytes.into()),
            _ => {}
        }
        match String::from_utf8(bytes) {
            Ok(text) => ExprKind::Str(text.into()),
            Err(error) => {
                let help = "`\\x` denotes a byte, not a character: write `é` itself, `\\u00e9` or `\\xc3\\xa9`";
                self.bad_string(whole, "the bytes of this string are not UTF-8", help);
                ExprKind::Str(String::from_utf8_lossy(error.as_bytes()).into())
            }
        }
    }

    /// Adds the bytes of one literal; returns true if it has the prefix `b`.
    fn literal(&mut self, span: Span, bytes: &mut Vec<u8>) -> bool {
        let (prefix, body) = escapes::split(self.slice(span.start, span.end));
        let letters = prefix.to_ascii_lowercase();
        match letters.as_str() {
            "" | "u" | "r" | "b" | "br" | "rb" => {}
            "f" | "fr" | "rf" => self.unsupported(span, "an f-string", "write the text out"),
            _ => self.bad_string(
                span,
                &format!("`{prefix}` is not a prefix of a string"),
                "the prefixes are `r`, `b` and `u`",
            ),
        }
        let is_bytes = letters.contains('b');
        let start = span.start + body.offset as u32;
        let mut problems = Vec::new();
        Body { raw: letters.contains('r'), is_bytes, ..body }.decode(bytes, &mut problems);
        for (at, problem) in problems {
            self.bad_escape(Span::new(start + at.start as u32, start + at.end as u32), problem);
        }
        is_bytes
    }

    fn bad_escape(&mut self, span: Span, problem: EscapeError) {
        let escape = self.slice(span.start, span.end);
        match problem {
            EscapeError::Unknown => self.report(
                Diagnostic::warning(codes::BAD_STRING, format!("`{escape}` is not an escape and is kept literally"))
                    .label(span, "unknown escape")
                    .help(format!("write `\\{escape}`, or give the string the prefix `r`")),
            ),
            EscapeError::Malformed(help) => self.bad_string(span, &format!("the escape `{escape}` is malformed"), help),
        }
    }

    fn bad_string(&mut self, span: Span, message: &str, help: &str) {
        self.report(Diagnostic::error(codes::BAD_STRING, message).label(span, "in this string").help(help));
    }
}
